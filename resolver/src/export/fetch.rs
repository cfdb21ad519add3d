//! What of an argument is to be fetched, and from where: its location and type, as its conversion reads them.
//!
//! The same for all consumers; each says which of it its syntax has. What cannot be told for certain is refused with a reason.

use crate::english::arguments;
use crate::location::{Expr, Location, Node, Source, Value, ValueType};
use crate::resolve::{Argument, Verdict};
use crate::types::{Language, Sequence, SequenceKind, Shape, Type, names_text, pointee, transparent};

/// Where the bits of a value are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Where {
    /// The low bits of a register.
    Register(crate::location::Register),
    /// Memory at an address.
    Memory(Expr),
    /// The value of a computation.
    Value(Expr),
    /// Known.
    Constant(u64),
}

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Signed,
    Unsigned,
    Float,
    /// An address.
    Pointer,
    /// A Unicode scalar value.
    Unicode,
}

/// What is to be fetched.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fetch {
    /// A number of 1, 2, 4 or 8 bytes.
    Number { at: Where, size: u8, kind: Kind },
    /// The text up to a NUL behind the pointer that is there.
    Pointed(Where),
    /// The text up to a NUL in an array of characters at an address.
    Array(Expr),
    /// So many bytes of text: the address of the first one is `offset` more than the pointer, the other is how many.
    Text { data: Where, offset: u64, length: Where },
}

/// How deep references and wrappers are followed.
const NESTING: u32 = 16;

/// What is to be fetched for an argument that `letter` converts; a `*` of a format is an integer.
///
/// # Errors
///
/// Why nothing can be.
pub(super) fn fetch(argument: &Argument, letter: char) -> Result<Fetch, String> {
    let verdict = argument.verdict.ok_or("it was not resolved: there is no debug information for it")?;
    let readable = match verdict {
        Verdict::Live | Verdict::Constant => argument.location.as_ref(),
        _ => return Err(arguments::why(argument)),
    };
    let location = readable.ok_or_else(|| match &argument.reason {
        Some(reason) => reason.to_string(),
        None => "its location is not known".to_owned(),
    })?;
    match &argument.ty {
        Some(of) => typed(of, location, letter, argument.language, 0),
        // What the program keeps without debug information has a size and a sign, no type.
        None => {
            let signed = matches!(argument.encoding, Some(crate::resolve::Encoding::Signed));
            let kind = match argument.encoding {
                Some(crate::resolve::Encoding::Float) => Kind::Float,
                _ if letter == 'p' => Kind::Pointer,
                _ if signed => Kind::Signed,
                _ => Kind::Unsigned,
            };
            if letter == 's' {
                return Err("whether its text ends with a NUL is not known without its type".to_owned());
            }
            number(location, argument.size, kind)
        }
    }
}

