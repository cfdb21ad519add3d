//! Recordings that programs write themselves, while nobody watches them (`SIMPLE_MARKERS_RECORD`).
//!
//! The [`Metadata`] says what the events mean, each other file has the packets of a thread. [`convert`]
//! makes the packets of a recording of `smark` of them, so whatever reads these reads both.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use simple_markers_record::args;
use simple_markers_record::buffer::event::{self, Events, MAX_TEXT};
use simple_markers_record::buffer::packet::{self, Header};
use simple_markers_record::buffer::{Layout as Words, MAX_ID};
use simple_markers_record::printf::{Conversion, Count, Piece, parse};
use simple_markers_resolver::address::FileOffset;
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::resolve::names_of;
use simple_markers_resolver::types::{Language, Member, Sequence, SequenceKind, Shape, Type};

use super::event::{MAX_CHUNKS, cpu, write};
use crate::Hit;
use crate::ctf::{Description, Writer};
use crate::ftrace::hit_record;
use crate::plan::{
    ImageFile, Input, Plan, PlannedArgument, PlannedImage, PlannedMarker, PlannedSite, Reading, RecordedTarget,
    RecordedValue, RecorderProbe, ShownType, Source, TextLimit,
};
use crate::record::{FieldKind, Layout, Record};

/// The `tracer_name` of these recordings.
const TRACER: &str = "simple-markers";

/// The size of the packets that are made.
const PACKET: usize = 256 << 10;

/// Why a recording cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// Another tracer made it.
    #[error("the recording of another tracer")]
    Tracer,
    /// The clock is missing, or malformed.
    #[error("the clock of the recording is malformed")]
    Clock,
    /// What is said of a probe is missing, or contradicts itself.
    #[error("`{0}` is missing or malformed")]
    Probe(String),
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("offset {offset:#x}: {what}")]
pub struct Damage {
    /// The offset in the file in bytes.
    pub offset: u64,
    /// What is wrong there.
    pub what: DamageKind,
}

/// What is wrong with a file of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageKind {
    /// No packet starts there, or its sizes are impossible.
    #[error("no packet is here")]
    Packet,
    /// What follows is no record.
    #[error("the packet ends in an event")]
    Record,
    /// The metadata has no such probe, or one with other arguments.
    #[error("the packet has an event that is not of its probe")]
    Event,
}

/// What the events of a recording mean.
#[derive(Clone, Debug)]
pub struct Metadata {
    rate: u64,
    /// The time in ns since the start of 1970 at which the clock was 0.
    clock_offset: u64,
    plan: Plan,
    layouts: Vec<Layout>,
    /// The site of each probe by its number.
    sites: BTreeMap<u16, usize>,
}

impl Metadata {
    /// Reads the file `metadata`, as the recorder of a program writes it: a value in each line.
    ///
    /// # Errors
    ///
    /// The recorder did not write it.
    pub fn parse(text: &str) -> Result<Self, MetadataError> {
        let (mut values, mut names, mut block, mut name) = (BTreeMap::new(), BTreeMap::new(), "", "");
        for line in text.lines() {
            if let Some(start) = line.strip_suffix(" {").filter(|start| !start.starts_with('\t')) {
                block = start;
            }
            let Some((key, value)) = line.trim().strip_suffix(';').and_then(|line| line.split_once(" = ")) else {
                continue;
            };
            match (block, key) {
                ("event", "name") => name = value,
                ("event", "id") => {
                    let id = value.parse().ok().filter(|id| (1..=MAX_ID).contains(id));
                    names.insert(id.ok_or_else(|| MetadataError::Probe(format!("id = {value}")))?, name);
                }
                ("env" | "clock", _) => _ = values.insert((block, key), value),
                _ => {}
            }
        }
        let text = |key: &str| values.get(&("env", key)).and_then(|value| unquoted(value));
        if text("tracer_name").as_deref() != Some(TRACER) {
            return Err(MetadataError::Tracer);
        }
        let number = |key| values.get(&("clock", key)).and_then(|value| value.parse::<u64>().ok());
        let clock = (|| Some((number("freq").filter(|rate| *rate > 0)?, number("offset_s")?, number("offset")?)))();
        let (rate, seconds, rest) = clock.ok_or(MetadataError::Clock)?;
        let clock_offset = seconds.saturating_mul(1_000_000_000).saturating_add(ns(rest, rate));
        let image = PlannedImage {
            path: String::new(),
            file: ImageFile::default(),
            module: Arc::from(""),
            build_id: None,
            thread_local_size: None,
            platform: None,
        };
        let mut plan = Plan { images: vec![image], ..Plan::default() };
        let (mut layouts, mut sites) = (Vec::new(), BTreeMap::new());
        for (id, name) in names {
            let failed = |key: &str| MetadataError::Probe(format!("{key}_{id}"));
            let of = |key: &str| text(&format!("{key}_{id}")).ok_or_else(|| failed(key));
            let line = values.get(&("env", &*format!("line_{id}"))).and_then(|line| line.parse().ok());
            let marker = PlannedMarker {
                image: 0,
                name: unquoted(name).ok_or_else(|| failed("name"))?.into(),
                file: of("file")?.into(),
                line: line.ok_or_else(|| failed("line"))?,
                format: of("format")?.into(),
                sites: 1,
                task_point: None,
                event: None,
            };
            let site = site(plan.markers.len(), &marker.format, &of("arguments")?, &of("types")?);
            let site = site.ok_or_else(|| failed("types"))?;
            layouts.push(Layout::new(site.inputs.iter().map(Input::kind)));
            sites.insert(id, plan.sites.len());
            plan.markers.push(marker);
            plan.sites.push(site);
        }
        Ok(Self { rate, clock_offset, plan, layouts, sites })
    }

