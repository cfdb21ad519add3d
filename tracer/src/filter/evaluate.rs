//! Evaluates a filter on a record that was made without it.

use super::{Condition, Number, Place};
use crate::record::{Field, FieldKind, Layout, Record};

impl Condition {
    /// Whether it holds for a record. `None` if an input that decides it could not be read.
    #[must_use]
    pub fn holds(&self, record: Record<'_>, layout: &Layout) -> Option<bool> {
        match self {
            Self::Known(result) => Some(*result),
            Self::Or(left, right) => Some(left.holds(record, layout)? || right.holds(record, layout)?),
            Self::And(left, right) => Some(left.holds(record, layout)? && right.holds(record, layout)?),
            Self::Not(inner) => inner.holds(record, layout).map(|holds| !holds),
            Self::Numbers { left, operator, right } => {
                Some(operator.holds(left.value(record, layout)?.cmp(&right.value(record, layout)?)))
            }
            Self::Text { field, literal, is_equal } => match record.field(layout, *field) {
                // A null pointer has no text that ends with a NUL.
                Field::Bytes { address: 0, .. } if is_text(layout, *field) => Some(!is_equal),
                Field::Bytes { bytes, length, .. } => {
                    Some((bytes == literal && length == literal.len() as u64) == *is_equal)
                }
                Field::Unread | Field::Number(_) => None,
            },
        }
    }
}

fn is_text(layout: &Layout, field: usize) -> bool {
    matches!(layout.fields().get(field), Some((_, FieldKind::Text(_))))
}

impl Number {
    /// The number in a record. `None` if it could not be read, or differs between its two places.
    #[must_use]
    pub fn value(&self, record: Record<'_>, layout: &Layout) -> Option<i128> {
        match *self {
            Self::Known(value) => Some(value),
            Self::Read { at, other, size, is_signed } => {
                let value = |place| at_place(place, size, is_signed, record, layout);
                let here = value(at)?;
                other.map_or(Some(()), |other| (value(other)? == here).then_some(()))?;
                Some(here)
            }
        }
    }
}

fn at_place(place: Place, size: u8, is_signed: bool, record: Record<'_>, layout: &Layout) -> Option<i128> {
    let bits = match place {
        Place::Constant(bits) => bits,
        Place::Input(field) => match record.field(layout, field) {
            Field::Number(bits) => bits,
            Field::Unread | Field::Bytes { .. } => return None,
        },
    };
    let unused = 64 - u32::from(size.clamp(1, 8)) * 8;
    let bits = bits << unused;
    Some(if is_signed { i128::from(bits as i64 >> unused) } else { i128::from(bits >> unused) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Operator;
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
        let text = |literal: &[u8]| Condition::Text { field: 1, literal: literal.to_vec(), is_equal: true };
        let holds = |condition: &Condition, bytes: &[u8]| condition.holds(Record(bytes), &layout);
        assert_eq!((holds(&less(true), &bytes), holds(&less(false), &bytes)), (Some(true), Some(false)));
        assert_eq!((holds(&text(b"ab"), &bytes), holds(&text(b"abc"), &bytes)), (Some(true), Some(false)));
        let two = |other| Number::Read { at: Place::Input(0), other: Some(other), size: 1, is_signed: true };
        let value = |number: &Number| number.value(Record(&bytes), &layout);
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
