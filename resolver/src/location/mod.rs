//! Where a value is at a place in the code, as data: registers, memory, or computed from them (DWARF 5, 2.5 and 2.6).
//!
//! A [`Location`] asks for registers and memory and fetches nothing: `words` says it to people, `evaluate` reads it
//! where a [`Machine`] stands at that place, live or recorded. It knows nothing of how debug information writes it down
//! (`dwarf/`).

mod display;
mod evaluate;
pub mod operand;
mod parts;
mod registers;
mod value;

use std::sync::Arc;

use crate::address::Vaddr;

pub use display::Names;
pub use evaluate::{MAX_VALUE_SIZE, Machine, Unreadable};
pub use parts::{PartError, Scattered};
pub use registers::{Processor, Register};
pub(crate) use value::Unbuildable;

/// Where the bytes of a value are: its pieces, lowest address first. Never without a piece.
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    /// The pieces.
    pub pieces: Arc<[Piece]>,
}

/// Consecutive bits of a value that are in one place (DWARF 5, 2.6.1.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// How many bits of the value; `None` for the rest of it, in the last piece.
    pub bits: Option<u64>,
    /// Where the bits are.
    pub source: Source,
    /// How many bits of the source to pass over first, from its least significant one, in memory from its lowest
    /// address.
    pub offset: u64,
}

/// What holds the bits of a piece.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A register, from its least significant bit.
    Register(Register),
    /// Memory at an address.
    Memory(Expr),
    /// The value of a computation; it is nowhere (`DW_OP_stack_value`).
    Value(Expr),
    /// Known bytes (`DW_OP_implicit_value`, `DW_AT_const_value`).
    Bytes(Arc<[u8]>),
    /// A pointer that is not there, to `offset` bytes into a variable that may be (`DW_OP_implicit_pointer`).
    ImplicitPointer {
        /// Offset in `.debug_info` of the variable or procedure that describes what the pointer would point at.
        variable: InfoOffset,
        /// Bytes.
        offset: i64,
    },
    /// Nothing holds them: the optimiser removed them.
    OptimizedOut,
}

/// An offset in `.debug_info`: identity of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InfoOffset(pub u64);

/// A computation. Shared, for DWARF's stack machine duplicates values; [`Expr::node_count`] bounds what it unfolds to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    node: Arc<Node>,
    node_count: u32,
    depth: u16,
    of: ValueType,
}

/// The largest computation, in nodes when unfolded: far above what compilers write (a few dozen), small enough to
/// print.
pub const MAX_NODES: u32 = 4096;

/// The most steps from the first one to the last one of a computation, for it is walked by recursion.
pub const MAX_DEPTH: u16 = 512;

/// One step of a computation. Integers of the generic type have the size of an address and wrap (DWARF 5, 2.5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A constant.
    Constant(Value),
    /// A link-time address; in a process the image's load bias is added.
    Address(Vaddr),
    /// The address of the byte at an offset in the thread's block of thread-local variables of the image.
    ThreadLocal(Expr),
    /// The contents of a register, its low bits where the type is smaller.
    Register(Register, ValueType),
    /// `size` bytes of memory at an address, zero-extended to the type.
    Memory {
        /// The address.
        address: Expr,
        /// Bytes; at most as many as the type has.
        size: u8,
        /// The type of the result.
        to: ValueType,
    },
    /// An operation on one value.
    Unary(Unary, Expr),
    /// An operation on two values.
    Binary(Binary, Expr, Expr),
    /// The value converted to a type (`DW_OP_convert`).
    Convert(ValueType, Expr),
    /// The bits of the value as another type of the same size (`DW_OP_reinterpret`).
    Reinterpret(ValueType, Expr),
}

/// The type of a value in a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// An integer of the size of an address, of no certain signedness.
    Generic,
    /// A signed integer of so many bytes: 1, 2, 4 or 8.
    Signed(u8),
    /// An unsigned integer of so many bytes: 1, 2, 4 or 8.
    Unsigned(u8),
    /// A floating-point number of so many bytes: 4 or 8.
    Float(u8),
}

/// A value: its type, and its bits from the least significant one; bits that the type has not are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    /// The type.
    pub of: ValueType,
    /// The bits.
    pub bits: u64,
}

/// Operations on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are DWARF's operations, DW_OP_abs and so on")]
pub enum Unary {
    Abs,
    Neg,
    Not,
}

/// Operations on two values, the former top of the stack second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are DWARF's operations, DW_OP_and and so on")]
pub enum Binary {
    And,
    Div,
    Minus,
    Mod,
    Mul,
    Or,
    Plus,
    Shl,
    Shr,
    Shra,
    Xor,
    Eq,
    Ge,
    Gt,
    Le,
    Lt,
    Ne,
}

