//! Later addresses where a probe sees the same as at a given address. The instruction under a probe
//! can change its cost by a factor of ten.
//!
//! The addresses follow in a straight line: there is no store, call or branch on the way, and no
//! edge from elsewhere. The caller decides whether the arguments can still be read there. It gets
//! the registers that were written on the way.

use super::Function;
use super::cfg::{Cfg, Indirect};
use super::instruction::Successors;
use super::instruction_set::InstructionSet;
use super::probe::{Cost, Probe};
use crate::address::Vaddr;

/// An address that is always reached after an earlier one, with the same memory.
#[derive(Clone, Debug)]
pub(crate) struct Equivalent {
    /// The address.
    pub(crate) at: Vaddr,
    /// The registers that were written since.
    pub(crate) overwritten: Registers,
    /// What a probe there does.
    pub(crate) probe: Probe,
}

/// A set of registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    mask: u64,
    set: &'static dyn InstructionSet,
}

impl Registers {
    /// Whether a register is in the set, by its number in DWARF. A register that is not tracked
    /// (flags, masks, x87) is in every set that is not empty.
    #[must_use]
    pub(crate) fn contains(self, number: u16) -> bool {
        self.set.register_bit(number).map_or(self.mask != 0, |bit| self.mask & (1 << bit) != 0)
    }
}

/// How many instructions are tried.
const FAR: usize = 32;

impl Cfg {
    /// The addresses where a probe sees the same as at `pc`, starting with `pc` itself; empty if
    /// the function has no instruction at `pc`.
    #[must_use]
    pub(crate) fn equivalents(&self, function: &Function<'_>, pc: Vaddr) -> Vec<Equivalent> {
        let Some(first) = self.index(pc.0) else { return Vec::new() };
        let mut found = Vec::new();
        let mut overwritten = Registers { mask: 0, set: self.set };
        let mut effects = self.set.effects();
        let mut index = first;
        // An unknown indirect jump may lead to any address after `pc`.
        let is_known =
            self.indirect.iter().all(|(_, what)| !matches!(what, Indirect::Unknown)) && self.undecoded.is_none();
        for _ in 0..FAR {
            let Some(&it) = self.instructions.get(index) else { break };
            if index != first && (self.predecessors(index).len() != 1 || !is_known) {
                break;
            }
            let code = function.code_at(it.at);
            found.push(Equivalent { at: Vaddr(it.at), overwritten, probe: self.set.probe(it.at, code) });
            let effects = effects(it.at, code);
            if it.successors != Successors::Next || effects.stores {
                break;
            }
            overwritten.mask |= effects.written;
            match self.index(it.end()) {
                Some(next) => index = next,
                None => break,
            }
        }
        found
    }

    /// The cheapest of [`Self::equivalents`] that `keep` accepts, and the first of equally cheap
    /// ones. `None` if the kernel accepts none that fires exactly once for each pass.
    #[must_use]
    pub(crate) fn best(
        &self,
        function: &Function<'_>,
        pc: Vaddr,
        keep: &dyn Fn(&Equivalent) -> bool,
    ) -> Option<Equivalent> {
        let candidates = self.equivalents(function, pc).into_iter();
        candidates.filter(|it| it.probe.cost().is_some() && keep(it)).min_by_key(|it| it.probe.cost().map(Cost::rank))
    }
}
