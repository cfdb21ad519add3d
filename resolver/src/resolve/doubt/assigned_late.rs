//! An assignment before the marker whose instruction is behind it, in the same block.
//!
//! `b += b / 18; mark(b);`: a compiler moves an assignment across a marker if that changes nothing else. The
//! debug information says where the new value begins, but does not end the old one in time.
//!
//! The trace: the next instruction that writes the register has a line before the marker, and the location
//! goes on behind it. The increment of a `for` loop looks alike; it has the line of the loop's test.
//!
//! In generated programs 328 of 2,572 values are wrong (seeds 6000 to 6005), and none of 1,137 (seeds 7100 to
//! 7102).

use super::{Case, Reason, SourceSide};

/// The instruction of the assignment.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    let (at, next) = case.next_write(case.held()?.mask)?;
    let is_tracked = || case.description.location_at(next?).as_ref().map(|later| later == case.location);
    let is_step = case.description.line(at) == case.branch_line();
    let is_late = !is_step && case.description.side(at) == SourceSide::Before && is_tracked() == Some(true);
    is_late.then_some(Reason::AssignedLate { at: at.0 })
}
