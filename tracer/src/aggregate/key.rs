//! The keys of what is counted, and the layout of the maps that have them.

use std::sync::Arc;

use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::types::Names;

use super::split::START_SPLIT;
use crate::bytes::put;
use crate::filter::{Inputs, Text};
use crate::histogram::FINE;
use crate::plan::{By, Interval, KeyFields, Pairing, Readable};

/// The entries of `Map::Times`: a fine bucket each, then the two of [`LONGEST`] and [`SHORTEST`].
pub const TIMES: u32 = FINE + 2;
/// The entry with the longest interval.
pub const LONGEST: u32 = FINE;
/// The entry with the complement of the shortest interval, which is 0 before the first.
pub const SHORTEST: u32 = FINE + 1;

/// The size in bytes of the key of a value in `Map::Values`. In `Map::Starts`, the place of the start among
/// those of its key follows, in 8 bytes.
///
/// | offset | size | what |
/// | ---: | ---: | --- |
/// | 0 | 8 | the group of the marker, or the process of an interval; of a time that is counted by a value, the fine bucket or [`SUM_BUCKET`](super::SUM_BUCKET), and the number of the part, 4 bytes each; of an amount, the group and the bucket, 4 bytes each; 0 for the hits of a process |
/// | 8 | 8 | the length of a text, or [`CUT`] or [`NULL`]; 0 without a text |
/// | 16 | 40 | numbers of 8 bytes, or the process whose hits are counted; or at most [`KEY_TEXT`] bytes of a text, 8 less for each number beside it, and at the end these numbers. The rest is zeros |
pub const KEY_SIZE: u32 = 56;
/// In the key of a stack: the offset of its number in `Map::Stacks`, a negative number if it has none,
pub const KEY_STACK: usize = 16;
/// and that of the process, which is 0 for stacks of the kernel.
pub const KEY_PROCESS: usize = 24;
/// The size in bytes of the key of a start in `Map::Starts`.
pub const START_KEY_SIZE: u32 = KEY_SIZE + 8;
/// The size in bytes of a start in `Map::Starts`, if times are neither split nor counted by a value.
///
/// | offset | size | what |
/// | ---: | ---: | --- |
/// | 0 | 8 | the time in ns |
/// | 8 | 8 | of the first start of a key: how many more there are |
/// | 16 | 24 | what the thread had done until then, if times are split ([`START_SPLIT`]) |
/// | 16 or 40 | 48 | by what the time is counted, as in a key from offset 8 on |
pub const START_SIZE: u32 = 16;
/// The offset of the number of further starts.
pub const START_NESTED: i16 = 8;
/// The size in bytes of what a time is counted by.
pub const START_BY: u32 = KEY_SIZE - 8;
/// The most bytes of a text that are a key, without numbers beside it.
pub const KEY_TEXT: usize = 32;
/// The most numbers of a key,
const MOST_NUMBERS: usize = (KEY_SIZE as usize - KEY_FIRST) / 8;
/// and beside a text, which keeps 16 bytes: those of the name of a thread.
const MOST_BESIDE_TEXT: usize = 2;
/// Where the first value of a key is.
const KEY_FIRST: usize = 16;
/// In place of the length: more bytes follow.
pub const CUT: u64 = 1 << 32;
/// In place of the length: a null pointer.
pub const NULL: u64 = 1 << 33;
/// The size in bytes of the key of a bucket in `Map::Values`: the group and the bucket, 4 bytes each.
pub const BUCKET_KEY_SIZE: u32 = 8;

/// A value in a map.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyValue {
    /// An integer.
    Integer(i128),
    /// An integer with a name.
    Named {
        /// The integer.
        number: i128,
        /// What stands for it.
        name: Arc<str>,
    },
    /// A floating-point number.
    Float(f64),
    /// A text.
    Text {
        /// Its first bytes.
        bytes: Vec<u8>,
        /// Whether more bytes follow.
        is_cut: bool,
    },
    /// A null pointer in place of a text.
    Null,
    /// The values of several arguments.
    Several(Vec<KeyValue>),
}

