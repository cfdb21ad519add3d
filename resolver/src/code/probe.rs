//! What the Linux kernel does with a uprobe on one instruction: takes it or not, fires or not, at what cost, and what it breaks.
//!
//! As measured on Linux 6.18 by counting hits and by comparing what the program computed with and without the probe (`tests/rust/probe.rs`), and
//! as `arch/x86/kernel/uprobes.c` and `arch/arm64/kernel/probes/decode-insn.c` have it.

use super::{Arch, probe_aarch64, probe_x86};
use crate::address::Vaddr;

/// A uprobe on an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The instruction, as objdump writes it; `(bad)` where there is none.
    pub instruction: String,
    /// What comes of the probe.
    pub effect: Effect,
}

/// What comes of a uprobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It fires once for each time that the instruction runs.
    Fires(Cost),
    /// It fires once for each iteration of a repeated string instruction, at least once.
    FiresEachIteration,
    /// The kernel does not take it: on a running process enabling it fails, and if it is enabled before the process starts it is accepted
    /// and never fires. Why, in a few words.
    Refused(&'static str),
    /// The kernel takes it, and the program no longer does what it did. How, in a few words.
    Breaks(&'static str),
    /// Not known: the processor's other kernels differ, or there is no instruction that we know.
    Unknown,
}

/// How the kernel gets past the instruction, which makes the cost of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cost {
    /// It does itself what the instruction does: under a microsecond.
    Emulated,
    /// Since Linux 6.18 it puts a call in place of a no-operation of five bytes: half a microsecond. The call writes below the stack pointer,
    /// where a leaf function may keep variables: only where the function has none there.
    Rewritten,
    /// It runs a copy of the instruction elsewhere and takes a trap after it: ten microseconds and more.
    Stepped,
}

impl Probe {
    /// The cost of a hit; `None` where the probe does not fire once for each time, and only then.
    #[must_use]
    pub fn cost(&self) -> Option<Cost> {
        match self.effect {
            Effect::Fires(cost) => Some(cost),
            _ => None,
        }
    }

    /// Whether the kernel takes the probe; `None` where that is not known.
    #[must_use]
    pub fn accepted(&self) -> Option<bool> {
        match self.effect {
            Effect::Fires(_) | Effect::FiresEachIteration | Effect::Breaks(_) => Some(true),
            Effect::Refused(_) => Some(false),
            Effect::Unknown => None,
        }
    }
}

/// What comes of a uprobe at `pc`, whose code is at the start of `bytes`; these may go on behind the instruction.
#[must_use]
pub fn probe(arch: Arch, pc: Vaddr, bytes: &[u8]) -> Probe {
    match arch {
        Arch::X86_64 => probe_x86::probe(64, pc.0, bytes),
        Arch::I386 => probe_x86::probe(32, pc.0, bytes),
        Arch::Aarch64 => probe_aarch64::probe(pc.0, bytes),
    }
}
