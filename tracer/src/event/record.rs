//! The kernel's record of an event, made of the values of its fields.

use crate::bytes::put;
use crate::plan::{EventField, FAULT, FieldPlace, KernelEvent};
use crate::value::{Missing, Value};

impl KernelEvent {
    /// The kernel's record that has these values, one for each field. What padded it is 0.
    #[must_use]
    pub fn record<'v>(&self, thread: u32, values: impl Iterator<Item = Result<Value<'v>, Missing<'v>>>) -> Vec<u8> {
        let fixed = usize::from(self.fixed_size());
        let mut record = vec![0; fixed];
        put(&mut record, 0, &self.id().to_ne_bytes());
        put(&mut record, 4, &thread.to_ne_bytes());
        for (EventField { offset, place, .. }, value) in self.fields.iter().zip(values) {
            let at = usize::from(*offset);
            let base = match place {
                FieldPlace::Located(base) => Some(*base),
                FieldPlace::User(_) => Some(0),
                FieldPlace::Number(_) | FieldPlace::Inline(_) => None,
            };
            let fault = base.map(|_| Value::Text { bytes: FAULT, is_cut: false });
            let Ok(value) = value.or(fault.ok_or(())) else { continue };
            match (place, value) {
                (FieldPlace::Number(size), Value::Number { bits, .. }) => {
                    put(&mut record, at, bits.to_ne_bytes().get(..usize::from(*size)).unwrap_or_default());
                }
                (FieldPlace::Inline(size), Value::Text { bytes, .. } | Value::Array { bytes, .. }) => {
                    put(&mut record, at, bytes.get(..usize::from(*size)).unwrap_or(bytes));
                }
                (_, Value::Text { bytes, .. } | Value::Array { bytes, .. }) => {
                    let Some(base) = base else { continue };
                    let nul: &[u8] = if matches!(value, Value::Text { .. }) { &[0] } else { &[] };
                    let from = record.len().saturating_sub(usize::from(base));
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
