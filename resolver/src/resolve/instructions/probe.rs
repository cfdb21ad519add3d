//! What a uprobe at a site does, and the cheapest address for it.

use std::sync::Arc;

use super::decoded_function::DecodedFunction;
use super::{Instructions, ProbeFacts};
use crate::address::Vaddr;
use crate::code::{self, Cost, Effect};
use crate::location::Register;
use crate::resolve::shared_places::ProbePlace;
use crate::resolve::{ProbeCost, ProbeReason, ProbeVerdict};

impl Instructions<'_> {
    /// The instruction at `pc`, and what a uprobe there does.
    pub(super) fn add_probe(&self, probed: &mut ProbeFacts, pc: Vaddr, bytes: &[u8]) {
        let probe = self.set.probe(pc.0, bytes);
        probed.instruction = probe.instruction.as_deref().map(Arc::from);
        // The kernel's own code takes no uprobes.
        if self.is_kernel() {
            return;
        }
        let cost = probe.cost().map(|cost| match cost {
            Cost::Emulated | Cost::Rewritten => ProbeCost::Emulated,
            Cost::Stepped => ProbeCost::Stepped,
        });
        let reason = match probe.effect {
            Effect::Fires(Cost::Rewritten) => Some(ProbeReason::Rewritten),
            Effect::Fires(_) | Effect::Unknown => None,
            Effect::FiresEachIteration => Some(ProbeReason::FiresEachIteration),
            Effect::Refused(reason) => Some(ProbeReason::Refused(reason)),
            Effect::Breaks(reason) => Some(ProbeReason::Breaks(reason)),
        };
        probed.probe = probe.accepted().map(|accepted| ProbeVerdict { accepted, cost, reason, best_address: None });
    }

    /// The cheapest address where a probe sees what it sees at `pc`.
    pub(super) fn add_best(
        &self,
        probed: &mut ProbeFacts,
        decoded: &DecodedFunction<'_>,
        pc: Vaddr,
        registers: &[Register],
    ) {
        let Some(verdict) = &mut probed.probe else { return };
        let keeps = |it: &code::Equivalent| registers.iter().all(|register| !it.overwritten.contains(register.0));
        let rank = |probe: &code::Probe| probe.cost().map_or(u8::MAX, Cost::rank);
        let is_site = |at: Vaddr| self.sites.contains_key(&at);
        let here = decoded.cfg.equivalents(&decoded.function, pc, &is_site).into_iter().next();
        let best = decoded.cfg.best(&decoded.function, pc, &is_site, &keeps);
        let better = best.filter(|best| here.is_some_and(|here| rank(&best.probe) < rank(&here.probe)));
        verdict.best_address = better.map(|best| self.reported(best.at));
        if self.sites.get(&pc).is_some_and(|count| *count > 1) {
            let all = decoded.cfg.equivalents(&decoded.function, pc, &is_site);
            let place = |it: code::Equivalent| {
                let rank = it.probe.cost().map(Cost::rank).filter(|_| keeps(&it))?;
                Some(ProbePlace { at: self.reported(it.at), rank })
            };
            probed.places = all.into_iter().filter_map(place).collect();
        }
    }
}
