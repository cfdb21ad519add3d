//! The control-flow graph of a function.
//!
//! The code is decoded in one sweep. If a branch leads into the middle of an instruction (glibc
//! jumps over a `lock` prefix), the bytes are decoded from there as well. `jump_tables` finds out
//! what each indirect jump does; otherwise it stays [`Indirect::Unknown`].

use std::collections::BTreeMap;
use std::ops::Range;

use super::data_flow::{Convention, DataReader};
use super::instruction::{Instruction, InstructionKind, Successors};
use super::{CodeRange, Edge, EdgeKind, Function};
use crate::address::Vaddr;
use crate::arch::{EffectsReader, InstructionSet};

/// A function's instructions and the edges between them.
#[derive(Debug)]
pub(crate) struct Cfg {
    pub(super) set: &'static dyn InstructionSet,
    pub(super) entry: u64,
    /// By address.
    pub(super) instructions: Vec<Instruction>,
    pub(super) ranges: Vec<Range<u64>>,
    /// The edges to each target, without those from the preceding instruction.
    pub(super) edges: BTreeMap<u64, Vec<Edge>>,
    /// The address of the first bytes that are not an instruction.
    pub(super) undecoded: Option<Vaddr>,
    pub(super) indirect: Vec<(Vaddr, Indirect)>,
    /// Whether indirect jumps lead only to landing marks (`endbr64`).
    pub(super) has_landing_marks: bool,
    /// Whether each instruction can run.
    pub(super) reachable: Vec<bool>,
}

/// What an indirect jump does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indirect {
    /// It goes through jump tables.
    JumpTable {
        /// How many entries they have together.
        entries: u32,
    },
    /// It leaves the function: a tail call.
    Leaves,
    /// Unknown, but it lands on a landing mark (`endbr64`), because the function is compiled with
    /// `-fcf-protection`.
    Marked,
    /// Unknown.
    Unknown,
}

/// The most instructions that may begin inside another one: x86 instructions are at most 15 bytes
/// long.
const OVERLAPPING: usize = 15;

impl Cfg {
    /// Decodes a function. What its indirect jumps do is not known yet.
    pub(super) fn decode(function: &Function<'_>, set: &'static dyn InstructionSet) -> Self {
        let mut sweep = Sweep { function, set, found: BTreeMap::new(), undecoded: None };
        for range in &function.ranges {
            sweep.decode(range, 0);
        }
        sweep.decode_overlapping();
        let mut cfg = Self {
            set,
            entry: function.entry.0,
            instructions: sweep.found.into_values().collect(),
            ranges: function.ranges.iter().map(CodeRange::addresses).collect(),
            edges: BTreeMap::new(),
            undecoded: sweep.undecoded,
            indirect: Vec::new(),
            has_landing_marks: false,
            reachable: Vec::new(),
        };
        cfg.has_landing_marks = cfg.at(cfg.entry).is_some_and(|first| first.kind == InstructionKind::LandingMark);
        cfg.add_branches();
        for &(Vaddr(target), edge) in &function.hidden_edges {
            cfg.add(target, edge);
        }
        cfg.find_reachable();
        cfg
    }

    fn add_branches(&mut self) {
        for index in 0..self.instructions.len() {
            let Some(&Instruction { at, successors, .. }) = self.instructions.get(index) else { continue };
            match successors {
                Successors::Conditional(target) => {
                    self.add(target, Edge { from: Vaddr(at), kind: EdgeKind::Conditional });
                }
                Successors::Jump(target) => self.add(target, Edge { from: Vaddr(at), kind: EdgeKind::Jump }),
                _ => {}
            }
        }
    }

    /// The address of the instruction that holds the byte at an address; `None` if none does.
    #[must_use]
    pub(crate) fn holding(&self, byte: Vaddr) -> Option<Vaddr> {
        let after = self.instructions.partition_point(|it| it.at <= byte.0);
        let it = self.instructions.get(after.checked_sub(1)?)?;
        (byte.0 < it.end()).then_some(Vaddr(it.at))
    }

