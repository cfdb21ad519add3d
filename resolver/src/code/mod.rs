//! What the instructions say: whether a probe at an address fires when, and only when, a marker there is passed, and what it costs.
//!
//! Works on plain bytes and addresses; knows nothing of records, debug information or printing. A [`Function`] is decoded once into
//! a [`Flow`] (`flow`), whose jump tables are read (`tables`, with `reach` for the values of registers); the flow answers by which ways an
//! address is reached ([`Flow::exactness`], `exactness`) and which later addresses stand for it ([`Flow::equivalents`], `equivalent`).
//! [`probe()`] says what the kernel does with a uprobe on one instruction (`probe`). `x86` and `aarch64` hold what depends on the processor.
//! `docs/design.md` says what the verdicts mean.

mod aarch64;
mod callee;
mod equivalent;
mod exactness;
mod flow;
mod probe;
mod probe_aarch64;
mod probe_x86;
mod reach;
mod tables;
mod tables_aarch64;
mod tables_x86;
mod x86;

pub use callee::{Callee, callee, linkage};
pub use equivalent::{Equivalent, Registers};
pub use exactness::{Exactness, Unproven, Verdict, Why};
pub use flow::{Flow, Indirect};
pub use probe::{Cost, Effect, Probe, probe};

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
    /// All of its code: compilers split functions (`.cold`, `.part.0`), and each part jumps into the others.
    pub parts: Vec<Part<'a>>,
    /// Ways in that the instructions do not show, by target: landing pads of the unwinder ([`Way::Unwind`]), branches that the kernel
    /// patches in at run time ([`Way::Patched`], its `__jump_table`), fixups ([`Way::Fixup`]), jumps from other functions.
    pub others: Vec<(Vaddr, WayIn)>,
    /// Whether all landing pads are among `others`. Where they are not, what nothing is known to lead to may be one, of any call.
    pub pads_are_known: bool,
    /// Whether execution may go on after a trap: in a kernel `WARN()` is a `ud2` or `brk` that returns, in programs none does.
    pub traps_return: bool,
}

/// Consecutive bytes of code.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The address of the first byte.
    pub start: Vaddr,
    /// The code.
    pub bytes: &'a [u8],
}

/// One way in which an address is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WayIn {
    /// The instruction that it comes from; for [`Way::Entry`] the address itself.
    pub from: Vaddr,
    /// How.
    pub way: Way,
}

/// How an address is reached from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// A call of the function.
    Entry,
    /// The instruction before it goes on here, past the marker.
    FallThrough,
    /// The call before it returns here. Taken for a way in also where the callee never returns: that is not in the instructions.
    CallReturn,
    /// A jump.
    Jump,
    /// A conditional branch, where it is taken.
    Conditional,
    /// An entry of a jump table. A table that leads here twice gives two ways in: of `case 1: MARK; case 2:` both entries are one address.
    Table {
        /// Which entry.
        entry: u32,
    },
    /// The unwinder enters a landing pad.
    Unwind,
    /// A jump that is patched in at run time.
    Patched,
    /// The kernel goes on there after the instruction that it comes from has faulted.
    Fixup,
    /// A jump from another function.
    Foreign,
}

#[cfg(test)]
mod tests;