impl Binary {
    /// Whether the result is 1 or 0 of the generic type, whatever the operands are.
    #[must_use]
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::Eq | Self::Ge | Self::Gt | Self::Le | Self::Lt | Self::Ne)
    }
}

impl Expr {
    /// The computation whose last step is `node`, as it is; `None` where it would be heavier than [`MAX_NODES`] or
    /// deeper than [`MAX_DEPTH`].
    ///
    /// What computes constants at once is `Expr::unary` and its like, which know the size of an address.
    #[must_use]
    pub fn new(node: Node) -> Option<Self> {
        let (below, depth, of) = match &node {
            Node::Constant(value) => (0, 0, value.of),
            Node::Address(_) => (0, 0, ValueType::Generic),
            Node::Register(_, of) => (0, 0, *of),
            Node::ThreadLocal(a) => (a.node_count, a.depth, ValueType::Generic),
            Node::Memory { address: a, to, .. } => (a.node_count, a.depth, *to),
            Node::Unary(_, a) => (a.node_count, a.depth, a.of),
            Node::Convert(to, a) | Node::Reinterpret(to, a) => (a.node_count, a.depth, *to),
            Node::Binary(operation, a, b) => {
                let of = if operation.is_comparison() { ValueType::Generic } else { a.of };
                (a.node_count.saturating_add(b.node_count), a.depth.max(b.depth), of)
            }
        };
        let (node_count, depth) = (below.saturating_add(1), depth.saturating_add(1));
        (node_count <= MAX_NODES && depth <= MAX_DEPTH).then(|| Self { node: Arc::new(node), node_count, depth, of })
    }

    /// The type of its value.
    #[must_use]
    pub fn value_type(&self) -> ValueType {
        self.of
    }

    /// The last step.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// How many steps there are, shared ones counted each time.
    #[must_use]
    pub fn node_count(&self) -> u32 {
        self.node_count
    }

    /// An integer of the generic type.
    #[must_use]
    pub fn constant(value: u64) -> Self {
        let of = ValueType::Generic;
        Self { node: Arc::new(Node::Constant(Value { of, bits: value })), node_count: 1, depth: 1, of }
    }

    /// This plus a number of bytes, with constants put together; `None` where it gets too heavy.
    #[must_use]
    pub fn plus(&self, bytes: i64) -> Option<Self> {
        if bytes == 0 {
            return Some(self.clone());
        }
        match self.node() {
            Node::Address(address) => Self::new(Node::Address(Vaddr(address.0.wrapping_add_signed(bytes)))),
            Node::Constant(Value { of: ValueType::Generic, bits }) => {
                Some(Self::constant(bits.wrapping_add_signed(bytes)))
            }
            Node::Binary(Binary::Plus, base, offset) => match offset.node() {
                Node::Constant(Value { of: ValueType::Generic, bits }) => base.plus((*bits as i64).wrapping_add(bytes)),
                _ => self.plus_node(bytes),
            },
            _ => self.plus_node(bytes),
        }
    }

    fn plus_node(&self, bytes: i64) -> Option<Self> {
        Self::new(Node::Binary(Binary::Plus, self.clone(), Self::constant(bytes as u64)))
    }
}

impl Location {
    /// A location of one piece that holds all of the value.
    #[must_use]
    pub fn whole(source: Source) -> Self {
        Self { pieces: Arc::new([Piece { bits: None, source, offset: 0 }]) }
    }

    /// The registers that it is read by, each once; none of what thread-local variables take.
    #[must_use]
    pub fn registers(&self) -> Vec<Register> {
        let mut found = std::collections::BTreeSet::new();
        for piece in &*self.pieces {
            let mut todo = match &piece.source {
                Source::Register(register) => {
                    found.insert(*register);
                    Vec::new()
                }
                Source::Memory(expr) | Source::Value(expr) => vec![expr],
                Source::Bytes(_) | Source::ImplicitPointer { .. } | Source::OptimizedOut => Vec::new(),
            };
            // Bounded by MAX_NODES.
            while let Some(expr) = todo.pop() {
                match expr.node() {
                    Node::Register(register, _) => {
                        found.insert(*register);
                    }
                    Node::Constant(_) | Node::Address(_) => {}
                    Node::ThreadLocal(a) | Node::Unary(_, a) | Node::Convert(_, a) | Node::Reinterpret(_, a) => {
                        todo.push(a);
                    }
                    Node::Memory { address, .. } => todo.push(address),
                    Node::Binary(_, a, b) => todo.extend([a, b]),
                }
            }
        }
        found.into_iter().collect()
    }

    /// The source, where one holds all of the value from its first bit.
    #[must_use]
    pub fn source(&self) -> Option<&Source> {
        match &*self.pieces {
            [Piece { bits: None, source, offset: 0 }] => Some(source),
            _ => None,
        }
    }
}
