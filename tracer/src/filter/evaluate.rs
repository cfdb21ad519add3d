//! Evaluates a filter on the inputs of a site, such as those of a record that was made without it.

use simple_markers_record::integer;

use crate::plan::{Condition, ContextNumber, Number, Place, TextPlace};
use crate::record::{Field, FieldKind, Layout, Record};
use crate::value::until_nul;

/// The inputs of a site.
pub trait Inputs {
    /// The bits of a number; `None` if it could not be read, or is none.
    fn number(&self, field: usize) -> Option<u64>;

    /// A text; `None` if it could not be read, or is none.
    fn text(&self, field: usize) -> Option<Text<'_>>;

    /// What the kernel knew of the thread; `None` if it was not recorded.
    fn context(&self, of: ContextNumber) -> Option<u64>;

    /// The name of the thread.
    fn thread_name(&self) -> Option<&[u8]>;

    /// The text at a place; `None` if it could not be read.
    fn text_at(&self, at: TextPlace) -> Option<Text<'_>> {
        match at {
            TextPlace::Input(field) => self.text(field),
            TextPlace::ThreadName => self.thread_name().map(|bytes| Text::Bytes { bytes, length: bytes.len() as u64 }),
        }
    }
}

/// A text of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// A null pointer is in its place.
    Null,
    /// There is a text.
    Bytes {
        /// Those of its bytes that were read.
        bytes: &'a [u8],
        /// How many bytes it has, as far as that is known.
        length: u64,
    },
}

/// The fields of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The record.
    pub record: Record<'a>,
    /// Its layout.
    pub layout: &'a Layout,
}

impl Inputs for Fields<'_> {
    fn number(&self, field: usize) -> Option<u64> {
        match self.record.field(self.layout, field) {
            Field::Number(bits) => Some(bits),
            _ => None,
        }
    }

    fn text(&self, field: usize) -> Option<Text<'_>> {
        let ends_with_nul = matches!(self.layout.fields().get(field), Some((_, FieldKind::Text(_))));
        match self.record.field(self.layout, field) {
            Field::Bytes { address: 0, .. } if ends_with_nul => Some(Text::Null),
            Field::Bytes { bytes, length, .. } => Some(Text::Bytes { bytes, length }),
            Field::Inline { bytes, is_cut } => {
                let (bytes, is_cut) = until_nul(bytes, is_cut);
                Some(Text::Bytes { bytes, length: bytes.len() as u64 + u64::from(is_cut) })
            }
            Field::Unread | Field::Number(_) | Field::Whole(_) => None,
        }
    }

    fn context(&self, of: ContextNumber) -> Option<u64> {
        of.recorded(self.record.process(), self.record.thread(), self.record.cpu())
    }

    fn thread_name(&self) -> Option<&[u8]> {
        Some(self.record.name())
    }
}

impl Condition {
    /// Whether it holds for the inputs of a site. `None` if an input that decides it could not be
    /// read.
    #[must_use]
    pub fn evaluate<I: Inputs + ?Sized>(&self, inputs: &I) -> Option<bool> {
        match self {
            Self::Known(result) => Some(*result),
            Self::Or(left, right) => Some(left.evaluate(inputs)? || right.evaluate(inputs)?),
            Self::And(left, right) => Some(left.evaluate(inputs)? && right.evaluate(inputs)?),
            Self::Not(inner) => inner.evaluate(inputs).map(|holds| !holds),
            Self::Numbers { left, operator, right } => {
                Some(operator.holds(left.value(inputs)?.cmp(&right.value(inputs)?)))
            }
            Self::Text { at, literal, is_equal } => Some(match inputs.text_at(*at)? {
                // A null pointer equals no text.
                Text::Null => !is_equal,
                Text::Bytes { bytes, length } => (bytes == literal && length == literal.len() as u64) == *is_equal,
            }),
        }
    }
}

impl Number {
    /// The number among the inputs of a site. `None` if it could not be read, or differs between
    /// its two places.
    #[must_use]
    pub fn value<I: Inputs + ?Sized>(&self, inputs: &I) -> Option<i128> {
        match *self {
            Self::Known(value) => Some(value),
            Self::Read { is_signed, .. } => {
                let bits = self.bits(inputs)?;
                Some(if is_signed { i128::from(bits as i64) } else { i128::from(bits) })
            }
        }
    }

    /// The bits of [`Self::value`], extended to 8 bytes by its sign.
    pub(crate) fn bits<I: Inputs + ?Sized>(&self, inputs: &I) -> Option<u64> {
        match *self {
            Self::Known(value) => Some(value as u64),
            Self::Read { at, other, size, is_signed } => {
                let bits = |place| at_place(place, size, is_signed, inputs);
                let here = bits(at)?;
                other.map_or(Some(()), |other| (bits(other)? == here).then_some(()))?;
                Some(here)
            }
        }
    }
}

fn at_place<I: Inputs + ?Sized>(place: Place, size: u8, is_signed: bool, inputs: &I) -> Option<u64> {
    let bits = match place {
        Place::Constant(bits) => bits,
        Place::Input(field) => inputs.number(field)?,
        Place::Context(of) => inputs.context(of)?,
    };
    Some(if is_signed { integer::signed(bits, size) as u64 } else { integer::unsigned(bits, size) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Operator;
    use crate::record::{FIELDS, UNREAD};

    #[test]
    fn a_record_decides_a_filter() {
        let layout = Layout::new([FieldKind::Number, FieldKind::Text(16)]);
        let mut bytes = vec![0; layout.size().into()];
        let numbers = usize::from(FIELDS);
        bytes[numbers..numbers + 8].copy_from_slice(&0xffu64.to_ne_bytes());
        bytes[numbers + 8] = 1;
        bytes[numbers + 16] = 3;
        bytes[numbers + 24..numbers + 26].copy_from_slice(b"ab");
        let read = |is_signed| Number::Read { at: Place::Input(0), other: None, size: 1, is_signed };
        let less =
            |is_signed| Condition::Numbers { left: read(is_signed), operator: Operator::Less, right: Number::Known(0) };
        let text =
            |literal: &[u8]| Condition::Text { at: TextPlace::Input(1), literal: literal.to_vec(), is_equal: true };
        let holds = |condition: &Condition, bytes: &[u8]| {
            condition.evaluate(&Fields { record: Record(bytes), layout: &layout })
        };
        assert_eq!((holds(&less(true), &bytes), holds(&less(false), &bytes)), (Some(true), Some(false)));
        assert_eq!((holds(&text(b"ab"), &bytes), holds(&text(b"abc"), &bytes)), (Some(true), Some(false)));
        let two = |other| Number::Read { at: Place::Input(0), other: Some(other), size: 1, is_signed: true };
        let value = |number: &Number| number.value(&Fields { record: Record(&bytes), layout: &layout });
        assert_eq!(value(&two(Place::Constant(0xff))), Some(-1));
        assert_eq!(value(&two(Place::Constant(0xfe))), None);
        bytes[numbers + 8] = 0;
        assert_eq!(holds(&text(b"ab"), &bytes), Some(false));
        bytes[numbers + 8] = 1;
        // The number cannot be read. What decides before it counts.
        bytes[usize::from(UNREAD)] = 1;
        let or = Condition::Or(Box::new(text(b"ab")), Box::new(less(true)));
        let and = Condition::And(Box::new(less(true)), Box::new(text(b"x")));
        assert_eq!((holds(&or, &bytes), holds(&and, &bytes)), (Some(true), None));
        let not = Condition::Not(Box::new(less(true)));
        assert_eq!(holds(&not, &bytes), None);
    }
}