/// Why the values of several arguments do not fit into a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyMisfit {
    /// More than one of them is a text.
    #[error("only one of several arguments may be a text")]
    Texts,
    /// They are too many.
    #[error("at most {most} arguments can be told apart together")]
    Numbers {
        /// How many may be there.
        most: usize,
    },
    /// Too many numbers are beside a text.
    #[error("at most {most} numbers can be told apart beside a text")]
    BesideText {
        /// How many may be there.
        most: usize,
    },
}

/// The layout of a key.
impl KeyFields {
    /// Why they do not fit; `None` if they do.
    #[must_use]
    pub fn misfit(&self) -> Option<KeyMisfit> {
        match (self.texts(), self.0.len() - self.texts()) {
            (0, numbers) => (numbers > MOST_NUMBERS).then_some(KeyMisfit::Numbers { most: MOST_NUMBERS }),
            (1, numbers) => (numbers > MOST_BESIDE_TEXT).then_some(KeyMisfit::BesideText { most: MOST_BESIDE_TEXT }),
            _ => Some(KeyMisfit::Texts),
        }
    }

    fn texts(&self) -> usize {
        self.0.iter().filter(|field| matches!(field, Readable::Text(_))).count()
    }

    /// The most bytes of the text among them.
    #[must_use]
    pub fn most_text(&self) -> usize {
        KEY_TEXT.saturating_sub(8 * (self.0.len() - self.texts()))
    }

    /// The values, each with its offset in a key.
    pub fn places(&self) -> impl Iterator<Item = (&Readable, usize)> {
        let numbers = self.0.len() - self.texts();
        let mut next = if self.texts() == 0 { KEY_FIRST } else { KEY_SIZE as usize - 8 * numbers };
        self.0.iter().map(move |field| match field {
            Readable::Text(_) => (field, KEY_FIRST),
            Readable::Number { .. } => {
                next += 8;
                (field, next - 8)
            }
        })
    }

    /// The value of a key. `names` has the names for the values of each argument that has some. `None` if the key is
    /// too short.
    #[must_use]
    pub fn decode(&self, key: &[u8], names: &[Option<Arc<Names>>]) -> Option<KeyValue> {
        let value = |(number, (field, offset)): (usize, (&Readable, usize))| match field {
            Readable::Number { size, kind, .. } => {
                let bits = word(key, offset)?;
                let value = match (kind, size) {
                    (NumberKind::Signed, _) => KeyValue::Integer((bits as i64).into()),
                    (NumberKind::Float, 4) => KeyValue::Float(f32::from_bits(bits as u32).into()),
                    (NumberKind::Float, _) => KeyValue::Float(f64::from_bits(bits)),
                    _ => KeyValue::Integer(bits.into()),
                };
                Some(value.with_name(names.get(number).and_then(Option::as_deref), *size))
            }
            Readable::Text(_) => {
                let most = self.most_text();
                let text = |length: usize| Some(key.get(offset..)?.get(..length.min(most))?.to_vec());
                Some(match word(key, 8)? {
                    NULL => KeyValue::Null,
                    CUT => KeyValue::Text { bytes: text(most)?, is_cut: true },
                    length => KeyValue::Text { bytes: text(usize::try_from(length).ok()?)?, is_cut: false },
                })
            }
        };
        let mut values = self.places().enumerate().map(value).collect::<Option<Vec<_>>>()?;
        if values.len() > 1 { Some(KeyValue::Several(values)) } else { values.pop() }
    }
}

impl KeyValue {
    /// The value with its name, if it is an integer of `size` bytes that has one.
    pub(super) fn with_name(self, names: Option<&Names>, size: u8) -> Self {
        match (self, names) {
            (Self::Integer(number), Some(names)) => match names.name(number, size) {
                Some(name) => Self::Named { number, name: name.into() },
                None => Self::Integer(number),
            },
            (value, _) => value,
        }
    }
}

/// The key of a value or of an interval, as a BPF program writes it.
pub(crate) type Key = [u8; KEY_SIZE as usize];

