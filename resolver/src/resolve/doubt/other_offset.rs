//! A register in a loop that has the value of another pass (LLVM).
//!
//! Where a loop counts one step ahead of the variable (`for (i = n; i-- > 0;) mark(i);`), LLVM describes that
//! as the register plus a constant, and forgets the constant in a part of the loop.
//!
//! The trace: the code comes from an instruction where the variable is described as that register plus a
//! constant, and that instruction does not change the register.
//!
//! Smallest case: `computed:countdown`. It was made for clang, seeds 7100 to 7102 and 8100, where 3,400 values
//! were wrong.

use std::collections::HashSet;

use super::computed::is_offset;
use super::other_constant::{OUTSIDE, STEPS};
use super::{Case, Reason};
use crate::address::Vaddr;

/// The instruction where the variable is described with a constant.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    case.block()?;
    let (code, held, range) = (case.code?, case.held()?, case.range()?);
    if case.is_by_gcc() || !code.is_in_loop(case.pc) {
        return None;
    }
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
            let is_offset = || case.description.location_at(last).is_some_and(|it| is_offset(&it, held.register));
            if !code.writes(before.start, held.mask) && is_offset() {
                return Some(Reason::OtherOffset { from: before.start });
            }
        }
    }
    None
}
