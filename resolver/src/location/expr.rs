//! A computation on registers and memory, as a tree of typed operations (DWARF 5, 2.5).

use std::sync::Arc;

use strum::{EnumString, IntoStaticStr};

use super::registers::Register;
use crate::address::Vaddr;

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
    /// The value that a computation had when the function of the frame was entered
    /// (`DW_OP_entry_value`).
    AtEntry(Expr),
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
            Node::Unary(_, a) | Node::AtEntry(a) => (a.node_count, a.depth, a.of),
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

    /// What the last step is computed from: the computation in a value of the entry is one, too.
    pub fn operands(&self) -> impl Iterator<Item = &Self> {
        let (first, second) = match self.node() {
            Node::Constant(_) | Node::Address(_) | Node::Register(..) => (None, None),
            Node::ThreadLocal(a)
            | Node::Unary(_, a)
            | Node::Convert(_, a)
            | Node::Reinterpret(_, a)
            | Node::AtEntry(a) => (Some(a), None),
            Node::Memory { address, .. } => (Some(address), None),
            Node::Binary(_, a, b) => (Some(a), Some(b)),
        };
        first.into_iter().chain(second)
    }

    /// The same step with other operands. `None` if `by` gives none for one of them, or the result
    /// would exceed [`MAX_NODES`] or [`MAX_DEPTH`].
    pub fn with_operands(&self, by: &dyn Fn(&Self) -> Option<Self>) -> Option<Self> {
        Self::new(match self.node() {
            Node::Constant(_) | Node::Address(_) | Node::Register(..) => return Some(self.clone()),
            Node::ThreadLocal(a) => Node::ThreadLocal(by(a)?),
            Node::Memory { address, size, to } => Node::Memory { address: by(address)?, size: *size, to: *to },
            Node::Unary(operation, a) => Node::Unary(*operation, by(a)?),
            Node::Binary(operation, a, b) => Node::Binary(*operation, by(a)?, by(b)?),
            Node::Convert(to, a) => Node::Convert(*to, by(a)?),
            Node::Reinterpret(to, a) => Node::Reinterpret(*to, by(a)?),
            Node::AtEntry(a) => Node::AtEntry(by(a)?),
        })
    }

    /// Adds the values of the entry of the function that it needs, without duplicates.
    pub fn add_entry_values(&self, values: &mut Vec<Self>) {
        match self.node() {
            Node::AtEntry(value) if values.contains(value) => {}
            Node::AtEntry(value) => values.push(value.clone()),
            _ => self.operands().for_each(|operand| operand.add_entry_values(values)),
        }
    }

    /// Whether it reads registers only, and no memory.
    #[must_use]
    pub fn is_of_registers(&self) -> bool {
        match self.node() {
            Node::Constant(_) | Node::Register(..) => true,
            Node::Unary(_, a) | Node::Convert(_, a) | Node::Reinterpret(_, a) => a.is_of_registers(),
            Node::Binary(_, a, b) => a.is_of_registers() && b.is_of_registers(),
            Node::Address(_) | Node::ThreadLocal(_) | Node::Memory { .. } | Node::AtEntry(_) => false,
        }
    }

    /// How deep the nodes are nested, at least 1.
    #[must_use]
    pub fn depth(&self) -> u16 {
        self.depth
    }

    /// Creates a constant.
    pub(crate) fn of(value: Value) -> Self {
        Self { node: Arc::new(Node::Constant(value)), node_count: 1, depth: 1, of: value.of }
    }

    /// Creates a constant of the generic type.
    #[must_use]
    pub fn constant(value: u64) -> Self {
        Self::of(Value { of: ValueType::Generic, bits: value })
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
