//! What a uprobe at a site does: plain values (`docs/design.md`, "Exactness").

use strum::IntoStaticStr;

pub use crate::code::{BreaksReason, ProbeCost, RefusedReason};

/// What a uprobe at a site does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeVerdict {
    /// Whether the kernel accepts it.
    pub accepted: bool,
    /// What a hit costs; `None` where it does not fire once for each time the instruction runs, or
    /// breaks the program.
    pub cost: Option<ProbeCost>,
    /// Why it is refused, or what is wrong with it; `None` if there is nothing to say.
    pub reason: Option<ProbeReason>,
    /// An address near by where a probe sees the same, costs less or is accepted at all, and finds all
    /// arguments as they are here: in a relocatable object an offset in the section. `None` if there is
    /// none. No site of another marker is between both.
    pub best_address: Option<u64>,
}

impl ProbeVerdict {
    /// Whether a probe works here, or at the address that is as good.
    #[must_use]
    pub fn can_be_put(&self) -> bool {
        self.best_address.is_some() || (self.accepted && self.cost.is_some())
    }
}

/// Why a uprobe is refused, or what is wrong with it. `Display` gives a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum ProbeReason {
    /// It fires for each iteration of a repeated instruction.
    FiresEachIteration,
    /// The kernel refuses it.
    #[strum(transparent)]
    Refused(RefusedReason),
    /// The kernel accepts it, and it breaks the program.
    #[strum(transparent)]
    Breaks(BreaksReason),
}

impl ProbeReason {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
