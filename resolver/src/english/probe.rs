//! Why the kernel refuses a uprobe, what is wrong with it, or why it cannot arm a probe.

use crate::resolve::{BreaksReason, ProbeReason, RefusedReason, SwitchProblem};

/// Why the kernel refuses a uprobe, or what is wrong with it.
#[must_use]
pub fn reason(reason: ProbeReason) -> &'static str {
    match reason {
        ProbeReason::FiresEachIteration => "it fires for each iteration of a repeated instruction",
        ProbeReason::Refused(reason) => refused(reason),
        ProbeReason::Breaks(reason) => breaks(reason),
    }
}

fn refused(reason: RefusedReason) -> &'static str {
    match reason {
        RefusedReason::LockPrefix => "a lock prefix",
        RefusedReason::SegmentPrefix => "a segment prefix",
        RefusedReason::MissedTrap => "its trap would be missed",
        RefusedReason::MisreadVector => "a vector instruction taken for another one",
        RefusedReason::NotInTable => "not in the kernel's table",
        RefusedReason::Branch16 => "a 16-bit branch",
        RefusedReason::NotAligned => "not aligned",
        RefusedReason::AuthenticatedBranch => "an authenticated branch",
        RefusedReason::RaisesException => "it raises an exception",
        RefusedReason::WritesSystemRegister => "it writes a system register",
        RefusedReason::ReadsInterruptMask => "it reads the interrupt mask",
        RefusedReason::AuthenticatesPointer => "it authenticates a pointer, which may fault",
        RefusedReason::Hint => "a hint that is not stepped",
        RefusedReason::Branch => "a branch that is not simulated",
        RefusedReason::ReadsRelative => "it reads relative to its own address",
        RefusedReason::Exclusive => "part of an exclusive sequence",
        RefusedReason::MemoryCopy => "part of a memory copy",
        RefusedReason::SystemInstruction => "a system instruction",
        RefusedReason::Fence => "a fence",
    }
}

/// Why uprobes cannot arm a probe.
#[must_use]
pub fn switch(problem: SwitchProblem) -> &'static str {
    match problem {
        SwitchProblem::Dropped => "the linker dropped its switch",
        SwitchProblem::NotInFile => "no segment loads its switch from the file",
        SwitchProblem::NotWritable => "its switch is not in a writable segment",
        SwitchProblem::NotAligned => "its switch is at an odd offset of the file",
    }
}

fn breaks(reason: BreaksReason) -> &'static str {
    match reason {
        BreaksReason::TakenForBranch => "the instruction is not done: the kernel takes it for a branch",
        BreaksReason::TakenForReturn => "the program crashes: the kernel takes it for a return or popf",
        BreaksReason::TakenForNop => "the exchange is not done: the kernel takes it for a nop",
        BreaksReason::Umip => "the program crashes where UMIP is on",
        BreaksReason::PushesTrapFlag => "the trap flag is pushed with the others",
        BreaksReason::TransactionAborts => "the transaction aborts to a wrong address",
        BreaksReason::RedZone => "Linux 6.18 puts a call there, which overwrites what is below the stack pointer",
        BreaksReason::ReadsRelative => "it reads relative to its own address, and runs elsewhere",
    }
}
