//! Why an argument has no location.

use super::{Reason, Verdict};
use crate::Error;
use crate::location::PartError;

/// Why there is no location, and the verdict that follows.
pub(super) struct Refusal {
    /// `None` if the debug information describes no variables at all.
    pub(super) verdict: Option<Verdict>,
    pub(super) reason: Reason,
}

impl Refusal {
    pub(super) fn new(verdict: Verdict, reason: Reason) -> Self {
        Self { verdict: Some(verdict), reason }
    }

    pub(super) fn lines_only() -> Self {
        Self { verdict: None, reason: Reason::LinesOnly }
    }

    pub(super) fn absent(reason: Reason) -> Self {
        Self::new(Verdict::Absent, reason)
    }

    pub(super) fn lost(reason: Reason) -> Self {
        Self::new(Verdict::Lost, reason)
    }

    pub(super) fn unsupported(reason: Reason) -> Self {
        Self::new(Verdict::Unsupported, reason)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::unsupported(Reason::DebugInfo { message: error.to_string().into() })
    }
}

impl From<PartError> for Refusal {
    fn from(why: PartError) -> Self {
        match why {
            PartError::OptimizedOut => Self::lost(Reason::OptimizedOut),
            PartError::ImplicitPointer(..) => Self::lost(Reason::PointerOptimizedOut),
            PartError::Scattered(why) => Self::unsupported(Reason::Scattered(why)),
        }
    }
}
