//! An assignment before the marker whose instruction is behind it (LLVM).
//!
//! `b += b / 18; mark(b);`: LLVM moves an assignment across a marker if that changes nothing else.
//! `if (m > 11) m = 11; mark(m);` with a loop behind, which does not use `m`: it computes `m` behind the loop,
//! in the register of the old value. It says where the new value begins, but does not end the old one in time.
//!
//! The trace: the next instruction that writes the register reads it too and has a line before the marker, the
//! location goes on behind it, and the code does not lead from there back to the marker: a loop also runs the
//! lines of its next pass. An instruction that only writes the register may be a copy where branches meet, with
//! the line of one of them: of those that were refused so, none of 1,432 values was wrong. gcc's values that
//! look alike were right, all 1,125 (seeds 9320 to 9323).
//!
//! Smallest case: `stale:clamped`. In generated programs (seeds 9310 and 9311, 30 functions) it
//! refuses 276 of 567,000 values by clang and rustc, and none is wrong; zstd showed one argument that is
//! (`maxTableLog`).

use std::ops::Range;

use super::{Case, Reason, SourceSide};
use crate::address::Vaddr;

/// The instruction of the assignment.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    case.block()?;
    let held = case.held()?;
    if case.is_by_gcc() {
        return None;
    }
    let writes = case.code?.changed_behind(case.pc, held.number);
    let is_before = |at: Vaddr| case.description.side(at) == SourceSide::Before && case.description.is_in_instance(at);
    let is_late = |range: &&Range<u64>| {
        let goes_on = || case.description.location_at(Vaddr(range.end)).as_ref() == Some(case.location);
        is_before(Vaddr(range.start)) && goes_on()
    };
    writes.iter().find(is_late).map(|range| Reason::AssignedLate { at: range.start })
}