    /// The event of a thread as a hit, whose record goes to `record`. `None` if there is no such probe, or it
    /// has other arguments.
    fn hit<'h>(&'h self, thread: &ThreadPackets<'_>, count: u64, record: &'h mut Vec<u8>) -> Option<Hit<'h>> {
        let (packet, event) = thread.event.as_ref()?;
        let number = *self.sites.get(&event.id)?;
        let (planned, layout) = (self.plan.sites.get(number)?, self.layouts.get(number)?);
        let header = hit_record::RecordHeader {
            time: ns(count, self.rate),
            thread: packet.tid,
            process: packet.pid,
            site: u32::try_from(number).ok()?,
            cpu: cpu(event),
            // The recorder does not write it.
            name: b"",
        };
        let is_written = write(&header, event, planned.recorded.as_ref()?, layout, record);
        Hit::new(Record(record), &self.plan, &self.layouts).filter(|_| is_written)
    }
}

/// How many ns so many periods of a clock take; the most if they are more than fit.
fn ns(count: u64, rate: u64) -> u64 {
    u64::try_from(u128::from(count) * 1_000_000_000 / u128::from(rate.max(1))).unwrap_or(u64::MAX)
}

/// What is in a string literal; `None` if it is none.
fn unquoted(literal: &str) -> Option<String> {
    let (mut text, mut letters) = (String::new(), literal.strip_prefix('"')?.strip_suffix('"')?.chars());
    while let Some(letter) = letters.next() {
        text.push(if letter == '\\' { letters.next()? } else { letter });
    }
    Some(text)
}

/// The site of a probe. `None` if its arguments and their types contradict each other.
fn site(marker: usize, format: &str, arguments: &str, types: &str) -> Option<PlannedSite> {
    let texts: Vec<&str> = args::split(arguments.as_bytes()).map(std::str::from_utf8).collect::<Result<_, _>>().ok()?;
    let types: Vec<&str> = types.split_terminator(' ').collect();
    let has_two_words: Vec<bool> = types.iter().map(|of| matches!(*of, "s" | "v")).collect();
    let words = Words::new(&has_two_words).filter(|_| texts.len() == types.len())?;
    let conversions = conversions(format);
    let names = names_of(format);
    let (mut inputs, mut planned, mut limits, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, (text, of)) in texts.iter().zip(&types).enumerate() {
        let conversion = conversions.get(number).and_then(Option::as_ref);
        let letter = conversion.map_or('d', |conversion| conversion.specifier.letter());
        let kind = match *of {
            "s" => FieldKind::Bytes(MAX_TEXT as u16),
            "v" => FieldKind::Whole(MAX_CHUNKS),
            _ => FieldKind::Number,
        };
        inputs.push(Input::Recorded { argument: u16::try_from(number).ok()?, kind });
        let reading = match number_type(of, letter) {
            _ if *of == "s" => Reading::Text { field: number },
            _ if *of == "v" => Reading::Whole { field: number },
            Some((size, kind)) => Reading::Number { field: number, size, kind },
            None => return None,
        };
        let names = names.get(number).cloned().flatten();
        let is_value = *of == "v";
        values.push(is_value.then_some(RecordedValue::Bytes(BYTES)));
        let shown = is_value.then(|| Arc::new(bytes_type()));
        planned.push(PlannedArgument { names, shown, ..PlannedArgument::new(Arc::from(*text), Source::Read(reading)) });
        limits.push(conversion.filter(|_| *of == "s").and_then(|conversion| match conversion.precision? {
            Count::Digits(digits) => Some(TextLimit::Bytes(digits)),
            Count::Argument => Some(TextLimit::Argument(number.checked_sub(1)?)),
        }));
    }
    // It is not known how many copies there are, so no address is that of a hit.
    let recorded = Some(RecorderProbe { control: FileOffset(0), words, limits, values, copies: 0 });
    Some(PlannedSite { recorded, ..PlannedSite::without_code(0, marker, inputs, planned) })
}

