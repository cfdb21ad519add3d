//! What the Linux kernel does with a uprobe on one instruction: whether it accepts it, whether the
//! probe fires, what a hit costs, and what it breaks.
//!
//! Measured on Linux 6.18. `tests/rust/probe.rs` counts the hits, and compares what the program
//! computes with and without the probe. The folder of an architecture names the kernel's code.

use strum::IntoStaticStr;

/// A uprobe on an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    /// The instruction as objdump writes it; `None` if there is none.
    pub(crate) instruction: Option<String>,
    /// What the probe does.
    pub(crate) effect: Effect,
}

/// The effect of a uprobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    /// It fires once for each time that the instruction runs.
    Fires(Cost),
    /// It fires once for each iteration of a repeated string instruction, and at least once.
    FiresEachIteration,
    /// The kernel refuses it. On a running process, enabling it fails. Enabled before the process
    /// starts, it is accepted and never fires.
    Refused(RefusedReason),
    /// The kernel accepts it, but the program behaves differently.
    Breaks(BreaksReason),
    /// Not known: kernels for this processor differ, or there is no known instruction.
    Unknown,
}

/// Why the kernel refuses a uprobe on an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum RefusedReason {
    /// x86: the instruction has a `lock` prefix.
    LockPrefix,
    /// x86: it has a segment prefix.
    SegmentPrefix,
    /// x86: the trap of the probe would be missed.
    MissedTrap,
    /// x86: the kernel takes the vector instruction for another one, which it refuses.
    MisreadVector,
    /// x86: the opcode is not in the table of those that the kernel accepts.
    NotInTable,
    /// x86: a branch with an operand-size prefix.
    #[strum(serialize = "branch_16")]
    Branch16,
    /// AArch64: the address is no multiple of four.
    NotAligned,
    /// AArch64: a branch that authenticates its target.
    AuthenticatedBranch,
    /// AArch64: it raises an exception.
    RaisesException,
    /// AArch64: it writes a system register.
    WritesSystemRegister,
    /// AArch64: it reads the interrupt mask.
    ReadsInterruptMask,
    /// AArch64: it authenticates a pointer, which may fault.
    AuthenticatesPointer,
    /// AArch64: a hint that the kernel does not step.
    Hint,
    /// AArch64: a branch that the kernel does not simulate.
    Branch,
    /// AArch64: it reads relative to its own address.
    ReadsRelative,
    /// AArch64: part of an exclusive sequence.
    Exclusive,
    /// AArch64: part of a memory copy.
    MemoryCopy,
    /// RISC-V: a system instruction.
    SystemInstruction,
    /// RISC-V: a fence.
    Fence,
}

impl RefusedReason {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How a uprobe breaks the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum BreaksReason {
    /// x86: the instruction is not executed, because the kernel takes it for a branch.
    TakenForBranch,
    /// x86: the program crashes, because the kernel takes the instruction for a return or `popf`.
    TakenForReturn,
    /// x86: the exchange is not executed, because the kernel takes it for a `nop`.
    TakenForNop,
    /// x86: the program crashes where UMIP is on.
    Umip,
    /// x86: the trap flag is pushed with the others.
    PushesTrapFlag,
    /// x86: the transaction aborts to a wrong address.
    TransactionAborts,
    /// AArch64: it reads relative to its own address, and runs elsewhere.
    #[strum(serialize = "breaks_reads_relative")]
    ReadsRelative,
}

impl BreaksReason {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How the kernel executes the instruction under a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cost {
    /// The kernel does itself what the instruction does: under a microsecond.
    Emulated,
    /// Since Linux 6.18 the kernel replaces a no-operation of five bytes by a call: half a
    /// microsecond. The call writes below the stack pointer, where a leaf function may keep
    /// variables, so it is safe only if the function keeps none there.
    Rewritten,
    /// The kernel runs a copy of the instruction elsewhere and takes a trap after it: ten
    /// microseconds and more.
    Stepped,
}

impl Cost {
    /// The order in which instructions are preferred for a probe. [`Self::Rewritten`] is the last
    /// one, because it may overwrite variables of a leaf function.
    pub(crate) fn rank(self) -> u8 {
        match self {
            Self::Emulated => 0,
            Self::Stepped => 1,
            Self::Rewritten => 2,
        }
    }
}

impl Probe {
    /// The cost of a hit; `None` if the probe does not fire exactly once for each time the
    /// instruction runs.
    #[must_use]
    pub(crate) fn cost(&self) -> Option<Cost> {
        match self.effect {
            Effect::Fires(cost) => Some(cost),
            _ => None,
        }
    }

    /// Whether the kernel accepts the probe; `None` if that is not known.
    #[must_use]
    pub(crate) fn accepted(&self) -> Option<bool> {
        match self.effect {
            Effect::Fires(_) | Effect::FiresEachIteration | Effect::Breaks(_) => Some(true),
            Effect::Refused(_) => Some(false),
            Effect::Unknown => None,
        }
    }
}
