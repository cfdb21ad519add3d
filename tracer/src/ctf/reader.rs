//! Makes hits of the events of a recording. The bytes of the stream may be anything.

use std::collections::HashMap;

use simple_markers_resolver::export::fetch::NumberKind;

use super::description::{Class, DescribedSite, Description, Doubt, FieldType};
use super::packet::{FieldState, Header, HeaderError};
use crate::frames::{EventStacks, FrameNumbers, NOT_READ, StackEnd, StackTable};
use crate::hit::{Body, Hit};
use crate::plan::{DoubtfulValues, Plan};
use crate::value::{Missing, Value};

/// Why a stream cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("offset {offset:#x}: {what}")]
pub struct ReadError {
    /// The offset in the stream in bytes.
    pub offset: u64,
    /// What is wrong there.
    pub what: ReadErrorKind,
}

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The header of a packet.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The file ends in a packet.
    #[error("the file ends after {there:#x} of the {size:#x} bytes of the packet")]
    Cut {
        /// How many bytes of the packet there are.
        there: u64,
        /// How many it has.
        size: u64,
    },
    /// A packet ends in an event.
    #[error("the packet ends in an event")]
    EventCut,
    /// The description has no such event.
    #[error("the recording has no event with the number {0}")]
    UnknownEvent(u16),
    /// The class has no such site.
    #[error("the event has no site at {0:#x}")]
    UnknownSite(u64),
    /// A field has a state that it cannot have.
    #[error("state {0} of a field is not possible")]
    State(u8),
    /// A stack ends in a way that is not known.
    #[error("a stack cannot end with {0}")]
    StackEnd(u8),
    /// The description has no such frame.
    #[error("the recording has no frame with the number {0}")]
    UnknownFrame(u32),
}

/// The events of a stream.
///
/// An error in a packet is followed by the events of the next packet. After an error in the header
/// of a packet there are no more events.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    description: &'a Description,
    plan: &'a Plan,
    stream: &'a [u8],
    /// The site of each class; by its address, if events have it.
    sites: HashMap<(usize, Option<u64>), (usize, &'a DescribedSite)>,
    /// Where the next packet starts.
    next: usize,
    /// The rest of the content of the packet.
    content: &'a [u8],
    /// The offset of the rest.
    offset: usize,
    /// The offset of the last event.
    last: u64,
    discarded: u64,
    packets: u64,
    doubtful: DoubtfulValues,
}

impl<'a> Events<'a> {
    /// The events of a stream that a description is about. `plan` is the one of the description.
    #[must_use]
    pub fn new(description: &'a Description, plan: &'a Plan, stream: &'a [u8]) -> Self {
        let mut sites = HashMap::new();
        for (number, site) in description.sites.iter().enumerate() {
            let Some(class) = site.class else { continue };
            let has_site = description.classes.get(class).is_some_and(|class| class.has_site);
            sites.insert((class, has_site.then_some(site.address.0)), (number, site));
        }
        let doubtful = DoubtfulValues::default();
        Self {
            description,
            plan,
            stream,
            sites,
            next: 0,
            content: &[],
            offset: 0,
            last: 0,
            discarded: 0,
            packets: 0,
            doubtful,
        }
    }

    /// The same, with what becomes of doubtful values.
    #[must_use]
    pub fn with_doubtful(self, doubtful: DoubtfulValues) -> Self {
        Self { doubtful, ..self }
    }

