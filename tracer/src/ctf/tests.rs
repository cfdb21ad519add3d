//! Recordings of records that are made in memory, read again.

use simple_markers_resolver::address::{FileOffset, RuntimeAddress, Vaddr};
use simple_markers_resolver::export::ArgumentOmission;
use simple_markers_resolver::export::fetch::NumberKind;

use super::description::{DescriptionError, Doubt, MAX_CLASSES};
use super::metadata::metadata;
use super::packet::{HEADER, HeaderError};
use super::reader::ReadErrorKind;
use super::writer::Packet;
use super::{Description, Events, Writer};
use crate::filter::Inputs as _;
use crate::frames::{Frame, Function, KernelFrame, StackEnd, StackNumbers, StackTable};
use crate::plan::{
    Aggregate, DoubtfulSource, DoubtfulValues, ImageFile, Placeholder, Plan, PlannedArgument, PlannedImage,
    PlannedMarker, PlannedSite, Reading, Source, UnreadReason,
};
use crate::record::stack::{ProgramStack, StackSettings};
use crate::record::{CPU, FieldKind, Layout, NAME, Record, SITE, THREAD, TIME, UNREAD};
use crate::text::{Format, json};
use crate::{Hit, Missing, Value};

const UUID: [u8; 16] = *b"\x01\x23\x45\x67\x89\xab\x4d\xef\x81\x23\x45\x67\x89\xab\xcd\xef";

/// The most bytes of a text.
const MOST: u16 = 12;

fn marker(image: usize, name: &str, format: &str, sites: usize) -> PlannedMarker {
    PlannedMarker {
        image,
        name: name.into(),
        file: "a.c".into(),
        line: 7,
        format: format.into(),
        sites,
        task_point: None,
        event: None,
    }
}

fn site(marker: usize, address: u64, arguments: Vec<(&str, Source)>) -> PlannedSite {
    let argument = |(text, source): (&str, Source)| PlannedArgument::new(text.into(), source);
    PlannedSite {
        image: 0,
        marker,
        function: Some("f".into()),
        address: Vaddr(address),
        probe: Vaddr(address + 1),
        offset: FileOffset(address - 0x1000),
        switch: None,
        entry_stack_pointer: None,
        task: None,
        frame: None,
        inputs: Vec::new(),
        arguments: arguments.into_iter().map(argument).collect(),
        members: Vec::new(),
        notes_task: false,
        filter: None,
        aggregate: Aggregate::Hits,
        recorded: None,
        exit: None,
    }
}

fn number(field: usize, size: u8, kind: NumberKind) -> Source {
    Source::Read(Reading::Number { field, size, kind })
}

/// Every kind of field and argument. Site 0 has 6 numbers, site 1 and 2 are of one class, site 3 has
/// the address of site 2, and site 4 has texts.
fn plan() -> (Plan, Vec<Layout>) {
    use NumberKind::{Float, Pointer, Signed, Unicode, Unsigned};
    let image = PlannedImage {
        path: "/bin/a".into(),
        file: ImageFile::default(),
        module: "a".into(),
        build_id: Some("c0de".into()),
        thread_local_size: None,
        platform: None,
    };
    let either = |one, other| {
        let of = |field| Reading::Number { field, size: 4, kind: Unsigned };
        Source::Either(of(one), of(other))
    };
    let constant = Source::Read(Reading::Constant { bits: 42, size: 4, kind: Signed });
    let text = |field| Source::Read(Reading::Text { field });
    let unread = |why| Source::Unread(why);
    let plan = Plan {
        images: vec![image],
        markers: vec![
            marker(0, "a:numbers", "%hhd %u %f %g %p %c", 1),
            marker(0, "a:twice", "%d %u", 3),
            marker(0, "a \"text\"\\", "%s and %s of %d %d", 1),
        ],
        sites: vec![
            site(
                0,
                0x2000,
                vec![
                    ("a", number(0, 1, Signed)),
                    ("a", number(1, 2, Unsigned)),
                    ("x[0]", number(2, 4, Float)),
                    ("x[1]", number(3, 8, Float)),
                    ("site", number(4, 8, Pointer)),
                    ("letter", number(5, 4, Unicode)),
                ],
            ),
            site(1, 0x2010, vec![("k", constant), ("v", either(0, 1))]),
            site(1, 0x2020, vec![("k", number(0, 4, Signed)), ("v", number(1, 4, Unsigned))]),
            site(1, 0x2020, vec![("k", number(1, 4, Signed)), ("v", number(0, 4, Unsigned))]),
            site(
                2,
                0x2030,
                vec![
                    ("one", text(0)),
                    ("two", text(1)),
                    ("gone", unread(UnreadReason::Omitted(ArgumentOmission::OptimizedOut))),
                    ("many", unread(UnreadReason::TooMany)),
                ],
            ),
        ],
        ..Plan::default()
    };
    let numbers = |count| Layout::new((0..count).map(|_| FieldKind::Number));
    let texts = Layout::new([FieldKind::Text(MOST), FieldKind::Bytes(MOST)]);
    (plan, vec![numbers(6), numbers(2), numbers(2), numbers(2), texts])
}

