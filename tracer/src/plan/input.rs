//! What is read at a site.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use simple_markers_resolver::export::ValueBytes;
use simple_markers_resolver::location::Expr;

use super::expression::{Computation, item};
use super::user_texts::USER_TEXT;
use super::whole::WholeInput;
use crate::record::FieldKind;

/// The most words that the inputs of a program take. The rest of the stack is for computations.
pub const MAX_WORDS: usize = 24;

/// What to read for a field of the record.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The value of a computation.
    Number(Expr),
    /// A text at an address that ends with a NUL.
    Text {
        /// The address.
        address: Expr,
        /// The precision of its conversion, an `int`: the most characters; a negative one is none.
        limit: Option<Expr>,
        /// The most bytes to read, with the NUL.
        most: u16,
    },
    /// Bytes at an address.
    Bytes {
        /// The address.
        address: Expr,
        /// How many there are.
        length: Expr,
        /// The most bytes to read.
        most: u16,
    },
    /// A whole value.
    Whole(Box<WholeInput>),
    /// A field of the record of a kernel event, which is the context of the program.
    Field {
        /// The offset of the field in the record.
        offset: u16,
        /// Where its value is.
        place: FieldPlace,
    },
    /// An argument that the program records itself: nothing is read.
    Recorded {
        /// The number of the argument.
        argument: u16,
        /// The kind of its field.
        kind: FieldKind,
    },
}

impl Input {
    /// How many words of the stack it takes.
    #[must_use]
    pub fn words(&self) -> usize {
        match self {
            Self::Recorded { .. } => 0,
            Self::Number(_) | Self::Text { limit: None, .. } | Self::Field { .. } | Self::Whole(_) => 1,
            Self::Text { limit: Some(_), .. } | Self::Bytes { .. } => 2,
        }
    }

    /// The most bytes of a text at an address that ends with a NUL, with the NUL; `None` of anything else.
    pub(crate) fn most_text(&self) -> Option<u16> {
        match self {
            Self::Text { most, .. } => Some(*most),
            Self::Field { place: FieldPlace::User(_), .. } => Some(USER_TEXT),
            _ => None,
        }
    }

    /// The kind of its field.
    #[must_use]
    pub fn kind(&self) -> FieldKind {
        match self {
            Self::Number(_) => FieldKind::Number,
            Self::Text { most, .. } => FieldKind::Text(*most),
            Self::Bytes { most, .. } => FieldKind::Bytes(*most),
            Self::Whole(whole) => FieldKind::Whole(whole.most),
            Self::Field { place, .. } => place.kind(),
            Self::Recorded { kind, .. } => *kind,
        }
    }
}

/// Where the value of a field is in the kernel's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldPlace {
    /// A number of so many bytes.
    Number(u8),
    /// So many bytes: a text or an array.
    Inline(u16),
    /// Bytes at a place that the field says, counted from so many bytes after the start.
    Located(u16),
    /// A text of the program at an address that is at this offset. A record of ours has it behind the kernel's, and
    /// a field that says where.
    User(u16),
}

impl FieldPlace {
    /// The kind of the field in a record of ours.
    #[must_use]
    pub fn kind(self) -> FieldKind {
        match self {
            Self::Number(_) => FieldKind::Number,
            Self::Inline(size) => FieldKind::Inline(size),
            Self::Located(base) => FieldKind::Located(base),
            Self::User(_) => FieldKind::Located(0),
        }
    }
}

impl Serialize for Input {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(value) => ("number", Computation(value)).serialize(serializer),
            Self::Text { address, limit: None, most } => ("text", Computation(address), most).serialize(serializer),
            Self::Text { address, limit: Some(limit), most } => {
                ("text", Computation(address), most, Computation(limit)).serialize(serializer)
            }
            Self::Bytes { address, length, most } => {
                ("bytes", Computation(address), Computation(length), most).serialize(serializer)
            }
            Self::Whole(whole) => {
                let WholeInput { bytes, most, limits, .. } = &**whole;
                match bytes {
                    ValueBytes::Memory { address, size } => {
                        ("value", Computation(address), size, most, limits).serialize(serializer)
                    }
                    ValueBytes::Parts { parts, size } => {
                        let parts: Vec<_> = parts.iter().map(|part| part.as_ref().map(Computation)).collect();
                        ("parts", parts, size, most, limits).serialize(serializer)
                    }
                }
            }
            // A plan file has neither events of the kernel nor what programs record.
            Self::Field { .. } | Self::Recorded { .. } => serializer.serialize_unit(),
        }
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(InputVisitor)
    }
}

struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = Input;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array with the kind of an input and what is read")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Input, A::Error> {
        let expr = |items: &mut A| item(items).map(|Computation(expr)| expr);
        match item::<A, String>(&mut items)?.as_str() {
            "number" => Ok(Input::Number(expr(&mut items)?)),
            "text" => {
                let (address, most) = (expr(&mut items)?, item(&mut items)?);
                let limit = items.next_element()?.map(|Computation(limit)| limit);
                Ok(Input::Text { address, limit, most })
            }
            "bytes" => {
                let (address, length) = (expr(&mut items)?, expr(&mut items)?);
                Ok(Input::Bytes { address, length, most: item(&mut items)? })
            }
            word @ ("value" | "parts") => {
                let bytes = if word == "value" {
                    let (address, size) = (expr(&mut items)?, item(&mut items)?);
                    ValueBytes::Memory { address, size }
                } else {
                    let parts: Vec<Option<Computation<Expr>>> = item(&mut items)?;
                    let parts = parts.into_iter().map(|part| part.map(|Computation(part)| part)).collect();
                    ValueBytes::Parts { parts, size: item(&mut items)? }
                };
                let (most, limits) = (item(&mut items)?, item(&mut items)?);
                Ok(Input::Whole(Box::new(WholeInput::new(bytes, most, limits))))
            }
            word => Err(A::Error::unknown_variant(word, &["number", "text", "bytes", "value", "parts"])),
        }
    }
}
