//! Parts of what is at a location, and what a pointer there leads to: a member, an element, a bit-field, the object pointed at.

use super::{Binary, Expr, Location, Node, Piece, Source, Value, ValueType};

/// Why a part cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// No piece holds it: the optimiser removed it.
    #[error("the optimiser removed it")]
    OptimizedOut,
    /// A pointer is no longer there, but what it would point at is described: in a variable, at an offset.
    #[error("the optimiser removed the pointer")]
    ImplicitPointer(super::InfoOffset, i64),
    /// It is there, but no [`Expr`] puts it together.
    #[error("{0}")]
    Scattered(Scattered),
}

/// Why no single computation gives a part or a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Scattered {
    /// It would have more than [`MAX_NODES`](super::MAX_NODES) nodes.
    #[error("a computation of too many steps")]
    TooManySteps,
    /// The bits of a bit-field are in more than one piece.
    #[error("a bit-field in several pieces")]
    BitFieldInPieces,
    /// The bytes that hold a bit-field are more than 8.
    #[error("a bit-field that spans more than 8 bytes")]
    WideBitField,
    /// It is part of a pointer that the optimiser removed.
    #[error("a part of a pointer that is not there")]
    PartOfImplicitPointer,
    /// A pointer is in more than one piece.
    #[error("a pointer in several pieces")]
    PointerInPieces,
    /// A pointer does not start at the first bit of the register that holds it.
    #[error("a pointer in the upper part of a register")]
    PointerInUpperPart,
}

const TOO_MANY_STEPS: PartError = PartError::Scattered(Scattered::TooManySteps);

impl Location {
    /// Where the `bits` bits are that start `offset` bits into the value; without `bits`, all from there on.
    ///
    /// # Errors
    ///
    /// An address takes too many steps to compute.
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
            // One piece for all of what is asked for needs no size.
            [piece] if piece.bits == bits => piece.bits = None,
            _ => {}
        }
        Ok(Self { pieces: pieces.into() })
    }

    /// The integer of `bits` bits, at most 64, as a value of the type `to`: of one of 8 bytes, extended as it says.
    ///
    /// # Errors
    ///
    /// The bits are in several places, or in none.
    pub fn integer(&self, bits: u64, signed: bool) -> Result<Expr, PartError> {
        let unsigned = ValueType::Unsigned(8);
        let [Piece { source, offset, .. }] = &*self.pieces else {
            return Err(PartError::Scattered(Scattered::BitFieldInPieces));
        };
        let end = offset.checked_add(bits).filter(|&end| bits > 0 && end <= 64);
        let end = end.ok_or(PartError::Scattered(Scattered::WideBitField))?;
        let whole = match source {
            Source::Register(register) => Node::Register(*register, unsigned),
            Source::Memory(address) => Node::Memory {
                address: address.clone(),
                size: u8::try_from(end.div_ceil(8)).unwrap_or(8),
                to: unsigned,
            },
            Source::Value(value) => Node::Convert(unsigned, value.clone()),
            Source::Bytes(bytes) => Node::Constant(Value { of: unsigned, bits: low(bytes) }),
            Source::ImplicitPointer { .. } => return Err(PartError::Scattered(Scattered::PartOfImplicitPointer)),
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

    /// The pointer of `size` bytes that is here, as an address.
    ///
    /// # Errors
    ///
    /// It is in several pieces, or in none.
    pub fn pointer(&self, size: u8) -> Result<Expr, PartError> {
        let [Piece { source, offset, .. }] = &*self.pieces else {
            return Err(match self.pieces.iter().any(|piece| piece.source == Source::OptimizedOut) {
                true => PartError::OptimizedOut,
                false => PartError::Scattered(Scattered::PointerInPieces),
            });
        };
        let node = match source {
            Source::ImplicitPointer { variable, offset } => return Err(PartError::ImplicitPointer(*variable, *offset)),
            Source::OptimizedOut => return Err(PartError::OptimizedOut),
            _ if *offset != 0 => return Err(PartError::Scattered(Scattered::PointerInUpperPart)),
            Source::Value(value) if value.value_type() == ValueType::Generic => return Ok(value.clone()),
            Source::Value(value) => Node::Convert(ValueType::Generic, value.clone()),
            Source::Register(register) => Node::Register(*register, ValueType::Generic),
            Source::Memory(address) => Node::Memory { address: address.clone(), size, to: ValueType::Generic },
            Source::Bytes(bytes) => Node::Constant(Value { of: ValueType::Generic, bits: low(bytes) }),
        };
        Expr::new(node).ok_or(TOO_MANY_STEPS)
    }

    /// Whether nothing has to be read.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.pieces.iter().all(|piece| match &piece.source {
            Source::Bytes(_) => true,
            Source::Value(value) => matches!(value.node(), Node::Constant(_)),
            _ => false,
        })
    }

    /// Adds a piece for what of a value of `size` bytes the pieces leave out: LLVM writes no piece for what is gone at the end.
    pub fn fill(&mut self, size: u64) {
        let bits = self.pieces.iter().try_fold(0u64, |sum, piece| Some(sum.saturating_add(piece.bits?)));
        let missing = bits.map_or(0, |bits| size.saturating_mul(8).saturating_sub(bits));
        if missing > 0 {
            let rest = Piece { bits: Some(missing), source: Source::OptimizedOut, offset: 0 };
            self.pieces = self.pieces.iter().cloned().chain([rest]).collect();
        }
    }

    /// The bits of a value of `size` bytes that no piece holds, or only a pointer that is not there: from, to.
    #[must_use]
    pub fn optimized_out(&self, size: u64) -> Vec<(u64, u64)> {
        let (mut gone, mut start) = (Vec::new(), 0u64);
        let whole = size.saturating_mul(8);
        for piece in &*self.pieces {
            let end = piece.bits.map_or(whole, |bits| start.saturating_add(bits)).min(whole);
            if matches!(piece.source, Source::OptimizedOut | Source::ImplicitPointer { .. }) && start < end {
                gone.push((start, end));
            }
            start = end;
        }
        gone
    }
}

impl Piece {
    /// What is left of the piece after `skipped` bits of it, `bits` of that.
    fn from(&self, skipped: u64, bits: Option<u64>) -> Result<Self, PartError> {
        let offset = self.offset.saturating_add(skipped);
        let (source, offset) = match &self.source {
            // Whole bytes go to the address, what is left is the bit in the byte.
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

/// The first eight bytes as a little-endian integer.
fn low(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
