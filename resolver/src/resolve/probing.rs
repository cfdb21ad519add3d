//! What a probe at a site stands for, and what comes of it: plain values (`docs/design.md`, "Exactness").

use std::sync::Arc;

use crate::verdicts::Code;

/// Whether a probe at a site fires when, and only when, the marker is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exactness {
    /// It does.
    Exact,
    /// There are two or more ways to the address: it may also fire on one that does not pass the marker. Or several copies of the marker are
    /// there, for all of which it fires once; [`Site::exactness_why`](super::Site::exactness_why) says which.
    Shared,
    /// Markers of different functions are at the address: the linker folded the functions.
    Folded,
    /// The address is in no function, or not in the marker's: there is nothing to probe.
    Outside,
    /// Not known.
    Unproven,
}

impl Exactness {
    /// The word for the verdict in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Shared => "shared",
            Self::Folded => "folded",
            Self::Outside => "outside",
            Self::Unproven => "unproven",
        }
    }

    /// The code of the verdict, stable over versions (`docs/verdicts.md`).
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Exact => Code::Exact,
            Self::Shared => Code::Shared,
            Self::Folded => Code::Folded,
            Self::Outside => Code::Outside,
            Self::Unproven => Code::Unproven,
        }
    }
}

/// A known way to a site's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayIn {
    /// The instruction that leads there, the function's first one where it is entered there: a link-time address, in a relocatable object an
    /// offset in its section.
    pub address: u64,
    /// The source file of that instruction; `None` where the debug information does not say.
    pub file: Option<Arc<str>>,
    /// Its source line, from 1.
    pub line: Option<u32>,
    /// How: `entry`, `fall_through`, `call_return`, `jump`, `conditional`, `table`, `landing_pad`, `patched`, `foreign` (`docs/json.md`).
    pub kind: &'static str,
}

/// What comes of a uprobe at a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeVerdict {
    /// Whether the kernel takes it.
    pub accepted: bool,
    /// What a hit costs; `None` where it does not fire once for each time the instruction runs, or breaks the program.
    pub cost: Option<ProbeCost>,
    /// Why it is not taken, or what is wrong with it; `None` where there is nothing to say.
    pub why: Option<Arc<str>>,
    /// A later address that stands for the same, where a probe costs less and all arguments are as they are here: in a relocatable object an
    /// offset in the section. `None` where there is none.
    pub best_address: Option<u64>,
}

/// How the kernel gets past the instruction under a uprobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeCost {
    /// It does itself what the instruction does: under a microsecond.
    Emulated,
    /// It runs a copy of the instruction and takes a trap after it: ten microseconds and more.
    Stepped,
}

impl ProbeCost {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Emulated => "emulated",
            Self::Stepped => "stepped",
        }
    }
}