/// The record of a hit. `fields` has the bytes of each field; `None` for one that could not be read.
fn record(layouts: &[Layout], number: u32, time: u64, fields: &[Option<&[u8]>]) -> Vec<u8> {
    let layout = &layouts[number as usize];
    let mut bytes = vec![0; layout.size().into()];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    put(TIME.into(), &time.to_ne_bytes());
    put(THREAD.into(), &(number + 100).to_ne_bytes());
    put((THREAD + 4).into(), &100u32.to_ne_bytes());
    put(SITE.into(), &number.to_ne_bytes());
    put(CPU.into(), &3u32.to_ne_bytes());
    put(NAME.into(), if number == 1 { b"worker" } else { b"main\xff" });
    let mut unread = 0u64;
    for (index, (field, (offset, _))) in fields.iter().zip(layout.fields()).enumerate() {
        match field {
            Some(field) => put((*offset).into(), field),
            None => unread |= 1 << index,
        }
    }
    put(UNREAD.into(), &unread.to_ne_bytes());
    bytes
}

/// A field with a text of `length` bytes, of which the record has some.
fn text(address: u64, length: u64, bytes: &[u8]) -> Vec<u8> {
    [&address.to_ne_bytes(), &length.to_ne_bytes(), bytes].concat()
}

/// Hits with everything that can happen to a value.
fn records(layouts: &[Layout]) -> Vec<Vec<u8>> {
    let word = |number: u64| number.to_ne_bytes();
    let floats = [word(1.5f32.to_bits().into()), word((-0.1f64).to_bits())];
    let (a, b) = (word(0xffff_ffff_ffff_ff85), word(65535));
    let (pointer, letter) = (word(u64::MAX), word(0x20ac));
    let all = [&a, &b, &floats[0], &floats[1], &pointer, &letter];
    let all = all.map(|word| Some(word.as_slice()));
    let mut some = all;
    some[1] = None;
    let (five, six) = (word(5), word(6));
    let (plain, cut) = (text(0x5000, 4, b"abc\0"), text(0x5000, 12, b"abcdefghijk\0"));
    let (empty, null) = (text(0x5000, 1, b"\0"), text(0, 0, b""));
    let (part, nul) = (text(0x6000, 3, b"\xc3\xbc\xff"), text(0x6000, 3, b"a\0b"));
    let long = text(0x6000, 100, b"123456789abc");
    let unreadable = text(0x7000, 0, b"");
    let mut unread = record(layouts, 4, 30, &[Some(&unreadable), Some(&part)]);
    unread[usize::from(UNREAD)] = 1;
    let mut out = vec![
        record(layouts, 0, 10, &all),
        record(layouts, 0, 11, &some),
        record(layouts, 1, 12, &[Some(&five), Some(&five)]),
        record(layouts, 1, 13, &[Some(&five), Some(&six)]),
        record(layouts, 1, 14, &[Some(&five), None]),
        record(layouts, 2, 15, &[Some(&five), Some(&six)]),
        record(layouts, 3, 16, &[Some(&five), Some(&six)]),
        unread,
    ];
    for (one, two) in
        [(&plain, &part), (&empty, &empty), (&cut, &plain), (&null, &null), (&plain, &nul), (&plain, &long)]
    {
        out.push(record(layouts, 4, 40, &[Some(one), Some(two)]));
    }
    out.push(record(layouts, 4, 41, &[None, None]));
    out
}

