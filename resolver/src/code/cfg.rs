//! A function's instructions and every way from one to another.
//!
//! The code is decoded in one sweep; where a branch leads into the middle of an instruction (glibc jumps over a `lock` prefix) the bytes
//! are decoded from there as well. What each indirect jump does is settled by `tables`, or it stays [`Indirect::Unknown`].

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::jump_tables::Resolver;
use super::{Arch, CodeRange, Edge, EdgeKind, Function, Memory, aarch64, x86};
use crate::address::Vaddr;

/// A function's instructions and the ways between them.
#[derive(Debug)]
pub struct Cfg {
    pub(super) arch: Arch,
    pub(super) entry: u64,
    pub(super) instructions: Vec<Instruction>,
    pub(super) ranges: Vec<Range<u64>>,
    /// The ways to each address that is not just fallen into.
    pub(super) edges: BTreeMap<u64, Vec<Edge>>,
    /// The first byte that is no instruction.
    pub(super) undecoded: Option<Vaddr>,
    pub(super) indirect: Vec<(Vaddr, Indirect)>,
    /// Whether indirect jumps lead only to landing marks (`endbr64`).
    pub(super) marked: bool,
    pub(super) reachable: Vec<bool>,
}

/// What an indirect jump does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indirect {
    /// It goes through a jump table of so many entries.
    JumpTable {
        /// How many.
        entries: u32,
    },
    /// It leaves the function: a tail call.
    Leaves,
    /// Unknown, but it lands on a landing mark (`endbr64`), for the function is compiled with `-fcf-protection`.
    Marked,
    /// Unknown.
    Unknown,
}

/// One instruction, as far as cfg goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) at: u64,
    pub(super) size: u8,
    pub(super) successors: Successors,
    pub(super) kind: InstructionKind,
}

/// What comes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Successors {
    /// The instruction behind it.
    Next,
    /// The instruction behind it, once the callee returns.
    Call,
    /// Another instruction, or the one behind it.
    Conditional(u64),
    /// Another instruction.
    Jump(u64),
    /// An indirect jump.
    Indirect,
    /// Nothing in this function.
    Ends,
    /// Nothing, or in a kernel the instruction behind it.
    Traps,
}

/// What else counts of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstructionKind {
    Plain,
    /// Does nothing; stands between functions and before loops to align them.
    Padding,
    /// A landing mark for indirect jumps (`endbr64`, `bti j`).
    LandingMark,
}

impl Instruction {
    pub(super) fn end(&self) -> u64 {
        self.at.wrapping_add(u64::from(self.size))
    }

    /// Whether it goes on behind itself, and how.
    pub(super) fn falls(&self) -> Option<EdgeKind> {
        match self.successors {
            Successors::Next | Successors::Conditional(_) => Some(EdgeKind::FallThrough),
            Successors::Call => Some(EdgeKind::CallReturn),
            Successors::Jump(_) | Successors::Indirect | Successors::Ends | Successors::Traps => None,
        }
    }
}

impl Cfg {
    /// Where the instruction starts that holds the byte at an address; `None` where no instruction of the function does.
    #[must_use]
    pub fn holding(&self, byte: Vaddr) -> Option<Vaddr> {
        let after = self.instructions.partition_point(|it| it.at <= byte.0);
        let it = self.instructions.get(after.checked_sub(1)?)?;
        (byte.0 < it.end()).then_some(Vaddr(it.at))
    }

    /// Decodes a function and settles its jump tables. Takes time in proportion to the code.
    #[must_use]
    pub fn of(function: &Function<'_>, memory: &dyn Memory, arch: Arch) -> Self {
        let mut sweep = Sweep { function, arch, found: BTreeMap::new(), undecoded: None };
        for part in &function.ranges {
            sweep.decode(part, 0);
        }
        sweep.overlapping();
        let instructions: Vec<_> = sweep.found.into_values().collect();
        let mut cfg = Self {
            arch,
            entry: function.entry.0,
            ranges: function.ranges.iter().map(CodeRange::addresses).collect(),
            edges: BTreeMap::new(),
            undecoded: sweep.undecoded,
            indirect: Vec::new(),
            marked: false,
            reachable: Vec::new(),
            instructions,
        };
        cfg.marked = cfg.at(cfg.entry).is_some_and(|first| first.kind == InstructionKind::LandingMark);
        for index in 0..cfg.instructions.len() {
            let Some(&Instruction { at, successors, .. }) = cfg.instructions.get(index) else { continue };
            match successors {
                Successors::Conditional(target) => {
                    cfg.add(target, Edge { from: Vaddr(at), kind: EdgeKind::Conditional })
                }
                Successors::Jump(target) => cfg.add(target, Edge { from: Vaddr(at), kind: EdgeKind::Jump }),
                _ => {}
            }
        }
        for &(Vaddr(target), edge) in &function.hidden_edges {
            cfg.add(target, edge);
        }
        cfg.find_reachable();
        let jumps: Vec<usize> = (0..cfg.instructions.len())
            .filter(|&index| cfg.is(index, |it| it.successors == Successors::Indirect))
            .collect();
        if !jumps.is_empty() {
            Resolver::new(function, memory, arch).settle(&mut cfg, &jumps);
            cfg.find_reachable();
        }
        cfg
    }

