//! A register that is a step ahead behind a loop (LLVM).
//!
//! `while (!count[m]) m--; mark(m);` leaves before the step. LLVM computes the next `m` before the test,
//! in place, and describes `m` in that register on both sides of the step and behind the loop. The code
//! behind the loop that uses `m` computes it back. Or nothing behind uses it, and only the loop tells: it
//! copies the register before the step and tests the copy. Other programs have the same images, to the last
//! byte, and the description is right there: `while (!count[m--]); mark(m);`, which then uses `m + 1`
//! (`tests/truth/pair/ahead.c`, `kept.c`). Programs seldom do that.
//!
//! Smallest cases: `computed:ahead`, `computed:kept`. In generated programs (seeds 9310 and 9311) it refuses
//! 112 of 1,060,000 values, and none is wrong; zstd showed one that is.

use super::{Case, Reason};
use crate::code::LoopStep;

/// The instruction that makes the step.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    let code = case.code?;
    if case.is_by_gcc() {
        return None;
    }
    // A location for the whole scope has no range.
    let range = case.range().cloned().or(case.argument.ranges.is_empty().then_some(0..u64::MAX))?;
    let number = case.held()?.number;
    let steps = code.steps(case.pc, number);
    let is_ahead = |step: &&LoopStep| {
        range.contains(&step.at.0)
            && range.start < step.at.0
            && (code.takes_back(number, **step) || code.uses_previous(number, **step))
    };
    steps.iter().find(is_ahead).map(|step| Reason::StepAhead { at: step.at.0 })
}
