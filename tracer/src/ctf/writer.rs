//! Makes packets of hits. Numbers are copied from the record; nothing becomes text.

use std::collections::BTreeSet;

use super::description::{Description, FieldType, always_doubtful};
use super::packet::{FieldState, HEADER, Header};
use super::structured::StructuredValues;
use crate::Hit;
use crate::event::KnownNames;
use crate::filter::Fields;
use crate::frames::{StackNumbers, StackTable};
use crate::function_names::FunctionNames;
use crate::plan::{Plan, Reading, Source};
use crate::record::Record;
use crate::value::{Missing, Value};

/// A packet that is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// How many events it has.
    pub events: u64,
    /// The time of its first event in ns.
    pub begin: u64,
}

/// Writes hits to packets.
#[derive(Clone, Debug)]
pub struct Writer {
    description: Description,
    /// What the events of each site start with; `None` for a site without a class.
    sites: Vec<Option<Start>>,
    packet: Packet,
    /// Memory for the next packet.
    spare: Vec<u8>,
    /// The time of the last event.
    end: u64,
    /// The size of a packet that is not exceeded, unless one event does.
    most: usize,
    lost: u64,
    /// Hits at sites without a class.
    unrecorded: u64,
    /// How many hits the last packet says were lost.
    told: u64,
    /// The shapes of whole values; none in a recording, which has their bytes.
    values: StructuredValues,
}

#[derive(Clone, Debug)]
struct Start {
    /// The number of the plain event.
    number: u16,
    /// Whether events of the plain form were written, and of the full one.
    has_forms: [bool; 2],
    site: Option<u64>,
    /// How a record that was read completely becomes the fields of the plain event; `None` before
    /// the first hit.
    steps: Option<Steps>,
}

/// What is appended for each argument; `None` if it depends on the hit.
type Steps = Option<Box<[AppendStep]>>;

#[derive(Clone, Copy, Debug)]
enum AppendStep {
    /// The first bytes of a field of the record.
    Copy { from: u16, size: u8 },
    /// A number that is always the same.
    Constant { bits: u64, size: u8 },
}

impl Writer {
    /// A writer of packets with at most `most` bytes. `description` has the identity and the clock.
    #[must_use]
    pub fn new(description: Description, plan: &Plan, most: usize) -> Self {
        let packet = Packet::default();
        let spare = Vec::new();
        let values = StructuredValues::default();
        let (sites, end, lost, unrecorded, told) = (Vec::new(), 0, 0, 0, 0);
        let mut writer = Self { description, sites, packet, spare, end, most, lost, unrecorded, told, values };
        writer.add(plan);
        writer
    }

    /// The same, with structures in place of whole values.
    #[must_use]
    pub fn with_values(self, values: StructuredValues) -> Self {
        Self { values, ..self }
    }

    /// What the events mean. It must be written before the packets with them.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Says which names of the kernel the texts of its events use.
    pub fn set_kernel(&mut self, known: KnownNames) {
        self.description.kernel = known;
    }

    /// Says which functions values of a hit have. Returns whether the description is another.
    pub fn add_functions(&mut self, hit: &Hit<'_>, names: &dyn FunctionNames) -> bool {
        self.description.functions.add(hit, names)
    }

    /// Adds the sites that were added to the plan. Returns whether there were any, and so whether
    /// the description is another.
    pub fn add(&mut self, plan: &Plan) -> bool {
        if self.sites.len() >= plan.sites.len() && self.description.images.len() >= plan.images.len() {
            return false;
        }
        self.description.add(plan);
        let Description { sites, classes, .. } = &self.description;
        self.sites.extend(sites.iter().skip(self.sites.len()).map(|site| {
            let number = site.class?;
            let class = classes.get(number)?;
            let site = class.has_site.then_some(site.address.0);
            Some(Start { number: u16::try_from(number * 2).ok()?, has_forms: [false; 2], site, steps: None })
        }));
        true
    }

