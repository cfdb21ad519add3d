//! Which instructions give a register its value at another: reaching definitions, backwards over a [`Flow`].
//!
//! Only for functions with indirect jumps. A block that nothing is known to lead to is taken to be entered from every indirect jump whose ways
//! are not known and, where landing pads are not known, from every call, so that what is found holds for each jump table that is still unknown.

use std::collections::{BTreeSet, HashSet};

use super::flow::{Flow, Next};
use super::{Arch, Function, aarch64, x86};

/// The instructions of a function with what each writes and what comes before it.
pub(super) struct Reach {
    /// The registers that each instruction writes.
    pub(super) writes: Vec<u64>,
    before: Vec<Before>,
    /// All indirect jumps whose ways are not known and, where landing pads are not known, all calls.
    anywhere: Vec<usize>,
    pads_are_known: bool,
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

impl Reach {
    pub(super) fn new(function: &Function<'_>, flow: &Flow) -> Self {
        let mut factory = iced_x86::InstructionInfoFactory::new();
        let mut writes = Vec::with_capacity(flow.instructions.len());
        for it in &flow.instructions {
            let bytes = bytes(function, it.at);
            let bitness = if flow.arch == Arch::I386 { 32 } else { 64 };
            let mut mask = match flow.arch {
                Arch::Aarch64 => aarch64::word(bytes).map_or(u64::MAX, aarch64::written),
                _ => x86::decode(bitness, it.at, bytes).map_or(u64::MAX, |it| x86::written(&mut factory, &it)),
            };
            if it.next == Next::Call {
                mask |= if flow.arch == Arch::Aarch64 { aarch64::CLOBBERED } else { x86::clobbered(bitness) };
            }
            writes.push(mask);
        }
        let left = flow.instructions.len().saturating_mul(STEPS.1).saturating_add(STEPS.0);
        let pads_are_known = function.pads_are_known;
        Self { writes, before: Vec::new(), anywhere: Vec::new(), pads_are_known, left }
    }

    /// Takes over the ways that are known now, among them all ways of the indirect jumps for which `is_known` holds.
    pub(super) fn update(&mut self, flow: &Flow, is_known: impl Fn(usize) -> bool) {
        let all = |what: fn(Next) -> bool| {
            flow.instructions.iter().enumerate().filter(move |(_, it)| what(it.next)).map(|(index, _)| index)
        };
        let jumps = all(|next| next == Next::Indirect).filter(|&jump| !is_known(jump));
        self.anywhere = match self.pads_are_known {
            true => jumps.collect(),
            false => jumps.chain(all(|next| next == Next::Call)).collect(),
        };
        self.before = (0..flow.instructions.len())
            .map(|index| {
                let ways = flow.ways_to(index);
                let is_dead = flow.alive.get(index) != Some(&true);
                if ways.is_empty() && !is_dead {
                    return Before::Anywhere;
                }
                Before::These(ways.iter().filter_map(|way| flow.index(way.from.0)).collect())
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
    pub(super) fn definitions(&mut self, flow: &Flow, index: usize, register: u64) -> Option<Vec<usize>> {
        let mut seen = HashSet::new();
        let mut found = BTreeSet::new();
        let mut todo = vec![index];
        while let Some(at) = todo.pop() {
            if flow.is(at, |it| it.at == flow.entry) {
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
    let parts = function.parts.iter();
    let found = parts.filter_map(|part| {
        let offset = usize::try_from(at.checked_sub(part.start.0)?).ok()?;
        part.bytes.get(offset..).filter(|bytes| !bytes.is_empty())
    });
    found.into_iter().next().unwrap_or_default()
}
