//! The values of a hit, with their types.

use simple_markers_resolver::export::fetch::NumberKind;

use crate::plan::{Placeholder, Reading, Source};
use crate::record::{Field, Layout, Record};

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
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
}

/// Why an argument has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is never read at the site.
    Unread(Placeholder),
    /// It is at two places, and they have different values.
    Doubtful,
    /// The memory could not be read, or the computation divides by 0.
    Unreadable {
        /// The address of a text; `None` if the address itself is not known.
        at: Option<u64>,
    },
}

impl Value<'_> {
    /// The number with its sign; `None` for a text, and for a floating-point number.
    #[must_use]
    pub fn integer(&self) -> Option<i128> {
        match *self {
            Self::Number { bits, size, kind: NumberKind::Signed } => {
                let unused = 64u32.saturating_sub(u32::from(size) * 8).min(63);
                Some(i128::from((bits << unused) as i64 >> unused))
            }
            Self::Number { bits, kind: NumberKind::Unsigned | NumberKind::Pointer | NumberKind::Unicode, .. } => {
                Some(i128::from(bits))
            }
            Self::Number { kind: NumberKind::Float, .. } | Self::Text { .. } | Self::Null => None,
        }
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
}

impl Source {
    /// The value in a record.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn value<'r>(&self, record: Record<'r>, layout: &Layout) -> Result<Value<'r>, Missing> {
        match self {
            Self::Read(reading) => reading.value(record, layout),
            Self::Either(here, before) => {
                let here = here.value(record, layout)?;
                match here == before.value(record, layout)? {
                    true => Ok(here),
                    false => Err(Missing::Doubtful),
                }
            }
            Self::Unread(why) => Err(Missing::Unread(why.placeholder())),
        }
    }
}

impl Reading {
    fn value<'r>(&self, record: Record<'r>, layout: &Layout) -> Result<Value<'r>, Missing> {
        let low = |bits: u64, size: u8| bits & u64::MAX.checked_shr(64 - u32::from(size.clamp(1, 8)) * 8).unwrap_or(0);
        match *self {
            Self::Constant { bits, size, kind } => Ok(Value::Number { bits: low(bits, size), size, kind }),
            Self::Number { field, size, kind } => match record.field(layout, field) {
                Field::Number(bits) => Ok(Value::Number { bits: low(bits, size), size, kind }),
                Field::Unread | Field::Bytes { .. } => Err(Missing::Unreadable { at: None }),
            },
            Self::Text { field } => match record.field(layout, field) {
                Field::Bytes { address: 0, length: 0, .. } => Ok(Value::Null),
                Field::Bytes { bytes, is_cut, .. } => Ok(Value::Text { bytes, is_cut }),
                Field::Unread => {
                    let at = record.address(layout, field).filter(|address| *address != 0);
                    Err(Missing::Unreadable { at })
                }
                Field::Number(_) => Err(Missing::Unreadable { at: None }),
            },
        }
    }
}