    /// The numbers of the events that were written.
    #[must_use]
    pub fn numbers(&self) -> BTreeSet<u16> {
        let forms = self.sites.iter().flatten().flat_map(|at| [at.number, at.number + 1].into_iter().zip(at.has_forms));
        forms.filter_map(|(number, is_there)| is_there.then_some(number)).collect()
    }

    /// The shapes of whole values.
    #[must_use]
    pub fn values(&self) -> &StructuredValues {
        &self.values
    }

    /// Says how many hits were lost since the start of the recording.
    pub fn set_lost(&mut self, lost: u64) {
        self.lost = lost;
    }

    /// How many hits were not recorded because there are too many kinds of events.
    #[must_use]
    pub fn unrecorded(&self) -> u64 {
        self.unrecorded
    }

    /// The time of the first event of the packet that is not complete; `None` if it has none.
    #[must_use]
    pub fn begin(&self) -> Option<u64> {
        (self.packet.events > 0).then_some(self.packet.begin)
    }

    /// The frames of the stacks of events; `None` if the events have no stacks.
    pub fn stacks(&mut self) -> Option<&mut StackTable> {
        self.description.stacks.as_mut()
    }

    /// Adds a hit. Returns the packet before it if the hit does not fit into it.
    pub fn write(&mut self, hit: &Hit<'_>) -> Option<Packet> {
        match self.description.stacks {
            Some(_) => self.write_with(hit, &hit.recorded_stacks().numbers()),
            None => self.write_with(hit, &StackNumbers::default()),
        }
    }

    /// The same with the stacks of a program that runs.
    pub fn write_with(&mut self, hit: &Hit<'_>, stacks: &StackNumbers) -> Option<Packet> {
        if self.packet.bytes.is_empty() {
            self.open();
        }
        let Some(Some(at)) = self.sites.get_mut(hit.number) else {
            self.unrecorded += 1;
            return None;
        };
        let steps = at.steps.get_or_insert_with(|| steps(hit));
        let from = self.packet.bytes.len();
        let bytes = &mut self.packet.bytes;
        let stacks = self.description.stacks.as_ref().map(|table| (table, stacks));
        match (steps, hit.record()) {
            (Some(steps), Some(Fields { record, .. })) if record.is_complete() => {
                start(hit, stacks, at.number, at.site, bytes);
                steps.iter().for_each(|step| step.run(record, bytes));
                at.has_forms[0] = true;
            }
            _ => {
                if plain(hit, stacks, at, &self.values, bytes) {
                    at.has_forms[0] = true;
                } else {
                    bytes.truncate(from);
                    full(hit, stacks, at, &self.values, bytes);
                    at.has_forms[1] = true;
                }
            }
        }
        let complete = if self.packet.bytes.len() > self.most && self.packet.events > 0 {
            let event = self.packet.bytes.split_off(from);
            let complete = self.finish();
            self.open();
            self.packet.bytes.extend_from_slice(&event);
            complete
        } else {
            None
        };
        if self.packet.events == 0 {
            self.packet.begin = hit.time;
        }
        self.packet.events += 1;
        self.end = hit.time;
        complete
    }

    /// Starts a packet.
    fn open(&mut self) {
        let bytes = &mut self.packet.bytes;
        *bytes = std::mem::take(&mut self.spare);
        bytes.clear();
        // An event is added before it is known whether it fits.
        bytes.reserve(self.most.max(HEADER).saturating_add(EVENT));
        bytes.resize(HEADER, 0);
    }

    /// Gives the memory of a packet back, for one of the next packets.
    pub fn reuse(&mut self, packet: Packet) {
        self.spare = packet.bytes;
    }

    /// Ends the packet. `None` if it has no events, and no more hits were lost than the last packet
    /// says.
    pub fn finish(&mut self) -> Option<Packet> {
        let discarded = self.lost.saturating_add(self.unrecorded);
        if self.packet.events == 0 && discarded == self.told {
            return None;
        }
        self.told = discarded;
        let mut packet = std::mem::take(&mut self.packet);
        if packet.events == 0 {
            packet.bytes.resize(HEADER, 0);
            packet.begin = self.end;
        }
        let size = packet.bytes.len() as u64;
        let uuid = self.description.uuid;
        let header = Header { uuid, begin: packet.begin, end: self.end, content: size, size, discarded };
        if let Some(bytes) = packet.bytes.first_chunk_mut() {
            *bytes = header.to_bytes();
        }
        Some(packet)
    }
}