fn description() -> Description {
    Description { uuid: UUID, tool: "1.2".into(), clock_offset: 5_000_000_007, start: 9, ..Description::default() }
}

fn hit<'a>(record: &'a [u8], plan: &'a Plan, layouts: &'a [Layout]) -> Hit<'a> {
    Hit::new(Record(record), plan, layouts).expect("a hit")
}

/// The packets of all records, several times.
fn written(most: usize, rounds: usize) -> (Description, Vec<Packet>) {
    let (plan, layouts) = plan();
    let mut writer = Writer::new(description(), &plan, most);
    let records = records(&layouts);
    let mut packets = Vec::new();
    for record in std::iter::repeat_n(&records, rounds).flatten() {
        packets.extend(writer.write(&hit(record, &plan, &layouts)));
    }
    writer.set_lost(17);
    packets.extend(writer.finish());
    assert_eq!(writer.finish(), None);
    (writer.description().clone(), packets)
}

#[test]
fn doubtful_values_keep_their_marks() {
    let doubtful = |here, before| {
        let why = UnreadReason::Filed { placeholder: Placeholder::Doubtful, words: Some("it moves".into()) };
        Source::Doubtful(Box::new(DoubtfulSource { here, before, why, is_taken: false }))
    };
    let number = |field| Reading::Number { field, size: 4, kind: NumberKind::Unsigned };
    let text_of = |field| Reading::Text { field };
    let (mut plan, _) = plan();
    let arguments = |text, either| {
        vec![("a", doubtful(number(0), None)), ("b", doubtful(number(0), Some(number(1)))), ("c", text), ("d", either)]
    };
    plan.markers = vec![marker(0, "a:doubtful", "%-4u|%u|%s|%s", 2)];
    plan.sites = vec![
        site(0, 0x2000, arguments(doubtful(text_of(2), None), doubtful(text_of(2), Some(text_of(3))))),
        site(0, 0x2010, vec![("a", Source::Read(number(0))), ("b", Source::Read(number(1)))]),
    ];
    let kinds = [FieldKind::Number, FieldKind::Number, FieldKind::Text(MOST), FieldKind::Text(MOST)];
    let layouts = vec![Layout::new(kinds), Layout::new([FieldKind::Number, FieldKind::Number])];
    let (five, six) = (5u64.to_ne_bytes(), 6u64.to_ne_bytes());
    let (x, y, null) = (text(0x5000, 2, b"x\0"), text(0x5000, 2, b"y\0"), text(0, 0, b""));
    let cut = text(0x5000, 12, b"abcdefghijk\0");
    let all = |number: &'static [u8; 8], one: &[u8], other: &[u8]| {
        record(&layouts, 0, 10, &[Some(&[5, 0, 0, 0, 0, 0, 0, 0]), Some(number), Some(one), Some(other)])
    };
    let hits = [
        (all(&[5, 0, 0, 0, 0, 0, 0, 0], &x, &x), "5?  |5|x?|x"),
        (all(&[6, 0, 0, 0, 0, 0, 0, 0], &x, &y), "5?  |5?|x?|x?"),
        (all(&[5, 0, 0, 0, 0, 0, 0, 0], &null, &y), "5?  |5|(null)?|(null)?"),
        (all(&[5, 0, 0, 0, 0, 0, 0, 0], &cut, &y), "5?  |5|abcdefghijk..?|abcdefghijk..?"),
        (record(&layouts, 0, 10, &[None, Some(&five), Some(&x), None]), "<unreadable>|<unreadable>|x?|x?"),
        (record(&layouts, 1, 10, &[Some(&five), Some(&six)]), "5   |6||"),
    ];
    let mut writer = Writer::new(description(), &plan, 300);
    let mut packets: Vec<Packet> =
        hits.iter().filter_map(|(record, _)| writer.write(&hit(record, &plan, &layouts))).collect();
    packets.extend(writer.finish());
    let json = writer.description().to_json();
    assert_eq!(json["version"], 3);
    let read = Description::from_json(json.to_string().as_bytes()).expect("a description");
    assert_eq!(&read, writer.description());
    let doubts: Vec<_> = read.sites[0].arguments.iter().map(|argument| argument.doubt).collect();
    let (always, sometimes) = (Some(Doubt::Always), Some(Doubt::Sometimes));
    assert_eq!(doubts, [always, sometimes, always, sometimes]);
    let names: Vec<_> = read.classes[0].fields.iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["a__maybe", "b", "c__maybe", "d"]);
    let (described, stream) = (read.plan(), stream(&packets));
    for doubtful in [DoubtfulValues::Marked, DoubtfulValues::Taken, DoubtfulValues::Strict] {
        let events = Events::new(&read, &described, &stream).with_doubtful(doubtful);
        for (event, (record, expected)) in events.map(|event| event.expect("an event")).zip(&hits) {
            let hit = hit(record, &plan, &layouts);
            let values: Vec<_> = hit.values().collect();
            match doubtful {
                DoubtfulValues::Strict => {
                    let count = |values: &[Result<Value<'_>, Missing<'_>>]| {
                        values.iter().filter(|value| matches!(value, Err(Missing::Doubtful(_)))).count()
                    };
                    assert_eq!(count(&event.values().collect::<Vec<_>>()), count(&values));
                    assert!(!event.values().any(|value| matches!(value, Err(Missing::Doubtful(Some(_))))));
                }
                _ => assert_eq!(event.values().collect::<Vec<_>>(), values),
            }
            let mut shown = String::new();
            Format::new(&hit.marker.format).write(&hit, &mut shown);
            assert_eq!(shown, *expected);
            let is_number = matches!(values[0], Err(Missing::Doubtful(Some(_))) | Ok(_));
            let takes = doubtful == DoubtfulValues::Taken || values[0].is_ok();
            assert_eq!(event.number(0), (is_number && takes).then_some(5));
        }
    }
}

