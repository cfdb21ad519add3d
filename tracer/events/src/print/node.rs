//! A compiled expression, and its value for a record.

use super::integer::Integer;
use crate::names::Names;

/// An expression. A number is always extended to 8 bytes as its type says.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A number that is known.
    Constant(u64),
    /// A number at an offset of the record.
    Load {
        offset: usize,
        of: Integer,
    },
    /// The address of a field in the record.
    Place(Place),
    /// The length of a dynamic field in bytes.
    Length(Place),
    /// A number behind an address in the record.
    Element {
        place: Box<Node>,
        index: Box<Node>,
        of: Integer,
    },
    /// An address so many elements behind another one.
    Skip {
        place: Box<Node>,
        count: Box<Node>,
        stride: u64,
    },
    /// A text of the format.
    Text(Box<str>),
    /// `!`, `-` or `~` in a type.
    Unary(Unary, Integer, Box<Node>),
    /// An operation in the common type of its operands.
    Binary(Binary, Integer, Box<(Node, Node)>),
    Convert(Integer, Box<Node>),
    /// Condition, value if it holds, value if not.
    Conditional(Box<(Node, Node, Node)>),
    /// A number of the kernel, which is known when a record is printed.
    Variable(Box<str>),
    /// One of the functions that make text.
    Function(Box<TextFunction>),
}

/// What a function makes a text of.
#[derive(Clone, Debug)]
pub(super) enum TextFunction {
    Flags {
        value: Node,
        delimiter: Box<str>,
        pairs: Box<[(u64, Box<str>)]>,
    },
    Symbolic {
        value: Node,
        pairs: Box<[(u64, Box<str>)]>,
    },
    Array {
        place: Node,
        count: Node,
        size: Node,
    },
    Hex {
        place: Node,
        length: Node,
        has_spaces: bool,
    },
    Dump(Dump),
    Bitmask(Place),
    /// The kinds of an error of memory (`mc_event_error_type`).
    MemoryError(Node),
}

/// The arguments of `__print_hex_dump`.
#[derive(Clone, Debug)]
pub(super) struct Dump {
    pub(super) prefix: Box<str>,
    pub(super) kind: Node,
    pub(super) row: Node,
    pub(super) group: Node,
    pub(super) place: Node,
    pub(super) length: Node,
    pub(super) has_text: Node,
}

/// Where a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At an offset.
    Fixed { offset: usize, size: usize },
    /// From an offset to the end of the record.
    Rest { offset: usize },
    /// Where the word at an offset says. The place counts from `base`.
    Dynamic { offset: usize, base: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Minus,
    Complement,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Times,
    Divide,
    Remainder,
    Plus,
    Minus,
    Left,
    Right,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Xor,
    Or,
    LogicalAnd,
    LogicalOr,
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The record is too short.
    Short,
    /// The kernel's number is not known, or the operation has no value.
    Unknown,
}

/// What an expression is computed from.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) record: &'a [u8],
    pub(super) names: &'a dyn Names,
}

impl Place {
    pub(super) fn bytes<'a>(&self, record: &'a [u8]) -> Result<&'a [u8], Fault> {
        let found = match *self {
            Self::Fixed { offset, size } => offset.checked_add(size).and_then(|end| record.get(offset..end)),
            Self::Rest { offset } => record.get(offset..),
            Self::Dynamic { offset, base } => {
                let word = Integer::UNSIGNED.read(record.get(offset..).unwrap_or_default());
                word.and_then(|word| {
                    let start = base.checked_add((word & 0xffff) as usize)?;
                    record.get(start..start.checked_add((word >> 16) as usize)?)
                })
            }
        };
        found.ok_or(Fault::Short)
    }
}

impl Node {
    pub(super) fn is_true(&self, scope: Scope<'_>) -> Result<bool, Fault> {
        Ok(self.number(scope)? != 0)
    }

