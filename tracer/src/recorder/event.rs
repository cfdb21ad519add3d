//! Events as records: what a BPF program would write for the same hit.
//!
//! Of a whole value the recorder has its bytes, and nothing that its pointers lead to.

use simple_markers_record::buffer::event::{Argument, Arguments, Event, MAX_VALUE, NO_CPU};

use crate::bytes::put;
use crate::ftrace::hit_record::{RecordHeader, start};
use crate::plan::{RecordedTarget, RecordedValue, RecorderProbe, TextLimit};
use crate::record::{FieldKind, Layout, UNREAD};
use crate::whole::{CHUNK_HEADER, add_chunk};

/// In place of the address of a text, which is not recorded. A text is not null.
const ADDRESS: u64 = 1;

/// The address of what is behind a pointer that was recorded: one that no program has.
const TARGET: u64 = 0xffff_fe00_0000_0000;

/// The most bytes of a value that is a pointer or a sequence: the three words of a `Vec`.
const MAX_TARGET: usize = 24;

/// The most bytes of the chunks of a whole value: those of a sequence, and what it leads to.
pub(crate) const MAX_CHUNKS: u16 = 2 * CHUNK_HEADER + (MAX_TARGET + MAX_VALUE) as u16;

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
    let (mut fields, mut unread) = (layout.fields().iter(), 0);
    let limits = probe.limits.iter().copied().chain(std::iter::repeat(None));
    let values = probe.values.iter().copied().chain(std::iter::repeat(None));
    let arguments = Arguments::new(event, probe.words, probe.value_bits());
    for (number, ((argument, limit), of)) in arguments.zip(limits).zip(values).enumerate() {
        let Ok(argument) = argument else { return false };
        let Some((offset, kind)) = fields.next() else { return false };
        let offset = usize::from(*offset);
        match (argument, *kind) {
            (Argument::Scalar(value), FieldKind::Number) => put(record, offset, &value.to_ne_bytes()),
            (Argument::Text { bytes, length }, FieldKind::Bytes(most)) => {
                let bytes = bytes.get(..most.into()).unwrap_or(bytes);
                // The length of a text that is cut is not always known, but it is longer.
                let length = length.map_or(bytes.len() as u64 + 1, u64::from);
                let limit = limit.and_then(|limit| most_bytes(limit, event, probe)).unwrap_or(u64::MAX);
                let length = length.min(limit);
                let bytes = usize::try_from(length).ok().and_then(|length| bytes.get(..length)).unwrap_or(bytes);
                put_text(record, offset, bytes, length);
            }
            (Argument::Value { bytes, size, is_behind }, kind) => {
                let value = ValueRecord { bytes, size, is_behind, of: of.unwrap_or(RecordedValue::Unknown) };
                if !value.write(kind, offset, record) {
                    unread |= 1u64.checked_shl(number as u32).unwrap_or(0);
                }
            }
            _ => return false,
        }
    }
    put(record, UNREAD.into(), &unread.to_ne_bytes());
    fields.next().is_none()
}

/// A whole value, and what its bytes are by its type.
struct ValueRecord<'a> {
    bytes: &'a [u8],
    /// How many there are in the program.
    size: Option<u32>,
    is_behind: bool,
    of: RecordedValue,
}

