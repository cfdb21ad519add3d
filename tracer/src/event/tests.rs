use std::cell::RefCell;

use super::*;
use crate::Hit;
use crate::ctf::{Description, Events, Writer, metadata::metadata};
use crate::frames::EventStacks;
use crate::hit::Body;
use crate::plan::{FieldPlace, Reading};
use crate::record::{FIELDS, Record, SITE};
use crate::value::Value;
use simple_markers_events::{Format, Names, NoNames, Symbol, TypeSize};
use simple_markers_resolver::export::fetch::NumberKind::{Pointer, Signed, Unsigned};

const TEXT: &str = "\
name: happened
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int state;\toffset:8;\tsize:4;\tsigned:1;
\tfield:char comm[8];\toffset:12;\tsize:8;\tsigned:0;
\tfield:void * at;\toffset:24;\tsize:8;\tsigned:0;
\tfield:u16 parts[3];\toffset:32;\tsize:6;\tsigned:0;
\tfield:__data_loc char[] path;\toffset:40;\tsize:4;\tsigned:0;
\tfield:__data_loc u32[] list;\toffset:44;\tsize:4;\tsigned:0;
\tfield:__rel_loc char[] near;\toffset:48;\tsize:4;\tsigned:0;
\tfield:char rest[];\toffset:52;\tsize:0;\tsigned:0;

print fmt: \"%s %s %s %s\", __print_symbolic(REC->state, { -1, \"gone\" }, { 0, \"idle\" }, { 1, \"busy\" }, { 1, \"twice\" }), REC->comm, __get_str(path), __get_rel_str(near)
";

fn event() -> KernelEvent {
    KernelEvent::new(Format::of("some", TEXT).expect("a format"), &NoNames)
}

fn plan() -> Plan {
    let mut plan = Plan::default();
    assert!(plan.add_event(event()) && plan.add_event(event()));
    plan
}

/// The kernel's record, and the values of its fields.
fn kernel_record() -> Vec<u8> {
    let mut record = vec![0; 56];
    put(&mut record, 0, &300u16.to_ne_bytes());
    put(&mut record, 4, &7u32.to_ne_bytes());
    put(&mut record, 8, &(-1i32).to_ne_bytes());
    put(&mut record, 12, b"eightchr");
    put(&mut record, 24, &0x1234_5678_9abcu64.to_ne_bytes());
    for (number, part) in [1u16, 2, 0xffff].into_iter().enumerate() {
        put(&mut record, 32 + number * 2, &part.to_ne_bytes());
    }
    put(&mut record, 40, &(56u32 | 5 << 16).to_ne_bytes());
    put(&mut record, 44, &(61u32 | 8 << 16).to_ne_bytes());
    put(&mut record, 48, &(17u32 | 3 << 16).to_ne_bytes());
    record.extend(b"path\0");
    record.extend([1u32, 2].into_iter().flat_map(u32::to_ne_bytes));
    record.extend(b"ab\0");
    record
}

fn put(record: &mut [u8], at: usize, bytes: &[u8]) {
    record[at..at + bytes.len()].copy_from_slice(bytes);
}

/// A record of ours with room for `space` bytes behind the part of fixed size.
fn record(space: usize) -> Vec<u8> {
    let kernel = kernel_record();
    let mut bytes = vec![0; usize::from(FIELDS) + 8 + 56 + space + 8];
    put(&mut bytes, 0, &5u64.to_ne_bytes());
    put(&mut bytes, 8, &7u32.to_ne_bytes());
    put(&mut bytes, usize::from(SITE), &0u32.to_ne_bytes());
    put(&mut bytes, usize::from(FIELDS), &(kernel.len() as u64).to_ne_bytes());
    let stored = kernel.len().min(56 + space);
    put(&mut bytes, usize::from(FIELDS) + 8, &kernel[..stored]);
    bytes
}

