//! A register in a loop that has the value of another pass (LLVM).
//!
//! Where a loop counts one step ahead of the variable (`for (i = n; i-- > 0;) mark(i);`), LLVM describes that
//! as the register plus a constant, and forgets the constant in a part of the loop.
//!
//! The trace: the code comes from an instruction where the variable is described as that register plus a
//! constant, and that instruction does not change the register.
//!
//! Smallest case: `computed:countdown`. It was made for clang, seeds 7100 to 7102, where 3,400 values were
//! wrong. In seeds 9320 to 9323, 9400 and 9401, and in SQLite, QuickJS and zstd it refuses nothing.

use std::collections::HashSet;

use super::case::{OUTSIDE, STEPS};
use super::place::{register, register_of, unconverted};
use super::{Case, Reason};
use crate::address::Vaddr;
use crate::location::{Binary, Expr, Location, Node, Register, Source};

/// The instruction where the variable is described with a constant.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    case.block()?;
    let (code, held, range) = (case.code?, case.held()?, case.range()?);
    if case.is_by_gcc() || !code.is_in_loop(case.pc) {
        return None;
    }
    let register = register(case.location)?;
    let mut seen = HashSet::new();
    let mut todo = vec![case.pc.0];
    let mut outside = 0;
    while let Some(at) = todo.pop().filter(|_| seen.len() < STEPS && outside < OUTSIDE) {
        for before in code.predecessors(Vaddr(at))? {
            if !seen.insert(before.start) {
                continue;
            }
            if range.contains(&before.start) {
                todo.push(before.start);
                continue;
            }
            outside += 1;
            let last = Vaddr(before.end.saturating_sub(1));
            let is_offset = || case.description.location_at(last).is_some_and(|it| is_offset(&it, register));
            if !code.writes(before.start, held.mask) && is_offset() {
                return Some(Reason::OtherOffset { from: before.start });
            }
        }
    }
    None
}

/// Whether a value is a register plus a constant that is not 0, converted or not.
fn is_offset(location: &Location, wanted: Register) -> bool {
    let is_register = |value: &Expr| register_of(value) == Some(wanted);
    let is_step = |value: &Expr| matches!(value.node(), Node::Constant(constant) if constant.bits != 0);
    let Some(Source::Value(value)) = location.source() else { return false };
    match unconverted(value).node() {
        Node::Binary(Binary::Plus, a, b) => is_register(a) && is_step(b) || is_step(a) && is_register(b),
        Node::Binary(Binary::Minus, a, b) => is_register(a) && is_step(b),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::ValueType;

    #[test]
    fn a_register_plus_a_constant_is_a_step() {
        let new = |node| Expr::new(node).expect("small");
        let of = |number| new(Node::Register(Register(number), ValueType::Generic));
        let constant = Expr::constant;
        let binary = |how, a, b| new(Node::Binary(how, a, b));
        let is_step = |value: Expr| is_offset(&Location::whole(Source::Value(value)), Register(0));
        assert!(is_step(binary(Binary::Minus, of(0), constant(1))));
        assert!(is_step(binary(Binary::And, binary(Binary::Plus, of(0), constant(4)), constant(0xffff_ffff))));
        assert!(is_step(binary(Binary::Plus, constant(4), of(0))));
        assert!(!is_step(binary(Binary::Minus, of(1), constant(1))));
        assert!(!is_step(binary(Binary::Minus, constant(7), of(0))));
        assert!(!is_step(binary(Binary::Plus, of(0), of(1))));
        assert!(!is_step(of(0)));
    }
}
