//! What a type is behind what wraps it: the one member of a newtype, what a reference or counted pointer leads to,
//! text.

use std::sync::Arc;

use super::{Language, Member, SequenceKind, Shape, Type};

/// A type's name without its path and its parameters: `Vec` of `alloc::vec::Vec<u8>`.
pub(crate) fn short_name(name: &str) -> &str {
    let base = name.split_once('<').map_or(name, |(base, _)| base);
    match base.starts_with(['&', '*', '(', '[']) {
        true => base,
        false => base.rsplit_once("::").map_or(base, |(_, last)| last),
    }
}

/// The one member of a type of Rust's library that stands for what it holds: `NonZero`, `Cell`, `AtomicU32`.
pub(crate) fn transparent(of: &Type) -> Option<&Member> {
    let Shape::Struct { members } = &of.shape else { return None };
    let name = short_name(&of.name);
    let is_inner = name.starts_with("NonZero") && (name == "NonZero" || name.ends_with("Inner") || members.len() == 1);
    let is_library =
        matches!(name, "Wrapping" | "Saturating" | "Cell" | "UnsafeCell" | "SyncUnsafeCell" | "NonNull" | "Unique");
    let is_atomic = name.starts_with("Atomic");
    if !is_inner && !is_library && !is_atomic {
        return None;
    }
    only(of.size, members)
}

/// The one member that has all of the bytes.
fn only(size: Option<u64>, members: &[Member]) -> Option<&Member> {
    let mut sized = members.iter().filter(|member| member.of.size != Some(0));
    match (sized.next(), sized.next()) {
        (Some(member), None) if member.bit_offset == 0 && member.bit_size.is_none() && member.of.size == size => {
            Some(member)
        }
        _ => None,
    }
}

/// Where a pointer stands in a value, and what it leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointee<'a> {
    /// The pointer's first bit.
    pub(crate) bit_offset: u64,
    /// Bytes of the pointer.
    pub(crate) size: u64,
    /// How many bytes behind where it points the thing is.
    pub(crate) offset: u64,
    /// What it leads to; `None` where the tree is cut off.
    pub(crate) to: Option<&'a Arc<Type>>,
}

/// What a pointer, or an `Rc` or `Arc` of something of a fixed size, leads to; `None` for every other type.
pub(crate) fn pointee(of: &Type) -> Option<Pointee<'_>> {
    match &of.shape {
        Shape::Pointer { to } => Some(Pointee { bit_offset: 0, size: of.size?, offset: 0, to: to.as_ref() }),
        Shape::Struct { members } if matches!(short_name(&of.name), "Rc" | "Arc") => {
            let pointer = members.iter().find(|member| &*member.name == "ptr")?;
            let (mut bit_offset, mut inner) = (pointer.bit_offset, &pointer.of);
            while let Some(member) = transparent(inner) {
                bit_offset = bit_offset.checked_add(member.bit_offset)?;
                inner = &member.of;
            }
            let Shape::Pointer { to } = &inner.shape else { return None };
            let size = inner.size?;
            let Some(counted) = to else { return Some(Pointee { bit_offset, size, offset: 0, to: None }) };
            let Shape::Struct { members } = &counted.shape else { return None };
            let has = |name| members.iter().find(|member| &*member.name == name);
            has("strong").and(has("weak"))?;
            let value = has("value").or(has("data"))?;
            Some(Pointee { bit_offset, size, offset: value.bit_offset / 8, to: Some(&value.of) })
        }
        _ => None,
    }
}

/// Whether a type is a character of C or a byte.
pub(super) fn is_byte(of: &Type) -> bool {
    of.size == Some(1) && matches!(of.shape, Shape::Character { .. } | Shape::Integer { .. })
}

/// Whether `%s` shows a type: `Some(false)` where it does not, `None` where the tree is cut off before that is known.
pub(crate) fn names_text(of: &Type, language: Language, nesting: u32) -> Option<bool> {
    if nesting > 16 {
        return None;
    }
    let next = nesting + 1;
    if let Some(pointee) = pointee(of) {
        let to = pointee.to?;
        let is_raw = language == Language::C || of.name.starts_with('*');
        return match (is_raw, is_byte(to)) {
            (true, is_byte) => Some(is_byte),
            (false, _) => names_text(to, language, next),
        };
    }
    match &of.shape {
        Shape::Sequence(sequence) => match (sequence.kind, &sequence.element) {
            (SequenceKind::Text | SequenceKind::CText, _) => Some(true),
            (SequenceKind::Elements, Some(element)) => Some(is_byte(element)),
            (SequenceKind::Elements, None) => Some(false),
        },
        Shape::Array { element, .. } => Some(is_byte(element)),
        Shape::Variants(variants) if short_name(&of.name) == "Cow" => {
            // `Borrowed(&T)` and `Owned(T::Owned)`.
            let inner = variants.variants.first()?.members.first()?;
            let Shape::Struct { members } = &inner.of.shape else { return None };
            names_text(&members.first()?.of, language, next)
        }
        Shape::Opaque(_) => None,
        _ => Some(false),
    }
}
