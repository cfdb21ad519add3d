//! A parameter whose location begins at the site, behind an instruction that makes its next value.
//!
//! `at_site` believes a location that begins at the site if the instruction before makes the value. But that
//! instruction may be one of a statement behind the marker, which the compiler moved to before it.
//!
//! The trace: the instruction has a later line than the marker. Only parameters are doubted: a local
//! variable gets its first value in this way.
//!
//! No smallest case shows it, and what it refuses is counted as `begins_here` (`at_site.rs`), not apart.

use super::{Case, Reason, SourceSide};
use crate::address::Vaddr;

/// Whether an instruction of a later line makes the value before the site.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    case.block()?;
    let (code, held) = (case.code?, case.held()?);
    if !case.is_parameter || case.change.is_none() {
        return None;
    }
    let makes_next = |at: Vaddr| code.writes(at.0, held.mask) && case.description.side(at) == SourceSide::After;
    let is_next = code.predecessors(case.pc)?.iter().any(|before| makes_next(Vaddr(before.start)));
    is_next.then_some(Reason::BeginsHere)
}