impl ValueRecord<'_> {
    /// Writes the field of a record. Returns whether the value is there.
    fn write(&self, kind: FieldKind, offset: usize, record: &mut [u8]) -> bool {
        let Self { bytes, size, is_behind, of } = *self;
        let is_value = match of {
            RecordedValue::Place => !is_behind,
            RecordedValue::Behind => is_behind,
            RecordedValue::Unknown | RecordedValue::Bytes(_) | RecordedValue::Target(_) => false,
        };
        match (kind, of) {
            (FieldKind::Number, _) if is_value && bytes.len() <= 8 => put(record, offset, bytes),
            (FieldKind::Bytes(most), RecordedValue::Target(_)) if is_behind => {
                let length = size.map_or(bytes.len() as u64 + 1, u64::from);
                put_text(record, offset, bytes.get(..most.into()).unwrap_or(bytes), length);
            }
            (FieldKind::Whole(_), of) => {
                let mut chunks = Vec::new();
                match of {
                    RecordedValue::Bytes(target) => self.add_target(target, &mut chunks),
                    RecordedValue::Target(target) if is_behind => self.add_target(target, &mut chunks),
                    RecordedValue::Target(_) => add_chunk(&mut chunks, 0, bytes, 0),
                    // What a pointer leads to that was not followed.
                    _ => add_chunk(&mut chunks, 0, if is_value { bytes } else { &[] }, 0),
                }
                put(record, offset, &(chunks.len() as u64).to_ne_bytes());
                put(record, offset + 8, &chunks);
            }
            _ => return false,
        }
        true
    }

    /// Adds a value that points to the bytes, and the bytes.
    fn add_target(&self, target: RecordedTarget, chunks: &mut Vec<u8>) {
        let RecordedTarget { size, pointer, count, capacity } = target;
        let mut value = vec![0; usize::from(size).min(MAX_TARGET)];
        let mut is_known = usize::from(size) <= MAX_TARGET;
        put(&mut value, pointer.into(), &TARGET.to_ne_bytes());
        if let Some((at, length, element)) = count {
            match self.size.and_then(|size| size.checked_div(element)) {
                Some(count) => {
                    let count = u64::from(count).to_ne_bytes();
                    put(&mut value, at.into(), count.get(..length.into()).unwrap_or(&count));
                    capacity.into_iter().for_each(|at| put(&mut value, at.into(), &count));
                }
                // There is no telling how many elements without a size there are.
                None => is_known = false,
            }
        }
        add_chunk(chunks, 0, if is_known { &value } else { &[] }, 0);
        if is_known {
            add_chunk(chunks, TARGET, self.bytes, 0);
        }
    }
}

/// Writes the field of a text.
fn put_text(record: &mut [u8], offset: usize, bytes: &[u8], length: u64) {
    put(record, offset, &ADDRESS.to_ne_bytes());
    put(record, offset + 8, &length.to_ne_bytes());
    put(record, offset + 16, bytes);
}

