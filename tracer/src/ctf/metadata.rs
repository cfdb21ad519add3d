//! The metadata of a recording in the Trace Stream Description Language (CTF 1.8, C).

use std::collections::{BTreeSet, HashSet};
use std::fmt::{self, Write as _};

use simple_markers_record::integer;
use simple_markers_record::tsdl::{self, StringLiteral};
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::resolve::source_name;

use super::description::{Class, ClassField, Description, FieldType};
use super::packet::MAGIC;
use super::structured::{ArgumentShape, StructuredValues};
use crate::frames::{Frame, KernelFrame, NOT_READ, StackEnd, StackTable};

/// Types that all recordings have. Every field starts at a byte, so nothing is padded.
const TYPES: &str = r"
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 8; align = 8; signed = true; } := int8_t;
typealias integer { size = 16; align = 8; signed = true; } := int16_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
typealias integer { size = 8; align = 8; signed = false; base = 16; } := hex8_t;
typealias integer { size = 16; align = 8; signed = false; base = 16; } := hex16_t;
typealias integer { size = 32; align = 8; signed = false; base = 16; } := hex32_t;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := hex64_t;
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char8_t;
typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := float32_t;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := float64_t;
typealias string { encoding = UTF8; } := text_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;
typealias enum : uint8_t { value = 0, unreadable = 1, doubtful = 2, null = 3, cut = 4, empty = 5, maybe = 6, maybe_cut = 7, maybe_null = 8, entry_unseen = 9 } := state_t;
";

