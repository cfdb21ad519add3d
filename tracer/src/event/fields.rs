//! The fields of an event: what is read for each, and how it is put into a record.

use std::sync::Arc;

use simple_markers_resolver::export::fetch::NumberKind;

use super::KernelEvent;
use crate::bytes::put;
use crate::ftrace::format::{Field, Format};
use crate::ftrace::print::Integer;
use crate::plan::Reading;
use crate::record::FieldKind;
use crate::value::{Missing, Value};

/// The size of what all records start with: the number of the event, flags, and the thread.
pub const COMMON: u16 = 8;

/// The most fields: a record has a bit for each that could not be read.
const MOST: usize = 64;

/// Where the value of a field is in the kernel's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A number of so many bytes.
    Number(u8),
    /// So many bytes: a text or an array.
    Inline(u16),
    /// Bytes at a place that the field says, counted from so many bytes after the start.
    Located(u16),
}

impl Place {
    /// The kind of the field in a record of ours.
    #[must_use]
    pub fn kind(self) -> FieldKind {
        match self {
            Self::Number(_) => FieldKind::Number,
            Self::Inline(size) => FieldKind::Inline(size),
            Self::Located(base) => FieldKind::Located(base),
        }
    }
}

/// The type of the elements of an array that is located: `__data_loc u64[]`.
fn element(of: &str) -> &str {
    let of = of.trim_start_matches("__data_loc").trim_start_matches("__rel_loc");
    of.trim().trim_end_matches(']').trim_end_matches(char::is_numeric).trim_end_matches('[').trim()
}

fn is_char(of: &str) -> bool {
    of.split_whitespace().filter(|word| *word != "const").eq(["char"])
}

fn sign(is_signed: bool) -> NumberKind {
    if is_signed { NumberKind::Signed } else { NumberKind::Unsigned }
}

/// A field of an event that is an argument in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventField {
    /// Its name.
    pub name: Arc<str>,
    /// Its offset in the kernel's record.
    pub offset: u16,
    /// Where its value is.
    pub place: Place,
    /// How its value is read.
    pub reading: Reading,
}

/// Where the value of a field is, and how it is read as the field with this number. `None` if it has no
/// bytes of its own.
fn read(field: &Field, number: usize) -> Option<(u16, Place, Reading)> {
    let offset = u16::try_from(field.offset).ok().filter(|offset| *offset >= COMMON)?;
    let size = u16::try_from(field.size).ok().filter(|size| *size > 0)?;
    let array = |of: Option<Integer>, count| {
        let of = of.unwrap_or(BYTE);
        Reading::Array { field: number, size: of.size, kind: sign(of.is_signed), count }
    };
    if field.is_dynamic() {
        let base = if field.of.starts_with("__rel_loc") { offset.checked_add(size)? } else { 0 };
        let of = element(&field.of);
        let reading = if is_char(of) { Reading::Text { field: number } } else { array(Integer::of_type(of), None) };
        return (size == 4).then_some((offset, Place::Located(base), reading));
    }
    if let (1 | 2 | 4 | 8, false) = (size, field.is_array) {
        let size = u8::try_from(size).ok()?;
        let kind = if field.of.ends_with('*') { NumberKind::Pointer } else { sign(field.is_signed) };
        return Some((offset, Place::Number(size), Reading::Number { field: number, size, kind }));
    }
    if is_char(&field.of) {
        return Some((offset, Place::Inline(size), Reading::Text { field: number }));
    }
    let of = Integer::of_type(&field.of).filter(|of| field.is_array && u32::from(of.size) == field.element);
    let count = size.checked_div(of.unwrap_or(BYTE).size.into())?;
    Some((offset, Place::Inline(size), array(of, Some(count))))
}

/// What is no array of integers is one of bytes.
const BYTE: Integer = Integer { size: 1, is_signed: false };

/// The fields of an event, but the common ones.
pub(super) fn of_format(format: &Format) -> Vec<EventField> {
    let mut fields: Vec<EventField> = Vec::new();
    for field in &format.fields {
        if fields.len() >= MOST {
            break;
        }
        if let Some((offset, place, reading)) = read(field, fields.len()) {
            fields.push(EventField { name: Arc::from(field.name.as_str()), offset, place, reading });
        }
    }
    fields
}

impl KernelEvent {
    /// The size of the part of a record that all records of the event have, in bytes.
    #[must_use]
    pub fn fixed_size(&self) -> u16 {
        let ends = self.format.fields.iter().map(|field| field.offset.saturating_add(field.size));
        let end = ends.max().unwrap_or(0).max(COMMON.into());
        u16::try_from(end.div_ceil(8).saturating_mul(8)).unwrap_or(u16::MAX)
    }

    /// The kernel's record that has these values, one for each field. What padded it is 0.
    #[must_use]
    pub fn record<'v>(&self, thread: u32, values: impl Iterator<Item = &'v Result<Value<'v>, Missing<'v>>>) -> Vec<u8> {
        let fixed = usize::from(self.fixed_size());
        let mut record = vec![0; fixed];
        put(&mut record, 0, &self.id().to_ne_bytes());
        put(&mut record, 4, &thread.to_ne_bytes());
        for (EventField { offset, place, .. }, value) in self.fields.iter().zip(values) {
            let Ok(value) = value else { continue };
            let at = usize::from(*offset);
            match (place, value) {
                (Place::Number(size), Value::Number { bits, .. }) => {
                    put(&mut record, at, bits.to_ne_bytes().get(..usize::from(*size)).unwrap_or_default());
                }
                (Place::Inline(size), Value::Text { bytes, .. } | Value::Array { bytes, .. }) => {
                    put(&mut record, at, bytes.get(..usize::from(*size)).unwrap_or(bytes));
                }
                (Place::Located(base), Value::Text { bytes, .. } | Value::Array { bytes, .. }) => {
                    let nul: &[u8] = if matches!(value, Value::Text { .. }) { &[0] } else { &[] };
                    let from = record.len().saturating_sub(usize::from(*base));
                    let length = bytes.len() + nul.len();
                    record.extend(bytes.iter().chain(nul));
                    let place = u32::try_from(length << 16 | from & 0xffff).unwrap_or(0);
                    put(&mut record, at, &place.to_ne_bytes());
                }
                _ => {}
            }
        }
        record
    }
}
