//! How a whole value (`%p{..}`) is fetched: a number or a text as for another conversion, and
//! anything else as the bytes of the value, from which a reader follows its pointers.

use std::ops::Range;
use std::sync::Arc;

use super::ArgumentOmission;
use super::fetch::{Fetch, partial_verdict, text, typed};
use super::value_bytes::{ValueBytes, WholeFetch};
use crate::location::{Binary, Expr, Location, Node, Source};
use crate::resolve::Argument;
use crate::types::{Language, SequenceKind, Shape, Type, is_letter, transparent};

/// The most bytes of a value that is not in memory.
const MOST_PARTS: u64 = 64;

/// What to fetch for an argument that is shown as a whole value: also for one of which parts were optimised
/// out. `with_doubtful` says that a doubtful argument is fetched too.
///
/// # Errors
///
/// Why the argument cannot be fetched.
pub fn fetch_whole(argument: &Argument, with_doubtful: bool) -> Result<Fetch, ArgumentOmission> {
    let location = partial_verdict(argument, with_doubtful, true)?;
    let of = argument.ty.as_ref().ok_or(ArgumentOmission::UnknownSize)?;
    let language = argument.language;
    if let Some(letter) = letter_of_number(of) {
        return typed(of, location, letter, language, 0);
    }
    if is_text(of, language) {
        return text(of, location, language, 0);
    }
    let size = of.size.and_then(|size| u32::try_from(size).ok()).ok_or(ArgumentOmission::UnknownSize)?;
    let mut gone = Vec::new();
    let bytes = match location.source() {
        Some(Source::Memory(address)) => ValueBytes::Memory { address: address.clone(), size },
        _ => ValueBytes::Parts { parts: parts(location, size, &mut gone)?, size },
    };
    let (of, path) = (Arc::clone(of), argument.type_path.clone());
    Ok(Fetch::Whole(Box::new(WholeFetch { bytes, gone, of, path, language })))
}

/// The parts of a value that is not in memory as a whole. The bits that are nowhere go to `gone`.
fn parts(location: &Location, size: u32, gone: &mut Vec<Range<u64>>) -> Result<Vec<Option<Expr>>, ArgumentOmission> {
    let size = u64::from(size);
    if size > MOST_PARTS {
        return Err(ArgumentOmission::NumberSize(size));
    }
    let bits = |start: u64| 8 * start..8 * size.min(start + 8);
    let parts: Vec<Option<Expr>> = (0..size).step_by(8).map(|start| part(location, bits(start), gone)).collect();
    match parts.iter().all(Option::is_none) && size > 0 {
        true => Err(ArgumentOmission::OptimizedOut),
        false => Ok(parts),
    }
}

/// At most 64 bits of a value as a number, with 0 for those that are nowhere. They go to `gone`. `None` if all
/// of them do.
fn part(location: &Location, bits: Range<u64>, gone: &mut Vec<Range<u64>>) -> Option<Expr> {
    let size = bits.end - bits.start;
    let within = location.part(bits.start, Some(size));
    if let Ok(number) = within.as_ref().map_err(Clone::clone).and_then(|part| part.integer(size, false)) {
        return Some(number);
    }
    let is_gone = |of: &Source| matches!(of, Source::OptimizedOut | Source::ImplicitPointer { .. });
    if size == 1 || within.map_or(true, |part| part.pieces.iter().all(|piece| is_gone(&piece.source))) {
        match gone.last_mut() {
            Some(before) if before.end == bits.start => before.end = bits.end,
            _ => gone.push(bits),
        }
        return None;
    }
    // It is put together of smaller parts.
    let middle = bits.start + size / 2;
    let low = part(location, bits.start..middle, gone);
    let Some(high) = part(location, middle..bits.end, gone) else { return low };
    let high = Expr::new(Node::Binary(Binary::Shl, high, Expr::constant(size / 2)))?;
    match low {
        Some(low) => Expr::new(Node::Binary(Binary::Or, low, high)),
        None => Some(high),
    }
}

/// The letter of the conversion for a value that is one number.
fn letter_of_number(of: &Type) -> Option<char> {
    let mut of = of;
    while let Some(member) = transparent(of) {
        of = &member.of;
    }
    match of.shape {
        Shape::Integer { .. } | Shape::Boolean | Shape::Enumeration { .. } if of.size? <= 8 => Some('d'),
        Shape::Character { .. } => Some('c'),
        Shape::Float if matches!(of.size?, 4 | 8) => Some('f'),
        _ => None,
    }
}

/// Whether a value is a text, and no bytes that could be one.
fn is_text(of: &Type, language: Language) -> bool {
    match &of.shape {
        Shape::Sequence(sequence) => sequence.kind != SequenceKind::Elements,
        Shape::Pointer { to: Some(to) } => language == Language::C && is_letter(to),
        _ => false,
    }
}