/// The most bytes of a text; `None` if there is no limit.
fn most_bytes(limit: TextLimit, event: &Event<'_>, probe: &RecorderProbe) -> Option<u64> {
    match limit {
        TextLimit::Bytes(bytes) => Some(bytes.into()),
        TextLimit::Argument(index) => match Arguments::new(event, probe.words, probe.value_bits()).nth(index)?.ok()? {
            Argument::Scalar(value) => u64::try_from(value as i32).ok(),
            Argument::Text { .. } | Argument::Value { .. } => None,
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
    use simple_markers_record::buffer::{self, Layout as Words};
    use simple_markers_resolver::address::FileOffset;
    use simple_markers_resolver::types::MemoryChunk;

    use super::*;
    use crate::record::{Field, Record};
    use crate::whole::chunks;

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
            values: Vec::new(),
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

    /// The chunks that are made of the bytes of a value: address and bytes of each; or of a number or a text,
    /// the value. `None` if it is unread.
    fn value(of: RecordedValue, kind: FieldKind, (bytes, size, is_behind): (&[u8], u32, bool)) -> Option<String> {
        let words = Words::new(&[true]).expect("a layout").with_values();
        let layout = Layout::new([kind]);
        let stored = bytes.len().next_multiple_of(8).max(8);
        let word = size | if is_behind { buffer::value::BEHIND } else { 0 };
        let mut arguments = [(stored as u32).to_le_bytes(), word.to_le_bytes()].concat();
        arguments.extend(bytes);
        arguments.resize(8 + stored, 0);
        let event = Event { time: 5, id: 1, cpu: 3, arguments: &arguments };
        let header = RecordHeader { time: 9, thread: 11, process: 10, site: 2, cpu: 3, name: b"" };
        let probe =
            RecorderProbe { control: FileOffset(0), words, limits: Vec::new(), values: vec![Some(of)], copies: 1 };
        let mut record = Vec::new();
        assert!(write(&header, &event, &probe, &layout, &mut record));
        match Record(&record).field(&layout, 0) {
            Field::Unread => None,
            Field::Whole(all) => {
                let chunk = |chunk: MemoryChunk<'_>| (chunk.address == TARGET, chunk.bytes.to_vec());
                Some(format!("{:?}", chunks(all).map(chunk).collect::<Vec<_>>()))
            }
            Field::Bytes { length, bytes, is_cut, .. } => Some(format!("{length} {bytes:?} {is_cut}")),
            other => Some(format!("{other:?}")),
        }
    }

    #[test]
    fn the_bytes_of_a_value_are_those_that_its_type_says() {
        use RecordedValue::{Behind, Bytes, Place, Target, Unknown};

        let whole = FieldKind::Whole(MAX_CHUNKS);
        let (in_place, behind) = ((&[1u8, 2, 3][..], 3, false), (&[1u8, 2, 3][..], 3, true));
        let all = Some("[(false, [1, 2, 3])]".to_owned());
        // What the place of a pointer has is nothing of what it leads to, and the other way round.
        let none = Some("[(false, [])]".to_owned());
        for (of, expected) in [(Place, [&all, &none]), (Behind, [&none, &all]), (Unknown, [&none, &none])] {
            assert_eq!([in_place, behind].map(|bytes| value(of, whole, bytes)).each_ref(), expected, "{of:?}");
        }
        let number = |bits: u64| Some(format!("{:?}", Field::Number(bits)));
        assert_eq!(value(Place, FieldKind::Number, in_place), number(0x03_02_01));
        assert_eq!(value(Place, FieldKind::Number, behind), None);
        assert_eq!(value(Behind, FieldKind::Number, behind), number(0x03_02_01));
        let vec = RecordedTarget { size: 24, pointer: 8, count: Some((16, 8, 2)), capacity: Some(0) };
        let long = (&[7u8; 8][..], 5000, true);
        let text = FieldKind::Bytes(8);
        assert_eq!(value(Target(vec), text, long), Some("5000 [7, 7, 7, 7, 7, 7, 7, 7] true".to_owned()));
        assert_eq!(value(Target(vec), text, (&[7; 8], 8, false)), None);
        let root = [2500u64.to_le_bytes(), TARGET.to_le_bytes(), 2500u64.to_le_bytes()].concat();
        let of_vec = Some(format!("{:?}", [(false, root), (true, vec![7; 8])]));
        assert_eq!(value(Target(vec), whole, long), of_vec);
        assert_eq!(value(Target(vec), whole, in_place), all);
        // How many elements without a size there are is not known.
        let empty = RecordedTarget { count: Some((16, 8, 0)), ..vec };
        assert_eq!(value(Target(empty), whole, (&[], 0, true)), none);
        let pointer = RecordedTarget { size: 8, pointer: 0, count: None, capacity: None };
        let of_pointer = Some(format!("{:?}", [(false, TARGET.to_le_bytes().to_vec()), (true, vec![1, 2, 3])]));
        assert_eq!(value(Target(pointer), whole, behind), of_pointer);
        let bytes = RecordedTarget { size: 16, pointer: 0, count: Some((8, 8, 1)), capacity: None };
        let root = [TARGET.to_le_bytes(), 3u64.to_le_bytes()].concat();
        let of_bytes = Some(format!("{:?}", [(false, root), (true, vec![1, 2, 3])]));
        assert_eq!([in_place, behind].map(|it| value(Bytes(bytes), whole, it)), [of_bytes.clone(), of_bytes]);
        let large = RecordedTarget { size: 32, ..vec };
        assert_eq!(value(Target(large), whole, long), none);
    }
}
