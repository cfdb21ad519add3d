//! A constant that an inlined function may have overwritten through a pointer (LLVM).
//!
//! `int exp = 0; convert(m, &exp); mark(exp);` gives the address of `exp` away. When `convert` is inlined,
//! LLVM keeps `exp` in a register. What it knew of `exp` before the call stays, and its store in the inlined
//! code has no description: the constant 0 goes on behind it.
//!
//! The trace: the constant is described over code of a function that is inlined in that of the marker, and
//! that lost a parameter, a pointer to the type of the variable. A function that the marker itself is inlined
//! in was called before the variable was there.
//!
//! Smallest case: `left:out`; `believed:length` is right. In generated programs (seeds 9310 and 9311) it refuses
//! none of 1,060,000 values; SQLite showed one argument that is wrong.

use super::{Case, Reason};

/// Whether a function that is inlined in the marker's function may have overwritten the constant.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    if case.is_by_gcc() || !case.location.is_constant() {
        return None;
    }
    let range = case.range().filter(|range| range.start < case.pc.0)?;
    let is_written = case.description.lost_pointer_in(&(range.start..case.pc.0));
    is_written.then_some(Reason::WrittenInlined)
}