/// The size of an event that a packet has room for in any case.
const EVENT: usize = 4 << 10;

/// The number of the event, the time, the CPU, the process and the thread.
const FIXED: usize = 20;

/// The stacks of a hit, and the table with their frames; `None` if events have no stacks.
type HitStacks<'a> = Option<(&'a StackTable, &'a StackNumbers)>;

/// Appends what all events have.
fn start(hit: &Hit<'_>, stacks: HitStacks<'_>, number: u16, site: Option<u64>, out: &mut Vec<u8>) {
    let mut fixed = [0; FIXED];
    fixed[0..2].copy_from_slice(&number.to_le_bytes());
    fixed[2..10].copy_from_slice(&hit.time.to_le_bytes());
    fixed[10..12].copy_from_slice(&u16::try_from(hit.cpu).unwrap_or(u16::MAX).to_le_bytes());
    fixed[12..16].copy_from_slice(&hit.process.to_le_bytes());
    fixed[16..20].copy_from_slice(&hit.thread.to_le_bytes());
    out.extend_from_slice(&fixed);
    out.extend_from_slice(hit.name);
    out.push(0);
    if let Some((table, stacks)) = stacks {
        table.write(stacks, out);
    }
    if let Some(site) = site {
        out.extend_from_slice(&site.to_le_bytes());
    }
}

impl Start {
    /// The number of the class.
    fn class(&self) -> usize {
        usize::from(self.number / 2)
    }
}

impl AppendStep {
    fn run(self, record: Record<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Copy { from, size } => {
                let field = record.0.get(usize::from(from)..).and_then(<[u8]>::first_chunk);
                number(field.map_or(0, |field| u64::from_le_bytes(*field)), size, out);
            }
            Self::Constant { bits, size } => number(bits, size, out),
        }
    }
}

/// The steps for the hits of a site.
fn steps(hit: &Hit<'_>) -> Steps {
    let layout = hit.record()?.layout;
    let read = |reading: &Reading| match reading {
        Reading::Constant { bits, size, .. } => Some(Some(AppendStep::Constant { bits: *bits, size: *size })),
        Reading::Number { field, size, .. } => {
            let place = layout.fields().get(*field);
            Some(place.map(|(from, _)| AppendStep::Copy { from: *from, size: *size }))
        }
        Reading::Text { .. } | Reading::Array { .. } | Reading::Whole { .. } => Some(None),
    };
    let step = |source: &Source| match source {
        Source::Unread(_) => None,
        Source::Read(reading) => read(reading),
        Source::Either(..) => Some(None),
        // The description marks it.
        Source::Doubtful(doubtful) if doubtful.before.is_none() => read(&doubtful.here),
        Source::Doubtful(_) => Some(None),
    };
    hit.site.arguments.iter().filter_map(|argument| step(&argument.source)).collect()
}

/// Appends the plain form of an event. Returns `false` if there is something that it cannot say.
fn plain(hit: &Hit<'_>, stacks: HitStacks<'_>, at: &Start, values: &StructuredValues, out: &mut Vec<u8>) -> bool {
    start(hit, stacks, at.number, at.site, out);
    for (position, (argument, value)) in hit.fields().enumerate() {
        let value = described(&argument.source, value);
        if let (Some(shape), Ok(value)) = (values.shape(at.class(), position), &value) {
            if !shape.write(argument, value, out) {
                return false;
            }
            continue;
        }
        match value {
            Ok(Value::Number { bits, size, .. }) => number(bits, size, out),
            // For a text of no bytes babeltrace2 2.0 shows one of an earlier event.
            Ok(Value::Text { bytes, is_cut: false }) if !bytes.is_empty() && !bytes.contains(&0) => {
                out.extend_from_slice(bytes);
                out.push(0);
            }
            Ok(Value::Array { bytes, size, is_cut: false, .. }) => match argument.source.field_type() {
                Some(FieldType::Array { count, .. }) => array(bytes, size, count, out),
                _ => return false,
            },
            Ok(Value::Whole(chunks)) => array(chunks, 1, None, out),
            Err(Missing::Unread(_)) => {}
            Ok(Value::Text { .. } | Value::Null | Value::Array { .. })
            | Err(Missing::Doubtful(_) | Missing::Unreadable { .. } | Missing::EntryUnseen) => return false,
        }
    }
    true
}

