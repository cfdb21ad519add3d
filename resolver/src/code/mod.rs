//! What the instructions say: whether a probe at an address fires exactly when a marker there is passed,
//! and what the probe costs.
//!
//! Works on plain bytes and addresses. It does not know records, debug information or output. A
//! [`Function`] is decoded once into a control-flow graph ([`Cfg`], `cfg`). `jump_tables` reads its jump
//! tables, with `reaching_definitions` for the values of registers. The graph answers which predecessors
//! an address has ([`Cfg::exactness`], `exactness`) and at which later addresses a probe sees the same
//! ([`Cfg::equivalents`], `equivalent`). [`probe()`] says what the kernel does with a uprobe on one
//! instruction (`probe`). `docs/design.md`, "Exactness", explains the answers.

mod aarch64;
mod callee;
mod cfg;
mod equivalent;
mod exactness;
mod jump_tables;
mod probe;
mod probe_aarch64;
mod probe_x86;
mod reaching_definitions;
mod tables_aarch64;
mod tables_x86;
mod x86;

use std::ops::Range;

pub use callee::{Callee, callee, linkage};
pub use cfg::{Cfg, Indirect};
pub use equivalent::{Equivalent, Registers};
pub use exactness::{Assessment, ExactReason, Outcome, UnprovenReason};
pub use probe::{BreaksReason, Cost, Effect, Probe, RefusedReason, probe};

use crate::address::Vaddr;

/// A processor whose instructions are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// x86-64, and x32.
    X86_64,
    /// i386.
    I386,
    /// AArch64, little-endian code (all of it is).
    Aarch64,
}

/// The image's memory as it was linked: jump tables are read from it.
pub trait Memory {
    /// `size` bytes at an address that the file itself holds; `None` where it does not, and where relocations are still to be applied.
    fn read(&self, at: Vaddr, size: usize) -> Option<&[u8]>;
}

/// No memory at all: every jump table is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMemory;

impl Memory for NoMemory {
    fn read(&self, _: Vaddr, _: usize) -> Option<&[u8]> {
        None
    }
}

/// The machine code of one function.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// Where calls enter it.
    pub entry: Vaddr,
    /// All of its code. Compilers split functions (`.cold`, `.part.0`), and the ranges jump into each
    /// other.
    pub ranges: Vec<CodeRange<'a>>,
    /// Edges that the instructions do not show, each with its target: [`EdgeKind::LandingPad`],
    /// [`EdgeKind::Patched`], [`EdgeKind::Fixup`] and [`EdgeKind::OtherFunction`].
    pub hidden_edges: Vec<(Vaddr, Edge)>,
    /// Whether `hidden_edges` has all landing pads. If not, code without a predecessor may be a landing
    /// pad of any call.
    pub landing_pads_known: bool,
    /// Whether execution may continue after a trap. In a kernel `WARN()` is a `ud2` or `brk` that
    /// returns; in a program no trap does.
    pub traps_return: bool,
}

/// Consecutive bytes of code.
#[derive(Clone, Copy, Debug)]
pub struct CodeRange<'a> {
    /// The address of the first byte.
    pub start: Vaddr,
    /// The code.
    pub bytes: &'a [u8],
}

impl CodeRange<'_> {
    fn addresses(&self) -> Range<u64> {
        self.start.0..self.start.0.saturating_add(self.bytes.len() as u64)
    }
}

/// An edge of the control-flow graph, as its target sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The predecessor: the instruction that leads to the target. For [`EdgeKind::Entry`] the target
    /// itself.
    pub from: Vaddr,
    /// How the predecessor leads there.
    pub kind: EdgeKind,
}

/// How control reaches an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EdgeKind {
    /// A call of the function.
    Entry,
    /// The preceding instruction continues here, past the marker.
    FallThrough,
    /// The preceding call returns here. Counted also where the callee never returns: the instructions do
    /// not show that.
    CallReturn,
    /// An unconditional jump.
    Jump,
    /// A conditional branch that is taken.
    Conditional,
    /// An entry of a jump table. Two entries with the same target are two edges: both entries of
    /// `case 1: MARK; case 2:` have one address.
    JumpTable {
        /// The index of the entry.
        entry: u32,
    },
    /// The unwinder enters a landing pad.
    LandingPad,
    /// A jump that the kernel patches in at run time.
    Patched,
    /// The kernel continues there after the instruction at [`Edge::from`] faulted.
    Fixup,
    /// A jump from another function.
    OtherFunction,
}

impl EdgeKind {
    /// The stable name in JSON (`docs/json.md`, `ways_in`).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::FallThrough => "fall_through",
            Self::CallReturn => "call_return",
            Self::Jump => "jump",
            Self::Conditional => "conditional",
            Self::JumpTable { .. } => "table",
            Self::LandingPad => "landing_pad",
            Self::Patched => "patched",
            Self::Fixup => "fixup",
            Self::OtherFunction => "foreign",
        }
    }
}

#[cfg(test)]
mod tests;
