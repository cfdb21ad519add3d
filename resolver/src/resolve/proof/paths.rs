//! The instructions that lead to the site.
//!
//! A marker stands between two instructions, and its address is that of the second one. If a single
//! instruction leads there, a probe fires exactly when the marker is passed. If several do, some may lead
//! there on ways that do not pass the marker: behind `if (a) { work(); mark(); }` also the branch of the
//! condition.

use super::site_facts::{Judgement, SiteFacts};
use crate::address::Vaddr;
use crate::code::{ExactReason, Outcome, UnprovenReason};
use crate::resolve::{Exactness, ExactnessReason, pc};

/// The verdict of the paths alone.
pub(super) fn judge(facts: &SiteFacts<'_>) -> Judgement {
    match facts.outcome {
        Outcome::Exact(reason) => Judgement::new(Exactness::Exact, exact(reason)),
        Outcome::Shared => {
            Judgement::new(Exactness::Shared, ExactnessReason::SeveralPredecessors { count: facts.predecessors })
        }
        Outcome::Outside => Judgement::new(Exactness::Outside, ExactnessReason::FunctionEnds),
        Outcome::Unproven(reason) => Judgement::unproven(unproven(reason, facts)),
    }
}

fn exact(reason: ExactReason) -> ExactnessReason {
    match reason {
        ExactReason::Anchored => ExactnessReason::Anchored,
        ExactReason::Entry => ExactnessReason::Entry,
        ExactReason::FallThrough => ExactnessReason::FallThrough,
        ExactReason::OnePredecessor => ExactnessReason::OnePredecessor,
    }
}

fn unproven(reason: UnprovenReason, facts: &SiteFacts<'_>) -> ExactnessReason {
    let reported = |at: Vaddr| pc::reported(at, facts.layout);
    match reason {
        UnprovenReason::Undecoded(at) => ExactnessReason::Undecoded { address: reported(at) },
        UnprovenReason::InsideInstruction => ExactnessReason::InsideInstruction,
        UnprovenReason::IndirectJump(at) => ExactnessReason::IndirectJump { address: reported(at) },
        UnprovenReason::NoPredecessor => ExactnessReason::NoPredecessor,
    }
}
