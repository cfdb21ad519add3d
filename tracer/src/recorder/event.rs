//! Events as records: what a BPF program would write for the same hit.

use simple_markers_record::buffer::Layout as Words;
use simple_markers_record::buffer::event::{Argument, Arguments, Event, NO_CPU};

use crate::bytes::put;
use crate::ftrace::hit_record::{RecordHeader, start};
use crate::plan::{RecorderProbe, TextLimit};
use crate::record::{FieldKind, Layout};

/// In place of the address of a text, which is not recorded. A text is not null.
const ADDRESS: u64 = 1;

/// Writes the record of an event of a probe, whose arguments are the fields in their order. Returns
/// whether they have the layout of the probe.
pub fn write(
    header: &RecordHeader<'_>,
    event: &Event<'_>,
    probe: &RecorderProbe,
    layout: &Layout,
    record: &mut Vec<u8>,
) -> bool {
    start(header, layout, record);
    let mut fields = layout.fields().iter();
    let limits = probe.limits.iter().copied().chain(std::iter::repeat(None));
    for (argument, limit) in Arguments::new(event, probe.words).zip(limits) {
        let Ok(argument) = argument else { return false };
        let Some((offset, kind)) = fields.next() else { return false };
        let offset = usize::from(*offset);
        match (argument, *kind) {
            (Argument::Scalar(value), FieldKind::Number) => put(record, offset, &value.to_ne_bytes()),
            (Argument::Text { bytes, length }, FieldKind::Bytes(most)) => {
                let bytes = bytes.get(..most.into()).unwrap_or(bytes);
                // The length of a text that is cut is not always known, but it is longer.
                let length = length.map_or(bytes.len() as u64 + 1, u64::from);
                let limit = limit.and_then(|limit| most_bytes(limit, event, probe.words)).unwrap_or(u64::MAX);
                let length = length.min(limit);
                let bytes = usize::try_from(length).ok().and_then(|length| bytes.get(..length)).unwrap_or(bytes);
                put(record, offset, &ADDRESS.to_ne_bytes());
                put(record, offset + 8, &length.to_ne_bytes());
                put(record, offset + 16, bytes);
            }
            _ => return false,
        }
    }
    fields.next().is_none()
}

/// The most bytes of a text; `None` if there is no limit.
fn most_bytes(limit: TextLimit, event: &Event<'_>, words: Words) -> Option<u64> {
    match limit {
        TextLimit::Bytes(bytes) => Some(bytes.into()),
        TextLimit::Argument(index) => match Arguments::new(event, words).nth(index)?.ok()? {
            Argument::Scalar(value) => u64::try_from(value as i32).ok(),
            Argument::Text { .. } => None,
        },
    }
}

/// The CPU of an event; 0 if it is not known.
#[must_use]
pub fn cpu(event: &Event<'_>) -> u32 {
    if event.cpu == NO_CPU { 0 } else { event.cpu }
}

#[cfg(test)]
mod tests {
    use simple_markers_resolver::address::FileOffset;

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
        let header = RecordHeader { time: 9, thread: 11, process: 10, site: 2, cpu: cpu(&event), name: b"worker" };
        let mut bytes = Vec::new();
        let probe = |words, limits: &[Option<TextLimit>]| RecorderProbe {
            control: FileOffset(0),
            words,
            limits: limits.to_vec(),
            copies: 1,
        };
        assert!(write(&header, &event, &probe(words, &[]), &layout, &mut bytes));
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
            assert!(!write(&header, &event, &probe(words, &[]), &layout, &mut bytes), "{words:?}");
        }
        let short = Layout::new([FieldKind::Number]);
        assert!(!write(&header, &event, &probe(words, &[]), &short, &mut bytes));

        // A precision ends a text: the first argument is 7.
        let texts = |limits: &[Option<TextLimit>]| {
            let mut bytes = Vec::new();
            assert!(write(&header, &event, &probe(words, limits), &layout, &mut bytes));
            [1, 2].map(|field| match Record(&bytes).field(&layout, field) {
                Field::Bytes { length, bytes, is_cut, .. } => (length, bytes.to_vec(), is_cut),
                other => panic!("{other:?}"),
            })
        };
        let text = |length, bytes: &str, is_cut| (length, bytes.as_bytes().to_vec(), is_cut);
        let (one, three) = (Some(TextLimit::Bytes(1)), Some(TextLimit::Bytes(3)));
        assert_eq!(texts(&[None, one, three]), [text(1, "a", false), text(3, "abc", false)]);
        let seven = Some(TextLimit::Argument(0));
        assert_eq!(texts(&[None, seven, seven]), [text(2, "ab", false), text(5, "abcd", true)]);
        assert_eq!(texts(&[None, Some(TextLimit::Bytes(0)), None]), [text(0, "", false), text(5, "abcd", true)]);
    }
}