/// The value of a type that is not known: its bytes, as a sequence of numbers.
const BYTES: RecordedTarget = RecordedTarget { size: 16, pointer: 0, count: Some((8, 8, 1)), capacity: None };

/// The type of that value.
fn bytes_type() -> ShownType {
    let plain = |name: &str, size: u64, shape| Arc::new(Type { name: name.into(), size: Some(size), shape });
    let byte = plain("u8", 1, Shape::Integer { signed: false });
    let member = |of, bit_offset| Member { name: "".into(), bit_offset, bit_size: None, of };
    let data = member(plain("*const u8", 8, Shape::Pointer { to: Some(Arc::clone(&byte)) }), 0);
    let length = member(plain("usize", 8, Shape::Integer { signed: false }), 64);
    let (kind, element) = (SequenceKind::Elements, Some(byte));
    let sequence = Sequence { kind, data, offset: 0, length, element, capacity: None };
    let of = Type { name: "bytes".into(), size: Some(16), shape: Shape::Sequence(Arc::new(sequence)) };
    let (gone, unread) = (Vec::new(), Vec::new());
    ShownType { of: Arc::new(of), language: Language::Rust, form: "".into(), gone, unread }
}

/// The conversion of each argument; `None` for the argument of a `*`.
fn conversions(format: &str) -> Vec<Option<Conversion>> {
    let mut conversions = Vec::new();
    for piece in parse(format.as_bytes()).map_while(Result::ok) {
        if let Piece::Conversion(conversion) = piece {
            conversions.extend(std::iter::repeat_n(None, conversion.stars()));
            conversions.push(Some(conversion));
        }
    }
    conversions
}

/// The size and the kind of a number, by its type in a descriptor and the letter of its conversion. `None`
/// if it is the type of no number.
fn number_type(of: &str, letter: char) -> Option<(u8, NumberKind)> {
    let (digits, kind) = match (of.strip_prefix('-'), of.strip_suffix('f'), of.strip_suffix('p')) {
        (Some(size), ..) => (size, NumberKind::Signed),
        (_, Some(size), _) => (size, NumberKind::Float),
        (.., Some(size)) => (size, NumberKind::Pointer),
        // A `char` of Rust.
        _ if letter == 'c' && of == "4" => (of, NumberKind::Unicode),
        _ => (of, NumberKind::Unsigned),
    };
    Some((digits.parse().ok().filter(|size| (1..=8).contains(size))?, kind))
}

/// A recording as `smark` writes it.
#[derive(Clone, Debug)]
pub struct ConvertedRecording {
    /// What the events mean.
    pub description: Description,
    /// The packets.
    pub stream: Vec<u8>,
    /// What could not be read, with the number of the file. The packets before it are there.
    pub damages: Vec<(usize, Damage)>,
}

