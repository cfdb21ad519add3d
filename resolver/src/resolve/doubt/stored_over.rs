//! A parameter that is in the frame, and described in the register of the entry (gcc).
//!
//! `auto f = [&] { return a; }; a = f() * 3; mark(a);`: gcc keeps a parameter in the frame if its address is
//! taken, also by a lambda that captures it, and may go on to describe the register of the entry.
//!
//! The trace: the function copies that register to the frame, and on a way to the site another value is
//! stored there, or a callee is called that may have the address (`code/spilled.rs`).
//!
//! A value of the entry that is gone from its register, and is read there by a second probe, is doubted alike.
//!
//! Smallest case: `stale:captured`. In generated programs (seeds 9320 to 9323, 9400 and 9401) 1,837 of 2,841
//! values are wrong.

use super::{Case, Reason};

/// The instruction that stores another value over the copy in the frame.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    case.block()?;
    if !case.is_parameter || case.is_inlined || !case.is_by_gcc() {
        return None;
    }
    let (code, size) = (case.code?, case.argument.size?);
    let at = match (case.held(), case.entered()) {
        (Some(held), _) => code.stored_over(case.pc, held.number, size)?,
        (None, entered) => code.stored_over_entry(case.pc, entered?, size)?,
    };
    Some(Reason::StoredOver { at: at.0 })
}
