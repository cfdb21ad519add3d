//! What a consumer must fetch to print an argument: derived from its location, its type and its
//! conversion.
//!
//! The result is the same for all consumers. Each of them then writes what its syntax can express.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::ArgumentOmission;
use super::value_bytes::WholeFetch;
use crate::location::{Expr, Location, Node, Source, Value, ValueType};
use crate::resolve::{Argument, Verdict};
use crate::types::{Language, Sequence, SequenceKind, Shape, Type, names_text, pointee, transparent};
use simple_markers_record::integer;

/// Where the bits of a value are.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// The low bits of a register.
    Register(crate::location::Register),
    /// Memory at an address.
    Memory(Expr),
    /// The value of a computation.
    Value(Expr),
    /// A constant.
    Constant(u64),
}

/// How the bits of a number are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, Serialize, Deserialize)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum NumberKind {
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A floating-point number.
    Float,
    /// An address.
    Pointer,
    /// A Unicode scalar value.
    Unicode,
}

/// What a consumer fetches for an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Fetch {
    /// A number of 1, 2, 4 or 8 bytes.
    Number {
        /// Where it is.
        at: Operand,
        /// Its size in bytes.
        size: u8,
        /// How its bits are read.
        kind: NumberKind,
    },
    /// A pointer to a text that ends with a NUL.
    Pointed(Operand),
    /// The address of an array of characters that ends with a NUL.
    Array(Expr),
    /// A text of `length` bytes that starts `offset` bytes after the pointer `data`.
    Text {
        /// The pointer.
        data: Operand,
        /// Bytes from the pointer's target to the first byte.
        offset: u64,
        /// The number of bytes.
        length: Operand,
    },
    /// A whole value, and what it refers to.
    Whole(Box<WholeFetch>),
}

/// How deep nested references and wrappers are followed.
const NESTING: u32 = 16;

/// What to fetch for an argument with the conversion `letter`. A `*` of a format counts as `d`.
/// `with_doubtful` says that a doubtful argument is fetched too.
///
/// # Errors
///
/// Why the argument cannot be fetched.
pub fn fetch(argument: &Argument, letter: char, with_doubtful: bool) -> Result<Fetch, ArgumentOmission> {
    let location = verdict(argument, with_doubtful)?;
    match &argument.ty {
        Some(of) => typed(of, location, letter, argument.language, 0),
        // An argument that the program keeps has a size and a sign, also without debug information.
        None => {
            let signed = matches!(argument.encoding, Some(crate::resolve::Encoding::Signed));
            let kind = match argument.encoding {
                Some(crate::resolve::Encoding::Float) => NumberKind::Float,
                _ if letter == 'p' => NumberKind::Pointer,
                _ if signed => NumberKind::Signed,
                // Rust keeps a `char` for it, or a `u8`, which is the character with that number.
                _ if letter == 'c' && argument.size == Some(4) => NumberKind::Unicode,
                _ => NumberKind::Unsigned,
            };
            // What is kept for `%s` is a pointer to characters of C, in Rust too.
            if letter == 's' {
                return match argument.size {
                    Some(8) => Ok(Fetch::Pointed(place(location, 8, false)?)),
                    Some(size) => Err(ArgumentOmission::NumberSize(size)),
                    None => Err(ArgumentOmission::UnknownSize),
                };
            }
            number(location, argument.size, kind)
        }
    }
}

/// Where an argument is, if its verdict allows to fetch it.
pub(super) fn verdict(argument: &Argument, with_doubtful: bool) -> Result<&Location, ArgumentOmission> {
    partial_verdict(argument, with_doubtful, false)
}

/// The location of an argument that may be fetched. `with_partial` says that one of which parts were
/// optimised out may be.
pub(super) fn partial_verdict(
    argument: &Argument,
    with_doubtful: bool,
    with_partial: bool,
) -> Result<&Location, ArgumentOmission> {
    match argument.verdict.ok_or_else(|| ArgumentOmission::Unresolved(argument.reason.clone()))? {
        Verdict::Live | Verdict::Constant => {}
        Verdict::Doubtful if with_doubtful => {}
        Verdict::Partial if with_partial => {}
        Verdict::Doubtful => return Err(ArgumentOmission::Doubtful(argument.reason.clone())),
        verdict => return Err(ArgumentOmission::Unavailable(verdict, argument.reason.clone())),
    }
    argument.location.as_ref().ok_or(ArgumentOmission::NoLocation)
}

