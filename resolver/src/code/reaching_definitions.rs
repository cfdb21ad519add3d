//! Which instructions give a register its value at another: reaching definitions, backwards over a [`Cfg`].
//!
//! Only for functions with indirect jumps. A block that nothing is known to lead to is taken to be entered from every indirect jump whose ways
//! are not known and, where landing pads are not known, from every call, so that what is found holds for each jump table that is still unknown.

use std::collections::{BTreeSet, HashSet};

use super::cfg::{Cfg, Successors};
use super::{Arch, Function, aarch64, x86};

/// The instructions of a function with what each writes and what comes before it.
pub(super) struct ReachingDefinitions {
    /// The registers that each instruction writes.
    pub(super) writes: Vec<u64>,
    before: Vec<Before>,
    /// All indirect jumps whose ways are not known and, where landing pads are not known, all calls.
    anywhere: Vec<usize>,
    landing_pads_known: bool,
    /// How many instructions may still be looked at: bounds the time for a function of thousands of tables.
    left: usize,
}

enum Before {
    These(Vec<usize>),
    /// Nothing is known to lead here.
    Anywhere,
}

/// Instructions looked at for one function: so many, and for each of its instructions. Interpreters of thousands of jumps need some thousand
/// steps for each.
const STEPS: (usize, usize) = (2_000_000, 32);

impl ReachingDefinitions {
    pub(super) fn new(function: &Function<'_>, cfg: &Cfg) -> Self {
        let mut factory = iced_x86::InstructionInfoFactory::new();
        let mut writes = Vec::with_capacity(cfg.instructions.len());
        for it in &cfg.instructions {
            let bytes = bytes(function, it.at);
            let bitness = if cfg.arch == Arch::I386 { 32 } else { 64 };
            let mut mask = match cfg.arch {
                Arch::Aarch64 => aarch64::word(bytes).map_or(u64::MAX, aarch64::written),
                _ => x86::decode(bitness, it.at, bytes).map_or(u64::MAX, |it| x86::written(&mut factory, &it)),
            };
            if it.successors == Successors::Call {
                mask |= if cfg.arch == Arch::Aarch64 { aarch64::CLOBBERED } else { x86::clobbered(bitness) };
            }
            writes.push(mask);
        }
        let left = cfg.instructions.len().saturating_mul(STEPS.1).saturating_add(STEPS.0);
        let landing_pads_known = function.landing_pads_known;
        Self { writes, before: Vec::new(), anywhere: Vec::new(), landing_pads_known, left }
    }

    /// Takes over the ways that are known now, among them all ways of the indirect jumps for which `is_known` holds.
    pub(super) fn update(&mut self, cfg: &Cfg, is_known: impl Fn(usize) -> bool) {
        let all = |what: fn(Successors) -> bool| {
            cfg.instructions.iter().enumerate().filter(move |(_, it)| what(it.successors)).map(|(index, _)| index)
        };
        let jumps = all(|next| next == Successors::Indirect).filter(|&jump| !is_known(jump));
        self.anywhere = match self.landing_pads_known {
            true => jumps.collect(),
            false => jumps.chain(all(|next| next == Successors::Call)).collect(),
        };
        self.before = (0..cfg.instructions.len())
            .map(|index| {
                let edges = cfg.predecessors(index);
                let is_dead = cfg.reachable.get(index) != Some(&true);
                if edges.is_empty() && !is_dead {
                    return Before::Anywhere;
                }
                Before::These(edges.iter().filter_map(|edge| cfg.index(edge.from.0)).collect())
            })
            .collect();
    }

    /// The one instruction before another.
    pub(super) fn only_before(&self, index: usize) -> Option<usize> {
        match self.before.get(index) {
            Some(Before::These(before)) => match **before {
                [before] => Some(before),
                _ => None,
            },
            _ => None,
        }
    }

    /// All instructions that may have given a register its value where the one at `index` begins; `None` where it may come from outside
    /// of the function.
    pub(super) fn definitions(&mut self, cfg: &Cfg, index: usize, register: u64) -> Option<Vec<usize>> {
        let mut seen = HashSet::new();
        let mut found = BTreeSet::new();
        let mut todo = vec![index];
        while let Some(at) = todo.pop() {
            if cfg.is(at, |it| it.at == cfg.entry) {
                return None;
            }
            let before = match self.before.get(at)? {
                Before::These(before) => before,
                Before::Anywhere => &self.anywhere,
            };
            if before.is_empty() {
                return None;
            }
            for &before in before {
                self.left = self.left.checked_sub(1)?;
                if self.writes.get(before)? & register != 0 {
                    found.insert(before);
                } else if seen.insert(before) {
                    todo.push(before);
                }
            }
        }
        (!found.is_empty()).then(|| found.into_iter().collect())
    }
}

/// The function's bytes from an address on.
pub(super) fn bytes<'f>(function: &Function<'f>, at: u64) -> &'f [u8] {
    let parts = function.ranges.iter();
    let found = parts.filter_map(|part| {
        let offset = usize::try_from(at.checked_sub(part.start.0)?).ok()?;
        part.bytes.get(offset..).filter(|bytes| !bytes.is_empty())
    });
    found.into_iter().next().unwrap_or_default()
}
