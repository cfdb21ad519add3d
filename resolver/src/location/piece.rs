//! The location of a value as pieces, each with the source of its bits (DWARF 5, 2.6).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::expr::{Expr, Node};
use super::registers::Register;

/// The location of a value: a non-empty list of pieces, lowest address first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The pieces.
    pub pieces: Arc<[Piece]>,
}

/// Consecutive bits of a value that share one location (DWARF 5, 2.6.1.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Number of bits. `None`, in the last piece only, for the rest of the value.
    pub bits: Option<u64>,
    /// The location of the bits.
    pub source: Source,
    /// Number of bits to skip in the source. Registers and values count from the least significant
    /// bit, memory from the lowest address.
    pub offset: u64,
}

/// The source of the bits of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register, starting at its least significant bit.
    Register(Register),
    /// Memory at an address.
    Memory(Expr),
    /// The result of a computation. The value itself is not stored anywhere (`DW_OP_stack_value`).
    Value(Expr),
    /// Known bytes (`DW_OP_implicit_value`, `DW_AT_const_value`).
    Bytes(Arc<[u8]>),
    /// A pointer that was optimised out. It would point `offset` bytes into a variable that may
    /// still have a location (`DW_OP_implicit_pointer`).
    ImplicitPointer {
        /// Offset in `.debug_info` of the variable or DWARF procedure that describes the pointed-to
        /// object.
        variable: InfoOffset,
        /// Offset in bytes.
        offset: i64,
    },
    /// No location: the bits were optimised out.
    OptimizedOut,
}

/// An offset in `.debug_info` that identifies a debugging information entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InfoOffset(pub u64);

impl Location {
    /// Creates a location whose single piece holds the whole value.
    #[must_use]
    pub fn whole(source: Source) -> Self {
        Self { pieces: Arc::new([Piece { bits: None, source, offset: 0 }]) }
    }

    /// The registers needed to read the value, without duplicates. Registers needed to resolve
    /// thread-local storage are not included.
    #[must_use]
    pub fn registers(&self) -> Vec<Register> {
        let mut found = BTreeSet::new();
        for piece in &*self.pieces {
            let mut todo = match &piece.source {
                Source::Register(register) => {
                    found.insert(*register);
                    Vec::new()
                }
                Source::Memory(expr) | Source::Value(expr) => vec![expr],
                Source::Bytes(_) | Source::ImplicitPointer { .. } | Source::OptimizedOut => Vec::new(),
            };
            // The recursion is bounded by `MAX_NODES`.
            while let Some(expr) = todo.pop() {
                match expr.node() {
                    Node::Register(register, _) => {
                        found.insert(*register);
                    }
                    // What registers had at the entry is not read from them.
                    Node::AtEntry(_) => {}
                    _ => todo.extend(expr.operands()),
                }
            }
        }
        found.into_iter().collect()
    }

    /// The values of the entry of the function that are needed to read the value, without duplicates.
    #[must_use]
    pub fn entry_values(&self) -> Vec<Expr> {
        let mut values = Vec::new();
        for piece in &*self.pieces {
            if let Source::Memory(expr) | Source::Value(expr) = &piece.source {
                expr.add_entry_values(&mut values);
            }
        }
        values
    }

    /// The source, if a single source holds the whole value from its first bit.
    #[must_use]
    pub fn source(&self) -> Option<&Source> {
        match &*self.pieces {
            [Piece { bits: None, source, offset: 0 }] => Some(source),
            _ => None,
        }
    }
}
