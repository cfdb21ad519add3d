//! An assignment before the marker whose instruction is in a later block (LLVM).
//!
//! `if (m > 11) m = 11; mark(m);` with a loop behind, which does not use `m`. LLVM computes `m` behind the
//! loop, in the register of the old value, and describes `m` in that register on both sides.
//!
//! The trace: the next instruction that writes the register reads it too and has a line before the marker, the
//! location goes on behind it, and the code does not lead from there back to the marker: a loop also runs the
//! lines of its next pass. An instruction that only writes the register may be a copy where branches meet, with
//! the line of one of them: of those that were refused so, none of 1,432 values was wrong.
//!
//! Smallest case: `stale:clamped`. In generated programs (seeds 9310 and 9311, 30 functions) it refuses 276 of
//! 567,000 values by clang and rustc, and none is wrong; zstd showed one argument that is (`maxTableLog`).

use std::ops::Range;

use super::{Instructions, Reason};
use crate::address::Vaddr;
use crate::dwarf::Die;
use crate::location::Location;

/// Why a register may have the value before an assignment.
pub(in crate::resolve) fn moved_behind(
    instructions: &Instructions<'_, '_, '_, '_>,
    (function, pc): (Die, Vaddr),
    (location, bit): (&Location, u32),
    is_before: impl Fn(Vaddr) -> bool,
    described: impl Fn(Vaddr) -> Option<Location>,
) -> Option<Reason> {
    let writes = instructions.changed_behind(function, pc, bit);
    let is_late =
        |range: &&Range<u64>| is_before(Vaddr(range.start)) && described(Vaddr(range.end)).as_ref() == Some(location);
    writes.iter().find(is_late).map(|range| Reason::AssignedLate { at: range.start })
}
