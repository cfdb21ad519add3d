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

use std::ops::Range;

use super::{Code, Reason, register};
use crate::code::Step;
use crate::resolve::Argument;

/// Why a register may be a step ahead of its variable.
pub(in crate::resolve) fn step_ahead(
    argument: &Argument,
    is_by_gcc: bool,
    code: &Code<'_, '_, '_, '_, '_>,
) -> Option<Reason> {
    let (instructions, function) = (code.instructions?, code.function?);
    if is_by_gcc {
        return None;
    }
    // A location for the whole scope has no range.
    let holds = |range: &&Range<u64>| range.contains(&code.pc.0);
    let range = argument.ranges.iter().find(holds).cloned();
    let range = range.or(argument.ranges.is_empty().then_some(0..u64::MAX))?;
    let bit = instructions.register_bit(register(argument.location.as_ref()?)?)?;
    let steps = instructions.steps(function, code.pc, bit);
    let is_ahead = |step: &&Step| {
        range.contains(&step.at.0)
            && range.start < step.at.0
            && (instructions.takes_back(function, bit, **step) || instructions.uses_previous(function, bit, **step))
    };
    steps.iter().find(is_ahead).map(|step| Reason::StepAhead { at: step.at.0 })
}
