//! Which descriptions of a value are computations that cannot be believed (`docs/truth.md`).
//!
//! A compiler describes a variable that has no place of its own as a computation on what is left.
//! It computes with the values of the optimised program, which may be narrower than those of the
//! source or one step ahead, and it computes in 64 bits.

use crate::location::{Binary, Expr, Location, Node, Source, Value};

/// Whether a value is computed from registers or memory by more than a conversion.
pub(super) fn is_computed(location: &Location) -> bool {
    location.pieces.iter().any(|piece| match &piece.source {
        Source::Value(value) => reads(value) && computes(value),
        _ => false,
    })
}

/// Whether a computation reads anything. If not, it is a constant.
fn reads(value: &Expr) -> bool {
    match value.node() {
        Node::Constant(_) | Node::Address(_) => false,
        Node::Register(..) | Node::Memory { .. } | Node::ThreadLocal(_) => true,
        Node::Unary(_, a) | Node::Convert(_, a) | Node::Reinterpret(_, a) => reads(a),
        Node::Binary(_, a, b) => reads(a) || reads(b),
    }
}

/// Whether a computation changes a value other than by a conversion.
fn computes(value: &Expr) -> bool {
    match value.node() {
        Node::Constant(_) | Node::Address(_) | Node::Register(..) | Node::Memory { .. } | Node::ThreadLocal(_) => false,
        Node::Convert(_, a) | Node::Reinterpret(_, a) => computes(a),
        Node::Binary(Binary::And, a, b) if is_mask(b) => computes(a),
        Node::Unary(..) | Node::Binary(..) => true,
    }
}

/// Whether a constant keeps a word of 32 bits: compilers convert registers so. Masks of one and two
/// bytes are also what is left of a value that is used as a byte.
fn is_mask(by: &Expr) -> bool {
    matches!(by.node(), Node::Constant(Value { bits: 0xffff_ffff, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::{Register, ValueType};

    fn register() -> Expr {
        Expr::new(Node::Register(Register(0), ValueType::Generic)).expect("small")
    }

    fn and(mask: u64) -> Expr {
        Expr::new(Node::Binary(Binary::And, register(), Expr::constant(mask))).expect("small")
    }

    #[test]
    fn conversions_and_constants_are_not_computed() {
        let is_computed = |value: Expr| is_computed(&Location::whole(Source::Value(value)));
        assert!(!is_computed(register()));
        assert!(!is_computed(Expr::constant(5)));
        assert!(!is_computed(and(0xffff_ffff)));
        assert!(is_computed(and(0xff)));
        assert!(is_computed(register().plus(1).expect("small")));
        assert!(!super::is_computed(&Location::whole(Source::Register(Register(0)))));
        assert!(!super::is_computed(&Location::whole(Source::Memory(register().plus(8).expect("small")))));
    }
}
