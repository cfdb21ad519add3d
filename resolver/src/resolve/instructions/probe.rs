//! What a uprobe at a site does, and the cheapest address for it.

use std::sync::Arc;

use super::decoded_function::DecodedFunction;
use super::{Instructions, ProbeFacts};
use crate::address::Vaddr;
use crate::code::{self, Effect};
use crate::location::Register;
use crate::resolve::shared_places::ProbePlace;
use crate::resolve::{ProbeReason, ProbeVerdict};

impl Instructions<'_> {
    /// The instruction at `pc`, and what a uprobe there does. `decoded` is the function; `None` if it is not
    /// known.
    pub(super) fn add_probe(
        &self,
        probed: &mut ProbeFacts,
        decoded: Option<&DecodedFunction<'_>>,
        pc: Vaddr,
        bytes: &[u8],
    ) {
        let may_use_red_zone = || decoded.is_none_or(|decoded| decoded.cfg.may_use_red_zone(&decoded.function));
        let effect = self.set.worst_uprobe((pc.0, bytes), self.rules, &may_use_red_zone);
        probed.instruction = self.set.text(pc.0, bytes).map(Arc::from);
        // The kernel's own code takes no uprobes.
        if self.is_kernel() {
            return;
        }
        let cost = effect.cost();
        let reason = match effect {
            Effect::Fires(_) | Effect::Unknown => None,
            Effect::FiresEachIteration => Some(ProbeReason::FiresEachIteration),
            Effect::Refused(reason) => Some(ProbeReason::Refused(reason)),
            Effect::Breaks(reason) => Some(ProbeReason::Breaks(reason)),
        };
        probed.probe = effect.accepted().map(|accepted| ProbeVerdict { accepted, cost, reason, best_address: None });
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
        let is_site = |at: Vaddr| self.sites.contains_key(&at);
        let equivalents = decoded.cfg.equivalents(&decoded.function, pc, &is_site, self.rules);
        let keeps = |it: &code::Equivalent| registers.iter().all(|register| !it.overwritten.contains(register.0));
        let best = code::Equivalent::cheapest(&equivalents, &keeps);
        let here = equivalents.first().and_then(|here| here.effect.cost());
        let is_better = |best: &&code::Equivalent| here.is_none_or(|here| best.effect.cost() < Some(here));
        verdict.best_address = best.filter(is_better).map(|best| self.reported(best.at));
        if self.sites.get(&pc).is_some_and(|count| *count > 1) {
            let place = |it: &code::Equivalent| {
                let cost = it.effect.cost().filter(|_| keeps(it))?;
                Some(ProbePlace { at: self.reported(it.at), cost })
            };
            probed.places = equivalents.iter().filter_map(place).collect();
        }
    }
}
