//! A value that the compiler describes as a computation.
//!
//! A compiler describes a variable that has no place of its own as a computation on what is left.
//! It computes with the values of the optimised program, which may be narrower than those of the
//! source or one step ahead, and it computes in 64 bits.
//!
//! gcc does not narrow constants. What it gets wrong is known: the upper bits of a register are not
//! those of the variable, a loop may count another way, and a third of the members that begin within a
//! register are wrong. So its other computations are believed.
//!
//! A number that LLVM describes as the stack pointer, converted or not (`(i64)(i32)%rsp` for a `size_t`), is
//! in the frame, and the last dereference is missing. No such value was right.
//!
//! Smallest cases: `computed:negated`, `computed:shifted`. In generated programs (seeds 9320 to
//! 9323) 3,847 of 25,285 values are wrong.

use std::collections::HashSet;

use super::{Case, Reason};
use crate::location::{Binary, Expr, Location, Node, Piece, Register, Source, Unary, Value, ValueType};

/// Whether the computation cannot be believed.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    let is_in_loop = || case.code.is_none_or(|code| code.is_in_loop(case.pc));
    let is_within = |piece: &Piece| piece.offset > 0 && matches!(piece.source, Source::Register(_));
    let is_uncertain = match case.is_by_gcc() {
        true => {
            !case.is_ours && is_uncertain_by_gcc(case.location, is_in_loop)
                || case.location.pieces.iter().any(is_within)
        }
        false => {
            let is_known = is_computed(case.location, is_in_loop) || is_stack_pointer(case);
            !case.is_ours && is_known
        }
    };
    is_uncertain.then_some(Reason::Computed)
}

/// Whether a value by LLVM is computed from registers or memory by more than a conversion, or is what
/// is left of a computation from a register that may count the passes of a loop.
fn is_computed(location: &Location, is_in_loop: impl Fn() -> bool) -> bool {
    location.pieces.iter().any(|piece| match &piece.source {
        // LLVM describes a variable that is in a register as that register.
        Source::Value(value) if matches!(value.node(), Node::Register(..)) => is_in_loop(),
        Source::Value(value) => reads(value) && computes(value),
        _ => false,
    })
}

/// Whether a number is described as the stack pointer, converted or not.
fn is_stack_pointer(case: &Case<'_>) -> bool {
    let is_it = |register| case.code.is_some_and(|code| code.is_stack_pointer(register));
    case.argument.encoding.is_some() && is_register(case.location, is_it)
}

/// Whether a value is one register, converted or not, of which something holds.
fn is_register(location: &Location, is_it: impl Fn(Register) -> bool) -> bool {
    matches!(location.source(), Some(Source::Value(value)) if register_of(value).is_some_and(is_it))
}

/// Whether gcc computes a value from upper bits of a register that may be anything, or from a register
/// that may count the passes of a loop.
fn is_uncertain_by_gcc(location: &Location, is_in_loop: impl Fn() -> bool) -> bool {
    location.pieces.iter().any(|piece| match &piece.source {
        Source::Value(value) if reads(value) && computes(value) => {
            operands(value) != Some(1) || certain(value).is_none() || counts(value) && is_in_loop()
        }
        _ => false,
    })
}

/// The register that a value is, converted or not.
fn register_of(value: &Expr) -> Option<Register> {
    match value.node() {
        Node::Register(register, _) => Some(*register),
        Node::Convert(_, a) | Node::Reinterpret(_, a) => register_of(a),
        Node::Binary(Binary::And, a, b) if constant(b).is_some() => register_of(a),
        _ => None,
    }
}

/// The bits of a computed value that are those of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Certain {
    /// The lower ones, as many as the variable has.
    Low,
    All,
}

