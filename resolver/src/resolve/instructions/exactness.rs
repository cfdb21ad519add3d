//! The exactness of a site, from its control-flow graph, the records at its address and the other
//! names of its function.

use super::function::Decoded;
use super::{Instructions, ProbeFacts, SiteQuery};
use crate::address::Vaddr;
use crate::code::{Assessment, Edge, ExactReason, Outcome, UnprovenReason};
use crate::resolve::folding::Folded;
use crate::resolve::{Exactness, ExactnessReason, Predecessor};

impl Instructions<'_, '_, '_, '_> {
    pub(super) fn exactness(
        &self,
        decoded: &Decoded<'_>,
        assessment: &Assessment,
        query: &SiteQuery<'_>,
    ) -> ProbeFacts {
        let (exactness, reason) = match assessment.outcome {
            Outcome::Exact(ExactReason::Anchored) if query.is_probe => (Exactness::Exact, ExactnessReason::Anchored),
            Outcome::Exact(_) if query.is_not_there => (Exactness::Unproven, ExactnessReason::AnotherFunction),
            Outcome::Exact(reason) => match &decoded.unknown_edges {
                Some(unknown) if !query.anchored => (Exactness::Unproven, unknown.clone()),
                _ => (Exactness::Exact, exact(reason)),
            },
            Outcome::Shared => {
                let count = assessment.predecessors.len();
                (Exactness::Shared, ExactnessReason::SeveralPredecessors { count })
            }
            Outcome::Outside => (Exactness::Outside, ExactnessReason::FunctionEnds),
            Outcome::Unproven(reason) => (Exactness::Unproven, self.unproven(reason)),
        };
        ProbeFacts::new(exactness, reason)
    }

    fn unproven(&self, reason: UnprovenReason) -> ExactnessReason {
        match reason {
            UnprovenReason::Undecoded(at) => ExactnessReason::Undecoded { address: self.reported(at) },
            UnprovenReason::InsideInstruction => ExactnessReason::InsideInstruction,
            UnprovenReason::IndirectJump(at) => ExactnessReason::IndirectJump { address: self.reported(at) },
            UnprovenReason::NoPredecessor => ExactnessReason::NoPredecessor,
        }
    }

    /// Takes into account that several copies of a marker may be at one address, as those of an
    /// unrolled loop without other code. A probe fires once for all of them.
    pub(super) fn add_copies(&self, probed: &mut ProbeFacts, pc: Vaddr, query: &SiteQuery<'_>) {
        // An anchored marker has its own instruction between itself and the next copy.
        if query.copies < 2 || query.anchored {
            return;
        }
        let copies = query.copies;
        match probed.exactness {
            Some(Exactness::Exact) => {
                let may_be_one = self.symbols().at(pc.0).is_none_or(|symbol| symbol.may_be_in_several);
                *probed = match may_be_one {
                    true => ProbeFacts::new(Exactness::Unproven, ExactnessReason::SeveralRecords { records: copies }),
                    false => ProbeFacts::new(Exactness::Shared, ExactnessReason::SeveralCopies { copies }),
                };
            }
            Some(Exactness::Shared | Exactness::Unproven) => {
                let both = |reason| ExactnessReason::AndSeveralRecords { reason: Box::new(reason), records: copies };
                probed.reason = probed.reason.take().map(both);
            }
            _ => {}
        }
    }

    /// Takes into account that the linker may have folded the marker's function with another one. A
    /// probe then fires for both, also where the marker has its own instruction. But functions that
    /// test the same switch pass the same probe.
    pub(super) fn add_folding(&self, probed: &mut ProbeFacts, decoded: &Decoded<'_>, pc: Vaddr, query: &SiteQuery<'_>) {
        let is_exact = probed.exactness == Some(Exactness::Exact);
        if is_exact && query.is_probe {
            return;
        }
        if !is_exact && !matches!(probed.exactness, Some(Exactness::Shared | Exactness::Unproven)) {
            return;
        }
        let around = self.symbols().at(pc.0).map(|symbol| symbol.start);
        let starts = decoded.function.ranges.iter().map(|range| range.start.0).filter(|start| {
            // A part that gcc splits off has a symbol, one that LLVM splits off may have none.
            *start == decoded.function.entry.0 || self.symbols().starting_at(*start).is_some()
        });
        let mut doubt = None;
        for start in starts.chain(around) {
            match self.folding.at(start) {
                Some(Folded::Several(functions)) if query.may_be_elsewhere => {
                    doubt = Some(ExactnessReason::FoldedFunctionsMayDiffer { functions });
                }
                Some(Folded::Several(functions)) => {
                    probed.exactness = Some(Exactness::Folded);
                    probed.reason = Some(ExactnessReason::FoldedFunctions { functions });
                    return;
                }
                Some(Folded::Perhaps(functions)) => {
                    doubt = doubt.or(Some(ExactnessReason::SeveralNames { functions }));
                }
                Some(Folded::Unknown(unknown)) => {
                    doubt = doubt.or(Some(ExactnessReason::FoldingUnknown(unknown)));
                }
                None => {}
            }
        }
        if let (true, Some(reason)) = (is_exact, doubt) {
            probed.exactness = Some(Exactness::Unproven);
            probed.reason = Some(reason);
        }
    }

    pub(super) fn predecessor(&self, edge: &Edge) -> Predecessor {
        let (file, line) = self.debug.and_then(|debug| debug.line_at(edge.from)).unzip();
        Predecessor { address: self.reported(edge.from), file, line, kind: edge.kind }
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