    /// The indirect jumps, and what is known of each.
    #[must_use]
    pub fn indirect(&self) -> &[(Vaddr, Indirect)] {
        &self.indirect
    }

    /// The addresses of the instructions, ascending, with the targets of direct branches.
    pub fn branches(&self) -> impl Iterator<Item = (Vaddr, Option<Vaddr>)> + '_ {
        self.instructions.iter().map(|it| match it.successors {
            Successors::Conditional(target) | Successors::Jump(target) => (Vaddr(it.at), Some(Vaddr(target))),
            _ => (Vaddr(it.at), None),
        })
    }

    /// Whether what runs to the end of the last part goes on behind it.
    #[must_use]
    pub fn falls_out(&self) -> bool {
        self.instructions.last().is_some_and(|last| last.falls().is_some())
    }

    /// Whether some of the bytes are no instruction.
    #[must_use]
    pub fn has_undecoded(&self) -> bool {
        self.undecoded.is_some()
    }

    /// Whether the function has the byte at an address.
    #[must_use]
    pub fn contains(&self, at: Vaddr) -> bool {
        self.ranges.iter().any(|part| part.contains(&at.0))
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

    /// The instruction that ends where the one at `index` begins. Seldom two do (see the file's comment): then the nearest.
    pub(super) fn before(&self, index: usize) -> Option<usize> {
        let at = self.instructions.get(index)?.at;
        let first = index.saturating_sub(15);
        (first..index).rev().find(|&before| self.is(before, |it| it.end() == at))
    }

    /// Finds what can run: not the padding between a jump and the next block.
    pub(super) fn find_reachable(&mut self) {
        let mut reachable = vec![false; self.instructions.len()];
        for index in 0..self.instructions.len() {
            let Some(it) = self.instructions.get(index) else { continue };
            let is = it.kind != InstructionKind::Padding
                || it.at == self.entry
                || self.edges.contains_key(&it.at)
                || self.before(index).is_some_and(|before| {
                    self.is(before, |it| it.falls().is_some()) && reachable.get(before) == Some(&true)
                });
            if let Some(reachable) = reachable.get_mut(index) {
                *reachable = is;
            }
        }
        self.reachable = reachable;
    }

    /// By which ways the instruction at `index` is reached, as far as they are known.
    pub(super) fn predecessors(&self, index: usize) -> Vec<Edge> {
        let Some(it) = self.instructions.get(index) else { return Vec::new() };
        let mut edges = Vec::new();
        if it.at == self.entry {
            edges.push(Edge { from: Vaddr(it.at), kind: EdgeKind::Entry });
        }
        // Where instructions overlap, more than one may end here.
        for before in index.saturating_sub(15)..index {
            let Some(previous) = self.instructions.get(before) else { continue };
            if previous.end() == it.at && self.reachable.get(before) == Some(&true) {
                edges.extend(previous.falls().map(|kind| Edge { from: Vaddr(previous.at), kind }));
            }
        }
        edges.extend(self.edges.get(&it.at).into_iter().flatten());
        edges
    }
}

struct Sweep<'f> {
    function: &'f Function<'f>,
    arch: Arch,
    found: BTreeMap<u64, Instruction>,
    undecoded: Option<Vaddr>,
}

impl Sweep<'_> {
    /// Decodes from `offset` to the end of the part or to what is decoded already.
    fn decode(&mut self, part: &CodeRange<'_>, offset: usize) {
        let bytes = part.bytes.get(offset..).unwrap_or_default();
        let start = part.start.0.wrapping_add(offset as u64);
        let found = &mut self.found;
        let traps_return = self.function.traps_return;
        let each = |mut it: Instruction| {
            if it.successors == Successors::Traps {
                it.successors = if traps_return { Successors::Next } else { Successors::Ends };
            }
            found.insert(it.at, it).is_none()
        };
        let undecoded = match self.arch {
            Arch::X86_64 => x86::sweep(64, start, bytes, each),
            Arch::I386 => x86::sweep(32, start, bytes, each),
            Arch::Aarch64 => aarch64::sweep(start, bytes, each),
        };
        self.undecoded = self.undecoded.or(undecoded.map(Vaddr));
    }

    /// Decodes from branch targets that are in the middle of an instruction. Each byte is a start at most once.
    fn overlapping(&mut self) {
        let targets = |found: &BTreeMap<u64, Instruction>| {
            let all = found.values().filter_map(|it| match it.successors {
                Successors::Conditional(target) | Successors::Jump(target) => Some(target),
                _ => None,
            });
            all.filter(|target| !found.contains_key(target)).collect::<Vec<_>>()
        };
        let parts: HashMap<u64, CodeRange<'_>> =
            self.function.ranges.iter().map(|part| (part.start.0, *part)).collect();
        // Code that was decoded from the middle may itself branch into the middle; real code never goes two deep.
        for _ in 0..4 {
            for target in targets(&self.found) {
                let part = parts.values().find(|part| part.addresses().contains(&target));
                if let Some(part) = part {
                    let offset = usize::try_from(target.wrapping_sub(part.start.0)).unwrap_or(usize::MAX);
                    self.decode(part, offset);
                }
            }
        }
        let left = targets(&self.found)
            .into_iter()
            .find(|target| parts.values().any(|part| part.addresses().contains(target)));
        self.undecoded = self.undecoded.or(left.map(Vaddr));
    }
}
