//! The location of a value at a program counter, as data: a register, memory, or a computation on
//! them (DWARF 5, 2.5 and 2.6).
//!
//! A [`Location`] describes which registers and memory to read but reads nothing itself. `words`
//! formats it as text. `evaluate` reads the value from a [`Machine`], live or recorded. This module
//! does not depend on how the debug information encodes locations; see `dwarf/`.

mod display;
mod evaluate;
pub mod operand;
mod parts;
mod registers;
mod value;

use std::sync::Arc;

use strum::{EnumString, IntoStaticStr};

use crate::address::Vaddr;
pub use crate::arch::Processor;

pub use display::Names;
pub use evaluate::{MAX_VALUE_SIZE, Machine, Unreadable};
pub use parts::{PartError, Scattered};
pub use registers::Register;
pub(crate) use value::Unbuildable;

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

/// A computation. Its nodes are shared because DWARF's stack machine can duplicate values.
/// [`Expr::node_count`] bounds its unfolded size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    node: Arc<Node>,
    node_count: u32,
    depth: u16,
    of: ValueType,
}

/// Maximum number of nodes in an unfolded computation. Compilers emit a few dozen at most. The
/// limit is small enough for the computation to be printed.
pub const MAX_NODES: u32 = 4096;

/// Maximum depth of a computation. It is limited because traversal is recursive.
pub const MAX_DEPTH: u16 = 512;

/// A node of a computation. Integers of the generic type have the size of an address and wrap on
/// overflow (DWARF 5, 2.5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A constant.
    Constant(Value),
    /// A link-time address. At run time, the image's load bias is added.
    Address(Vaddr),
    /// The address of the byte at an offset in the image's thread-local storage block for this
    /// thread.
    ThreadLocal(Expr),
    /// The contents of a register, truncated to the low-order bits if the type is smaller.
    Register(Register, ValueType),
    /// `size` bytes of memory at an address, zero-extended to the type.
    Memory {
        /// The address.
        address: Expr,
        /// Number of bytes, at most the size of the type.
        size: u8,
        /// The type of the result.
        to: ValueType,
    },
    /// A unary operation.
    Unary(Unary, Expr),
    /// A binary operation.
    Binary(Binary, Expr, Expr),
    /// The value converted to another type (`DW_OP_convert`).
    Convert(ValueType, Expr),
    /// The bits of the value reinterpreted as another type of the same size (`DW_OP_reinterpret`).
    Reinterpret(ValueType, Expr),
}

/// The type of a value in a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// The generic type: an integer of the size of an address and unspecified signedness.
    Generic,
    /// A signed integer of 1, 2, 4 or 8 bytes.
    Signed(u8),
    /// An unsigned integer of 1, 2, 4 or 8 bytes.
    Unsigned(u8),
    /// A floating-point number of 4 or 8 bytes.
    Float(u8),
}

/// A typed value. Bits beyond the size of the type are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    /// The type.
    pub of: ValueType,
    /// The bits, starting at the least significant one.
    pub bits: u64,
}

/// Unary operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[allow(missing_docs, reason = "the variants are DWARF's operations, DW_OP_abs and so on")]
pub enum Unary {
    Abs,
    Neg,
    Not,
}

/// Binary operations. The former top of the stack is the second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
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
    /// Whether the result is always 0 or 1 of the generic type, regardless of the operand types.
    #[must_use]
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::Eq | Self::Ge | Self::Gt | Self::Le | Self::Lt | Self::Ne)
    }
}

impl Expr {
    /// Creates the computation whose last step is `node`, without simplifying it. `None` if it
    /// would exceed [`MAX_NODES`] or [`MAX_DEPTH`].
    ///
    /// `Expr::unary` and similar functions, which know the size of an address, also fold constants.
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

    /// The type of the result.
    #[must_use]
    pub fn value_type(&self) -> ValueType {
        self.of
    }

    /// The root node: the last step.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The number of nodes. A shared node counts once for each use.
    #[must_use]
    pub fn node_count(&self) -> u32 {
        self.node_count
    }

    /// How deep the nodes are nested, at least 1.
    #[must_use]
    pub fn depth(&self) -> u16 {
        self.depth
    }

    /// Creates a constant of the generic type.
    #[must_use]
    pub fn constant(value: u64) -> Self {
        let of = ValueType::Generic;
        Self { node: Arc::new(Node::Constant(Value { of, bits: value })), node_count: 1, depth: 1, of }
    }

    /// Adds a number of bytes and combines constants. `None` if the result would be too large.
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
    /// Creates a location whose single piece holds the whole value.
    #[must_use]
    pub fn whole(source: Source) -> Self {
        Self { pieces: Arc::new([Piece { bits: None, source, offset: 0 }]) }
    }

    /// The registers needed to read the value, without duplicates. Registers needed to resolve
    /// thread-local storage are not included.
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
            // The recursion is bounded by `MAX_NODES`.
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

    /// The source, if a single source holds the whole value from its first bit.
    #[must_use]
    pub fn source(&self) -> Option<&Source> {
        match &*self.pieces {
            [Piece { bits: None, source, offset: 0 }] => Some(source),
            _ => None,
        }
    }
}