pub(super) fn typed(
    of: &Type,
    location: &Location,
    letter: char,
    language: Language,
    nesting: u32,
) -> Result<Fetch, ArgumentOmission> {
    let refused = || ArgumentOmission::Conversion { letter, type_name: Arc::clone(&of.name) };
    if nesting > NESTING {
        return Err(ArgumentOmission::TooManyReferences);
    }
    let member = |member: &crate::types::Member, of: &Type| {
        let location = part(location, member.bit_offset, of.size)?;
        typed(of, &location, letter, language, nesting + 1)
    };
    if letter == 's' {
        return text(of, location, language, nesting);
    }
    if letter == 'p' {
        return match &of.shape {
            Shape::Pointer { .. } | Shape::Function => number(location, of.size, NumberKind::Pointer),
            Shape::Struct { .. } if transparent(of).is_some() => match transparent(of) {
                Some(inner) => member(inner, &inner.of),
                None => Err(refused()),
            },
            Shape::Sequence(sequence) if sequence.offset == 0 => {
                let data = part(location, sequence.data.bit_offset, sequence.data.of.size)?;
                number(&data, sequence.data.of.size, NumberKind::Pointer)
            }
            // An `Rc` points to its counts, not to its value, so its pointer is not the value's address.
            _ => match pointee(of).filter(|pointee| pointee.offset == 0) {
                Some(pointee) => {
                    let data = part(location, pointee.bit_offset, Some(pointee.size))?;
                    number(&data, Some(pointee.size), NumberKind::Pointer)
                }
                None => Err(refused()),
            },
        };
    }
    if let Some(inner) = transparent(of) {
        return member(inner, &inner.of);
    }
    let is_float = matches!(letter, 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A');
    match &of.shape {
        Shape::Pointer { to: Some(to) } if language == Language::Rust && of.name.starts_with('&') => {
            let address = behind(location, of.size)?;
            typed(to, &Location::whole(Source::Memory(address)), letter, language, nesting + 1)
        }
        Shape::Float if is_float => number(location, of.size, NumberKind::Float),
        _ if is_float => Err(refused()),
        Shape::Character { .. } if of.size == Some(4) => number(location, of.size, NumberKind::Unicode),
        Shape::Integer { signed } | Shape::Character { signed } | Shape::Enumeration { signed, .. } => {
            number(location, of.size, if *signed { NumberKind::Signed } else { NumberKind::Unsigned })
        }
        Shape::Boolean => number(location, of.size, NumberKind::Unsigned),
        Shape::Pointer { .. } => number(location, of.size, NumberKind::Pointer),
        _ => Err(refused()),
    }
}

pub(super) fn text(
    of: &Type,
    location: &Location,
    language: Language,
    nesting: u32,
) -> Result<Fetch, ArgumentOmission> {
    let refused = || ArgumentOmission::Conversion { letter: 's', type_name: Arc::clone(&of.name) };
    if names_text(of, language, 0) != Some(true) {
        return Err(refused());
    }
    match &of.shape {
        Shape::Sequence(sequence) => sequence_text(sequence, location),
        Shape::Array { .. } if language == Language::C => match location.source() {
            Some(Source::Memory(address)) => Ok(Fetch::Array(address.clone())),
            _ => Err(ArgumentOmission::TextNotInMemory),
        },
        Shape::Pointer { to: Some(to) } if language == Language::C || of.name.starts_with('*') => match to.size {
            Some(1) => Ok(Fetch::Pointed(place(location, 8, false)?)),
            _ => Err(refused()),
        },
        Shape::Pointer { to: Some(to) } if of.name.starts_with('&') => {
            let address = behind(location, of.size)?;
            if nesting > NESTING {
                return Err(ArgumentOmission::TooManyReferences);
            }
            text(to, &Location::whole(Source::Memory(address)), language, nesting + 1)
        }
        _ => Err(refused()),
    }
}

fn sequence_text(sequence: &Sequence, location: &Location) -> Result<Fetch, ArgumentOmission> {
    if sequence.kind == SequenceKind::CText {
        // Its length includes the NUL.
        let data = part(location, sequence.data.bit_offset, sequence.data.of.size)?;
        return match sequence.offset {
            0 => Ok(Fetch::Pointed(place(&data, 8, false)?)),
            _ => Err(ArgumentOmission::TextAtOffset),
        };
    }
    let is_word = |of: &Type| of.size == Some(8);
    if !is_word(&sequence.data.of) || !is_word(&sequence.length.of) {
        return Err(ArgumentOmission::TextParts);
    }
    let data = part(location, sequence.data.bit_offset, Some(8))?;
    let length = part(location, sequence.length.bit_offset, Some(8))?;
    Ok(Fetch::Text { data: place(&data, 8, false)?, offset: sequence.offset, length: place(&length, 8, false)? })
}

fn part(location: &Location, bit_offset: u64, size: Option<u64>) -> Result<Location, ArgumentOmission> {
    let bits = size.and_then(|size| size.checked_mul(8));
    location.part(bit_offset, bits).map_err(ArgumentOmission::from)
}

/// The address that a reference at a location holds.
fn behind(location: &Location, size: Option<u64>) -> Result<Expr, ArgumentOmission> {
    match size {
        Some(8) => location.pointer(8).map_err(ArgumentOmission::from),
        _ => Err(ArgumentOmission::ReferenceSize),
    }
}

fn number(location: &Location, size: Option<u64>, kind: NumberKind) -> Result<Fetch, ArgumentOmission> {
    let size = match size {
        Some(size @ (1 | 2 | 4 | 8)) => size as u8,
        Some(size) => return Err(ArgumentOmission::NumberSize(size)),
        None => return Err(ArgumentOmission::UnknownSize),
    };
    Ok(Fetch::Number { at: place(location, size, kind == NumberKind::Signed)?, size, kind })
}

/// Where a number of `size` bytes is.
fn place(location: &Location, size: u8, signed: bool) -> Result<Operand, ArgumentOmission> {
    match location.source() {
        Some(Source::Register(register)) => return Ok(Operand::Register(*register)),
        Some(Source::Memory(address)) => return Ok(Operand::Memory(address.clone())),
        Some(Source::Value(value)) if value.value_type().size(8) < size => {
            return Err(ArgumentOmission::NarrowComputation);
        }
        Some(Source::Value(value)) => {
            return Ok(known(value).map_or_else(|| Operand::Value(value.clone()), Operand::Constant));
        }
        Some(Source::ImplicitPointer { .. }) => {
            return Err(ArgumentOmission::ImplicitPointer);
        }
        Some(Source::OptimizedOut) => return Err(ArgumentOmission::OptimizedOut),
        // Little-endian: no other images are exported.
        Some(Source::Bytes(bytes)) if bytes.len() <= 8 && bytes.len() >= usize::from(size) => {
            let low = bytes.iter().take(size.into()).rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            return Ok(Operand::Constant(low));
        }
        _ => {}
    }
    let value = location.integer(u64::from(size) * 8, signed).map_err(ArgumentOmission::from)?;
    if let Node::Constant(Value { bits, .. }) = value.node() {
        return Ok(Operand::Constant(*bits));
    }
    Ok(Operand::Value(value))
}

/// A computation without outer conversions that do not change its low `size` bytes.
pub(super) fn unconverted(mut value: &Expr, size: u8) -> &Expr {
    let leaves = |of: &ValueType| !matches!(of, ValueType::Float(_)) && of.size(8) >= size;
    while let Node::Convert(to, inner) | Node::Reinterpret(to, inner) = value.node() {
        if !leaves(to) || !leaves(&inner.value_type()) {
            break;
        }
        value = inner;
    }
    value
}

fn known(value: &Expr) -> Option<u64> {
    match value.node() {
        Node::Constant(Value { of, bits }) if !matches!(of, ValueType::Float(_)) => Some(match of {
            ValueType::Signed(size @ (1 | 2 | 4)) => integer::signed(*bits, *size) as u64,
            _ => *bits,
        }),
        _ => None,
    }
}
