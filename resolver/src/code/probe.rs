//! What the Linux kernel does with a uprobe on one instruction: whether it accepts it, whether the
//! probe fires, what a hit costs, and what it breaks.
//!
//! Measured on Linux 6.18; [`crate::uprobe_rules`] has what differs on other kernels.
//! `tests/rust/probe.rs` counts the hits, and compares what the program computes with and without
//! the probe. The folder of an architecture names the kernel's code.

use strum::IntoStaticStr;

/// The effect of a uprobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    /// It fires once for each time that the instruction runs.
    Fires(ProbeCost),
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
    /// x86: a call is put there, which overwrites what the function keeps below its stack pointer.
    RedZone,
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

/// How the kernel executes the instruction under a uprobe. The cheapest is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[non_exhaustive]
pub enum ProbeCost {
    /// It replaces the instruction by a call: half a microsecond.
    Called,
    /// The kernel does itself what the instruction does: under a microsecond.
    Emulated,
    /// It runs a copy of the instruction and takes a trap after it: ten microseconds and more.
    Stepped,
}

impl ProbeCost {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Effect {
    /// The worst effect has the greatest one.
    pub(crate) fn badness(self) -> (u8, Option<ProbeCost>) {
        match self {
            Self::Fires(cost) => (0, Some(cost)),
            Self::FiresEachIteration => (1, None),
            Self::Unknown => (2, None),
            Self::Refused(_) => (3, None),
            Self::Breaks(_) => (4, None),
        }
    }

    /// The cost of a hit; `None` if the probe does not fire exactly once for each time the
    /// instruction runs.
    #[must_use]
    pub(crate) fn cost(self) -> Option<ProbeCost> {
        match self {
            Self::Fires(cost) => Some(cost),
            _ => None,
        }
    }

    /// Whether the kernel accepts the probe; `None` if that is not known.
    #[must_use]
    pub(crate) fn accepted(self) -> Option<bool> {
        match self {
            Self::Fires(_) | Self::FiresEachIteration | Self::Breaks(_) => Some(true),
            Self::Refused(_) => Some(false),
            Self::Unknown => None,
        }
    }
}