fn stream(packets: &[Packet]) -> Vec<u8> {
    packets.iter().flat_map(|packet| packet.bytes.iter().copied()).collect()
}

#[test]
fn what_is_written_is_read() {
    let (plan, layouts) = plan();
    let records = records(&layouts);
    let (written, packets) = written(300, 3);
    let read = Description::from_json(written.to_json().to_string().as_bytes()).expect("a description");
    assert_eq!(read, written);
    let (described, stream) = (read.plan(), stream(&packets));
    let mut events = Events::new(&read, &described, &stream);
    for record in std::iter::repeat_n(&records, 3).flatten() {
        let hit = hit(record, &plan, &layouts);
        let event = events.next_event().expect("no error").expect("an event");
        let expected: Vec<Result<Value<'_>, Missing<'_>>> = hit.values().collect();
        assert_eq!(event.values().collect::<Vec<_>>(), expected);
        assert_eq!((event.number, event.marker, event.image), (hit.number, hit.marker, hit.image));
        assert_eq!((event.time, event.cpu, event.process, event.thread), (hit.time, hit.cpu, hit.process, hit.thread));
        assert_eq!((event.name, event.thread_name(), event.address), (hit.name, hit.thread_name(), hit.address));
        assert_eq!(json(&event), json(&hit));
        assert_eq!(events.event_at(events.offset()), Ok(event.clone()));
        let format = Format::new(&hit.marker.format);
        let (mut one, mut other) = (String::new(), String::new());
        format.write(&hit, &mut one);
        format.write(&event, &mut other);
        assert_eq!(one, other);
    }
    assert_eq!(events.next_event(), Ok(None));
    assert_eq!((events.lost(), events.packets()), (17, packets.len() as u64));
    let cut = super::ReadError { offset: u64::MAX, what: ReadErrorKind::EventCut };
    assert_eq!(events.event_at(u64::MAX), Err(cut));
}

