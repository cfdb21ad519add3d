//! A site in a function that is not the marker's.
//!
//! If a compiler splits or merges functions, the address of a marker may be in code that the debug
//! information gives to another function. That one may run without the marker. The test of a switch leads to
//! a probe wherever the probe is.

use super::site_facts::{Judgement, SiteFacts};
use crate::code::{ExactReason, Outcome};
use crate::resolve::ExactnessReason;

/// Lowers an exact verdict if the debug information has the marker's function only elsewhere.
pub(super) fn judge(facts: &SiteFacts<'_>, so_far: &Judgement) -> Option<Judgement> {
    let is_tested = facts.is_probe && facts.outcome == Outcome::Exact(ExactReason::Anchored);
    let is_lowered = so_far.is_exact() && facts.is_not_there && !is_tested;
    is_lowered.then(|| Judgement::unproven(ExactnessReason::AnotherFunction))
}
