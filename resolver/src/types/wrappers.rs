//! Unwraps types: the single member of a newtype, the target of a reference or counted pointer, and
//! text.

use std::sync::Arc;

use super::{Language, Member, SequenceKind, Shape, Type};

/// The name of a type or variant without path and parameters: `Vec` for `alloc::vec::Vec<u8>`, and
/// `main::{closure#0}` for `shop::main::{closure#0}`.
#[must_use]
pub fn short_name(name: &str) -> &str {
    let base = name.split_once('<').map_or(name, |(base, _)| base);
    match base.starts_with(['&', '*', '(', '[']) {
        true => base,
        false => {
            let mut at = base.rfind("::").map_or(0, |at| at.saturating_add(2));
            // A closure has the name of its function.
            while base.get(at..).is_some_and(|last| last.starts_with('{')) && at > 0 {
                let outer = base.get(..at.saturating_sub(2)).and_then(|outer| outer.rfind("::"));
                at = outer.map_or(0, |at| at.saturating_add(2));
            }
            base.get(at..).unwrap_or(base)
        }
    }
}

/// The name of a type without parameters if it may be one of Rust's library: the describer gives a type of
/// the program with such a name its path.
pub(super) fn library_name(name: &str) -> &str {
    let base = name.split_once('<').map_or(name, |(base, _)| base);
    let is_library = |path: &str| ["core::", "alloc::", "std::"].iter().any(|library| path.starts_with(library));
    if base.contains("::") && !is_library(base) { "" } else { short_name(base) }
}

/// Whether types of Rust's library with this name are written otherwise than by their members.
pub(crate) fn is_library_name(name: &str) -> bool {
    let base = name.split_once('<').map_or(name, |(base, _)| base);
    WRAPPERS.contains(&base) || NOTATIONS.contains(&base)
}

/// The wrappers that are shown as what is in them.
const WRAPPERS: [&str; 8] =
    ["Wrapping", "Saturating", "Pin", "Cell", "UnsafeCell", "SyncUnsafeCell", "NonNull", "Unique"];

/// The types with a notation of their own.
const NOTATIONS: [&str; 13] = [
    "Range",
    "RangeFrom",
    "RangeTo",
    "RangeFull",
    "RangeInclusive",
    "RangeToInclusive",
    "SocketAddr",
    "SocketAddrV4",
    "SocketAddrV6",
    "IpAddr",
    "Cow",
    "OnceCell",
    "LazyCell",
];

/// The single member of a Rust library type that is displayed as its contents: `NonZero`, `Cell`,
/// `AtomicU32`.
pub(crate) fn transparent(of: &Type) -> Option<&Member> {
    let Shape::Struct { members } = &of.shape else { return None };
    let name = library_name(&of.name);
    let is_inner = name.starts_with("NonZero") && (name == "NonZero" || name.ends_with("Inner") || members.len() == 1);
    let is_library = WRAPPERS.contains(&name);
    let is_atomic = name.starts_with("Atomic");
    if !is_inner && !is_library && !is_atomic {
        return None;
    }
    only(of.size, members)
}

/// The single member that covers all bytes.
fn only(size: Option<u64>, members: &[Member]) -> Option<&Member> {
    let mut sized = members.iter().filter(|member| member.of.size != Some(0));
    match (sized.next(), sized.next()) {
        (Some(member), None) if member.bit_offset == 0 && member.bit_size.is_none() && member.of.size == size => {
            Some(member)
        }
        _ => None,
    }
}

/// The position of a pointer in a value, and its target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointee<'a> {
    /// The first bit of the pointer.
    pub(crate) bit_offset: u64,
    /// Size of the pointer in bytes.
    pub(crate) size: u64,
    /// Offset in bytes from the pointed-to address to the target.
    pub(crate) offset: u64,
    /// The target type. `None` if the tree is cut off here.
    pub(crate) to: Option<&'a Arc<Type>>,
    /// What is at the address: the counts of an `Rc` or `Arc`, and the target. `None` without counts.
    pub(crate) counted: Option<&'a Arc<Type>>,
}

/// The target of a pointer, or of an `Rc` or `Arc` of a sized type. `None` for any other type.
pub(crate) fn pointee(of: &Type) -> Option<Pointee<'_>> {
    match &of.shape {
        Shape::Pointer { to } => {
            Some(Pointee { bit_offset: 0, size: of.size?, offset: 0, to: to.as_ref(), counted: None })
        }
        Shape::Struct { members } if matches!(short_name(&of.name), "Rc" | "Arc") => {
            let pointer = members.iter().find(|member| &*member.name == "ptr")?;
            let (mut bit_offset, mut inner) = (pointer.bit_offset, &pointer.of);
            while let Some(member) = transparent(inner) {
                bit_offset = bit_offset.checked_add(member.bit_offset)?;
                inner = &member.of;
            }
            let Shape::Pointer { to } = &inner.shape else { return None };
            let size = inner.size?;
            let Some(counted) = to else {
                return Some(Pointee { bit_offset, size, offset: 0, to: None, counted: None });
            };
            let Shape::Struct { members } = &counted.shape else { return None };
            let has = |name| members.iter().find(|member| &*member.name == name);
            has("strong").and(has("weak"))?;
            let value = has("value").or(has("data"))?;
            Some(Pointee { bit_offset, size, offset: value.bit_offset / 8, to: Some(&value.of), counted: to.as_ref() })
        }
        _ => None,
    }
}

/// Whether a pointer is neither a reference nor an owner.
pub(crate) fn is_raw_pointer(of: &Type, language: Language) -> bool {
    match language {
        Language::Rust => of.name.starts_with('*'),
        Language::C => !of.name.trim_end().ends_with('&'),
    }
}

/// Whether a type is C's `char`.
pub(crate) fn is_letter(of: &Type) -> bool {
    of.size == Some(1) && matches!(of.shape, Shape::Character { .. })
}

/// Whether a type is a C character or a byte.
pub(super) fn is_byte(of: &Type) -> bool {
    of.size == Some(1) && matches!(of.shape, Shape::Character { .. } | Shape::Integer { .. })
}

/// Whether `%s` can show a type. `None` if the tree is cut off before this is known.
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
            // The variants are `Borrowed(&T)` and `Owned(T::Owned)`.
            let inner = variants.variants.first()?.members.first()?;
            let Shape::Struct { members } = &inner.of.shape else { return None };
            names_text(&members.first()?.of, language, next)
        }
        Shape::Opaque(_) => None,
        _ => Some(false),
    }
}
