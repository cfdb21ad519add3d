//! How a whole value (`%p{..}`) is fetched: a number or a text as for another conversion, and
//! anything else as the bytes of the value, from which a reader follows its pointers.

use std::sync::Arc;

use super::ArgumentOmission;
use super::fetch::{Fetch, text, typed, verdict};
use super::value_bytes::{ValueBytes, WholeFetch};
use crate::location::{Expr, Location, PartError, Source};
use crate::resolve::Argument;
use crate::types::{Language, SequenceKind, Shape, Type, is_letter, transparent};

/// The most bytes of a value that is not in memory.
const MOST_PARTS: u64 = 64;

/// What to fetch for an argument that is shown as a whole value. `with_doubtful` says that a doubtful
/// argument is fetched too.
///
/// # Errors
///
/// Why the argument cannot be fetched.
pub fn fetch_whole(argument: &Argument, with_doubtful: bool) -> Result<Fetch, ArgumentOmission> {
    let location = verdict(argument, with_doubtful)?;
    let of = argument.ty.as_ref().ok_or(ArgumentOmission::UnknownSize)?;
    let language = argument.language;
    if let Some(letter) = letter_of_number(of) {
        return typed(of, location, letter, language, 0);
    }
    if is_text(of, language) {
        return text(of, location, language, 0);
    }
    let size = of.size.and_then(|size| u32::try_from(size).ok()).ok_or(ArgumentOmission::UnknownSize)?;
    let bytes = match location.source() {
        Some(Source::Memory(address)) => ValueBytes::Memory { address: address.clone(), size },
        _ => ValueBytes::Parts { parts: parts(location, size)?, size },
    };
    Ok(Fetch::Whole(Box::new(WholeFetch { bytes, of: Arc::clone(of), language })))
}

/// The parts of a value that is not in memory as a whole.
fn parts(location: &Location, size: u32) -> Result<Vec<Option<Expr>>, ArgumentOmission> {
    let size = u64::from(size);
    if size > MOST_PARTS {
        return Err(ArgumentOmission::NumberSize(size));
    }
    let part = |start: u64| {
        let bits = 8 * (size - start).min(8);
        match location.part(8 * start, Some(bits)).and_then(|part| part.integer(bits, false)) {
            Ok(bits) => Some(bits),
            // A part in several pieces is put together of smaller ones.
            Err(PartError::Scattered(_)) => scattered(location, 8 * start, bits),
            Err(PartError::OptimizedOut | PartError::ImplicitPointer(..)) => None,
        }
    };
    let parts: Vec<Option<Expr>> = (0..size).step_by(8).map(part).collect();
    match parts.iter().all(Option::is_none) && size > 0 {
        true => Err(ArgumentOmission::OptimizedOut),
        false => Ok(parts),
    }
}

/// The bits of a part whose halves are in different places. `None` if one of them is in none.
fn scattered(location: &Location, start: u64, bits: u64) -> Option<Expr> {
    use crate::location::{Binary, Node};
    if bits <= 8 || bits % 2 != 0 {
        return None;
    }
    let half = bits / 2;
    let of = |start| {
        let part = location.part(start, Some(half)).ok()?;
        part.integer(half, false).ok().or_else(|| scattered(location, start, half))
    };
    let (low, high) = (of(start)?, of(start + half)?);
    let high = Expr::new(Node::Binary(Binary::Shl, high, Expr::constant(half)))?;
    Expr::new(Node::Binary(Binary::Or, low, high))
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
