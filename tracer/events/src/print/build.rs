//! Makes typed expressions, with C's rules. What is known is computed at once.

use super::error::PrintError;
use super::integer::{BaseType, Integer};
use super::node::{Binary, Node, Place, Scope, Unary};
use crate::format::Field;
use crate::names::{Names, NoNames};

/// An expression and its type.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) node: Node,
    pub(super) of: Type,
    weight: Weight,
}

/// How deep an expression is nested, and how many parts it has. A text may repeat a local variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    depth: u32,
    parts: u32,
}

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Integer(Integer),
    Bool,
    /// A pointer to elements of some bytes; 0 if their size is not known.
    Pointer {
        of: Option<Integer>,
        stride: u64,
    },
    /// `REC`.
    Record,
}

const DEEPEST: u32 = 200;
const MOST_PARTS: u32 = 20_000;

impl Type {
    pub(super) const TEXT: Self = Self::Pointer { of: Some(Integer::CHAR), stride: 1 };
    const ADDRESS: Integer = Integer::UNSIGNED_LONG;

    /// The type of a name and so many `*`. `None` for `void` and structures.
    pub(super) fn new(named: Option<BaseType>, pointers: usize) -> Option<Self> {
        let word = Some(Integer::UNSIGNED_LONG);
        Some(match (named, pointers) {
            (Some(BaseType::Integer(of)), 0) => Self::Integer(of),
            (Some(BaseType::Bool), 0) => Self::Bool,
            (_, 0) => return None,
            (Some(BaseType::Integer(of)), 1) => Self::Pointer { of: Some(of), stride: of.size.into() },
            (Some(BaseType::Bool), 1) => Self::Pointer { of: Integer::new(1, false), stride: 1 },
            (Some(BaseType::Void), 1) => Self::Pointer { of: None, stride: 1 },
            (Some(BaseType::Other(size)), 1) => Self::Pointer { of: None, stride: size },
            (None, 1) => Self::Pointer { of: None, stride: 0 },
            _ => Self::Pointer { of: word, stride: 8 },
        })
    }

    /// The size in bytes.
    pub(super) fn size(self) -> u64 {
        match self {
            Self::Integer(of) => of.size.into(),
            Self::Bool => 1,
            Self::Pointer { .. } | Self::Record => 8,
        }
    }

    /// The integer type in which it is computed.
    pub(super) fn integer(self) -> Integer {
        match self {
            Self::Integer(of) => of,
            Self::Bool => Integer { size: 1, is_signed: false },
            Self::Pointer { .. } | Self::Record => Self::ADDRESS,
        }
    }
}

impl Expression {
    pub(super) fn new(node: Node, of: Type) -> Self {
        Self { node, of, weight: Weight { depth: 1, parts: 1 } }
    }

    pub(super) fn number(value: u64, of: Integer) -> Self {
        Self::new(Node::Constant(of.wrap(value)), Type::Integer(of))
    }

    pub(super) fn text(text: String) -> Self {
        Self::new(Node::Text(text.into_boxed_str()), Type::TEXT)
    }

    /// The number, if it is known.
    pub(super) fn constant(&self) -> Option<u64> {
        if let Node::Constant(value) = self.node { Some(value) } else { None }
    }

    /// The weight of an expression of several others.
    pub(super) fn weigh(parts: &[&Expression], offset: usize) -> Result<Weight, PrintError> {
        let depth = parts.iter().map(|part| part.weight.depth).max().unwrap_or(0).saturating_add(1);
        let parts = parts.iter().fold(1u32, |sum, part| sum.saturating_add(part.weight.parts));
        if depth > DEEPEST || parts > MOST_PARTS {
            return Err(PrintError::TooLarge { offset });
        }
        Ok(Weight { depth, parts })
    }

    pub(super) fn weighing(node: Node, of: Type, weight: Weight) -> Self {
        Self { node, of, weight }
    }

    /// Computes it at once if its parts are known.
    fn folded(self, is_known: bool) -> Self {
        let scope = Scope { record: &[], names: &NoNames as &dyn Names };
        match self.node.number(scope) {
            Ok(value) if is_known => Self::new(Node::Constant(value), self.of),
            _ => self,
        }
    }

    pub(super) fn convert(self, to: Type, offset: usize) -> Result<Self, PrintError> {
        let is_known = self.constant().is_some();
        // The bytes stay where they are; only what is behind the address changes.
        if self.node.is_place() {
            return match to {
                Type::Pointer { .. } => Ok(Self { of: to, ..self }),
                _ => Err(PrintError::Address { offset }),
            };
        }
        if to == Type::Bool {
            let weight = Self::weigh(&[&self], offset)?;
            let node = Node::Binary(Binary::NotEqual, self.of.integer(), Box::new((self.node, Node::Constant(0))));
            return Ok(Self { node, of: to, weight }.folded(is_known));
        }
        let (from, into) = (self.of.integer(), to.integer());
        // A longer type has all values of a shorter one, except that a sign is lost.
        if self.of != Type::Record && (from == into || (from.size < into.size && (into.size == 8 || !from.is_signed))) {
            return Ok(Self { of: to, ..self });
        }
        let weight = Self::weigh(&[&self], offset)?;
        let node = Node::Convert(into, Box::new(self.node));
        Ok(Self { node, of: to, weight }.folded(is_known))
    }

    pub(super) fn unary(unary: Unary, inner: Self, offset: usize) -> Result<Self, PrintError> {
        let is_known = inner.constant().is_some();
        if inner.node.is_place() && unary != Unary::Not {
            return Err(PrintError::Address { offset });
        }
        let of = if unary == Unary::Not { Integer::INT } else { inner.of.integer().promoted() };
        let weight = Self::weigh(&[&inner], offset)?;
        let node = Node::Unary(unary, of, Box::new(inner.node));
        Ok(Self { node, of: Type::Integer(of), weight }.folded(is_known))
    }

