//! Other addresses where a probe sees the same as at a given address. The instruction under a probe
//! can change its cost by a factor of ten, and the kernel takes no probe at some.
//!
//! The addresses are in a straight line with the given one, behind it or before it: there is no
//! store, call or branch between them, and no edge from elsewhere. The caller decides whether the
//! arguments can be read there. It gets the registers that are written between.
//!
//! No site of a marker is passed on the way. So probes of different sites fire in the order of the
//! sites: they have the same order, or one address.

use std::cell::LazyCell;

use super::cfg::{Cfg, Indirect};
use super::instruction::Successors;
use super::probe::Effect;
use super::{Edge, EdgeKind, Function};
use crate::address::Vaddr;
use crate::arch::InstructionSet;
use crate::uprobe_rules::UprobeRules;

/// An address that is always passed together with another one, with the same memory.
#[derive(Clone, Debug)]
pub(crate) struct Equivalent {
    /// The address.
    pub(crate) at: Vaddr,
    /// The registers that are written between.
    pub(crate) overwritten: Registers,
    /// What a probe there does.
    pub(crate) effect: Effect,
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

/// How many instructions are tried in each direction.
const FAR: usize = 32;

impl Cfg {
    /// The addresses where a probe sees the same as at `pc`: `pc` itself, those behind it, and those
    /// before it, the nearest first. Empty if the function has no instruction at `pc`. `is_site` tells
    /// where markers have sites; no site is passed on the way. `rules` are those of the kernels.
    #[must_use]
    pub(crate) fn equivalents(
        &self,
        function: &Function<'_>,
        pc: Vaddr,
        is_site: &dyn Fn(Vaddr) -> bool,
        rules: &[&dyn UprobeRules],
    ) -> Vec<Equivalent> {
        let Some(first) = self.index(pc.0) else { return Vec::new() };
        let may_use_red_zone = LazyCell::new(|| self.may_use_red_zone(function));
        let effect = |at: u64| self.set.worst_uprobe((at, function.code_at(at)), rules, &|| *may_use_red_zone);
        let mut found = self.behind(function, first, is_site, &effect);
        found.extend(self.before_it(function, first, is_site, &effect));
        found
    }

    /// The address of an instruction, and those that follow.
    fn behind(
        &self,
        function: &Function<'_>,
        first: usize,
        is_site: &dyn Fn(Vaddr) -> bool,
        effect: &dyn Fn(u64) -> Effect,
    ) -> Vec<Equivalent> {
        let mut found = Vec::new();
        let mut overwritten = Registers { mask: 0, set: self.set };
        let mut effects = self.set.effects();
        let mut index = first;
        for _ in 0..FAR {
            let Some(&it) = self.instructions.get(index) else { break };
            if index != first && (self.predecessors(index).len() != 1 || !self.is_known()) {
                break;
            }
            let code = function.code_at(it.at);
            found.push(Equivalent { at: Vaddr(it.at), overwritten, effect: effect(it.at) });
            let effects = effects(it.at, code);
            let is_other_site = index != first && is_site(Vaddr(it.at));
            if it.successors != Successors::Next || effects.stores || is_other_site {
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

    /// The addresses before an instruction, the nearest first.
    fn before_it(
        &self,
        function: &Function<'_>,
        first: usize,
        is_site: &dyn Fn(Vaddr) -> bool,
        effect: &dyn Fn(u64) -> Effect,
    ) -> Vec<Equivalent> {
        let mut found = Vec::new();
        let mut overwritten = Registers { mask: 0, set: self.set };
        let mut effects = self.set.effects();
        let mut index = first;
        for _ in 0..FAR {
            // The only way to the instruction is from the one before it.
            let [Edge { from, kind: EdgeKind::FallThrough }] = self.predecessors(index)[..] else { break };
            let Some(before) = self.index(from.0).filter(|_| self.is_known()) else { break };
            let Some(&it) = self.instructions.get(before) else { break };
            let code = function.code_at(it.at);
            let effects = effects(it.at, code);
            if it.successors != Successors::Next || effects.stores {
                break;
            }
            overwritten.mask |= effects.written;
            found.push(Equivalent { at: from, overwritten, effect: effect(it.at) });
            if is_site(from) {
                break;
            }
            index = before;
        }
        found
    }

    /// Whether all edges are known. An unknown indirect jump may lead to any address.
    fn is_known(&self) -> bool {
        self.indirect.iter().all(|(_, what)| !matches!(what, Indirect::Unknown)) && self.undecoded.is_none()
    }
}

impl Equivalent {
    /// The cheapest of some that `keep` accepts, and the first of equally cheap ones. `None` if the
    /// kernel accepts none that fires exactly once for each pass.
    #[must_use]
    pub(crate) fn cheapest<'e>(all: &'e [Self], keep: &dyn Fn(&Self) -> bool) -> Option<&'e Self> {
        all.iter().filter(|it| it.effect.cost().is_some() && keep(it)).min_by_key(|it| it.effect.cost())
    }
}
