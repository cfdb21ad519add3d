//! A parameter in a loop that was a recursion.
//!
//! `return tail(n - 1, acc * n);`: a tail call becomes a loop that assigns the parameters, and they stay
//! described as they were at the first call. gcc makes copies of functions for constant arguments, and a loop
//! of the calls in them.
//!
//! The trace: instructions with later lines give the parameter its value, and one of them is in the block of
//! the site; or it is a constant everywhere in its function.
//!
//! gcc also goes on to describe a parameter by its value at the entry of the function (`DW_OP_entry_value`) in a loop
//! that assigns it, and behind that: the assignment may be gone from the debug information. So such a value is
//! believed only where no loop leads to the site (`entry:tail` and `entry:assigned` of `tests/entries/loops.c`; in
//! SQLite by gcc none of 2,804 was wrong). clang's were right, all 2,719 of SQLite.
//!
//! Smallest cases: `computed:tail`, `stale:counted`, `stale:inlined`. In generated programs (seeds 9320 to 9323,
//! 9400 and 9401) 1,806 of 5,923 values by clang are wrong, 1,044 of 3,656 by gcc, and none of 240 by rustc. By
//! rustc all 5 of `examples/constructs` are wrong.

use super::place::is_constant;
use super::{Case, Reason, SourceSide};
use crate::address::Vaddr;

/// Whether the value may be that of another call.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    if case.is_by_gcc() && !case.location.entry_values().is_empty() {
        let is_behind_loop = case.code.is_none_or(|code| code.is_behind_loop(case.pc));
        return is_behind_loop.then_some(Reason::ParameterInLoop);
    }
    let (code, block) = (case.code?, case.block()?);
    if !case.is_parameter {
        return None;
    }
    if is_constant(case.location) {
        let is_whole_function = case.argument.ranges.is_empty() && !case.is_inlined;
        return (is_whole_function && code.is_in_loop(case.pc)).then_some(Reason::ParameterInLoop);
    }
    let held = case.held()?;
    let is_update = |at: Vaddr| case.description.side(at) == SourceSide::After;
    // The loop of an inlined function may also be one of its caller.
    let is_own = |at: Vaddr| is_update(at) && case.description.is_in_instance(at);
    let leaves = case.next_write(held.mask).is_some_and(|(at, next)| {
        let later = next.and_then(|next| case.description.location_at(next));
        let goes_on = || later.as_ref() == Some(case.location) && case.description.line(at) == case.branch_line();
        is_own(at) && (later.is_none() || goes_on())
    });
    let is_written_before = || {
        let before = block.before.iter().find(|at| code.writes(at.0, held.mask));
        before.is_some_and(|at| is_own(*at))
    };
    if (leaves || is_written_before()) && holds_from_loop(case) && code.is_in_loop(case.pc) {
        let made = case.made(held.number)?;
        return made.iter().any(|at| is_own(*at)).then_some(Reason::ParameterInLoop);
    }
    None
}

/// Whether the location that holds at the site begins after the function's entry, or holds everywhere.
fn holds_from_loop(case: &Case<'_>) -> bool {
    let begins_in_loop = |start| case.code.is_some_and(|code| code.begins_in_loop(Vaddr(start)));
    case.range().is_none_or(|range| range.start < case.pc.0 && begins_in_loop(range.start))
}