/// Stacks are in front of the address of the site and of the values, in both forms of an event.
#[test]
fn stacks_are_read_as_they_were_written() {
    let (plan, layouts) = plan();
    let settings = StackSettings { program: Some(ProgramStack::FramePointers), has_kernel: true };
    let description = Description { stacks: StackTable::new(settings), ..description() };
    let mut writer = Writer::new(description, &plan, 1 << 16);
    let frame = |address| Frame {
        address: RuntimeAddress(address),
        image: Some("/bin/a".into()),
        image_address: Some(Vaddr(address)),
        functions: vec![Function { name: Some("f".into()), ..Function::default() }],
    };
    let kernel = |address| KernelFrame { address: RuntimeAddress(address), function: None, offset: None, module: None };
    let records = records(&layouts);
    let mut expected = Vec::new();
    for (number, record) in (0..).zip(&records) {
        let table = writer.stacks().expect("a table");
        let frames = (0..number % 3).map(|depth| frame(number + depth)).collect();
        let program = (number != 1).then(|| table.number_program(frames, StackEnd::NotCopied));
        let kernel = (number != 1).then(|| table.number_kernel(vec![kernel(number)], number % 2 == 0));
        let stacks = StackNumbers { program, kernel: kernel.or(Some((Vec::new(), false))) };
        assert_eq!(writer.write_with(&hit(record, &plan, &layouts), &stacks), None);
        expected.push(stacks);
    }
    let packets = vec![writer.finish().expect("a packet")];
    let read = Description::from_json(writer.description().to_json().to_string().as_bytes()).expect("a description");
    assert_eq!(&read, writer.description());
    let (described, stream) = (read.plan(), stream(&packets));
    let mut events = Events::new(&read, &described, &stream);
    for (record, expected) in records.iter().zip(expected) {
        let event = events.next_event().expect("no error").expect("an event");
        assert_eq!(event.recorded_stacks().numbers(), expected);
        let hit = hit(record, &plan, &layouts);
        assert_eq!(event.values().collect::<Vec<_>>(), hit.values().collect::<Vec<_>>());
        assert_eq!(event.address, hit.address);
    }
    assert_eq!(events.next_event(), Ok(None));
    // A number that is in no table, and an end that is none.
    for (at, byte, error) in [(10, 99, ReadErrorKind::UnknownFrame(99)), (0, 77, ReadErrorKind::StackEnd(77))] {
        let event = HEADER + 20 + hit(&records[0], &plan, &layouts).name.len() + 1;
        let mut damaged = stream.clone();
        damaged[event + at] = byte;
        let mut events = Events::new(&read, &described, &damaged);
        assert_eq!(events.next_event().map(|_| ()).map_err(|error| error.what), Err(error));
    }
}

#[test]
fn packets_have_their_size() {
    let (_, packets) = written(300, 5);
    assert!(packets.len() > 5);
    for packet in &packets {
        assert!(packet.bytes.len() <= 300, "{}", packet.bytes.len());
        assert!(packet.bytes.len() > 150, "{}", packet.bytes.len());
    }
    let events: u64 = packets.iter().map(|packet| packet.events).sum();
    let (_, layouts) = plan();
    assert_eq!(events, 5 * records(&layouts).len() as u64);
    // An event that does not fit into a packet has one of its own.
    let (_, packets) = written(HEADER + 1, 1);
    assert_eq!(packets.len(), records(&layouts).len());
}

