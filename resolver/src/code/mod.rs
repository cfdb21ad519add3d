//! What the instructions show: whether a probe at an address fires exactly when a marker there is
//! passed, and what the probe costs.
//!
//! This folder works on plain bytes and addresses. It does not know records, debug information or
//! output. A [`Function`] is decoded once into a control-flow graph ([`Cfg`], `cfg`). `jump_tables`
//! reads its jump tables. It uses `reaching_definitions` for the values of registers and
//! `stack_depth` for jumps that leave the function. The graph gives the predecessors of an address
//! ([`Cfg::exactness`], `exactness`) and the other addresses where a probe sees the same
//! ([`Cfg::equivalents`], `equivalent`). `probe` describes what the kernel does with a uprobe.
//! What depends on the processor is behind [`InstructionSet`](crate::arch::InstructionSet).
//! `docs/design.md`, "Exactness", explains the answers.

mod behind;
mod blocks;
mod cfg;
pub(crate) mod data_flow;
mod equivalent;
mod exactness;
mod flows;
pub(crate) mod instruction;
pub(crate) mod jump_table;
mod jump_tables;
mod made;
mod other_values;
pub(crate) mod probe;
mod reaching_definitions;
mod regions;
mod settled;
mod spilled;
mod stack_depth;
mod stepped;
mod values;

use std::ops::Range;

pub(crate) use blocks::Block;
pub(crate) use cfg::{Cfg, Indirect};
pub(crate) use equivalent::Equivalent;
pub(crate) use exactness::{Assessment, ExactReason, Outcome, UnprovenReason};
pub(crate) use flows::Flows;
pub(crate) use instruction::Callee;
pub use probe::{BreaksReason, RefusedReason};
pub(crate) use probe::{Cost, Effect, Probe};
pub(crate) use settled::{CallEffect, MemoryPlace, NextUse, PlaceRoot, ValuePlace};
pub(crate) use stepped::Step;
pub(crate) use values::Values;

use crate::address::Vaddr;

/// The memory of an image as it was linked. Jump tables are read from it.
pub(crate) trait Memory {
    /// `size` bytes at an address; `None` if the file does not hold them, or relocations are yet to
    /// be applied to them.
    fn read(&self, at: Vaddr, size: usize) -> Option<&[u8]>;
}

/// No memory: every jump table is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoMemory;

impl Memory for NoMemory {
    fn read(&self, _: Vaddr, _: usize) -> Option<&[u8]> {
        None
    }
}

/// The machine code of one function.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    /// Where calls enter it.
    pub(crate) entry: Vaddr,
    /// All of its code. Compilers split functions (`.cold`, `.part.0`), and the ranges jump into
    /// each other.
    pub(crate) ranges: Vec<CodeRange<'a>>,
    /// Edges that the instructions do not show, each with its target: [`EdgeKind::LandingPad`],
    /// [`EdgeKind::Patched`], [`EdgeKind::Fixup`] and [`EdgeKind::OtherFunction`].
    pub(crate) hidden_edges: Vec<(Vaddr, Edge)>,
    /// Whether `hidden_edges` has all landing pads. If not, code without a predecessor may be a
    /// landing pad of any call.
    pub(crate) landing_pads_known: bool,
    /// Whether execution may continue after a trap. In a kernel `WARN()` is a `ud2` or `brk` that
    /// returns; in a program no trap does.
    pub(crate) traps_return: bool,
}

impl<'a> Function<'a> {
    /// The code from an address on; empty if the function has none there.
    fn code_at(&self, at: u64) -> &'a [u8] {
        let from = |range: &CodeRange<'a>| {
            let offset = usize::try_from(at.checked_sub(range.start.0)?).ok()?;
            range.bytes.get(offset..).filter(|bytes| !bytes.is_empty())
        };
        self.ranges.iter().find_map(from).unwrap_or_default()
    }

    /// A function of a program, of which all code and all edges are in these bytes.
    #[cfg(test)]
    fn in_one_piece(entry: Vaddr, bytes: &'a [u8]) -> Self {
        let ranges = vec![CodeRange { start: entry, bytes }];
        Self { entry, ranges, hidden_edges: Vec::new(), landing_pads_known: true, traps_return: false }
    }
}

/// Consecutive bytes of code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeRange<'a> {
    /// The address of the first byte.
    pub(crate) start: Vaddr,
    /// The code.
    pub(crate) bytes: &'a [u8],
}

impl CodeRange<'_> {
    fn addresses(&self) -> Range<u64> {
        self.start.0..self.start.0.saturating_add(self.bytes.len() as u64)
    }
}

/// An edge of the control-flow graph, as its target sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Edge {
    /// The predecessor: the instruction that leads to the target. For [`EdgeKind::Entry`] the
    /// target itself.
    pub(crate) from: Vaddr,
    /// How the predecessor leads there.
    pub(crate) kind: EdgeKind,
}

/// How control reaches an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum EdgeKind {
    /// A call of the function.
    Entry,
    /// The preceding instruction continues here, past the marker.
    FallThrough,
    /// The preceding call returns here. Counted also where the callee never returns: the
    /// instructions do not show that.
    CallReturn,
    /// An unconditional jump.
    Jump,
    /// A conditional branch that is taken.
    Conditional,
    /// An entry of a jump table. Two entries with the same target are two edges: both entries of
    /// `case 1: MARK; case 2:` have one address.
    #[strum(serialize = "table")]
    JumpTable {
        /// The index of the entry.
        entry: u32,
    },
    /// The unwinder enters a landing pad.
    LandingPad,
    /// A jump that the kernel patches in at run time.
    Patched,
    /// The kernel continues there after the predecessor faulted.
    Fixup,
    /// A jump from another function.
    #[strum(serialize = "foreign")]
    OtherFunction,
}

impl EdgeKind {
    /// The stable name in JSON (`docs/json.md`, `ways_in`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests;