    /// How many hits were lost before the end of the last packet that was read.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.discarded
    }

    /// Where the last event that was read is in the stream, in bytes. [`Self::event_at`] reads it again.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.last
    }

    /// The hit of the event at an offset that [`Self::offset`] returned of the same stream.
    ///
    /// # Errors
    ///
    /// No event is there, as the stream has other bytes now.
    pub fn event_at(&self, offset: u64) -> Result<Hit<'a>, ReadError> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.stream.get(offset..));
        self.event(&mut Cursor(rest.unwrap_or_default())).map_err(|what| ReadError { offset, what })
    }

    /// How many packets were read.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The hit of the next event; `None` at the end.
    ///
    /// # Errors
    ///
    /// What is wrong, and where.
    pub fn next_event(&mut self) -> Result<Option<Hit<'a>>, ReadError> {
        while self.content.is_empty() {
            if self.next >= self.stream.len() {
                return Ok(None);
            }
            self.packet()?;
        }
        let offset = self.offset as u64;
        self.last = offset;
        let before = self.content.len();
        let mut bytes = Cursor(self.content);
        match self.event(&mut bytes) {
            Ok(event) => {
                self.content = bytes.0;
                self.offset += before - self.content.len();
                Ok(Some(event))
            }
            Err(what) => {
                self.content = &[];
                Err(ReadError { offset, what })
            }
        }
    }

    /// Enters the next packet.
    fn packet(&mut self) -> Result<(), ReadError> {
        let start = self.next;
        let rest = self.stream.get(start..).unwrap_or_default();
        // Nothing can be found behind a header that is malformed.
        self.next = self.stream.len();
        let failed = |what| ReadError { offset: start as u64, what };
        let header = Header::from_bytes(rest, self.description.uuid).map_err(|error| failed(error.into()))?;
        let cut = || failed(ReadErrorKind::Cut { there: rest.len() as u64, size: header.size });
        let size = usize::try_from(header.size).map_err(|_| cut())?;
        let packet = rest.get(..size).ok_or_else(cut)?;
        let content = usize::try_from(header.content).unwrap_or(usize::MAX);
        self.content = packet.get(super::packet::HEADER..content).unwrap_or_default();
        self.offset = start.saturating_add(super::packet::HEADER);
        self.next = start.saturating_add(size);
        self.discarded = header.discarded;
        self.packets += 1;
        Ok(())
    }

    fn event(&self, bytes: &mut Cursor<'a>) -> Result<Hit<'a>, ReadErrorKind> {
        let plan = self.plan;
        let kind = u16::from_le_bytes(bytes.chunk()?);
        let unknown = ReadErrorKind::UnknownEvent(kind);
        let class_number = usize::from(kind / 2);
        let class = self.description.classes.get(class_number).ok_or(unknown)?;
        let time = u64::from_le_bytes(bytes.chunk()?);
        let cpu = u16::from_le_bytes(bytes.chunk()?).into();
        let process = u32::from_le_bytes(bytes.chunk()?);
        let thread = u32::from_le_bytes(bytes.chunk()?);
        let name = bytes.text()?;
        let stacks = match &self.description.stacks {
            Some(table) => stacks(table, bytes)?,
            None => EventStacks::default(),
        };
        let address = if class.has_site { Some(u64::from_le_bytes(bytes.chunk()?)) } else { None };
        let site = self.sites.get(&(class_number, address)).copied();
        let (number, described) = site.ok_or(address.map_or(unknown, ReadErrorKind::UnknownSite))?;
        let site = plan.sites.get(number).ok_or(unknown)?;
        let marker = plan.markers.get(site.marker).ok_or(unknown)?;
        let image = plan.images.get(site.image).ok_or(unknown)?;
        let mut values = values(described, class, kind % 2 == 1, bytes)?;
        if self.doubtful == DoubtfulValues::Strict {
            for value in values.iter_mut().filter(|value| matches!(value, Err(Missing::Doubtful(_)))) {
                *value = Err(Missing::Doubtful(None));
            }
        }
        let takes_doubtful = self.doubtful == DoubtfulValues::Taken;
        let (address, body) = (described.known_address(), Body::Values { values, takes_doubtful, stacks });
        Ok(Hit { time, cpu, process, thread, name, number, site, address, marker, image, plan, body })
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<Hit<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_event().transpose()
    }
}

/// The stacks of an event.
fn stacks<'a>(table: &StackTable, bytes: &mut Cursor<'a>) -> Result<EventStacks<'a>, ReadErrorKind> {
    let mut list = |count: usize| {
        let [first] = bytes.chunk()?;
        let size = usize::try_from(u32::from_le_bytes(bytes.chunk()?)).unwrap_or(usize::MAX).saturating_mul(4);
        let numbers = FrameNumbers(bytes.take(size)?);
        match numbers.iter().find(|number| usize::try_from(*number).is_ok_and(|number| number >= count)) {
            Some(number) => Err(ReadErrorKind::UnknownFrame(number)),
            None => Ok((first, numbers)),
        }
    };
    let (frames, kernel_frames) = table.sizes();
    let program = if table.has_program { Some(list(frames)?) } else { None };
    let kernel = if table.has_kernel { Some(list(kernel_frames)?) } else { None };
    let program = match program {
        Some((NOT_READ, _)) | None => None,
        Some((end, numbers)) => {
            let known = StackEnd::ALL.get(usize::from(end)).copied();
            Some((numbers, known.ok_or(ReadErrorKind::StackEnd(end))?))
        }
    };
    Ok(EventStacks { program, kernel: kernel.map(|(is_cut, numbers)| (numbers, is_cut != 0)) })
}

/// The values of an event.
fn values<'a>(
    site: &'a DescribedSite,
    class: &Class,
    is_full: bool,
    bytes: &mut Cursor<'a>,
) -> Result<Vec<Result<Value<'a>, Missing<'a>>>, ReadErrorKind> {
    let mut fields = class.fields.iter();
    let mut values = Vec::with_capacity(site.arguments.len());
    for argument in &site.arguments {
        let value = match (argument.unread, is_full) {
            (Some(placeholder), _) => Err(Missing::Unread(placeholder)),
            (None, is_full) => {
                let of = fields.next().map_or(FieldType::Text, |field| field.of);
                let value = if is_full { full(of, bytes)? } else { Ok(plain(of, bytes)?) };
                match (value, argument.doubt) {
                    (Ok(value), Some(Doubt::Always)) => Err(Missing::Doubtful(Some(value))),
                    (value, _) => value,
                }
            }
        };
        values.push(value);
    }
    Ok(values)
}

fn plain<'a>(of: FieldType, bytes: &mut Cursor<'a>) -> Result<Value<'a>, ReadErrorKind> {
    match of {
        FieldType::Number { size, kind } => Ok(Value::Number { bits: bytes.number(size)?, size, kind }),
        FieldType::Text => Ok(Value::Text { bytes: bytes.text()?, is_cut: false }),
        FieldType::Array { size, kind, count } => array(size, kind, count, false, bytes),
        FieldType::Whole => whole(bytes),
    }
}

