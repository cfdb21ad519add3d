//! A function that the linker folded with another one of the same code.
//!
//! A probe then fires for both, also where the marker has its own instruction. But functions that test the
//! same switch pass the same probe.

use super::site_facts::{Judgement, SiteFacts};
use crate::resolve::folding::OtherNames;
use crate::resolve::{Exactness, ExactnessReason};

/// Takes the other names of the function into account.
pub(super) fn judge(facts: &SiteFacts<'_>, so_far: &Judgement) -> Option<Judgement> {
    let is_exact = so_far.is_exact();
    let is_affected = match so_far.exactness {
        Exactness::Exact => !facts.is_probe,
        Exactness::Shared | Exactness::Unproven => true,
        _ => false,
    };
    let mut doubt = None;
    for names in facts.names.iter().filter(|_| is_affected).cloned() {
        match names {
            OtherNames::Several(functions) if facts.may_be_elsewhere => {
                doubt = Some(ExactnessReason::FoldedFunctionsMayDiffer { functions });
            }
            OtherNames::Several(functions) => {
                return Some(Judgement::new(Exactness::Folded, ExactnessReason::FoldedFunctions { functions }));
            }
            // The other function would have a note of its own.
            OtherNames::Perhaps(_) | OtherNames::Unknown(_) if facts.owns_instruction => {}
            OtherNames::Perhaps(functions) => doubt = doubt.or(Some(ExactnessReason::SeveralNames { functions })),
            OtherNames::Unknown(unknown) => doubt = doubt.or(Some(ExactnessReason::FoldingUnknown(unknown))),
        }
    }
    doubt.filter(|_| is_exact).map(Judgement::unproven)
}
