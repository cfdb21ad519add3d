//! Several records of one marker at one address.
//!
//! A loop without other code is unrolled: all copies of the marker have the same address, and a probe fires
//! once for all of them. An anchored marker has its own instruction between itself and the next copy. Each
//! file that has an inline function also has a record of its marker, and then it is one copy.

use super::site_facts::{Judgement, SiteFacts};
use crate::resolve::{Exactness, ExactnessReason};

/// Takes other copies at the address into account.
pub(super) fn judge(facts: &SiteFacts<'_>, so_far: &Judgement) -> Option<Judgement> {
    let copies = facts.copies;
    if copies < 2 || facts.anchored {
        return None;
    }
    match so_far.exactness {
        Exactness::Exact if facts.may_be_in_several => {
            Some(Judgement::unproven(ExactnessReason::SeveralRecords { records: copies }))
        }
        Exactness::Exact => Some(Judgement::new(Exactness::Shared, ExactnessReason::SeveralCopies { copies })),
        Exactness::Shared | Exactness::Unproven => {
            let reason = Box::new(so_far.reason.clone());
            let reason = ExactnessReason::AndSeveralRecords { reason, records: copies };
            Some(Judgement::new(so_far.exactness, reason))
        }
        _ => None,
    }
}