/// `None` if no bit is certain.
fn certain(value: &Expr) -> Option<Certain> {
    use Certain::{All, Low};
    let is_generic = |value: &Expr| value.value_type() == ValueType::Generic;
    Some(match value.node() {
        Node::Constant(_) | Node::Address(_) | Node::ThreadLocal(_) | Node::Memory { .. } => All,
        Node::Register(..) | Node::AtEntry(_) if is_generic(value) => Low,
        Node::Register(..) | Node::AtEntry(_) => All,
        Node::Unary(Unary::Abs, a) => certain(a).filter(|bits| *bits == All)?,
        Node::Unary(Unary::Neg | Unary::Not, a) => certain(a)?,
        Node::Convert(ValueType::Signed(_) | ValueType::Unsigned(_), a) => certain(a).map(|_| All)?,
        Node::Convert(_, a) | Node::Reinterpret(_, a) if is_generic(a) => certain(a).filter(|bits| *bits == All)?,
        Node::Convert(_, a) | Node::Reinterpret(_, a) => certain(a)?,
        Node::Binary(operation, a, b) => {
            let all = (certain(a)?, certain(b)?) == (All, All);
            match operation {
                Binary::And if is_mask_of_word(a) || is_mask_of_word(b) => All,
                Binary::And | Binary::Or | Binary::Xor if all => All,
                Binary::Plus | Binary::Minus | Binary::Mul if all && !is_generic(value) => All,
                Binary::And | Binary::Or | Binary::Xor | Binary::Plus | Binary::Minus | Binary::Mul => Low,
                // Bits are moved out of the word, to compare or to extend the rest.
                Binary::Shl if constant(b).is_some_and(|by| (32..64).contains(&by)) => All,
                Binary::Shl if certain(b)? == All => Low,
                _ if all => All,
                _ => return None,
            }
        }
    })
}

/// How many registers a value is computed from, at the site and at the entry; `None` if it is read from
/// memory.
fn operands(value: &Expr) -> Option<usize> {
    fn add(value: &Expr, at_entry: bool, registers: &mut HashSet<(Register, bool)>) -> Option<()> {
        match value.node() {
            Node::Constant(_) | Node::Address(_) => {}
            Node::Register(register, _) => _ = registers.insert((*register, at_entry)),
            Node::Memory { .. } | Node::ThreadLocal(_) => return None,
            Node::Unary(_, a) | Node::Convert(_, a) | Node::Reinterpret(_, a) => add(a, at_entry, registers)?,
            Node::AtEntry(a) => add(a, true, registers)?,
            Node::Binary(_, a, b) => {
                add(a, at_entry, registers)?;
                add(b, at_entry, registers)?;
            }
        }
        Some(())
    }
    let mut registers = HashSet::new();
    add(value, false, &mut registers)?;
    Some(registers.len())
}

fn constant(value: &Expr) -> Option<u64> {
    match value.node() {
        Node::Constant(Value { bits, .. }) => Some(*bits),
        _ => None,
    }
}

fn is_mask_of_word(value: &Expr) -> bool {
    constant(value).is_some_and(|mask| mask <= 0xffff_ffff)
}

/// Whether a constant is added to a register anywhere, or a register subtracted from one.
fn counts(value: &Expr) -> bool {
    match value.node() {
        Node::Constant(_)
        | Node::Address(_)
        | Node::Register(..)
        | Node::Memory { .. }
        | Node::ThreadLocal(_)
        | Node::AtEntry(_) => false,
        Node::Unary(_, a) | Node::Convert(_, a) | Node::Reinterpret(_, a) => counts(a),
        Node::Binary(Binary::Plus | Binary::Minus, a, b)
            if register_of(a).is_some() && constant(b).is_some()
                || constant(a).is_some() && register_of(b).is_some() =>
        {
            true
        }
        Node::Binary(_, a, b) => counts(a) || counts(b),
    }
}

/// Whether a computation reads anything. If not, it is a constant.
fn reads(value: &Expr) -> bool {
    match value.node() {
        Node::Constant(_) | Node::Address(_) => false,
        Node::Register(..) | Node::Memory { .. } | Node::ThreadLocal(_) | Node::AtEntry(_) => true,
        Node::Unary(_, a) | Node::Convert(_, a) | Node::Reinterpret(_, a) => reads(a),
        Node::Binary(_, a, b) => reads(a) || reads(b),
    }
}