/// The value as the fields have it. The description says of an argument that it is always doubtful.
fn described<'r>(source: &Source, value: Result<Value<'r>, Missing<'r>>) -> Result<Value<'r>, Missing<'r>> {
    match value {
        Err(Missing::Doubtful(Some(value))) if always_doubtful(source) => Ok(value),
        value => value,
    }
}

/// Appends the low bytes of a number.
fn number(bits: u64, size: u8, out: &mut Vec<u8>) {
    let end = out.len() + usize::from(size);
    out.extend_from_slice(&bits.to_le_bytes());
    out.truncate(end);
}

/// Appends an array of `count` numbers, or with its length if that differs from event to event.
fn array(bytes: &[u8], size: u8, count: Option<u16>, out: &mut Vec<u8>) {
    let size = usize::from(size.max(1));
    let there = bytes.len() / size;
    let wanted = count.map_or(there, usize::from);
    if count.is_none() {
        out.extend_from_slice(&u32::try_from(wanted).unwrap_or(u32::MAX).to_le_bytes());
    }
    let end = out.len() + wanted * size;
    out.extend_from_slice(bytes.get(..there.min(wanted) * size).unwrap_or_default());
    out.resize(end, 0);
}

/// Appends the full form of an event.
fn full(hit: &Hit<'_>, stacks: HitStacks<'_>, at: &Start, values: &StructuredValues, out: &mut Vec<u8>) {
    start(hit, stacks, at.number + 1, at.site, out);
    for (position, (argument, value)) in hit.fields().enumerate() {
        let Some(of) = argument.source.field_type() else { continue };
        if let Some(shape) = values.shape(at.class(), position) {
            shape.write_with_state(argument, described(&argument.source, value), out);
            continue;
        }
        let (state, mut address, mut text, mut bits);
        (address, text, bits) = (0, [].as_slice(), 0);
        let mut set = |value| match value {
            Value::Number { bits: number, .. } => {
                bits = number;
                FieldState::Value
            }
            Value::Text { bytes, is_cut } => {
                text = bytes;
                match (is_cut, bytes) {
                    (true, _) => FieldState::Cut,
                    (false, []) => FieldState::Empty,
                    (false, _) => FieldState::Value,
                }
            }
            Value::Null => FieldState::Null,
            Value::Whole(chunks) => {
                text = chunks;
                FieldState::Value
            }
            Value::Array { bytes, is_cut, .. } => {
                text = bytes;
                if is_cut { FieldState::Cut } else { FieldState::Value }
            }
        };
        match described(&argument.source, value) {
            Ok(value) => state = set(value),
            Err(Missing::Doubtful(None)) => state = FieldState::Doubtful,
            Err(Missing::Doubtful(Some(value))) => {
                state = match set(value) {
                    FieldState::Null => FieldState::MaybeNull,
                    FieldState::Cut => FieldState::MaybeCut,
                    _ => FieldState::Maybe,
                };
            }
            Err(Missing::Unreadable { at }) => {
                state = FieldState::Unreadable;
                address = at.unwrap_or(0);
            }
            Err(Missing::EntryUnseen) => state = FieldState::EntryUnseen,
            Err(Missing::Unread(_)) => continue,
        }
        out.push(state as u8);
        match of {
            FieldType::Number { size, .. } => number(bits, size, out),
            FieldType::Array { size, count, .. } => array(text, size, count, out),
            FieldType::Whole => array(text, 1, None, out),
            FieldType::Text => {
                out.extend_from_slice(&u64::to_le_bytes(address));
                out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
                out.extend_from_slice(text);
            }
        }
    }
}
