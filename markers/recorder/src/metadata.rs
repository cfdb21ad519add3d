//! The metadata of a recording in the Trace Stream Description Language (CTF 1.8, C), for what
//! `simple_markers_record::buffer` describes.

use core::ffi::CStr;
use core::fmt::{self, Write};

use simple_markers_record::args;
use simple_markers_record::buffer::{CLOCK_COUNTER, packet};
use simple_markers_record::identifier::Identifier;
use simple_markers_record::tsdl::{self, StringLiteral};

use crate::clock::Moment;
use crate::probe::{Probe, probes};
use crate::sys::{self, Errno, File};
use crate::text::Text;

mod labels;

/// The most arguments of a probe.
const MOST: usize = 12;

/// What the recording is about.
#[derive(Clone, Copy)]
pub(crate) struct Recording {
    pub(crate) clock: u32,
    /// Hz of the clock.
    pub(crate) rate: u64,
    /// A moment of the recording.
    pub(crate) moment: Moment,
}

/// Types of the packets and records. What a field's alignment skips is not shown: whether a packet is
/// closed, and the sizes of records.
const TYPES: &str = r"
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char8_t;
typealias integer { size = 8; align = 8; signed = false; base = 16; } := byte_t;
typealias integer { size = 31; align = 32; signed = false; } := size_t;
typealias integer { size = 1; align = 1; signed = false; } := bit_t;
typealias integer { size = 16; align = 16; signed = false; } := uint16_t;
typealias integer { size = 32; align = 32; signed = false; } := uint32_t;
typealias integer { size = 64; align = 64; signed = false; } := uint64_t;
typealias integer { size = 64; align = 64; signed = true; } := int64_t;
typealias integer { size = 64; align = 64; signed = false; base = 16; } := hex64_t;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 64; } := float64_t;
typealias integer { size = 64; align = 64; signed = false; map = clock.probes.value; } := time_t;
typealias integer { size = 64; align = 128; signed = false; map = clock.probes.value; } := begin_t;

stream {
	id = 0;
	packet.context := struct {
		begin_t timestamp_begin;
		uint64_t content_size;
		uint64_t packet_size;
		uint64_t events_discarded;
		uint64_t packet_seq_num;
		uint32_t _pid;
		uint32_t _tid;
	};
	event.header := struct {
		time_t timestamp;
		uint16_t id;
	};
	event.context := struct {
		uint32_t _cpu;
	};
};
";

/// Writes the metadata to a file, and then gives the file its name.
pub(crate) fn write(hidden: &CStr, name: &CStr, recording: &Recording) -> Result<(), Errno> {
    let file = File::open(hidden, libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY)?;
    let mut out = Out { file, room: Text::new(), offset: 0, error: 0 };
    let written = metadata(recording, &mut out).and_then(|()| out.flush());
    if written.is_err() {
        sys::remove(hidden);
        return Err(if out.error == 0 { libc::EIO } else { out.error });
    }
    sys::rename(hidden, name)
}