/// Makes a recording of those of all threads, each in a file of its own, in the order of their times.
#[must_use]
pub fn convert(metadata: &Metadata, files: &[&[u8]]) -> ConvertedRecording {
    let mut threads: Vec<ThreadPackets<'_>> = files.iter().map(|file| ThreadPackets::new(file)).collect();
    let (mut damages, mut next) = (Vec::new(), BinaryHeap::new());
    for (number, thread) in threads.iter_mut().enumerate() {
        match thread.advance() {
            Ok(count) => next.extend(count.map(|count| Reverse((count, number)))),
            Err(damage) => damages.push((number, damage)),
        }
    }
    let description = Description {
        clock_offset: metadata.clock_offset,
        start: next.peek().map_or(0, |Reverse((count, _))| ns(*count, metadata.rate)),
        ..Description::default()
    };
    let mut writer = Writer::new(description, &metadata.plan, PACKET);
    let (mut stream, mut record) = (Vec::new(), Vec::new());
    while let Some(Reverse((count, number))) = next.pop() {
        let Some(thread) = threads.get_mut(number) else { continue };
        let advanced = match metadata.hit(thread, count, &mut record) {
            Some(hit) => {
                if let Some(packet) = writer.write(&hit) {
                    stream.extend_from_slice(&packet.bytes);
                    writer.reuse(packet);
                }
                thread.advance()
            }
            None => Err(thread.damage(thread.packet, DamageKind::Event)),
        };
        match advanced {
            Ok(count) => next.extend(count.map(|count| Reverse((count, number)))),
            Err(damage) => damages.push((number, damage)),
        }
    }
    writer.set_lost(threads.iter().map(|thread| thread.lost).fold(0, u64::saturating_add));
    stream.extend(writer.finish().into_iter().flat_map(|packet| packet.bytes));
    ConvertedRecording { description: writer.description().clone(), stream, damages }
}

/// The packets of a thread, one after the other.
struct ThreadPackets<'a> {
    file: &'a [u8],
    /// Where the packet starts, and the next one.
    packet: usize,
    next: usize,
    header: Option<Header>,
    events: Events<'a>,
    /// The event, with the header of its packet.
    event: Option<(Header, event::Event<'a>)>,
    /// How many hits the thread lost.
    lost: u64,
}

impl<'a> ThreadPackets<'a> {
    fn new(file: &'a [u8]) -> Self {
        Self { file, packet: 0, next: 0, header: None, events: Events::new(&[]), event: None, lost: 0 }
    }

    /// Goes on to the next event, and returns the count of the clock; `None` at the end. After an error
    /// there are no more events.
    fn advance(&mut self) -> Result<Option<u64>, Damage> {
        loop {
            self.event = None;
            match (self.events.next(), self.header) {
                (Some(Ok(event)), Some(header)) => {
                    self.event = Some((header, event));
                    return Ok(Some(event.time));
                }
                (Some(_), _) => return Err(self.damage(self.packet, DamageKind::Record)),
                (None, _) if self.next >= self.file.len() => return Ok(None),
                (None, _) => self.enter().ok_or_else(|| self.damage(self.next, DamageKind::Packet))?,
            }
        }
    }

    /// Enters the next packet. `None` if there is none.
    fn enter(&mut self) -> Option<()> {
        let rest = self.file.get(self.next..)?;
        let header = Header::read(rest)?;
        let content = usize::try_from(header.content()?).ok()?;
        let size = usize::try_from(header.packet_size / 8).ok()?;
        self.events = Events::new(rest.get(packet::HEADER..content)?);
        self.packet = self.next;
        self.next = self.next.checked_add(size)?;
        self.lost = header.discarded;
        self.header = Some(header);
        Some(())
    }

    fn damage(&self, offset: usize, what: DamageKind) -> Damage {
        Damage { offset: offset as u64, what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctf::Events;
    use crate::text::Format;

    const METADATA: &str = r#"/* CTF 1.8 */
env {
	tracer_name = "simple-markers";
	format_1 = "%u \"%.*s\" %c";
	arguments_1 = "id, most, name, self.c";
	types_1 = "4 -4 s 4";
	file_1 = "a\\b.rs";
	line_1 = 7;
	format_10 = "";
	arguments_10 = "";
	types_10 = "";
	file_10 = "c.rs";
	line_10 = 8;
};

clock {
	freq = 2000000000;
	offset_s = 3;
	offset = 1000;
};

event {
	name = "a:b";
	id = 1;
	fields := struct {
	};
};

event {
	name = "a:c";
	id = 10;
};
"#;

    /// A packet of some records.
    fn packet(tid: u32, lost: u64, records: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; packet::HEADER];
        let size = (packet::HEADER + records.len()) as u64 * 8;
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &packet::MAGIC.to_le_bytes());
        put(packet::CONTENT_SIZE, &size.to_le_bytes());
        put(packet::PACKET_SIZE, &size.to_le_bytes());
        put(packet::DISCARDED, &lost.to_le_bytes());
        put(packet::PID, &5u32.to_le_bytes());
        put(packet::TID, &tid.to_le_bytes());
        bytes.extend(records);
        bytes
    }