/// Reads the chunks of a whole value, which their length precedes.
fn whole<'a>(bytes: &mut Cursor<'a>) -> Result<Value<'a>, ReadErrorKind> {
    let length = u32::from_le_bytes(bytes.chunk()?);
    Ok(Value::Whole(bytes.take(usize::try_from(length).unwrap_or(usize::MAX))?))
}

fn full<'a>(of: FieldType, bytes: &mut Cursor<'a>) -> Result<Result<Value<'a>, Missing<'a>>, ReadErrorKind> {
    let [number] = bytes.chunk()?;
    let state = FieldState::from_number(number).ok_or(ReadErrorKind::State(number))?;
    match of {
        FieldType::Number { size, kind } => {
            let bits = bytes.number(size)?;
            match state {
                FieldState::Value => Ok(Ok(Value::Number { bits, size, kind })),
                FieldState::Unreadable => Ok(Err(Missing::Unreadable { at: None })),
                FieldState::EntryUnseen => Ok(Err(Missing::EntryUnseen)),
                FieldState::Doubtful => Ok(Err(Missing::Doubtful(None))),
                FieldState::Maybe => Ok(Err(Missing::Doubtful(Some(Value::Number { bits, size, kind })))),
                FieldState::Null
                | FieldState::Cut
                | FieldState::Empty
                | FieldState::MaybeCut
                | FieldState::MaybeNull => Err(ReadErrorKind::State(number)),
            }
        }
        FieldType::Text => {
            let address = u64::from_le_bytes(bytes.chunk()?);
            let length = u32::from_le_bytes(bytes.chunk()?);
            let text = bytes.take(usize::try_from(length).unwrap_or(usize::MAX))?;
            Ok(match state {
                FieldState::Value | FieldState::Empty => Ok(Value::Text { bytes: text, is_cut: false }),
                FieldState::Cut => Ok(Value::Text { bytes: text, is_cut: true }),
                FieldState::Null => Ok(Value::Null),
                FieldState::Unreadable => Err(Missing::Unreadable { at: (address != 0).then_some(address) }),
                FieldState::EntryUnseen => Err(Missing::EntryUnseen),
                FieldState::Doubtful => Err(Missing::Doubtful(None)),
                FieldState::Maybe => Err(Missing::Doubtful(Some(Value::Text { bytes: text, is_cut: false }))),
                FieldState::MaybeCut => Err(Missing::Doubtful(Some(Value::Text { bytes: text, is_cut: true }))),
                FieldState::MaybeNull => Err(Missing::Doubtful(Some(Value::Null))),
            })
        }
        FieldType::Whole => {
            let value = whole(bytes)?;
            match state {
                FieldState::Value => Ok(Ok(value)),
                FieldState::Maybe => Ok(Err(Missing::Doubtful(Some(value)))),
                FieldState::Doubtful => Ok(Err(Missing::Doubtful(None))),
                FieldState::Unreadable => Ok(Err(Missing::Unreadable { at: None })),
                FieldState::EntryUnseen => Ok(Err(Missing::EntryUnseen)),
                _ => Err(ReadErrorKind::State(number)),
            }
        }
        FieldType::Array { size, kind, count } => {
            let value = array(size, kind, count, state == FieldState::Cut, bytes)?;
            match state {
                FieldState::Value | FieldState::Cut => Ok(Ok(value)),
                FieldState::Unreadable => Ok(Err(Missing::Unreadable { at: None })),
                FieldState::EntryUnseen => Ok(Err(Missing::EntryUnseen)),
                // No marker has an array, and a field of an event of the kernel is never doubtful.
                _ => Err(ReadErrorKind::State(number)),
            }
        }
    }
}

/// Reads an array. Without `count` its length precedes it.
fn array<'a>(
    size: u8,
    kind: NumberKind,
    count: Option<u16>,
    is_cut: bool,
    bytes: &mut Cursor<'a>,
) -> Result<Value<'a>, ReadErrorKind> {
    let count = match count {
        Some(count) => count.into(),
        None => u32::from_le_bytes(bytes.chunk()?),
    };
    let length = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(size.into());
    Ok(Value::Array { bytes: bytes.take(length)?, size, kind, is_cut })
}

/// The bytes of a packet that are not read yet.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], ReadErrorKind> {
        let (chunk, rest) = self.0.split_first_chunk().ok_or(ReadErrorKind::EventCut)?;
        self.0 = rest;
        Ok(*chunk)
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8], ReadErrorKind> {
        let (taken, rest) = self.0.split_at_checked(size).ok_or(ReadErrorKind::EventCut)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number of 1 to 8 bytes.
    fn number(&mut self, size: u8) -> Result<u64, ReadErrorKind> {
        let bytes = self.take(size.into())?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A text that ends with a NUL, without it.
    fn text(&mut self) -> Result<&'a [u8], ReadErrorKind> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(ReadErrorKind::EventCut)?;
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }
}
