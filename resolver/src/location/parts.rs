//! Selects part of the value at a location, such as a member, an array element or a bit-field, or
//! follows a pointer to the object it points to.

use std::ops::Range;

use super::{Binary, Expr, Location, Node, Piece, Source, Value, ValueType};

/// Why a part cannot be located.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartError {
    /// No piece holds the part: it was optimised out.
    OptimizedOut,
    /// The pointer was optimised out, but the pointed-to object is described by a variable and an
    /// offset.
    ImplicitPointer(super::InfoOffset, i64),
    /// The part is available, but no [`Expr`] can compute it.
    Scattered(PartProblem),
}

/// Why no single computation yields a part or a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartProblem {
    /// The computation would exceed [`MAX_NODES`](super::MAX_NODES) nodes.
    TooManySteps,
    /// The bits of a bit-field span more than one piece.
    BitFieldInPieces,
    /// The bit-field spans more than 8 bytes.
    WideBitField,
    /// The bits belong to a pointer that was optimised out.
    PartOfImplicitPointer,
    /// The pointer spans more than one piece.
    PointerInPieces,
    /// The pointer does not start at the first bit of its register.
    PointerInUpperPart,
}

const TOO_MANY_STEPS: PartError = PartError::Scattered(PartProblem::TooManySteps);

impl Location {
    /// The location of `bits` bits that start `offset` bits into the value. If `bits` is `None`,
    /// the location covers the rest of the value.
    ///
    /// # Errors
    ///
    /// Fails if an address computation is too large.
    pub fn part(&self, offset: u64, bits: Option<u64>) -> Result<Self, PartError> {
        let end = bits.map(|bits| offset.saturating_add(bits));
        let (mut pieces, mut start) = (Vec::new(), 0u64);
        for piece in &*self.pieces {
            let piece_end = piece.bits.map(|bits| start.saturating_add(bits));
            let from = offset.max(start);
            let to = match (piece_end, end) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            if to.is_none_or(|to| from < to) {
                let skipped = from - start;
                pieces.push(piece.from(skipped, to.map(|to| to - from))?);
            }
            match piece_end {
                Some(piece_end) if end.is_none_or(|end| piece_end < end) => start = piece_end,
                _ => break,
            }
        }
        match pieces.as_mut_slice() {
            [] => return Err(PartError::OptimizedOut),
            // A single piece that covers everything needs no size.
            [piece] if piece.bits == bits => piece.bits = None,
            _ => {}
        }
        Ok(Self { pieces: pieces.into() })
    }

    /// Reads an integer of `bits` bits, at most 64, as an 8-byte value. The integer is
    /// sign-extended if `signed` is set, otherwise zero-extended.
    ///
    /// # Errors
    ///
    /// Fails if the bits span several pieces or more than 8 bytes, or have no location.
    pub fn integer(&self, bits: u64, signed: bool) -> Result<Expr, PartError> {
        let unsigned = ValueType::Unsigned(8);
        let [Piece { source, offset, .. }] = &*self.pieces else {
            return Err(PartError::Scattered(PartProblem::BitFieldInPieces));
        };
        let end = offset.checked_add(bits).filter(|&end| bits > 0 && end <= 64);
        let end = end.ok_or(PartError::Scattered(PartProblem::WideBitField))?;
        let whole = match source {
            Source::Register(register) => Node::Register(*register, unsigned),
            Source::Memory(address) => Node::Memory {
                address: address.clone(),
                size: u8::try_from(end.div_ceil(8)).unwrap_or(8),
                to: unsigned,
            },
            Source::Value(value) => Node::Convert(unsigned, value.clone()),
            Source::Bytes(bytes) => Node::Constant(Value { of: unsigned, bits: low(bytes) }),
            Source::ImplicitPointer { .. } => return Err(PartError::Scattered(PartProblem::PartOfImplicitPointer)),
            Source::OptimizedOut => return Err(PartError::OptimizedOut),
        };
        let node = |node| Expr::new(node).ok_or(TOO_MANY_STEPS);
        let shift = |operation, value, by: u64| match by {
            0 => Ok(value),
            _ => node(Node::Binary(operation, value, Expr::constant(by))),
        };
        let whole = node(whole)?;
        if signed {
            let high = node(Node::Reinterpret(ValueType::Signed(8), shift(Binary::Shl, whole, 64 - end)?))?;
            return shift(Binary::Shra, high, 64 - bits);
        }
        let low = shift(Binary::Shr, whole, *offset)?;
        let mask = u64::MAX.checked_shr(u32::try_from(64 - bits).unwrap_or(0)).unwrap_or(0);
        if mask == u64::MAX {
            return Ok(low);
        }
        node(Node::Binary(Binary::And, low, node(Node::Constant(Value { of: unsigned, bits: mask }))?))
    }