/// Whether a computation changes a value other than by a conversion.
fn computes(value: &Expr) -> bool {
    match value.node() {
        Node::Constant(_)
        | Node::Address(_)
        | Node::Register(..)
        | Node::Memory { .. }
        | Node::ThreadLocal(_)
        | Node::AtEntry(_) => false,
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

    fn binary(operation: Binary, a: Expr, b: Expr) -> Expr {
        Expr::new(Node::Binary(operation, a, b)).expect("small")
    }

    #[test]
    fn gcc_is_believed_where_the_lower_bits_of_one_register_say_all() {
        let is_uncertain =
            |value: Expr, in_loop: bool| is_uncertain_by_gcc(&Location::whole(Source::Value(value)), || in_loop);
        let other = || Expr::new(Node::Register(Register(1), ValueType::Generic)).expect("small");
        let by = |operation, constant| binary(operation, register(), Expr::constant(constant));
        assert!(!is_uncertain(by(Binary::Shl, 3), true));
        assert!(!is_uncertain(by(Binary::Mul, 3), true));
        assert!(!is_uncertain(binary(Binary::Xor, register(), by(Binary::Shl, 3)), true));
        // A loop may count from another number.
        assert!(is_uncertain(by(Binary::Plus, 1), true));
        assert!(!is_uncertain(by(Binary::Plus, 1), false));
        assert!(is_uncertain(binary(Binary::Minus, Expr::constant(7), register()), true));
        // The upper bits of the register may be anything.
        assert!(is_uncertain(by(Binary::Shr, 2), false));
        assert!(is_uncertain(by(Binary::Eq, 2), false));
        assert!(!is_uncertain(binary(Binary::Shr, and(0xff), Expr::constant(2)), false));
        assert!(!is_uncertain(binary(Binary::Eq, by(Binary::Shl, 48), Expr::constant(0)), false));
        assert!(!is_uncertain(binary(Binary::Shra, by(Binary::Shl, 56), Expr::constant(56)), false));
        // One of two may be of another time.
        assert!(is_uncertain(binary(Binary::Plus, register(), other()), false));
        assert!(!is_uncertain(register(), true));
    }

    #[test]
    fn conversions_and_constants_are_not_computed() {
        let is_computed = |value: Expr| is_computed(&Location::whole(Source::Value(value)), || false);
        assert!(!is_computed(Expr::constant(5)));
        assert!(!is_computed(and(0xffff_ffff)));
        assert!(is_computed(and(0xff)));
        assert!(is_computed(register().plus(1).expect("small")));
        let is_computed = |source: Source| super::is_computed(&Location::whole(source), || true);
        assert!(!is_computed(Source::Register(Register(0))));
        assert!(!is_computed(Source::Memory(register().plus(8).expect("small"))));
    }

    #[test]
    fn a_register_without_its_computation_is_computed_in_loops() {
        let is_computed = |in_loop: bool| super::is_computed(&Location::whole(Source::Value(register())), || in_loop);
        assert!(is_computed(true));
        assert!(!is_computed(false));
    }

    #[test]
    fn a_converted_register_is_the_register() {
        let converted = Expr::new(Node::Convert(ValueType::Signed(4), register())).expect("small");
        let converted = Expr::new(Node::Convert(ValueType::Signed(8), converted)).expect("small");
        let is_first = |source| is_register(&Location::whole(source), |register| register == Register(0));
        assert!(is_first(Source::Value(converted)) && is_first(Source::Value(register())));
        assert!(!is_first(Source::Value(register().plus(8).expect("small"))));
        // A spilled variable is in memory at the stack pointer.
        assert!(!is_first(Source::Memory(register())) && !is_first(Source::Register(Register(0))));
        assert!(!is_register(&Location::whole(Source::Value(register())), |register| register == Register(7)));
    }
}
