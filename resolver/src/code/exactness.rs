//! Whether a probe at an address fires exactly when the marker there is passed.
//!
//! A marker has no length. It stands between two instructions, and its address is the address of
//! the second. Control that comes from elsewhere reaches the address without the marker. Without a
//! proof the answer is "unproven", never "exact".

use super::cfg::{Cfg, Indirect};
use super::instruction::{Instruction, InstructionKind};
use super::{Edge, EdgeKind};
use crate::address::Vaddr;

/// The answer for an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assessment {
    /// Whether a probe there is exact.
    pub(crate) outcome: Outcome,
    /// All known edges to the address; empty for [`Outcome::Outside`].
    pub(crate) predecessors: Vec<Edge>,
}

/// Whether a probe fires exactly when the marker is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// It does.
    Exact(ExactReason),
    /// The address has two or more predecessors: the probe may also fire on a path without the
    /// marker.
    Shared,
    /// The address is not in the function.
    Outside,
    /// Not known.
    Unproven(UnprovenReason),
}

/// Why a site is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ExactReason {
    /// The marker has an instruction of its own.
    Anchored,
    /// The function is entered at the address, and nothing else leads there.
    Entry,
    /// The preceding instruction continues past the marker, and nothing else leads there.
    FallThrough,
    /// One branch leads there, and nothing else.
    OnePredecessor,
}

/// Why it is not known whether a site is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum UnprovenReason {
    /// The bytes at this address are not an instruction.
    Undecoded(Vaddr),
    /// The address is in the middle of an instruction.
    InsideInstruction,
    /// The indirect jump at this address may lead to the site.
    IndirectJump(Vaddr),
    /// No known edge leads to the address. It is dead code, or the instructions do not show the
    /// edge.
    NoPredecessor,
}

impl Cfg {
    /// Whether a probe at `pc` fires exactly when a marker there is passed. `anchored` means that
    /// the marker emitted a no-operation of its own at `pc`. It is ignored if `pc` has no such
    /// instruction.
    #[must_use]
    pub(crate) fn exactness(&self, pc: Vaddr, anchored: bool) -> Assessment {
        if !self.contains(pc) {
            return Assessment { outcome: Outcome::Outside, predecessors: Vec::new() };
        }
        let Some(index) = self.index(pc.0) else {
            // Bytes that are not an instruction end the decoding.
            let reason = self.undecoded.map_or(UnprovenReason::InsideInstruction, UnprovenReason::Undecoded);
            return Assessment { outcome: Outcome::Unproven(reason), predecessors: Vec::new() };
        };
        let predecessors = self.predecessors(index);
        let outcome = self.outcome(index, anchored, &predecessors);
        Assessment { outcome, predecessors }
    }

    fn outcome(&self, index: usize, anchored: bool, predecessors: &[Edge]) -> Outcome {
        let is_anchor = |it: &Instruction| it.kind == InstructionKind::Padding && it.size == self.set.anchor_size();
        if anchored && self.is(index, is_anchor) {
            return Outcome::Exact(ExactReason::Anchored);
        }
        if predecessors.len() > 1 {
            return Outcome::Shared;
        }
        if let Some(at) = self.undecoded {
            return Outcome::Unproven(UnprovenReason::Undecoded(at));
        }
        let is_landing_mark = self.is(index, |it| it.kind == InstructionKind::LandingMark);
        let jump = self.indirect.iter().find(|(_, what)| match what {
            Indirect::Unknown => true,
            Indirect::Marked => is_landing_mark,
            Indirect::JumpTable { .. } | Indirect::Leaves => false,
        });
        if let Some(&(jump, _)) = jump {
            return Outcome::Unproven(UnprovenReason::IndirectJump(jump));
        }
        match predecessors.first().map(|edge| edge.kind) {
            None => Outcome::Unproven(UnprovenReason::NoPredecessor),
            Some(EdgeKind::Entry) => Outcome::Exact(ExactReason::Entry),
            Some(EdgeKind::FallThrough | EdgeKind::CallReturn) => Outcome::Exact(ExactReason::FallThrough),
            Some(_) => Outcome::Exact(ExactReason::OnePredecessor),
        }
    }
}