    /// The number. What is in the record or is a text has an address that nobody knows, but it is not
    /// 0.
    pub(super) fn number(&self, scope: Scope<'_>) -> Result<u64, Fault> {
        Ok(match self {
            Self::Constant(value) => *value,
            Self::Load { offset, of } => {
                scope.record.get(*offset..).and_then(|bytes| of.read(bytes)).ok_or(Fault::Short)?
            }
            Self::Place(_) | Self::Skip { .. } | Self::Text(_) | Self::Function(_) => 1,
            Self::Length(place) => place.bytes(scope.record)?.len() as u64,
            Self::Element { place, index, of } => {
                let start = index.number(scope)?.checked_mul(of.size.into());
                let start = start.and_then(|start| usize::try_from(start).ok());
                let bytes = place.bytes(scope)?;
                start.and_then(|start| of.read(bytes.get(start..)?)).ok_or(Fault::Short)?
            }
            Self::Unary(unary, of, inner) => {
                let value = inner.number(scope)?;
                of.wrap(match unary {
                    Unary::Minus => value.wrapping_neg(),
                    Unary::Complement => !value,
                    Unary::Not => u64::from(value == 0),
                })
            }
            Self::Binary(Binary::LogicalAnd, _, both) => u64::from(both.0.is_true(scope)? && both.1.is_true(scope)?),
            Self::Binary(Binary::LogicalOr, _, both) => u64::from(both.0.is_true(scope)? || both.1.is_true(scope)?),
            Self::Binary(binary, of, both) => {
                binary.apply(*of, both.0.number(scope)?, both.1.number(scope)?).ok_or(Fault::Unknown)?
            }
            Self::Convert(of, inner) => of.wrap(inner.number(scope)?),
            Self::Conditional(parts) => {
                if parts.0.is_true(scope)? {
                    parts.1.number(scope)?
                } else {
                    parts.2.number(scope)?
                }
            }
            Self::Variable(name) => scope.names.variable(name).ok_or(Fault::Unknown)?,
        })
    }

    /// The bytes of the record from the address on.
    pub(super) fn bytes<'a>(&self, scope: Scope<'a>) -> Result<&'a [u8], Fault> {
        match self {
            Self::Place(place) => place.bytes(scope.record),
            Self::Skip { place, count, stride } => {
                let skipped =
                    count.number(scope)?.checked_mul(*stride).and_then(|skipped| usize::try_from(skipped).ok());
                skipped.and_then(|skipped| place.bytes(scope).ok()?.get(skipped..)).ok_or(Fault::Short)
            }
            Self::Conditional(parts) => {
                if parts.0.is_true(scope)? {
                    parts.1.bytes(scope)
                } else {
                    parts.2.bytes(scope)
                }
            }
            _ => Err(Fault::Unknown),
        }
    }

    /// Whether it is an address in the record or of a text, so that its number is not known.
    pub(super) fn is_place(&self) -> bool {
        match self {
            Self::Place(_) | Self::Skip { .. } | Self::Text(_) | Self::Function(_) => true,
            Self::Conditional(parts) => parts.1.is_place() || parts.2.is_place(),
            _ => false,
        }
    }
}

impl Binary {
    /// The value in a type. `None` for a division by 0.
    pub(super) fn apply(self, of: Integer, a: u64, b: u64) -> Option<u64> {
        let (a, b) = (of.wrap(a), if matches!(self, Self::Left | Self::Right) { b } else { of.wrap(b) });
        let (signed_a, signed_b) = (a as i64, b as i64);
        let shift = (b as u32) & (u32::from(of.size) * 8).saturating_sub(1);
        let less = if of.is_signed { signed_a < signed_b } else { a < b };
        let value = match self {
            Self::Times => a.wrapping_mul(b),
            Self::Divide if of.is_signed => signed_a.checked_div(signed_b)? as u64,
            Self::Divide => a.checked_div(b)?,
            Self::Remainder if of.is_signed => signed_a.checked_rem(signed_b)? as u64,
            Self::Remainder => a.checked_rem(b)?,
            Self::Plus => a.wrapping_add(b),
            Self::Minus => a.wrapping_sub(b),
            Self::Left => a << shift,
            Self::Right if of.is_signed => (signed_a >> shift) as u64,
            Self::Right => a >> shift,
            Self::And => a & b,
            Self::Xor => a ^ b,
            Self::Or => a | b,
            Self::Less => return Some(less.into()),
            Self::GreaterEqual => return Some((!less).into()),
            Self::Greater => return Some((!less && a != b).into()),
            Self::LessEqual => return Some((less || a == b).into()),
            Self::Equal => return Some((a == b).into()),
            Self::NotEqual => return Some((a != b).into()),
            Self::LogicalAnd => return Some((a != 0 && b != 0).into()),
            Self::LogicalOr => return Some((a != 0 || b != 0).into()),
        };
        Some(of.wrap(value))
    }
}