fn metadata(recording: &Recording, out: &mut impl Write) -> fmt::Result {
    let Recording { clock, rate, moment } = *recording;
    let is_counter = clock == CLOCK_COUNTER;
    let value = if is_counter { moment.counter } else { moment.monotonic };
    let since_1970 = u128::from(moment.real) * u128::from(rate) / 1_000_000_000;
    let offset = since_1970.saturating_sub(value.into());
    let description = if is_counter { "counter of the processor" } else { "CLOCK_MONOTONIC" };
    write!(
        out,
        r#"/* CTF 1.8 */

typealias integer {{ size = 32; align = 8; signed = false; }} := word_t;

trace {{
	major = 1;
	minor = 8;
	byte_order = le;
	packet.header := struct {{
		word_t magic; /* {:#x} */
		word_t stream_id;
	}};
}};

env {{
	tracer_name = "simple-markers";
	tracer_version = "{}";
"#,
        packet::MAGIC,
        env!("CARGO_PKG_VERSION"),
    )?;
    for probe in probes() {
        let number = probe.number();
        writeln!(out, "\tformat_{number} = {};", StringLiteral(probe.format()))?;
        writeln!(out, "\targuments_{number} = {};", StringLiteral(probe.arguments()))?;
        writeln!(out, "\ttypes_{number} = {};", StringLiteral(probe.types()))?;
        writeln!(out, "\tfile_{number} = {};\n\tline_{number} = {};", StringLiteral(probe.file()), probe.line())?;
    }
    write!(
        out,
        r#"}};

clock {{
	name = "probes";
	description = "{description}";
	freq = {rate};
	offset_s = {};
	offset = {};
}};
{TYPES}"#,
        offset / u128::from(rate),
        offset % u128::from(rate),
    )?;
    probes().try_for_each(|probe| event(&probe, out))
}

fn event(probe: &Probe, out: &mut impl Write) -> fmt::Result {
    let (name, number) = (StringLiteral(probe.name()), probe.number());
    write!(out, "\nevent {{\n\tname = {name};\n\tid = {number};\n\tstream_id = 0;\n\tfields := struct {{\n")?;
    let mut arguments = args::split(probe.arguments().as_bytes());
    let mut types = probe.types().split(' ');
    let mut names = [const { Text::<80>::new() }; MOST];
    for argument in 0..(probe.layout().arguments() as usize).min(MOST) {
        let written = core::str::from_utf8(arguments.next().unwrap_or_default()).unwrap_or_default();
        let Some((name, used)) = names.get_mut(..=argument).and_then(<[_]>::split_last_mut) else { break };
        choose(name, &Identifier::new(written), used)?;
        let name = core::str::from_utf8(name.bytes()).unwrap_or_default();
        if probe.layout().has_two_words(argument as u32) {
            if types.next() == Some("v") {
                whole_value(name, out)?;
                continue;
            }
            writeln!(out, "\t\tuint32_t _{name}__stored;\n\t\tuint32_t _{name}__length;")?;
            writeln!(out, "\t\tchar8_t _{name}[_{name}__stored];")?;
            continue;
        }
        let written = types.next().unwrap_or_default();
        let (kind, of_integer) = match written {
            kind if kind.ends_with('f') => ("float64_t", None),
            kind if kind.ends_with('p') => ("hex64_t", None),
            kind if kind.starts_with('-') => ("int64_t", Some(u64::MAX)),
            "4" => ("uint64_t", Some(u64::from(u32::MAX))),
            _ => ("uint64_t", Some(u64::MAX)),
        };
        let labels = of_integer.and_then(|all| labels::labels(probe.format(), argument, all, kind == "int64_t"));
        tsdl::number(out, name, kind, labels)?;
    }
    out.write_str("\t};\n};\n")
}

/// The fields of a whole value: `stored` bytes of it, of `size`.
fn whole_value(name: &str, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "\t\tuint32_t _{name}__stored;\n\t\tsize_t _{name}__size;\n\t\tbit_t _{name}__behind;")?;
    writeln!(out, "\t\tbyte_t _{name}[_{name}__stored];")
}

/// The name of an argument, with a number if an earlier argument has it.
fn choose(name: &mut Text<80>, identifier: &Identifier, used: &[Text<80>]) -> fmt::Result {
    name.write_str(identifier.as_str())?;
    let mut number = 2;
    while used.iter().any(|used| used.bytes() == name.bytes()) {
        name.cut(0);
        write!(name, "{}_{number}", identifier.as_str())?;
        number += 1;
    }
    Ok(())
}

/// A file that is written from its start.
struct Out {
    file: File,
    room: Text<4096>,
    offset: u64,
    error: Errno,
}

impl Out {
    fn flush(&mut self) -> fmt::Result {
        if let Err(error) = self.file.write_at(self.room.bytes(), self.offset) {
            self.error = error;
            return Err(fmt::Error);
        }
        self.offset += self.room.len() as u64;
        self.room.cut(0);
        Ok(())
    }
}

impl Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.as_bytes().chunks(1024) {
            if self.room.push(part).is_err() {
                self.flush()?;
                self.room.push(part).map_err(|_| fmt::Error)?;
            }
        }
        Ok(())
    }
}