    fn record(time: u64, id: u16, arguments: &[u8]) -> Vec<u8> {
        let words = (event::HEADER + arguments.len()) as u16 / 8;
        let start = [&time.to_le_bytes()[..], &id.to_le_bytes(), &words.to_le_bytes(), &1u32.to_le_bytes()];
        [&start.concat(), arguments].concat()
    }

    fn arguments(id: u64, most: i64) -> Vec<u8> {
        let name = [&8u32.to_le_bytes()[..], &5u32.to_le_bytes(), b"first\0\0\0"].concat();
        [&id.to_le_bytes()[..], &most.to_le_bytes(), &name, &u64::from('ä').to_le_bytes()].concat()
    }

    /// The lines of the hits, with the time and the thread before each; and what is damaged.
    fn lines(files: &[&[u8]]) -> (Vec<String>, u64, Vec<(usize, Damage)>) {
        let metadata = Metadata::parse(METADATA).expect("metadata");
        let ConvertedRecording { description, stream, damages } = convert(&metadata, files);
        assert_eq!((description.clock_offset, description.sites[0].known_address()), (3_000_000_500, None));
        let plan = description.plan();
        let mut events = Events::new(&description, &plan, &stream);
        let mut lines = Vec::new();
        while let Some(event) = events.next_event().expect("an event") {
            let mut line = format!("{} {}/{} {} ", event.time, event.process, event.thread, event.marker.name);
            Format::new(&event.marker.format).write(&event, &mut line);
            lines.push(line);
        }
        (lines, events.lost(), damages)
    }

    #[test]
    fn threads_are_one_recording() {
        let one = [
            packet(6, 0, &[record(10, 1, &arguments(1, 2)), record(30, 10, &[])].concat()),
            packet(6, 2, &record(50, 1, &arguments(1 << 32 | 2, -1))),
        ]
        .concat();
        let two = packet(7, 3, &record(40, 10, &[]));
        let expected = ["5 5/6 a:b 1 \"fi\" ä", "15 5/6 a:c ", "20 5/7 a:c ", "25 5/6 a:b 2 \"first\" ä"];
        assert_eq!(lines(&[&one, &two]), (expected.map(str::to_owned).to_vec(), 5, vec![]));
        assert_eq!(lines(&[]), (vec![], 0, vec![]));
    }

    #[test]
    fn what_precedes_damage_is_read() {
        let good = packet(6, 0, &record(10, 10, &[]));
        let size = good.len() as u64;
        for (bad, offset, what) in [
            (vec![1], size, DamageKind::Packet),
            (good[..20].to_vec(), size, DamageKind::Packet),
            (packet(6, 0, &record(20, 3, &[])), size, DamageKind::Event),
            (packet(6, 0, &record(20, 10, &[0; 8])), size, DamageKind::Event),
            (packet(6, 0, &[0; 8]), size, DamageKind::Record),
        ] {
            let file = [good.clone(), bad].concat();
            let damage = Damage { offset, what };
            assert_eq!(lines(&[&[], &file]), (vec!["5 5/6 a:c ".to_owned()], 0, vec![(1, damage)]));
        }
    }

    #[test]
    fn metadata_of_others_is_refused() {
        let error = |from: &str, to: &str| {
            assert!(METADATA.contains(from), "{from}");
            Metadata::parse(&METADATA.replace(from, to)).expect_err(from)
        };
        assert_eq!(error("simple-markers", "lttng"), MetadataError::Tracer);
        assert_eq!(error("freq = 2000000000", "freq = 0"), MetadataError::Clock);
        assert_eq!(error("id = 10", "id = 0"), MetadataError::Probe("id = 0".into()));
        for (from, to, what) in [
            ("\ttypes_1 = ", "\ttypes_2 = ", "types_1"),
            ("4 -4 s 4", "4 -4 s", "types_1"),
            ("4 -4 s 4", "4 -4 s 9", "types_1"),
            ("4 -4 s 4", "s s s s s s s", "types_1"),
            ("line_10 = 8", "line_10 = x", "line_10"),
            ("\"c.rs\"", "c.rs", "file_10"),
        ] {
            assert_eq!(error(from, to), MetadataError::Probe(what.into()), "{to}");
        }
    }
}
