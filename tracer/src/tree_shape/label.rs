//! What tells the alternatives of a place from each other, and the types of integers.

use std::sync::Arc;

/// What tells one alternative of a place from the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlternativeLabel {
    /// A variant of an enum, with its name.
    Variant(Arc<str>),
    /// A structure, with the name of its type.
    Structure(Arc<str>),
    /// Another value.
    Value(ValueCategory),
    /// A value that is known in part, or one that a text cannot say. The word says which.
    Special(&'static str),
    /// No value. The word says why.
    Missing(&'static str),
}

/// What kind of value it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ValueCategory {
    /// `()`.
    Unit,
    /// A number, also one with a name.
    Number,
    /// A Boolean.
    Boolean,
    /// A text.
    Text,
    /// An address.
    Pointer,
    /// An array, list or set.
    List,
    /// A map.
    Map,
    /// Anything, as text: the limits of the shape do not suffice.
    Any,
}

/// A null pointer where no pointer was seen that is not.
pub(super) const NULL: AlternativeLabel = AlternativeLabel::Special("null");

/// The member that stands for those that a limit left out.
pub const REST: &str = "..";

/// Why a member has no value: this structure has none of this name, or the pointer was not followed.
pub const ABSENT: &str = "absent";

/// The size and the sign of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerWidth {
    /// Whether it has a sign.
    pub is_signed: bool,
    /// How many bits: 8, 16, 32 or 64.
    pub bits: u8,
}

impl AlternativeLabel {
    /// Whether it is a value without a label of its own.
    pub(super) fn is_plain_value(&self) -> bool {
        matches!(self, Self::Structure(_) | Self::Value(_))
    }
}

impl IntegerWidth {
    /// The smallest one that has a number, of 32 bits at least; `None` if none has.
    #[must_use]
    pub fn of(number: i128) -> Option<Self> {
        let fits = |is_signed, bits: u8| Some(Self { is_signed, bits });
        match number {
            _ if i32::try_from(number).is_ok() && number < 0 => fits(true, 32),
            _ if u32::try_from(number).is_ok() => fits(false, 32),
            _ if number < 0 && i64::try_from(number).is_ok() => fits(true, 64),
            _ if u64::try_from(number).is_ok() => fits(false, 64),
            _ => None,
        }
    }

    /// The smallest one that has the numbers of both; `None` if none has.
    pub(super) fn joined(self, other: Self) -> Option<Self> {
        if self.is_signed == other.is_signed {
            return Some(Self { bits: self.bits.max(other.bits), ..self });
        }
        let (signed, unsigned) = if self.is_signed { (self, other) } else { (other, self) };
        let bits = signed.bits.max(unsigned.bits.checked_mul(2)?);
        (bits <= 64).then_some(Self { is_signed: true, bits })
    }
}
