//! What is known of a site when its exactness is judged, and the judgement.

use crate::code::Outcome;
use crate::image::Layout;
use crate::resolve::folding::OtherNames;
use crate::resolve::{Exactness, ExactnessReason};

/// What is known of a site when its exactness is judged.
pub(in crate::resolve) struct SiteFacts<'f> {
    /// What the control-flow graph of the function says.
    pub(in crate::resolve) outcome: Outcome,
    /// How many instructions lead to the site.
    pub(in crate::resolve) predecessors: usize,
    /// The layout of a relocatable object.
    pub(in crate::resolve) layout: Option<&'f Layout>,
    /// Why edges may exist that the graph does not have; `None` if it has all.
    pub(in crate::resolve) hidden_edges: Option<&'f ExactnessReason>,
    /// Whether the marker has its own instruction.
    pub(in crate::resolve) anchored: bool,
    /// Whether it is the site of a probe, which the test of the probe's switch alone leads to.
    pub(in crate::resolve) is_probe: bool,
    /// Whether the instruction was written for it, and is in no function that the linker folded with
    /// another one.
    pub(in crate::resolve) owns_instruction: bool,
    /// Whether the debug information has the marker's function only elsewhere.
    pub(in crate::resolve) is_not_there: bool,
    /// How many records of the marker at the address one file may have.
    pub(in crate::resolve) copies: u32,
    /// Whether several files may have a copy of the function, each with its records.
    pub(in crate::resolve) may_be_in_several: bool,
    /// Whether another function may pass the marker as well.
    pub(in crate::resolve) may_be_elsewhere: bool,
    /// What is known of the other names of the function.
    pub(in crate::resolve) names: Vec<OtherNames>,
}

/// A verdict, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::resolve) struct Judgement {
    pub(in crate::resolve) exactness: Exactness,
    pub(in crate::resolve) reason: ExactnessReason,
}

impl Judgement {
    pub(super) fn new(exactness: Exactness, reason: ExactnessReason) -> Self {
        Self { exactness, reason }
    }

    pub(super) fn unproven(reason: ExactnessReason) -> Self {
        Self::new(Exactness::Unproven, reason)
    }

    pub(super) fn is_exact(&self) -> bool {
        self.exactness == Exactness::Exact
    }
}
