//! Events as records: what a BPF program would write for the same hit.

use simple_markers_record::buffer::Layout as Words;
use simple_markers_record::buffer::event::{Argument, Arguments, Event, NO_CPU};

use crate::bytes::put;
use crate::ftrace::machine::{Header, start};
use crate::record::{FieldKind, Layout};

/// In place of the address of a text, which is not recorded. A text is not null.
const ADDRESS: u64 = 1;

/// Writes the record of an event of a probe, whose arguments are the fields in their order. Returns
/// whether they have the layout of the probe.
pub fn write(header: &Header<'_>, event: &Event<'_>, words: Words, layout: &Layout, record: &mut Vec<u8>) -> bool {
    start(header, layout, record);
    let mut fields = layout.fields().iter();
    for argument in Arguments::new(event, words) {
        let Ok(argument) = argument else { return false };
        let Some((offset, kind)) = fields.next() else { return false };
        let offset = usize::from(*offset);
        match (argument, *kind) {
            (Argument::Scalar(value), FieldKind::Number) => put(record, offset, &value.to_ne_bytes()),
            (Argument::Text { bytes, length }, FieldKind::Bytes(most)) => {
                let bytes = bytes.get(..most.into()).unwrap_or(bytes);
                // The length of a text that is cut is not always known, but it is longer.
                let length = length.map_or(bytes.len() as u64 + 1, u64::from);
                put(record, offset, &ADDRESS.to_ne_bytes());
                put(record, offset + 8, &length.to_ne_bytes());
                put(record, offset + 16, bytes);
            }
            _ => return false,
        }
    }
    fields.next().is_none()
}

/// The CPU of an event; 0 if it is not known.
#[must_use]
pub fn cpu(event: &Event<'_>) -> u32 {
    if event.cpu == NO_CPU { 0 } else { event.cpu }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Field, Record};

    #[test]
    fn the_arguments_of_an_event_are_the_fields_of_a_record() {
        let words = Words::new(&[false, true, true]).expect("a layout");
        let layout = Layout::new([FieldKind::Number, FieldKind::Bytes(256), FieldKind::Bytes(4)]);
        let mut arguments = 7u64.to_le_bytes().to_vec();
        for (length, bytes) in [(2u32, b"ab\0\0\0\0\0\0"), (u32::MAX, b"abcdefgh")] {
            arguments.extend(8u32.to_le_bytes());
            arguments.extend(length.to_le_bytes());
            arguments.extend(bytes);
        }
        let event = Event { time: 5, id: 1, cpu: 3, arguments: &arguments };
        let header = Header { time: 9, thread: 11, process: 10, site: 2, cpu: cpu(&event), name: b"worker" };
        let mut bytes = Vec::new();
        assert!(write(&header, &event, words, &layout, &mut bytes));
        let record = Record(&bytes);
        assert_eq!((record.time(), record.thread(), record.process(), record.cpu()), (9, 11, 10, 3));
        assert_eq!((record.name(), record.is_complete()), (&b"worker"[..], true));
        assert_eq!(record.field(&layout, 0), Field::Number(7));
        assert_eq!(record.field(&layout, 1), Field::Bytes { address: ADDRESS, length: 2, bytes: b"ab", is_cut: false });
        assert_eq!(
            record.field(&layout, 2),
            Field::Bytes { address: ADDRESS, length: 5, bytes: b"abcd", is_cut: true }
        );
        for words in [&[false][..], &[false, true], &[true, true, true], &[false, true, true, false]] {
            let words = Words::new(words).expect("a layout");
            assert!(!write(&header, &event, words, &layout, &mut bytes), "{words:?}");
        }
        let short = Layout::new([FieldKind::Number]);
        assert!(!write(&header, &event, words, &short, &mut bytes));
    }
}
