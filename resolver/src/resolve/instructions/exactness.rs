//! What is known of a site when its exactness is judged: its control-flow graph, the records at its address
//! and the other names of its function.

use super::decoded_function::DecodedFunction;
use super::{Instructions, SiteQuery};
use crate::address::Vaddr;
use crate::code::{Assessment, Edge};
use crate::resolve::Predecessor;
use crate::resolve::folding::OtherNames;
use crate::resolve::proof::SiteFacts;

impl Instructions<'_> {
    pub(super) fn facts<'f>(
        &'f self,
        decoded: &'f DecodedFunction<'_>,
        assessment: &Assessment,
        pc: Vaddr,
        query: &SiteQuery<'_>,
    ) -> SiteFacts<'f> {
        let may_be_in_several = || self.symbols().at(pc.0).is_none_or(|symbol| symbol.may_be_in_several);
        SiteFacts {
            outcome: assessment.outcome,
            predecessors: assessment.predecessors.len(),
            layout: self.code.layout(),
            hidden_edges: decoded.unknown_edges.as_ref(),
            anchored: query.anchored,
            is_probe: query.is_probe,
            owns_instruction: query.owns_instruction,
            is_not_there: query.is_not_there,
            copies: query.copies,
            may_be_in_several: query.copies > 1 && may_be_in_several(),
            may_be_elsewhere: query.may_be_elsewhere,
            names: self.names(decoded, pc),
        }
    }

    /// What is known of the other names of the function that holds an address.
    fn names(&self, decoded: &DecodedFunction<'_>, pc: Vaddr) -> Vec<OtherNames> {
        let around = self.symbols().at(pc.0).map(|symbol| symbol.start);
        let starts = decoded.function.ranges.iter().map(|range| range.start.0).filter(|start| {
            // A part that gcc splits off has a symbol, one that LLVM splits off may have none.
            *start == decoded.function.entry.0 || self.symbols().starting_at(*start).is_some()
        });
        starts.chain(around).filter_map(|start| self.folding.at(start)).collect()
    }

    pub(super) fn predecessor(&self, edge: &Edge) -> Predecessor {
        let (file, line) = self.debug.and_then(|debug| debug.line_at(edge.from)).unzip();
        Predecessor { address: self.reported(edge.from), file, line, kind: edge.kind }
    }
}
