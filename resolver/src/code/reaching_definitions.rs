//! Which instructions may have written the value of a register at a given instruction: reaching
//! definitions, computed backwards over a [`Cfg`].
//!
//! Used only for functions with indirect jumps. If a block has no known predecessors, every
//! indirect jump with unknown targets counts as its predecessor. If landing pads are not known,
//! every call does too. So the result is correct while some jump tables are not known yet.

use std::collections::{BTreeSet, HashSet};

use super::Function;
use super::cfg::Cfg;
use super::instruction::Successors;

/// The instructions of a function, with what each writes and its predecessors.
pub(super) struct ReachingDefinitions {
    /// The registers that each instruction writes.
    written: Vec<u64>,
    predecessors: Vec<Predecessors>,
    /// All indirect jumps whose targets are not known and, if landing pads are not known, all
    /// calls.
    anywhere: Vec<usize>,
    landing_pads_known: bool,
    /// How many steps are left. Bounds the time for a function with thousands of tables.
    left: usize,
}

enum Predecessors {
    These(Vec<usize>),
    /// None are known.
    Anywhere,
}

/// The most steps for one function: a constant, and a factor for each of its instructions.
/// Interpreters with thousands of jumps need some thousand steps for each.
const STEPS: (usize, usize) = (2_000_000, 32);

impl ReachingDefinitions {
    pub(super) fn new(function: &Function<'_>, cfg: &Cfg) -> Self {
        let mut effects = cfg.set.effects();
        let written = cfg.instructions.iter().map(|it| cfg.written(function, it, &mut effects));
        Self {
            written: written.collect(),
            predecessors: Vec::new(),
            anywhere: Vec::new(),
            landing_pads_known: function.landing_pads_known,
            left: cfg.instructions.len().saturating_mul(STEPS.1).saturating_add(STEPS.0),
        }
    }

    /// Takes over the edges that the graph has now, among them all edges of the indirect jumps for
    /// which `is_known` holds.
    pub(super) fn update(&mut self, cfg: &Cfg, is_known: impl Fn(usize) -> bool) {
        let all = |what: Successors| {
            cfg.instructions.iter().enumerate().filter(move |(_, it)| it.successors == what).map(|(index, _)| index)
        };
        let jumps = all(Successors::Indirect).filter(|&jump| !is_known(jump));
        self.anywhere = match self.landing_pads_known {
            true => jumps.collect(),
            false => jumps.chain(all(Successors::Call)).collect(),
        };
        let predecessors = |index: usize| {
            let edges = cfg.predecessors(index);
            match edges.is_empty() && cfg.reachable.get(index) == Some(&true) {
                true => Predecessors::Anywhere,
                false => Predecessors::These(edges.iter().filter_map(|edge| cfg.index(edge.from.0)).collect()),
            }
        };
        self.predecessors = (0..cfg.instructions.len()).map(predecessors).collect();
    }

    /// Whether an instruction may write one of the registers.
    pub(super) fn may_write(&self, index: usize, registers: u64) -> bool {
        self.written.get(index).is_none_or(|written| written & registers != 0)
    }

    /// The only predecessor of an instruction; `None` if it has several, or they are not known.
    pub(super) fn only_predecessor(&self, index: usize) -> Option<usize> {
        match self.predecessors.get(index) {
            Some(Predecessors::These(these)) => match **these {
                [one] => Some(one),
                _ => None,
            },
            _ => None,
        }
    }

    /// All instructions that may have given a register its value at the instruction at `index`;
    /// `None` if the value may come from outside of the function.
    pub(super) fn definitions(&mut self, cfg: &Cfg, index: usize, register: u64) -> Option<Vec<usize>> {
        let mut seen = HashSet::new();
        let mut found = BTreeSet::new();
        let mut todo = vec![index];
        while let Some(at) = todo.pop() {
            if cfg.is(at, |it| it.at == cfg.entry) {
                return None;
            }
            let predecessors = match self.predecessors.get(at)? {
                Predecessors::These(these) => these,
                Predecessors::Anywhere => &self.anywhere,
            };
            if predecessors.is_empty() {
                return None;
            }
            for &predecessor in predecessors {
                self.left = self.left.checked_sub(1)?;
                if self.written.get(predecessor)? & register != 0 {
                    found.insert(predecessor);
                } else if seen.insert(predecessor) {
                    todo.push(predecessor);
                }
            }
        }
        (!found.is_empty()).then(|| found.into_iter().collect())
    }
}