    /// Reads the pointer of `size` bytes at this location as an address.
    ///
    /// # Errors
    ///
    /// Fails if the pointer spans several pieces or has no location.
    pub fn pointer(&self, size: u8) -> Result<Expr, PartError> {
        let [Piece { source, offset, .. }] = &*self.pieces else {
            return Err(match self.pieces.iter().any(|piece| piece.source == Source::OptimizedOut) {
                true => PartError::OptimizedOut,
                false => PartError::Scattered(PartProblem::PointerInPieces),
            });
        };
        let node = match source {
            Source::ImplicitPointer { variable, offset } => return Err(PartError::ImplicitPointer(*variable, *offset)),
            Source::OptimizedOut => return Err(PartError::OptimizedOut),
            _ if *offset != 0 => return Err(PartError::Scattered(PartProblem::PointerInUpperPart)),
            Source::Value(value) if value.value_type() == ValueType::Generic => return Ok(value.clone()),
            Source::Value(value) => Node::Convert(ValueType::Generic, value.clone()),
            Source::Register(register) => Node::Register(*register, ValueType::Generic),
            Source::Memory(address) => Node::Memory { address: address.clone(), size, to: ValueType::Generic },
            Source::Bytes(bytes) => Node::Constant(Value { of: ValueType::Generic, bits: low(bytes) }),
        };
        Expr::new(node).ok_or(TOO_MANY_STEPS)
    }

    /// Whether the value is known without reading registers or memory.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.pieces.iter().all(|piece| match &piece.source {
            Source::Bytes(_) => true,
            Source::Value(value) => matches!(value.node(), Node::Constant(_)),
            _ => false,
        })
    }

    /// Adds an empty piece for the part of a value of `size` bytes that the pieces do not cover.
    /// LLVM emits no piece for optimised-out bits at the end.
    pub fn fill(&mut self, size: u64) {
        let bits = self.pieces.iter().try_fold(0u64, |sum, piece| Some(sum.saturating_add(piece.bits?)));
        let missing = bits.map_or(0, |bits| size.saturating_mul(8).saturating_sub(bits));
        if missing > 0 {
            let rest = Piece { bits: Some(missing), source: Source::OptimizedOut, offset: 0 };
            self.pieces = self.pieces.iter().cloned().chain([rest]).collect();
        }
    }

    /// The bits of a value of `size` bytes that have no location or belong to a pointer that was
    /// optimised out.
    #[must_use]
    pub fn optimized_out(&self, size: u64) -> Vec<Range<u64>> {
        let (mut gone, mut start) = (Vec::new(), 0u64);
        let whole = size.saturating_mul(8);
        for piece in &*self.pieces {
            let end = piece.bits.map_or(whole, |bits| start.saturating_add(bits)).min(whole);
            if matches!(piece.source, Source::OptimizedOut | Source::ImplicitPointer { .. }) && start < end {
                gone.push(start..end);
            }
            start = end;
        }
        gone
    }
}

impl Piece {
    /// The part of the piece that starts after `skipped` bits and has `bits` bits.
    fn from(&self, skipped: u64, bits: Option<u64>) -> Result<Self, PartError> {
        let offset = self.offset.saturating_add(skipped);
        let (source, offset) = match &self.source {
            // Whole bytes are added to the address. The remainder is the bit offset within the
            // byte.
            Source::Memory(address) => {
                let bytes = i64::try_from(offset / 8).map_err(|_| TOO_MANY_STEPS)?;
                (Source::Memory(address.plus(bytes).ok_or(TOO_MANY_STEPS)?), offset % 8)
            }
            Source::Bytes(bytes) => {
                let from = usize::try_from(offset / 8).unwrap_or(usize::MAX);
                match bytes.get(from..) {
                    Some(rest) if !rest.is_empty() => (Source::Bytes(rest.into()), offset % 8),
                    _ => (Source::OptimizedOut, 0),
                }
            }
            Source::OptimizedOut => (Source::OptimizedOut, 0),
            other => (other.clone(), offset),
        };
        Ok(Self { bits, source, offset })
    }
}

/// Interprets the first eight bytes as a little-endian integer.
fn low(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
