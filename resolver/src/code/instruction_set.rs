//! What differs between instruction sets: one trait, which one folder for each set implements.
//!
//! The rest of `code` knows instructions only as the plain values in `instruction`. `docs/design.md`, "A new
//! instruction set", lists the steps for adding one.

use std::fmt;

use super::data_flow::{DataReader, Gpr};
use super::instruction::{Callee, Effects, Instruction, StackDepth};
use super::jump_table::{JumpTable, JumpTableSearch};
use super::probe::Probe;
use crate::address::Vaddr;

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

    /// A reader of what instructions do with values and memory; `None` if that is not known for
    /// this set.
    fn data_flow(&self) -> Option<DataReader> {
        None
    }

    /// The registers that may hold arguments of a call, as a mask of general-purpose registers.
    fn argument_registers(&self) -> u64 {
        0
    }

    /// The registers of the first three integers and pointers that are passed.
    fn first_parameters(&self) -> [Gpr; 3] {
        [0, 1, 2]
    }

    /// The stack pointer among the general-purpose registers.
    fn stack_pointer(&self) -> Gpr {
        4
    }

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
    fn jump_tables(&self, search: &mut dyn JumpTableSearch, jump: usize) -> Option<Vec<JumpTable>>;

    /// Whether an indirect jump has a form that a tail call may have.
    fn may_be_tail_call(&self, at: u64, code: &[u8]) -> bool;

    /// Whether an indirect jump must lead to a landing mark if the function has landing marks.
    fn needs_landing_mark(&self, code: &[u8]) -> bool;

    /// The depth of the stack after an instruction; `None` if that is not known.
    fn stack_after(&self, at: u64, code: &[u8], before: StackDepth) -> Option<StackDepth>;

    /// What a uprobe on an instruction does.
    fn probe(&self, at: u64, code: &[u8]) -> Probe;

    /// The target of a call, or of a jump, which may be the last call of a function; `None` if the
    /// instruction is neither, is conditional, or goes through a register.
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
