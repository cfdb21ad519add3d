//! How far the place of a mark can be trusted.

use crate::resolve::{Exactness, ExactnessReason, MarkReason};

/// What is known of a place of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceCertainty {
    /// It is that of an instruction of the program, as the entry of a function.
    Code,
    /// It is that of a line, or of an inlined function.
    Place(MarkReason),
}

impl PlaceCertainty {
    /// That of the place if the user named another line, which has no code.
    pub(super) fn of_nearest(self) -> Self {
        match self {
            Self::Code | Self::Place(MarkReason::Begins | MarkReason::CodeUnknown) => self,
            Self::Place(_) => Self::Place(MarkReason::OtherLine),
        }
    }

    /// The verdict on a place, of which the instructions alone say this; `None` if theirs stays.
    pub(super) fn judge(self, exactness: Exactness, reason: &ExactnessReason) -> Option<(Exactness, ExactnessReason)> {
        let Self::Place(of) = self else { return None };
        match (exactness, reason) {
            // Each way to a line begins the line.
            (Exactness::Exact, _) | (Exactness::Shared, ExactnessReason::SeveralPredecessors { .. }) => {
                Some((of.exactness(), ExactnessReason::Mark(of)))
            }
            _ => None,
        }
    }
}