/// The parts of a stream up to the context of all events.
const STREAM: &str = r"
stream {
	id = 0;
	packet.context := struct {
		time_t timestamp_begin;
		time_t timestamp_end;
		uint64_t content_size;
		uint64_t packet_size;
		uint64_t events_discarded;
	};
	event.header := struct {
		uint16_t id;
		time_t timestamp;
	};
	event.context := struct {
		uint16_t _cpu;
		uint32_t _pid;
		uint32_t _tid;
		text_t _comm;
";

/// The stack of the program in the context of an event.
const STACK: &str = r"		stack_end_t _stack_end;
		uint32_t _stack__length;
		frame_t _stack[_stack__length];
";

/// The stack of the kernel in the context of an event.
const KERNEL_STACK: &str = r"		uint8_t _kernel_stack__cut;
		uint32_t _kernel_stack__length;
		kernel_frame_t _kernel_stack[_kernel_stack__length];
";

/// The metadata of a recording.
#[must_use]
pub fn metadata(description: &Description) -> String {
    let all = |number: usize, class: &Class| number % 2 == 0 || !class.fields.is_empty();
    // The plain form of a class without fields has nothing that could be missing.
    written(description, &all, &StructuredValues::default())
}

/// The metadata of a trace with structures in place of whole values. It has the events of these numbers.
#[must_use]
pub fn structured_metadata(description: &Description, numbers: &BTreeSet<u16>, values: &StructuredValues) -> String {
    written(description, &|number, _| u16::try_from(number).is_ok_and(|number| numbers.contains(&number)), values)
}

fn written(description: &Description, has_event: &dyn Fn(usize, &Class) -> bool, values: &StructuredValues) -> String {
    let mut out = String::from("/* CTF 1.8 */\n");
    let uuid = description.uuid_text();
    let (seconds, ns) = (description.clock_offset / 1_000_000_000, description.clock_offset % 1_000_000_000);
    // The types may only be used after the byte order is known.
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        r#"
typealias integer {{ size = 8; align = 8; signed = false; }} := byte_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := word_t;

trace {{
	major = 1;
	minor = 8;
	uuid = "{uuid}";
	byte_order = le;
	packet.header := struct {{
		word_t magic; /* {MAGIC:#x} */
		byte_t uuid[16];
		word_t stream_id;
	}};
}};

env {{
	tracer_name = "smark";
	tracer_version = {};
}};

clock {{
	name = "monotonic";
	uuid = "{uuid}";
	description = "CLOCK_MONOTONIC";
	freq = 1000000000;
	offset_s = {seconds};
	offset = {ns};
}};
"#,
        StringLiteral(&description.tool)
    );
    out.push_str(TYPES);
    let stacks = description.stacks.as_ref();
    stacks.iter().for_each(|table| stack_types(table, &mut out));
    out.push_str(STREAM);
    out.push_str(if stacks.is_some_and(|table| table.has_program) { STACK } else { "" });
    out.push_str(if stacks.is_some_and(|table| table.has_kernel) { KERNEL_STACK } else { "" });
    out.push_str("\t};\n};\n");
    for (number, class) in description.classes.iter().enumerate() {
        let shape = |argument: usize| values.shape(number, argument);
        for (number, is_full) in [(number * 2, false), (number * 2 + 1, true)] {
            if has_event(number, class) {
                let _ = event(description, class, &shape, number, is_full, &mut out);
            }
        }
    }
    out
}

/// Appends the types of stacks: a frame is an enumeration, so that readers show its function.
fn stack_types(table: &StackTable, out: &mut String) {
    if table.has_program {
        let ends = StackEnd::ALL.into_iter().map(|end| format!("{} = {}", end.code(), end as u8));
        let ends = ends.chain([format!("not_read = {NOT_READ}")]).collect::<Vec<_>>().join(", ");
        out.push_str(&format!("typealias enum : uint8_t {{ {ends} }} := stack_end_t;\n"));
        frame_type("frame_t", table.frames().map(frame_label), out);
    }
    if table.has_kernel {
        let label = |frame: &KernelFrame| frame.function().map_or_else(|| frame.address.to_string(), str::to_owned);
        frame_type("kernel_frame_t", table.kernel_frames().map(label), out);
    }
}

/// Appends the type of frames with these labels, of which each is made different.
fn frame_type(name: &str, labels: impl Iterator<Item = String>, out: &mut String) {
    let mut known = HashSet::new();
    let mut all = Vec::new();
    for (number, label) in labels.enumerate() {
        let literal = StringLiteral(&label).to_string();
        let literal = match known.contains(&literal) {
            // The number of a frame is in no other label.
            true => StringLiteral(&format!("{label} #{number}")).to_string(),
            false => literal,
        };
        all.push(format!("{literal} = {number}"));
        known.insert(literal);
    }
    let of = if all.is_empty() { "uint32_t".to_owned() } else { format!("enum : uint32_t {{ {} }}", all.join(", ")) };
    out.push_str(&format!("typealias {of} := {name};\n"));
}

/// The functions of a frame with their lines, the innermost first; otherwise its place.
fn frame_label(frame: &Frame) -> String {
    let named = frame.functions.iter().filter_map(|function| {
        let name = source_name(function.name.as_deref()?);
        let file = function.file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file));
        let line = file.zip(function.line).map(|(file, line)| format!(" at {file}:{line}")).unwrap_or_default();
        Some(format!("{name}{line}"))
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() { frame.place_text() } else { named.join(" in ") }
}

/// Writes an event. `shape` has the shapes of whole values by the numbers of the arguments.
fn event<'s>(
    description: &Description,
    class: &Class,
    shape: &dyn Fn(usize) -> Option<&'s ArgumentShape>,
    number: usize,
    is_full: bool,
    out: &mut String,
) -> fmt::Result {
    let name = description.markers.get(class.marker).map_or("", |marker| &marker.name);
    let name = StringLiteral(name);
    write!(out, "\nevent {{\n\tname = {name};\n\tid = {number};\n\tstream_id = 0;\n\tfields := struct {{\n")?;
    if class.has_site {
        out.push_str("\t\thex64_t _site;\n");
    }
    for field in &class.fields {
        let name = &field.name;
        if is_full {
            writeln!(out, "\t\tstate_t _{name}__state;")?;
        }
        if let Some(shape) = shape(field.argument) {
            shape.write_type(name, is_full, out);
            continue;
        }
        match field.of {
            FieldType::Number { size, kind } => {
                let labels = (!field.labels.is_empty()).then(|| labels(field));
                tsdl::number(out, name, &number_type(size, kind), labels)
            }
            FieldType::Text if is_full => writeln!(
                out,
                "\t\thex64_t _{name}__address;\n\t\tuint32_t _{name}__length;\n\t\tchar8_t _{name}[_{name}__length];"
            ),
            FieldType::Text => writeln!(out, "\t\ttext_t _{name};"),
            FieldType::Whole => {
                writeln!(out, "\t\tuint32_t _{name}__length;\n\t\thex8_t _{name}[_{name}__length];")
            }
            FieldType::Array { size, kind, count: Some(count) } => {
                writeln!(out, "\t\t{} _{name}[{count}];", number_type(size, kind))
            }
            FieldType::Array { size, kind, count: None } => {
                let of = number_type(size, kind);
                writeln!(out, "\t\tuint32_t _{name}__length;\n\t\t{of} _{name}[_{name}__length];")
            }
        }?;
    }
    out.write_str("\t};\n};\n")
}

/// The names of values, as an enumeration has them.
fn labels(field: &ClassField) -> String {
    let value = |bits: u64| match field.of {
        FieldType::Number { size, kind: NumberKind::Signed } => integer::signed(bits, size).to_string(),
        _ => bits.to_string(),
    };
    let labels = field.labels.iter().map(|(bits, name)| format!("{} = {}", StringLiteral(name), value(*bits)));
    labels.collect::<Vec<_>>().join(", ")
}

fn number_type(size: u8, kind: NumberKind) -> String {
    let bits = u32::from(size) * 8;
    match kind {
        NumberKind::Signed => format!("int{bits}_t"),
        NumberKind::Unsigned | NumberKind::Unicode => format!("uint{bits}_t"),
        NumberKind::Float if bits >= 32 => format!("float{bits}_t"),
        NumberKind::Float | NumberKind::Pointer => format!("hex{bits}_t"),
    }
}