fn typed(of: &Type, location: &Location, letter: char, language: Language, nesting: u32) -> Result<Fetch, String> {
    let refused = || format!("`%{letter}` of `{}` is not exported", of.name);
    if nesting > NESTING {
        return Err("too many references".to_owned());
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
            Shape::Pointer { .. } | Shape::Function => number(location, of.size, Kind::Pointer),
            Shape::Struct { .. } if transparent(of).is_some() => match transparent(of) {
                Some(inner) => member(inner, &inner.of),
                None => Err(refused()),
            },
            Shape::Sequence(sequence) if sequence.offset == 0 => {
                let data = part(location, sequence.data.bit_offset, sequence.data.of.size)?;
                number(&data, sequence.data.of.size, Kind::Pointer)
            }
            // What an `Rc` counts is behind the counts, which a null pointer has not.
            _ => match pointee(of).filter(|pointee| pointee.offset == 0) {
                Some(pointee) => {
                    let data = part(location, pointee.bit_offset, Some(pointee.size))?;
                    number(&data, Some(pointee.size), Kind::Pointer)
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
        Shape::Float if is_float => number(location, of.size, Kind::Float),
        _ if is_float => Err(refused()),
        Shape::Character { .. } if of.size == Some(4) => number(location, of.size, Kind::Unicode),
        Shape::Integer { signed } | Shape::Character { signed } | Shape::Enumeration { signed, .. } => {
            number(location, of.size, if *signed { Kind::Signed } else { Kind::Unsigned })
        }
        Shape::Boolean => number(location, of.size, Kind::Unsigned),
        Shape::Pointer { .. } => number(location, of.size, Kind::Pointer),
        _ => Err(refused()),
    }
}

fn text(of: &Type, location: &Location, language: Language, nesting: u32) -> Result<Fetch, String> {
    let refused = || format!("`%s` of `{}` is not exported", of.name);
    if names_text(of, language, 0) != Some(true) {
        return Err(refused());
    }
    match &of.shape {
        Shape::Sequence(sequence) => sequence_text(sequence, location),
        Shape::Array { .. } if language == Language::C => match location.source() {
            Some(Source::Memory(address)) => Ok(Fetch::Array(address.clone())),
            _ => Err("its characters are not in memory".to_owned()),
        },
        Shape::Pointer { to: Some(to) } if language == Language::C || of.name.starts_with('*') => match to.size {
            Some(1) => Ok(Fetch::Pointed(place(location, 8, false)?)),
            _ => Err(refused()),
        },
        Shape::Pointer { to: Some(to) } if of.name.starts_with('&') => {
            let address = behind(location, of.size)?;
            if nesting > NESTING {
                return Err("too many references".to_owned());
            }
            text(to, &Location::whole(Source::Memory(address)), language, nesting + 1)
        }
        _ => Err(refused()),
    }
}

fn sequence_text(sequence: &Sequence, location: &Location) -> Result<Fetch, String> {
    if sequence.kind == SequenceKind::CText {
        // Its NUL is counted: the text ends there.
        let data = part(location, sequence.data.bit_offset, sequence.data.of.size)?;
        return match sequence.offset {
            0 => Ok(Fetch::Pointed(place(&data, 8, false)?)),
            _ => Err("its text is behind other things".to_owned()),
        };
    }
    let is_word = |of: &Type| of.size == Some(8);
    if !is_word(&sequence.data.of) || !is_word(&sequence.length.of) {
        return Err("its pointer or length is not of 8 bytes".to_owned());
    }
    let data = part(location, sequence.data.bit_offset, Some(8))?;
    let length = part(location, sequence.length.bit_offset, Some(8))?;
    Ok(Fetch::Text { data: place(&data, 8, false)?, offset: sequence.offset, length: place(&length, 8, false)? })
}

fn part(location: &Location, bit_offset: u64, size: Option<u64>) -> Result<Location, String> {
    let bits = size.and_then(|size| size.checked_mul(8));
    location.part(bit_offset, bits).map_err(|error| error.to_string())
}

/// The address that the reference at a location is.
fn behind(location: &Location, size: Option<u64>) -> Result<Expr, String> {
    match size {
        Some(8) => location.pointer(8).map_err(|error| error.to_string()),
        _ => Err("it is a reference to something of no fixed size".to_owned()),
    }
}

fn number(location: &Location, size: Option<u64>, kind: Kind) -> Result<Fetch, String> {
    let size = match size {
        Some(size @ (1 | 2 | 4 | 8)) => size as u8,
        Some(size) => return Err(format!("a number of {size} bytes")),
        None => return Err("its size is not known".to_owned()),
    };
    Ok(Fetch::Number { at: place(location, size, kind == Kind::Signed)?, size, kind })
}

/// Where the one number of so many bytes is.
fn place(location: &Location, size: u8, signed: bool) -> Result<Where, String> {
    match location.source() {
        Some(Source::Register(register)) => return Ok(Where::Register(*register)),
        Some(Source::Memory(address)) => return Ok(Where::Memory(address.clone())),
        Some(Source::Value(value)) if value.value_type().size(8) < size => {
            return Err("its computation has fewer bits than its type".to_owned());
        }
        Some(Source::Value(value)) => {
            return Ok(known(value).map_or_else(|| Where::Value(value.clone()), Where::Constant));
        }
        Some(Source::ImplicitPointer { .. }) => {
            return Err("the pointer was optimised out; only what it leads to is left".to_owned());
        }
        Some(Source::OptimizedOut) => return Err("optimised out".to_owned()),
        // Little-endian, as all images that are exported.
        Some(Source::Bytes(bytes)) if bytes.len() <= 8 && bytes.len() >= usize::from(size) => {
            let low = bytes.iter().take(size.into()).rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            return Ok(Where::Constant(low));
        }
        _ => {}
    }
    let value = location.integer(u64::from(size) * 8, signed).map_err(|error| error.to_string())?;
    if let Node::Constant(Value { bits, .. }) = value.node() {
        return Ok(Where::Constant(*bits));
    }
    Ok(Where::Value(value))
}

/// A computation without the conversions around it that leave its low `size` bytes as they are.
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
            ValueType::Signed(size @ (1 | 2 | 4)) => {
                let unused = 64 - u32::from(*size) * 8;
                ((*bits << unused) as i64 >> unused) as u64
            }
            _ => *bits,
        }),
        _ => None,
    }
}
