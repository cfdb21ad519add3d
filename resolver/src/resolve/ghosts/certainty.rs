//! A place of a ghost, and how far it can be trusted.

use crate::address::Vaddr;
use crate::resolve::{ApproximateReason, Exactness, ExactnessReason, LikelyReason, Origin};

/// A place of a ghost in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GhostPlace {
    /// Where a probe is set; `None` if the linker dropped the code.
    pub(super) address: Option<Vaddr>,
    pub(super) origin: Origin,
    pub(super) certainty: Certainty,
}

/// The best verdict that a place may have, whatever its instructions say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Likely(LikelyReason),
    Approximate(ApproximateReason),
    /// As far as the straight code around the row of a statement shows.
    Statement(StatementsBefore),
}

/// What a unit says of one of the ghosts that it was asked for.
#[derive(Debug, Default)]
pub(super) struct OfUnit {
    /// The copies of the ghost.
    pub(super) places: Vec<GhostPlace>,
    /// How many copies of its code have no place for it.
    pub(super) missing: u32,
    /// Whether the compiler dropped the place in a copy, although the code is there.
    pub(super) is_dropped: bool,
    /// Whether its line has other code, and the unit does not tell them apart.
    pub(super) is_ambiguous: bool,
}

/// The statements before the row of a ghost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatementsBefore {
    /// Where the row is.
    pub(super) address: Vaddr,
    /// Where the statement before it is.
    pub(super) previous: Option<Vaddr>,
    /// Where the nearest statement before it is that begins further left.
    pub(super) outer: Option<Vaddr>,
}

impl Certainty {
    /// The order of certainties, the best first.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Likely(_) | Self::Statement(_) => 0,
            Self::Approximate(_) => 1,
        }
    }

    /// The verdict on a place, of which the instructions alone say this; `None` if theirs stays.
    pub(super) fn judge(self, exactness: Exactness, reason: &ExactnessReason) -> Option<(Exactness, ExactnessReason)> {
        let likely = |reason| Some((Exactness::Likely, ExactnessReason::Likely(reason)));
        let approximate = |reason| Some((Exactness::Approximate, ExactnessReason::Approximate(reason)));
        match (self, exactness) {
            (Self::Likely(reason), Exactness::Exact) => likely(reason),
            (Self::Likely(LikelyReason::Statement), Exactness::Shared) => approximate(match *reason {
                ExactnessReason::SeveralCopies { copies } => ApproximateReason::RepeatedStatement { copies },
                // On another way to it the statement may be missing.
                _ => ApproximateReason::SeveralWays,
            }),
            // Each way into the block behind a ghost passes the ghost.
            (
                Self::Likely(certain @ (LikelyReason::RemovableCode | LikelyReason::MissingCopies { .. })),
                Exactness::Shared,
            ) if matches!(reason, ExactnessReason::SeveralPredecessors { .. }) => likely(certain),
            (Self::Approximate(ApproximateReason::NothingFollows), Exactness::Shared) => {
                approximate(ApproximateReason::SharedExit)
            }
            // Other ways add hits, and copies without code lack some.
            (Self::Likely(LikelyReason::Inlined), Exactness::Shared) => approximate(ApproximateReason::SharedInlined),
            (Self::Approximate(reason), Exactness::Exact | Exactness::Shared) => approximate(reason),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ghost_is_never_exact() {
        let shared = ExactnessReason::SeveralPredecessors { count: 2 };
        let copies = ExactnessReason::SeveralCopies { copies: 3 };
        let statement = Certainty::Likely(LikelyReason::Statement);
        let removable = Certainty::Likely(LikelyReason::RemovableCode);
        let inlined = Certainty::Likely(LikelyReason::Inlined);
        let nothing = Certainty::Approximate(ApproximateReason::NothingFollows);
        let name = |certainty: Certainty, exactness, reason: &ExactnessReason| {
            certainty.judge(exactness, reason).map_or("stays", |(_, reason)| reason.name())
        };
        for (certainty, exactness, reason, expected) in [
            (statement, Exactness::Exact, &ExactnessReason::FallThrough, "likely_statement"),
            (statement, Exactness::Shared, &shared, "approximate_several_ways"),
            (statement, Exactness::Shared, &copies, "approximate_repeated_statement"),
            (removable, Exactness::Shared, &shared, "likely_removable_code"),
            (removable, Exactness::Shared, &copies, "stays"),
            (inlined, Exactness::Shared, &shared, "approximate_shared_inlined"),
            (nothing, Exactness::Shared, &shared, "approximate_shared_exit"),
            (nothing, Exactness::Exact, &ExactnessReason::FallThrough, "approximate_nothing_follows"),
            (nothing, Exactness::Unproven, &ExactnessReason::NoPredecessor, "stays"),
        ] {
            assert_eq!(name(certainty, exactness, reason), expected, "{certainty:?} {exactness:?} {reason:?}");
        }
    }
}