/// The key of values. `first` is its first word. `None` if a value could not be read.
pub(crate) fn key_of<I: Inputs + ?Sized>(first: u64, of: &KeyFields, inputs: &I) -> Option<Key> {
    let mut key = NO_VALUE;
    put(&mut key, 0, &first.to_ne_bytes());
    for (field, offset) in of.places() {
        match field {
            Readable::Number { number, .. } => put(&mut key, offset, &number.bits(inputs)?.to_ne_bytes()),
            Readable::Text(at) => match inputs.text_at(*at)? {
                Text::Null => put(&mut key, 8, &NULL.to_ne_bytes()),
                Text::Bytes { bytes, .. } => {
                    let most = of.most_text();
                    let length = if bytes.len() > most { CUT } else { bytes.len() as u64 };
                    put(&mut key, 8, &length.to_ne_bytes());
                    put(&mut key, offset, bytes.get(..most).unwrap_or(bytes));
                }
            },
        }
    }
    Some(key)
}

/// The key without a value.
pub(super) const NO_VALUE: Key = [0; KEY_SIZE as usize];

/// The key of the hits of a process.
#[must_use]
pub(super) fn process_key(process: u32) -> Key {
    let mut key = NO_VALUE;
    put(&mut key, 16, &u64::from(process).to_ne_bytes());
    key
}

/// The process of a key; `None` if it is not the key of a process.
#[must_use]
pub fn process_of(key: &[u8]) -> Option<u32> {
    u32::try_from(word(key, 16)?).ok()
}

/// The process and the number of a stack, or why it has none: the negative number of an error. `None` if it is
/// not the key of a stack.
#[must_use]
pub fn stack_of(key: &[u8]) -> Option<(u32, Result<u32, i32>)> {
    // Before Linux 6.4 the upper half of a negative number is 0.
    let number = word(key, KEY_STACK)? as u32 as i32;
    let process = u32::try_from(word(key, KEY_PROCESS)?).ok()?;
    Some((process, u32::try_from(number).map_err(|_| number)))
}

/// What an end has in common with the start that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntervalKey(Key);

impl IntervalKey {
    /// The key of a hit: its thread, or its process and the values of arguments or a frame. `None` if a
    /// value could not be read.
    #[must_use]
    pub fn new<I: Inputs + ?Sized>(of: &Pairing, process: u32, thread: u32, inputs: &I) -> Option<Self> {
        let Some(of) = of.fields() else {
            let mut key = NO_VALUE;
            let both = u64::from(process) << 32 | u64::from(thread);
            put(&mut key, KEY_FIRST, &both.to_ne_bytes());
            return Some(Self(key));
        };
        Self::of_values(of, process, inputs)
    }

    /// The key of the values of arguments in a process. `None` if a value could not be read.
    #[must_use]
    pub fn of_values<I: Inputs + ?Sized>(of: &KeyFields, process: u32, inputs: &I) -> Option<Self> {
        key_of(process.into(), of, inputs).map(Self)
    }
}

/// The layout of a start.
impl Interval {
    /// The offset in a start of what the times are counted by.
    #[must_use]
    pub fn by_offset(&self) -> i16 {
        START_SIZE as i16 + if self.is_split { START_SPLIT as i16 } else { 0 }
    }

    /// The size in bytes of a start.
    #[must_use]
    pub fn start_size(&self) -> u32 {
        self.by_offset() as u32 + if self.by == By::Nothing { 0 } else { START_BY }
    }
}

fn word(key: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*key.get(offset..)?.first_chunk()?))
}

/// The group of a key of `Map::Values`.
#[must_use]
pub fn group_of(key: &[u8]) -> Option<usize> {
    let bytes = key.first_chunk()?;
    usize::try_from(u32::from_ne_bytes(*bytes)).ok()
}

/// The part of a time that is counted by a value: 0 for the whole, or that of
/// [`IntervalPart::number`](super::IntervalPart::number).
#[must_use]
pub(super) fn part_of(key: &[u8]) -> Option<usize> {
    usize::try_from(bucket_of(key)?).ok()
}

/// The bucket of a key of a histogram.
#[must_use]
pub fn bucket_of(key: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(*key.get(4..)?.first_chunk()?))
}
