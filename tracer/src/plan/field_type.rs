//! The types of values, as plan files and recordings say them: the members `kind`, `size` and `array`.

use serde::{Deserialize, Serialize};
use simple_markers_resolver::export::fetch::NumberKind;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// A number.
    Number {
        /// Its size in bytes: 1, 2, 4 or 8.
        size: u8,
        /// How its bits are read.
        kind: NumberKind,
    },
    /// A text.
    Text,
    /// Numbers.
    Array {
        /// The size of a number in bytes: 1, 2, 4 or 8.
        size: u8,
        /// How its bits are read.
        kind: NumberKind,
        /// How many there are; `None` if each value says it.
        count: Option<u16>,
    },
    /// A whole value: chunks of memory ([`crate::whole`]).
    Whole,
}

/// The member `kind`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(
    rename_all = "lowercase",
    expecting = "it is none of signed, unsigned, float, pointer, unicode, text and value"
)]
pub(crate) enum ValueKind {
    Text,
    Value,
    #[serde(untagged)]
    Number(NumberKind),
}

/// The member `array`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", expecting = "it is neither a number below 65536 nor dynamic")]
pub(crate) enum Length {
    /// Each value says it.
    Dynamic,
    #[serde(untagged)]
    Count(u16),
}

impl FieldType {
    /// The members `kind`, `size` and `array`.
    pub(crate) fn members(self) -> (ValueKind, Option<u8>, Option<Length>) {
        match self {
            Self::Text => (ValueKind::Text, None, None),
            Self::Whole => (ValueKind::Value, None, None),
            Self::Number { size, kind } => (ValueKind::Number(kind), Some(size), None),
            Self::Array { size, kind, count } => {
                (ValueKind::Number(kind), Some(size), Some(count.map_or(Length::Dynamic, Length::Count)))
            }
        }
    }

    /// The type with these members, or why there is none.
    pub(crate) fn of(kind: ValueKind, size: Option<u8>, array: Option<Length>) -> Result<Self, &'static str> {
        match (kind, size, array) {
            (ValueKind::Text, ..) => Ok(Self::Text),
            (ValueKind::Value, ..) => Ok(Self::Whole),
            (ValueKind::Number(kind), Some(size @ (1 | 2 | 4 | 8)), None) => Ok(Self::Number { size, kind }),
            (ValueKind::Number(kind), Some(size @ (1 | 2 | 4 | 8)), Some(length)) => {
                let count = if let Length::Count(count) = length { Some(count) } else { None };
                Ok(Self::Array { size, kind, count })
            }
            (ValueKind::Number(_), None, _) => Err("missing field `size`"),
            (ValueKind::Number(_), Some(_), _) => Err("`size` is none of 1, 2, 4 and 8"),
        }
    }
}