#[test]
fn a_stream_that_is_cut_is_read_up_to_there() {
    let (description, packets) = written(300, 2);
    let (plan, stream) = (description.plan(), stream(&packets));
    for size in 0..=stream.len() {
        let mut complete = 0;
        let mut events = 0;
        let mut end = 0;
        for packet in &packets {
            if complete == end && end + packet.bytes.len() <= size {
                complete += packet.bytes.len();
                events += packet.events;
            }
            end += packet.bytes.len();
        }
        let mut read = Events::new(&description, &plan, &stream[..size]);
        for _ in 0..events {
            assert!(matches!(read.next_event(), Ok(Some(_))), "{size}");
        }
        let there = size - complete;
        let expected = match there {
            0 => Ok(None),
            1..HEADER => Err(ReadErrorKind::Header(HeaderError::Cut)),
            _ => {
                let packet = packets.iter().find(|packet| stream[complete..].starts_with(&packet.bytes));
                let size = packet.expect("a packet").bytes.len() as u64;
                Err(ReadErrorKind::Cut { there: there as u64, size })
            }
        };
        let found = read.next_event().map_err(|error| {
            assert_eq!(error.offset, complete as u64);
            error.what
        });
        assert_eq!(found, expected, "{size}");
        assert_eq!(read.next_event(), Ok(None));
    }
}