    pub(super) fn binary(binary: Binary, a: Self, b: Self, offset: usize) -> Result<Self, PrintError> {
        use Binary::{Equal, Greater, GreaterEqual, Left, Less, LessEqual, LogicalAnd, LogicalOr, NotEqual, Right};
        let is_known = a.constant().is_some() && b.constant().is_some();
        if let (Binary::Plus | Binary::Minus, Type::Pointer { stride, .. }, Type::Integer(_)) = (binary, a.of, b.of) {
            return Self::advance(binary, a, b, stride, offset);
        }
        let is_logical = matches!(binary, LogicalAnd | LogicalOr | Equal | NotEqual);
        if !is_logical && (a.node.is_place() || b.node.is_place()) {
            return Err(PrintError::Address { offset });
        }
        let (left, right) = (a.of.integer(), b.of.integer());
        let within = if matches!(binary, Left | Right) { left.promoted() } else { left.common(right) };
        let of = match binary {
            Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual | LogicalAnd | LogicalOr => Integer::INT,
            _ => within,
        };
        let weight = Self::weigh(&[&a, &b], offset)?;
        let node = Node::Binary(binary, within, Box::new((a.node, b.node)));
        Ok(Self { node, of: Type::Integer(of), weight }.folded(is_known))
    }

    /// A pointer plus or minus a number of elements.
    fn advance(binary: Binary, a: Self, b: Self, stride: u64, offset: usize) -> Result<Self, PrintError> {
        let of = a.of;
        if stride == 0 {
            return Err(PrintError::Operand { offset });
        }
        if a.node.is_place() {
            if binary == Binary::Minus {
                return Err(PrintError::Address { offset });
            }
            let weight = Self::weigh(&[&a, &b], offset)?;
            let node = Node::Skip { place: Box::new(a.node), count: Box::new(b.node), stride };
            return Ok(Self { node, of, weight });
        }
        let long = Integer::UNSIGNED_LONG;
        let bytes = Self::binary(Binary::Times, b, Self::number(stride, long), offset)?;
        let is_known = a.constant().is_some() && bytes.constant().is_some();
        let weight = Self::weigh(&[&a, &bytes], offset)?;
        let node = Node::Binary(binary, long, Box::new((a.node, bytes.node)));
        Ok(Self { node, of, weight }.folded(is_known))
    }

    pub(super) fn conditional(holds: Self, yes: Self, no: Self, offset: usize) -> Result<Self, PrintError> {
        if let Some(value) = holds.constant() {
            // The type is still that of both.
            let other = if value != 0 { (yes, no) } else { (no, yes) };
            return match (other.0.of, other.1.of) {
                (Type::Integer(a), Type::Integer(b)) => other.0.convert(Type::Integer(a.common(b)), offset),
                _ => Ok(other.0),
            };
        }
        let of = match (yes.of, no.of) {
            (Type::Pointer { .. }, _) => yes.of,
            (_, Type::Pointer { .. }) => no.of,
            (a, b) => Type::Integer(a.integer().common(b.integer())),
        };
        let (yes, no) = match of {
            Type::Integer(_) => (yes.convert(of, offset)?, no.convert(of, offset)?),
            _ => (yes, no),
        };
        let weight = Self::weigh(&[&holds, &yes, &no], offset)?;
        let node = Node::Conditional(Box::new((holds.node, yes.node, no.node)));
        Ok(Self { node, of, weight })
    }

    /// `a[b]`, also `*a`.
    pub(super) fn element(place: Self, index: Self, offset: usize) -> Result<Self, PrintError> {
        let (Type::Pointer { of: Some(of), .. }, Type::Integer(_)) = (place.of, index.of) else {
            return Err(PrintError::Operand { offset });
        };
        if !matches!(place.node, Node::Place(_) | Node::Skip { .. }) {
            return Err(PrintError::NotInRecord { offset });
        }
        let weight = Self::weigh(&[&place, &index], offset)?;
        let node = Node::Element { place: Box::new(place.node), index: Box::new(index.node), of };
        Ok(Self { node, of: Type::Integer(of), weight })
    }

    /// `REC->field`. `element` is the type of its elements, if it is known.
    pub(super) fn field(field: &Field, element: Option<BaseType>) -> Self {
        let (offset, size) = (field.offset as usize, field.size as usize);
        let pointers = field.of.matches('*').count();
        let of = if pointers == 0 { Integer::new(field.element, field.is_signed) } else { None };
        if field.is_dynamic() {
            return Self::new(Node::Load { offset, of: Integer::UNSIGNED }, Type::Integer(Integer::UNSIGNED));
        }
        if field.is_array {
            let place = if size == 0 { Place::Rest { offset } } else { Place::Fixed { offset, size } };
            let of = Type::Pointer { of, stride: field.element.into() };
            return Self::new(Node::Place(place), of);
        }
        match (pointers, Integer::new(field.size, field.is_signed)) {
            (0, Some(of)) => {
                let bool = (element == Some(BaseType::Bool) && of.size == 1).then_some(Type::Bool);
                Self::new(Node::Load { offset, of }, bool.unwrap_or(Type::Integer(of)))
            }
            (_, Some(of)) => {
                let of = Integer { is_signed: false, ..of };
                let pointer = Type::new(element, pointers).unwrap_or(Type::Pointer { of: None, stride: 0 });
                Self::new(Node::Load { offset, of }, pointer)
            }
            _ => Self::new(Node::Place(Place::Fixed { offset, size }), Type::Pointer { of: None, stride: 1 }),
        }
    }
}