    /// The instructions that lead to an address, without calls of the function; `None` if code is
    /// not understood that may lead there.
    pub(crate) fn leading_to(&self, at: Vaddr) -> Option<Vec<Range<u64>>> {
        if self.has_unknown_edges() {
            return None;
        }
        let edges = self.predecessors(self.index(at.0)?);
        let edges = edges.iter().filter(|edge| edge.kind != EdgeKind::Entry);
        edges.map(|edge| self.at(edge.from.0).map(|it| it.at..it.end())).collect()
    }

    /// Whether code that is not understood may lead anywhere in the function.
    pub(crate) fn has_unknown_edges(&self) -> bool {
        let is_unknown = |(_, indirect): &(Vaddr, Indirect)| matches!(indirect, Indirect::Unknown | Indirect::Marked);
        self.undecoded.is_some() || self.indirect.iter().any(is_unknown)
    }

    /// Whether the instruction at an address, or the function that it calls, may write one of the
    /// registers.
    pub(crate) fn writes(&self, function: &Function<'_>, at: u64, registers: u64) -> bool {
        self.at(at).is_none_or(|it| self.written(function, it, &mut self.set.effects()) & registers != 0)
    }

    /// Whether any instruction writes another value to one of the registers. What a callee writes does not
    /// count, nor does an instruction that widens a register in place (`movzbl %cl,%ecx`).
    pub(crate) fn writes_anywhere(&self, function: &Function<'_>, registers: u64) -> bool {
        let mut effects = self.set.effects();
        let mut data_flow = self.set.data_flow();
        self.instructions.iter().any(|it| {
            let code = function.code_at(it.at);
            let written = effects(it.at, code).written & registers;
            let widens = |(read, _): &mut (DataReader, Convention)| {
                read(it.at, code).widens().is_some_and(|of| written == 1 << of)
            };
            written != 0 && !data_flow.as_mut().is_some_and(widens)
        })
    }

    /// The registers that an instruction, or the function that it calls, may write.
    pub(super) fn written(&self, function: &Function<'_>, it: &Instruction, effects: &mut EffectsReader) -> u64 {
        let written = effects(it.at, function.code_at(it.at)).written;
        if it.successors == Successors::Call { written | self.set.clobbered_by_calls() } else { written }
    }

    /// The indirect jumps, and what is known of each.
    #[must_use]
    pub(crate) fn indirect(&self) -> &[(Vaddr, Indirect)] {
        &self.indirect
    }