#[test]
fn a_flipped_bit_is_read_to_the_end() {
    let (description, packets) = written(300, 1);
    let (plan, mut stream) = (description.plan(), stream(&packets));
    let events: u64 = packets.iter().map(|packet| packet.events).sum();
    for bit in 0..stream.len() * 8 {
        stream[bit / 8] ^= 1 << (bit % 8);
        let read: Vec<_> = Events::new(&description, &plan, &stream).collect();
        assert!(read.len() as u64 <= events + 2 * packets.len() as u64, "bit {bit}: {}", read.len());
        assert!(read.iter().flatten().all(|event| event.values().count() == event.site.arguments.len()));
        stream[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn an_error_in_a_packet_leaves_the_others() {
    let (description, packets) = written(300, 1);
    let (plan, mut stream) = (description.plan(), stream(&packets));
    stream[HEADER] = 0xfe;
    stream[HEADER + 1] = 0xff;
    let read: Vec<_> = Events::new(&description, &plan, &stream).collect();
    let events: u64 = packets.iter().skip(1).map(|packet| packet.events).sum();
    let error = read[0].clone().expect_err("no such event");
    assert_eq!(error.to_string(), "offset 0x40: the recording has no event with the number 65534");
    assert_eq!(read.iter().flatten().count() as u64, events);
    assert_eq!(read.len() as u64, events + 1);
}

#[test]
fn an_earlier_description_is_written_as_it_was() {
    let text = include_bytes!("../../../fuzz/seeds/recording/description.json");
    let mut expected: serde_json::Value = serde_json::from_slice(text).expect("JSON");
    for site in expected["sites"].as_array_mut().expect("sites") {
        assert_eq!(site.get("copies"), None);
        site["copies"] = 1.into();
    }
    assert_eq!(Description::from_json(text).expect("a description").to_json().to_string(), expected.to_string());
    // What may be missing may be null.
    expected["sites"][0]["copies"] = serde_json::Value::Null;
    expected["kernel"] = serde_json::Value::Null;
    expected["classes"][0]["fields"][0]["labels"] = serde_json::Value::Null;
    assert_eq!(Description::from_json(expected.to_string().as_bytes()), Description::from_json(text));
}

#[test]
fn descriptions_that_contradict_themselves_are_refused() {
    let (description, _) = written(300, 1);
    let json = description.to_json().to_string();
    let refused = |from: &str, to: &str| {
        assert!(json.contains(from), "{from}");
        Description::from_json(json.replacen(from, to, 1).as_bytes()).expect_err(to)
    };
    assert_eq!(refused("\"version\":1", "\"version\":6"), DescriptionError::Version(6));
    let member = |from, to, expected: &str| assert_eq!(refused(from, to).to_string(), expected);
    member("\"marker\":0", "\"marker\":9", "`classes[0].marker`: there is no marker 9; there are 3, counted from 0");
    member("\"size\":1}", "\"size\":3}", "`classes[0].fields[0]`: `size` is none of 1, 2, 4 and 8");
    member("01234567-89ab", "0123456789a", "`uuid`: `0123456789a-4def-8123-456789abcdef` is no UUID");
}

#[test]
fn classes_are_shared_and_limited() {
    let (description, _) = written(300, 1);
    let classes: Vec<_> = description.sites.iter().map(|site| site.class).collect();
    assert_eq!(classes, [Some(0), Some(1), Some(1), Some(2), Some(3)]);
    let has_site: Vec<_> = description.classes.iter().map(|class| class.has_site).collect();
    assert_eq!(has_site, [false, true, false, false]);
    let names: Vec<_> = description.classes[0].fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["a", "a_2", "x_0", "x_1", "site_2", "letter"]);

    let (mut plan, layouts) = plan();
    let records = records(&layouts);
    let mut description = super::tests::description();
    let class = super::description::Class { marker: 0, has_site: false, fields: Vec::new() };
    description.classes = vec![class; MAX_CLASSES];
    plan.sites.truncate(1);
    let mut writer = Writer::new(description, &plan, 300);
    assert_eq!(writer.write(&hit(&records[0], &plan, &layouts)), None);
    assert_eq!(writer.unrecorded(), 1);
    let packet = writer.finish().expect("a packet that says what was lost");
    assert_eq!((packet.bytes.len(), packet.events), (HEADER, 0));
}

#[test]
fn sites_can_be_added() {
    let (plan, layouts) = plan();
    let records = records(&layouts);
    let first = Plan {
        markers: plan.markers[..1].to_vec(),
        sites: plan.sites[..1].to_vec(),
        images: plan.images.clone(),
        ..Plan::default()
    };
    let mut writer = Writer::new(description(), &first, 1 << 16);
    assert_eq!(writer.write(&hit(&records[0], &first, &layouts)), None);
    assert!(!writer.add(&first));
    assert!(writer.add(&plan));
    for record in &records {
        assert_eq!(writer.write(&hit(record, &plan, &layouts)), None);
    }
    let (all, _) = written(300, 1);
    assert_eq!(*writer.description(), all);
    let packet = writer.finish().expect("a packet");
    assert_eq!(Events::new(&all, &all.plan(), &packet.bytes).filter(Result::is_ok).count(), records.len() + 1);
}

#[test]
fn metadata_says_what_an_event_has() {
    let (description, _) = written(300, 1);
    let metadata = metadata(&description);
    assert!(metadata.starts_with("/* CTF 1.8 */\n"));
    assert!(metadata.contains("uuid = \"01234567-89ab-4def-8123-456789abcdef\";"), "{metadata}");
    assert!(metadata.contains("offset_s = 5;\n\toffset = 7;"), "{metadata}");
    let numbers = "\
event {
	name = \"a:numbers\";
	id = 0;
	stream_id = 0;
	fields := struct {
		int8_t _a;
		uint16_t _a_2;
		float32_t _x_0;
		float64_t _x_1;
		hex64_t _site_2;
		uint32_t _letter;
	};
};
";
    assert!(metadata.contains(numbers), "{metadata}");
    let texts = "\
event {
	name = \"a \\\"text\\\"\\\\\";
	id = 7;
	stream_id = 0;
	fields := struct {
		state_t _one__state;
		hex64_t _one__address;
		uint32_t _one__length;
		char8_t _one[_one__length];
		state_t _two__state;
		hex64_t _two__address;
		uint32_t _two__length;
		char8_t _two[_two__length];
	};
};
";
    assert!(metadata.contains(texts), "{metadata}");
}
