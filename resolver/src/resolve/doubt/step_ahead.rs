//! A register that is a step ahead behind a loop (LLVM).
//!
//! `while (!count[m]) m--; mark(m);` leaves before the step. LLVM computes the next `m` before the test,
//! in place, and describes `m` in that register on both sides of the step and behind the loop. The code
//! behind the loop that uses `m` computes it back. Another program has the same image, to the last byte,
//! and the description is right there: `while (!count[m--]); mark(m);`, which then uses `m + 1`
//! (`tests/truth/pair/ahead.c`). Programs seldom do that.
//!
//! Smallest case: `computed:ahead`.

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
    let range = argument.ranges.iter().find(|range| range.contains(&code.pc.0)).filter(|_| !is_by_gcc)?;
    let bit = instructions.register_bit(register(argument.location.as_ref()?)?)?;
    let steps = instructions.steps(function, code.pc, bit);
    let is_ahead = |step: &&Step| {
        range.contains(&step.at.0) && range.start < step.at.0 && instructions.takes_back(function, bit, **step)
    };
    steps.iter().find(is_ahead).map(|step| Reason::StepAhead { at: step.at.0 })
}
