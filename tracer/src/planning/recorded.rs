//! Probes that the program records itself: what the recorder writes for each argument, and how it is shown.

use std::sync::Arc;

use simple_markers_record::buffer::event::{MAX_TEXT, MAX_VALUE};
use simple_markers_resolver::export::PlannedArgument;
use simple_markers_resolver::export::fetch::{Fetch, NumberKind};
use simple_markers_resolver::location::{Expr, Node, Source as LocationSource};
use simple_markers_resolver::types::{Member, Sequence, Shape, Type};

use crate::plan::{Reading, RecordedTarget, RecordedValue, ShownType, Source, UnreadReason};
use crate::record::FieldKind;
use crate::recorder::event::MAX_CHUNKS;

/// How an argument is recorded and shown.
pub(crate) struct RecordedArgument {
    pub(crate) kind: FieldKind,
    pub(crate) source: Source,
    pub(crate) shown: Option<Arc<ShownType>>,
    /// `None` if it is no whole value.
    pub(crate) value: Option<RecordedValue>,
}

/// An argument in a field. `has_two_words` says whether it is a text or a whole value.
pub(super) fn argument(wanted: &PlannedArgument<'_>, field: usize, has_two_words: bool) -> RecordedArgument {
    if has_two_words && wanted.form.is_some() {
        return whole(wanted, field);
    }
    let (kind, reading) = match wanted.fetch {
        _ if has_two_words => (FieldKind::Bytes(MAX_TEXT as u16), Reading::Text { field }),
        Ok(Fetch::Number { size, kind, .. }) => (FieldKind::Number, Reading::Number { field, size, kind }),
        // A pointer of which the recorder has the address.
        _ => (FieldKind::Number, Reading::Number { field, size: 8, kind: NumberKind::Pointer }),
    };
    RecordedArgument { kind, source: Source::Read(reading), shown: None, value: None }
}

/// A whole value.
fn whole(wanted: &PlannedArgument<'_>, field: usize) -> RecordedArgument {
    let argument = wanted.argument;
    let of = argument.ty.as_deref();
    let value = match (of, argument.location.as_ref().and_then(|location| location.source())) {
        (Some(of), Some(LocationSource::Memory(at))) => value(of, at),
        _ => RecordedValue::Unknown,
    };
    let (kind, source) = match &wanted.fetch {
        Ok(Fetch::Number { size, kind, .. }) => {
            (FieldKind::Number, Source::Read(Reading::Number { field, size: *size, kind: *kind }))
        }
        Ok(Fetch::Text { .. } | Fetch::Pointed(_) | Fetch::Array(_)) => {
            (FieldKind::Bytes(MAX_VALUE as u16), Source::Read(Reading::Text { field }))
        }
        Ok(Fetch::Whole(_)) => (FieldKind::Whole(MAX_CHUNKS), Source::Read(Reading::Whole { field })),
        Err(why) => (FieldKind::Whole(MAX_CHUNKS), Source::Unread(UnreadReason::Omitted(why.clone()))),
    };
    let shown = argument.ty.as_ref().zip(wanted.form.clone()).map(|(of, form)| {
        let (of, language) = (Arc::clone(of), argument.language);
        Arc::new(ShownType { of, language, form, gone: Vec::new(), unread: Vec::new() })
    });
    RecordedArgument { kind, source, shown, value: Some(value) }
}

/// What the bytes of a value are whose place is in memory at an address.
fn value(of: &Type, at: &Expr) -> RecordedValue {
    // A step through a pointer reads it.
    if !matches!(at.node(), Node::Register(..)) {
        return RecordedValue::Behind;
    }
    let target = match &of.shape {
        Shape::Pointer { .. } => of.size.and_then(|size| {
            let size = u16::try_from(size).ok()?;
            Some(RecordedTarget { size, pointer: 0, count: None, capacity: None })
        }),
        Shape::Sequence(sequence) if sequence.offset == 0 => of.size.and_then(|size| sequence_target(size, sequence)),
        _ => None,
    };
    target.map_or(RecordedValue::Place, RecordedValue::Target)
}

/// The parts of a sequence of so many bytes.
fn sequence_target(size: u64, of: &Sequence) -> Option<RecordedTarget> {
    let offset = |member: &Member| u16::try_from(member.bit_offset / 8).ok();
    let element = of.element.as_deref().and_then(|element| element.size).unwrap_or(1);
    let count = (offset(&of.length)?, u8::try_from(of.length.of.size?).ok()?, u32::try_from(element).ok()?);
    let capacity = match &of.capacity {
        Some(capacity) => Some(offset(capacity)?),
        None => None,
    };
    Some(RecordedTarget { size: u16::try_from(size).ok()?, pointer: offset(&of.data)?, count: Some(count), capacity })
}
