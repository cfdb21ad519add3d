//! What differs between instruction sets: one trait, which one folder for each set implements.
//!
//! The rest of `code` knows instructions only as the plain values here. `docs/design.md`, "A new
//! instruction set", lists the steps for adding one.

use std::fmt;

use super::jump_tables::{JumpTable, JumpTableSearch};
use super::probe::Probe;
use super::stack_depth::StackDepth;
use super::{EdgeKind, aarch64, x86};
use crate::address::Vaddr;

/// All instruction sets whose code is understood.
const SUPPORTED: [&dyn InstructionSet; 3] = [&x86::X86_64, &x86::I386, &aarch64::AARCH64];

/// The instruction set of an ELF machine (`e_machine`); `None` if it is not supported.
pub(crate) fn of_machine(machine: u16) -> Option<&'static dyn InstructionSet> {
    SUPPORTED.into_iter().find(|set| set.machine() == machine)
}

/// A function from an instruction's address and code to its effects.
pub(crate) type EffectsReader = Box<dyn FnMut(u64, &[u8]) -> Effects>;

/// An instruction set.
///
/// `code` always starts at an instruction, and may continue after it. It comes from a file, so it
/// may be too short, or not an instruction.
pub(crate) trait InstructionSet: fmt::Debug + Sync {
    /// The ELF machine (`e_machine`).
    fn machine(&self) -> u16;

    /// Decodes `code` and passes each instruction to `each` until that returns false. Returns the
    /// address of the first bytes that are not an instruction.
    fn decode(&self, start: u64, code: &[u8], each: &mut dyn FnMut(Instruction) -> bool) -> Option<u64>;

    /// A reader of effects. It returns [`Effects::UNKNOWN`] for bytes that are not an instruction.
    fn effects(&self) -> EffectsReader;

    /// The registers that a call may change.
    fn clobbered_by_calls(&self) -> u64;

    /// The bit in [`Effects::written`] for a register with this DWARF number; `None` if the
    /// register has no bit.
    fn register_bit(&self, number: u16) -> Option<u32>;

    /// The size in bytes of the no-operation that an anchored marker emits.
    fn anchor_size(&self) -> u8;

    /// Bits of an address.
    fn address_bits(&self) -> u32 {
        64
    }

    /// The jump tables that the indirect jump at `jump` goes through; `None` if it may be something
    /// else.
    fn jump_tables(&self, search: &mut JumpTableSearch<'_, '_>, jump: usize) -> Option<Vec<JumpTable>>;

    /// Whether an indirect jump has a form that a tail call may have.
    fn may_be_tail_call(&self, at: u64, code: &[u8]) -> bool;

    /// Whether an indirect jump must lead to a landing mark if the function has landing marks.
    fn needs_landing_mark(&self, code: &[u8]) -> bool;

    /// The depth of the stack after an instruction; `None` if that is not known.
    fn stack_after(&self, at: u64, code: &[u8], before: StackDepth) -> Option<StackDepth>;

    /// What a uprobe on an instruction does.
    fn probe(&self, at: u64, code: &[u8]) -> Probe;

    /// The target of a call; `None` if the instruction is not a call, or calls through a register.
    fn callee(&self, at: u64, code: &[u8]) -> Option<Callee>;

    /// The slot that an entry of a procedure linkage table jumps through; `None` if the code is not
    /// such an entry, or its slot is not known.
    fn linkage_slot(&self, at: u64, code: &[u8]) -> Option<Vaddr>;

    /// The four bytes at `here` after a relocation of a branch or an address; `None` if the
    /// relocation does not change them. `target` returns the target of the relocation, or `None` if
    /// the object does not define it. The result then points far outside of the object's code.
    fn relocated(&self, relocation: u32, field: u32, here: Vaddr, target: &dyn Fn() -> Option<Vaddr>) -> Option<u32>;

    /// Bytes of an entry of the kernel's `__ex_table` in old kernels, whose entries had no type;
    /// `None` if they always had one.
    fn untyped_fault_entry(&self) -> Option<usize> {
        None
    }
}

/// One instruction, as the control-flow graph needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) at: u64,
    pub(crate) size: u8,
    pub(crate) successors: Successors,
    pub(crate) kind: InstructionKind,
}

/// What runs after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Successors {
    /// The next instruction.
    Next,
    /// The next instruction, once the callee returns.
    Call,
    /// Another instruction, or the next one.
    Conditional(u64),
    /// Another instruction.
    Jump(u64),
    /// The target of an indirect jump.
    Indirect,
    /// Nothing in this function.
    Ends,
    /// Nothing. In a kernel, the next instruction.
    Traps,
}

/// The role of an instruction, apart from control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstructionKind {
    Plain,
    /// It does nothing. It aligns functions and loops.
    Padding,
    /// A landing mark for indirect jumps (`endbr64`, `bti j`).
    LandingMark,
}

impl Instruction {
    pub(crate) fn end(&self) -> u64 {
        self.at.wrapping_add(u64::from(self.size))
    }

    /// The edge to the next instruction; `None` if there is no such edge.
    pub(crate) fn edge_to_next(&self) -> Option<EdgeKind> {
        match self.successors {
            Successors::Next | Successors::Conditional(_) => Some(EdgeKind::FallThrough),
            Successors::Call => Some(EdgeKind::CallReturn),
            Successors::Jump(_) | Successors::Indirect | Successors::Ends | Successors::Traps => None,
        }
    }

    /// The target of a direct branch.
    pub(crate) fn branch_target(&self) -> Option<u64> {
        match self.successors {
            Successors::Conditional(target) | Successors::Jump(target) => Some(target),
            _ => None,
        }
    }
}

/// What an instruction may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effects {
    /// The registers that it may write, with one bit each in the numbering of the instruction set.
    /// There may be too many, but never too few.
    pub(crate) written: u64,
    /// Whether it may write memory, or has an effect outside of registers.
    pub(crate) stores: bool,
}

impl Effects {
    /// It may change everything.
    pub(crate) const UNKNOWN: Self = Self { written: u64::MAX, stores: true };
}

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// The instruction at an address.
    At(Vaddr),
    /// The address in the word at this address.
    Through(Vaddr),
}

#[cfg(test)]
mod tests {
    use object::elf;

    use super::*;

    #[test]
    fn sets_are_found_by_their_machine() {
        for set in SUPPORTED {
            assert_eq!(of_machine(set.machine()).map(super::InstructionSet::machine), Some(set.machine()));
        }
        assert!(of_machine(elf::EM_RISCV).is_none());
    }
}
