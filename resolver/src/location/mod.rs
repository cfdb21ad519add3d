//! The location of a value at a program counter, as data: a register, memory, or a computation on
//! them (DWARF 5, 2.5 and 2.6).
//!
//! A [`Location`] describes which registers and memory to read but reads nothing itself. `words`
//! formats it as text. `evaluate` reads the value from a [`Machine`], live or recorded. This module
//! does not depend on how the debug information encodes locations; see `dwarf/`.

mod display;
mod evaluate;
mod expr;
pub mod operand;
mod parts;
mod piece;
mod registers;
mod sized_operand;
mod value;

pub use crate::arch::Processor;

pub use display::LocationNames;
pub use evaluate::{MAX_VALUE_SIZE, Machine, Unreadable};
pub use expr::{Binary, Expr, MAX_DEPTH, MAX_NODES, Node, Unary, Value, ValueType};
pub use parts::{PartError, PartProblem};
pub use piece::{InfoOffset, Location, Piece, Source};
pub use registers::Register;
pub use sized_operand::SizedOperand;
pub(crate) use value::Unbuildable;