#[test]
fn fields_are_read_by_their_types() {
    let readings: Vec<_> = event().fields.into_iter().map(|field| (field.name, field.place, field.reading)).collect();
    let expected = [
        ("state", FieldPlace::Number(4), Reading::Number { field: 0, size: 4, kind: Signed }),
        ("comm", FieldPlace::Inline(8), Reading::Text { field: 1 }),
        ("at", FieldPlace::Number(8), Reading::Number { field: 2, size: 8, kind: Pointer }),
        ("parts", FieldPlace::Inline(6), Reading::Array { field: 3, size: 2, kind: Unsigned, count: Some(3) }),
        ("path", FieldPlace::Located(0), Reading::Text { field: 4 }),
        ("list", FieldPlace::Located(0), Reading::Array { field: 5, size: 4, kind: Unsigned, count: None }),
        ("near", FieldPlace::Located(52), Reading::Text { field: 6 }),
    ];
    assert_eq!(readings, expected.map(|(name, place, reading)| (Arc::from(name), place, reading)));
    assert_eq!((event().fixed_size(), event().name().as_str()), (56, "some:happened"));
}

#[test]
fn values_and_texts_are_those_of_the_record() {
    let plan = plan();
    let layouts = [event().layout(&plan.sites[0].inputs, crate::record::stack::StackSettings::NONE)];
    let bytes = record(64);
    let hit = Hit::new(Record(&bytes), &plan, &layouts).expect("a hit");
    let values: Vec<Value<'_>> = hit.values().map(|value| value.expect("a value")).collect();
    let numbers = |value: &Value<'_>| value.numbers().filter_map(|it| it.integer()).collect::<Vec<_>>();
    assert_eq!((values[0].integer(), values[2].integer()), (Some(-1), Some(0x1234_5678_9abc)));
    let text = |bytes| Value::Text { bytes, is_cut: false };
    assert_eq!((&values[1], &values[4], &values[6]), (&text(b"eightchr"), &text(b"path"), &text(b"ab")));
    assert_eq!((numbers(&values[3]), numbers(&values[5])), (vec![1, 2, 0xffff], vec![1, 2]));
    let mut texts = Texts::new(Box::new(NoNames));
    let mut out = String::new();
    assert_eq!(hit.kernel_record(), Some(&kernel_record()[..]));
    texts.write(&event(), &hit, &mut out);
    assert_eq!(out, "gone eightchr path ab");
    // The record that the values make says the same.
    out.clear();
    let body = Body::Values { values: hit.values().collect(), takes_doubtful: false, stacks: EventStacks::default() };
    texts.write(&event(), &Hit { body, ..hit.clone() }, &mut out);
    assert_eq!(out, "gone eightchr path ab");

    // A record that was too long: the last texts are cut.
    let bytes = record(7);
    let hit = Hit::new(Record(&bytes), &plan, &layouts).expect("a hit");
    let values: Vec<Value<'_>> = hit.values().map(|value| value.expect("a value")).collect();
    assert_eq!((&values[4], values[5].is_cut(), values[6].is_cut()), (&text(b"path"), true, true));
    out.clear();
    texts.write(&event(), &hit, &mut out);
    assert_eq!(out, "gone eightchr path ..");
    assert!(Hit::new(Record(&bytes[..bytes.len() - 8]), &plan, &layouts).is_none());
}

#[test]
fn a_recording_has_the_event_and_the_names() {
    let plan = plan();
    let layouts = [event().layout(&plan.sites[0].inputs, crate::record::stack::StackSettings::NONE)];
    let bytes = record(64);
    let hit = Hit::new(Record(&bytes), &plan, &layouts).expect("a hit");
    let mut writer = Writer::new(Description::default(), &plan, 4096);
    assert!(writer.write(&hit).is_none());
    let packet = writer.finish().expect("a packet").bytes;
    let of_types = metadata(writer.description());
    for line in [
        "enum : int32_t { \"gone\" = -1, \"idle\" = 0, \"busy\" = 1 } _state;",
        "uint16_t _parts[3];",
        "uint32_t _list__length;",
        "uint32_t _list[_list__length];",
    ] {
        assert!(of_types.contains(line), "{line}\n{of_types}");
    }
    let json = writer.description().to_json().to_string();
    assert!(json.contains("\"version\":2"), "{json}");
    let description = Description::from_json(json.as_bytes()).expect("a description");
    let described = description.plan();
    let mut events = Events::new(&description, &described, &packet);
    let read = events.next_event().expect("an event").expect("an event");
    let values: Vec<_> = hit.values().collect();
    assert_eq!((read.values().collect::<Vec<_>>(), read.thread, read.time), (values, 7, 5));
    assert_eq!(events.next_event(), Ok(None));
    let kernel = read.marker.event.as_ref().expect("an event");
    assert_eq!(kernel.format, event().format);
    for member in ["print", "element", "enumerators"] {
        let damaged = json.replacen(&format!("\"{member}\""), "\"other\"", 1);
        assert!(damaged != json && Description::from_json(damaged.as_bytes()).is_err(), "{member}");
    }
}

