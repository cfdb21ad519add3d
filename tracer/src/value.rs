//! The values of a hit, with their types.

use simple_markers_record::integer;
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::types::Names;

use crate::plan::{Placeholder, Reading, Source};
use crate::record::{Field, Layout, Record};

/// The value of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'r> {
    /// A number.
    Number {
        /// Its bits; those beyond its size are 0.
        bits: u64,
        /// Its size in bytes.
        size: u8,
        /// How the bits are read.
        kind: NumberKind,
    },
    /// A text.
    Text {
        /// Its bytes, which need not be UTF-8.
        bytes: &'r [u8],
        /// Whether more bytes follow that were not read.
        is_cut: bool,
    },
    /// A null pointer in place of a text.
    Null,
    /// Numbers of one type.
    Array {
        /// Their bytes, one number after the other.
        bytes: &'r [u8],
        /// The size of a number in bytes.
        size: u8,
        /// How its bits are read.
        kind: NumberKind,
        /// Whether more of them follow that were not read.
        is_cut: bool,
    },
    /// A whole value: the chunks that were read for it ([`crate::whole`]).
    Whole(&'r [u8]),
}

/// Why an argument has no value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Missing<'r> {
    /// It is never read at the site.
    Unread(Placeholder),
    /// It may be this value, and may have another one in the source. `None` if it is at two places with
    /// different values, and neither is shown.
    Doubtful(Option<Value<'r>>),
    /// The memory could not be read, or the computation divides by 0.
    Unreadable {
        /// The address of a text; `None` if the address itself is not known.
        at: Option<u64>,
    },
    /// It is a value of the entry of the function, and that was not seen.
    EntryUnseen,
}

impl Value<'_> {
    /// The number with its sign; `None` for a text, and for a floating-point number.
    #[must_use]
    pub fn integer(&self) -> Option<i128> {
        match *self {
            Self::Number { bits, size, kind: NumberKind::Signed } => Some(integer::signed(bits, size).into()),
            Self::Number { bits, kind: NumberKind::Unsigned | NumberKind::Pointer | NumberKind::Unicode, .. } => {
                Some(i128::from(bits))
            }
            Self::Number { kind: NumberKind::Float, .. }
            | Self::Text { .. }
            | Self::Null
            | Self::Array { .. }
            | Self::Whole(_) => None,
        }
    }

    /// What stands for an integer; `None` if it has no name.
    #[must_use]
    pub fn name(&self, names: &Names) -> Option<String> {
        let Self::Number { size, .. } = *self else { return None };
        names.name(self.integer()?, size)
    }

    /// The floating-point number; `None` for anything else.
    #[must_use]
    pub fn float(&self) -> Option<f64> {
        match *self {
            Self::Number { bits, size: 4, kind: NumberKind::Float } => Some(f32::from_bits(bits as u32).into()),
            Self::Number { bits, size: 8, kind: NumberKind::Float } => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// Whether more of it follows that was not read.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Text { is_cut: true, .. } | Self::Array { is_cut: true, .. })
    }

    /// The numbers of an array; none of anything else.
    pub fn numbers(&self) -> impl Iterator<Item = Self> {
        let (bytes, size, kind) = match *self {
            Self::Array { bytes, size, kind, .. } => (bytes, size, kind),
            _ => (&[][..], 1, NumberKind::Unsigned),
        };
        bytes.chunks_exact(usize::from(size.clamp(1, 8))).map(move |number| {
            let bits = number.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
            Self::Number { bits, size, kind }
        })
    }
}

impl Source {
    /// The value in a record.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn value<'r>(&self, record: Record<'r>, layout: &Layout) -> Result<Value<'r>, Missing<'r>> {
        match self {
            Self::Read(reading) => reading.value(record, layout),
            Self::Doubtful(doubtful) => {
                let here = doubtful.here.value(record, layout)?;
                match doubtful.before.as_ref().map(|before| before.value(record, layout)) {
                    Some(before) if before == Ok(here) => Ok(here),
                    _ => Err(Missing::Doubtful(Some(here))),
                }
            }
            Self::Either(here, before) => {
                let here = here.value(record, layout)?;
                match here == before.value(record, layout)? {
                    true => Ok(here),
                    false => Err(Missing::Doubtful(None)),
                }
            }
            Self::Unread(why) => Err(Missing::Unread(why.placeholder())),
        }
    }
}

impl Reading {
    fn value<'r>(&self, record: Record<'r>, layout: &Layout) -> Result<Value<'r>, Missing<'r>> {
        let low = |bits: u64, size: u8| bits & u64::MAX.checked_shr(64 - u32::from(size.clamp(1, 8)) * 8).unwrap_or(0);
        match *self {
            Self::Constant { bits, size, kind } => Ok(Value::Number { bits: low(bits, size), size, kind }),
            Self::Number { field, size, kind } => match record.field(layout, field) {
                Field::Number(bits) => Ok(Value::Number { bits: low(bits, size), size, kind }),
                _ => Err(Missing::Unreadable { at: None }),
            },
            Self::Whole { field } => match record.field(layout, field) {
                Field::Whole(chunks) if !chunks.is_empty() => Ok(Value::Whole(chunks)),
                _ => Err(Missing::Unreadable { at: None }),
            },
            Self::Array { field, size, kind, .. } => match record.field(layout, field) {
                Field::Inline { bytes, is_cut } => Ok(Value::Array { bytes, size, kind, is_cut }),
                _ => Err(Missing::Unreadable { at: None }),
            },
            Self::Text { field } => match record.field(layout, field) {
                Field::Bytes { address: 0, length: 0, .. } => Ok(Value::Null),
                Field::Bytes { bytes, is_cut, .. } => Ok(Value::Text { bytes, is_cut }),
                Field::Inline { bytes, is_cut } => {
                    let (text, is_cut) = until_nul(bytes, is_cut);
                    Ok(Value::Text { bytes: text, is_cut })
                }
                Field::Unread => {
                    let at = record.address(layout, field).filter(|address| *address != 0);
                    Err(Missing::Unreadable { at })
                }
                Field::Number(_) | Field::Whole(_) => Err(Missing::Unreadable { at: None }),
            },
        }
    }
}

/// The bytes before the first NUL. `is_cut` says whether more bytes follow; if there is a NUL, the text
/// ends all the same.
pub(crate) fn until_nul(bytes: &[u8], is_cut: bool) -> (&[u8], bool) {
    match bytes.iter().position(|byte| *byte == 0) {
        Some(end) => (bytes.get(..end).unwrap_or_default(), false),
        None => (bytes, is_cut),
    }
}