    /// The targets of direct branches.
    pub(crate) fn branch_targets(&self) -> impl Iterator<Item = Vaddr> + '_ {
        self.instructions.iter().filter_map(Instruction::branch_target).map(Vaddr)
    }

    /// Whether execution continues behind the last instruction.
    #[must_use]
    pub(crate) fn falls_out(&self) -> bool {
        self.instructions.last().is_some_and(|last| last.edge_to_next().is_some())
    }

    /// Whether some bytes are not an instruction.
    #[must_use]
    pub(crate) fn has_undecoded(&self) -> bool {
        self.undecoded.is_some()
    }

    /// Whether the function has the byte at an address.
    #[must_use]
    pub(crate) fn contains(&self, at: Vaddr) -> bool {
        self.ranges.iter().any(|range| range.contains(&at.0))
    }

    pub(super) fn add(&mut self, target: u64, edge: Edge) {
        if self.contains(Vaddr(target)) {
            self.edges.entry(target).or_default().push(edge);
        }
    }

    pub(super) fn index(&self, at: u64) -> Option<usize> {
        self.instructions.binary_search_by_key(&at, |it| it.at).ok()
    }

    pub(super) fn at(&self, at: u64) -> Option<&Instruction> {
        self.instructions.get(self.index(at)?)
    }

    pub(super) fn is(&self, index: usize, what: impl Fn(&Instruction) -> bool) -> bool {
        self.instructions.get(index).is_some_and(what)
    }

    /// The instruction that ends where the one at `index` begins. If two do, the one that begins
    /// later.
    pub(super) fn before(&self, index: usize) -> Option<usize> {
        let at = self.instructions.get(index)?.at;
        let first = index.saturating_sub(OVERLAPPING);
        (first..index).rev().find(|&before| self.is(before, |it| it.end() == at))
    }

    /// Finds what can run: everything but padding that nothing leads to.
    pub(super) fn find_reachable(&mut self) {
        let mut reachable = vec![false; self.instructions.len()];
        for index in 0..self.instructions.len() {
            let Some(it) = self.instructions.get(index) else { continue };
            let is = it.kind != InstructionKind::Padding
                || it.at == self.entry
                || self.edges.contains_key(&it.at)
                || self.before(index).is_some_and(|before| {
                    self.is(before, |it| it.edge_to_next().is_some()) && reachable.get(before) == Some(&true)
                });
            if let Some(reachable) = reachable.get_mut(index) {
                *reachable = is;
            }
        }
        self.reachable = reachable;
    }

    /// All known edges to the instruction at `index`.
    pub(super) fn predecessors(&self, index: usize) -> Vec<Edge> {
        let Some(it) = self.instructions.get(index) else { return Vec::new() };
        let mut edges = Vec::new();
        if it.at == self.entry {
            edges.push(Edge { from: Vaddr(it.at), kind: EdgeKind::Entry });
        }
        // If instructions overlap, more than one may end here.
        for before in index.saturating_sub(OVERLAPPING)..index {
            let Some(previous) = self.instructions.get(before) else { continue };
            if previous.end() == it.at && self.reachable.get(before) == Some(&true) {
                edges.extend(previous.edge_to_next().map(|kind| Edge { from: Vaddr(previous.at), kind }));
            }
        }
        edges.extend(self.edges.get(&it.at).into_iter().flatten());
        edges
    }

    /// Whether there is code that no known edge leads to. An indirect jump that is not understood
    /// may lead there.
    pub(super) fn has_orphans(&self) -> bool {
        (0..self.instructions.len()).any(|index| {
            self.is(index, |it| it.kind != InstructionKind::Padding) && self.predecessors(index).is_empty()
        })
    }
}

struct Sweep<'f> {
    function: &'f Function<'f>,
    set: &'static dyn InstructionSet,
    found: BTreeMap<u64, Instruction>,
    undecoded: Option<Vaddr>,
}

impl Sweep<'_> {
    /// Decodes from `offset` to the end of the range, or to an instruction that is decoded already.
    fn decode(&mut self, range: &CodeRange<'_>, offset: usize) {
        let code = range.bytes.get(offset..).unwrap_or_default();
        let start = range.start.0.wrapping_add(offset as u64);
        let found = &mut self.found;
        let traps_return = self.function.traps_return;
        let undecoded = self.set.decode(start, code, &mut |mut it| {
            if it.successors == Successors::Traps {
                it.successors = if traps_return { Successors::Next } else { Successors::Ends };
            }
            found.insert(it.at, it).is_none()
        });
        self.undecoded = self.undecoded.or(undecoded.map(Vaddr));
    }

    /// Decodes from branch targets in the middle of an instruction. Each byte is a start at most
    /// once.
    fn decode_overlapping(&mut self) {
        let function = self.function;
        let holding = |target: u64| function.ranges.iter().find(|range| range.addresses().contains(&target));
        // Code that was decoded from the middle may itself branch into the middle. Real code never
        // goes two levels deep.
        for _ in 0..4 {
            for target in self.undecoded_targets() {
                if let Some(range) = holding(target) {
                    let offset = usize::try_from(target.wrapping_sub(range.start.0)).unwrap_or(usize::MAX);
                    self.decode(range, offset);
                }
            }
        }
        let left = self.undecoded_targets().into_iter().find(|target| holding(*target).is_some());
        self.undecoded = self.undecoded.or(left.map(Vaddr));
    }

    fn undecoded_targets(&self) -> Vec<u64> {
        let targets = self.found.values().filter_map(Instruction::branch_target);
        targets.filter(|target| !self.found.contains_key(target)).collect()
    }
}