/// One name of each kind.
struct One;

impl Names for One {
    fn enumerator(&self, name: &str) -> Option<i64> {
        (name == "SOME").then_some(i64::MIN)
    }

    fn type_of(&self, name: &str) -> Option<TypeSize> {
        let integer = simple_markers_events::Integer::new(4, true);
        (name == "some_t").then_some(TypeSize { size: 4, integer })
    }

    fn variable(&self, name: &str) -> Option<u64> {
        (name == "HZ").then_some(250)
    }

    fn symbol(&self, address: u64) -> Option<Symbol<'_>> {
        let symbol = Symbol { name: "function".into(), offset: 4, size: 16, module: Some("module".into()) };
        (address == u64::MAX).then_some(symbol)
    }

    fn text_at(&self, address: u64) -> Option<std::borrow::Cow<'_, str>> {
        (address == 8).then_some("text".into())
    }
}

#[test]
fn names_that_were_asked_for_are_kept() {
    let known = RefCell::new(KnownNames::default());
    let noting = Noting::new(&One, &known);
    assert_eq!((noting.enumerator("SOME"), noting.enumerator("OTHER")), (Some(i64::MIN), None));
    assert!(noting.type_of("some_t").is_some() && noting.variable("HZ").is_some());
    assert!(noting.symbol(u64::MAX).is_some() && noting.text_at(8).is_some() && noting.text_at(9).is_none());
    let known = known.into_inner();
    let description =
        Description { markers: plan().markers, images: plan().images, kernel: known, ..Description::default() };
    let json = description.to_json();
    let expected = serde_json::json!({
        "enumerators": { "SOME": "-9223372036854775808" },
        "types": [{ "name": "some_t", "size": 4, "signed": true }],
        "variables": { "HZ": "0xfa" },
        "symbols": [{
            "address": "0xffffffffffffffff", "name": "function", "offset": "0x4", "size": "0x10", "module": "module",
        }],
        "texts": { "0x8": "text" },
    });
    assert_eq!(json["kernel"], expected);
    let read = Description::from_json(json.to_string().as_bytes()).expect("a description").kernel;
    assert_eq!(read, description.kernel);
    let refused = |pointer: &str, value: serde_json::Value| {
        let mut json = json.clone();
        *json.pointer_mut(pointer).expect(pointer) = value;
        Description::from_json(json.to_string().as_bytes()).expect_err(pointer).to_string()
    };
    for (pointer, value, expected) in [
        ("/kernel/variables/HZ", 250.into(), "`kernel.variables.HZ`: invalid type: integer `250`, expected a string"),
        ("/kernel/types/0/size", (-1).into(), "`kernel.types[0].size`: invalid value: integer `-1`, expected u64"),
        ("/kernel/symbols/0", serde_json::json!([]), "`kernel.symbols[0]`: invalid type: sequence, expected an object"),
        (
            "/kernel/enumerators/SOME",
            "9223372036854775808".into(),
            "`kernel`: `enumerators.SOME`: `9223372036854775808`: number too large to fit in target type",
        ),
        (
            "/markers/0/event/fields/0/offset",
            (1u64 << 32).into(),
            "`markers[0].event.fields[0].offset`: invalid value: integer `4294967296`, expected u32",
        ),
    ] {
        assert_eq!(refused(pointer, value), expected);
    }
    assert_eq!((read.len(), read.enumerator("SOME"), read.variable("HZ")), (5, Some(i64::MIN), Some(250)));
    assert_eq!((read.type_of("some_t"), read.symbol(u64::MAX)), (One.type_of("some_t"), One.symbol(u64::MAX)));
    assert_eq!(read.text_at(8).as_deref(), Some("text"));
}
