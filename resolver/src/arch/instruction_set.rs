//! Everything that depends on the processor: one trait, which one folder for each architecture
//! implements.
//!
//! Registers are known by their DWARF numbers, and instructions only as the plain values of
//! `code/instruction.rs`.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use super::returned_value::{ResultProblem, ReturnedPlace, ReturnedValue};
use crate::address::Vaddr;
use crate::code::data_flow::{Convention, DataReader};
use crate::code::instruction::{Callee, Effects, Instruction, StackDepth};
use crate::code::jump_table::{JumpTable, JumpTableSearch};
use crate::code::probe::Effect;
use crate::export::Tool;
use crate::uprobe_rules::UprobeRules;

/// A function from an instruction's address and code to its effects.
pub(crate) type EffectsReader = Box<dyn FnMut(u64, &[u8]) -> Effects>;

/// An instruction set, with the conventions of Linux for it.
///
/// `code` always starts at an instruction, and may continue after it. It comes from a file, so it
/// may be too short, or not an instruction.
pub(crate) trait InstructionSet: fmt::Debug + Sync {
    /// Decodes `code` and passes each instruction to `each` until that returns false. Returns the
    /// address of the first bytes that are not an instruction.
    fn decode(&self, start: u64, code: &[u8], each: &mut dyn FnMut(Instruction) -> bool) -> Option<u64>;

    /// A reader of effects. It returns [`Effects::UNKNOWN`] for bytes that are not an instruction.
    fn effects(&self) -> EffectsReader;

    /// A reader of what instructions do with values and memory, and how values are passed; `None`
    /// if that is not known for this set.
    fn data_flow(&self) -> Option<(DataReader, Convention)>;

    /// The registers that a call may change, as a mask of the bits in [`Effects::written`].
    fn clobbered_by_calls(&self) -> u64;

    /// The bit in [`Effects::written`] for a register with this DWARF number; `None` if the
    /// register has no bit.
    fn register_bit(&self, number: u16) -> Option<u32>;

    /// The size in bytes of the no-operation that an anchored marker emits.
    fn anchor_size(&self) -> u8;

    /// The DWARF number of the stack pointer.
    fn stack_pointer(&self) -> u16;

    /// How many bytes a call puts on the stack: the distance from the stack pointer at the entry of a
    /// function to its canonical frame address.
    fn pushed_by_call(&self) -> u8 {
        0
    }

    /// Bits of an address.
    fn address_bits(&self) -> u32;

    /// The jump tables that the indirect jump at `jump` goes through; `None` if it may be something
    /// else.
    fn jump_tables(&self, search: &mut dyn JumpTableSearch, jump: usize) -> Option<Vec<JumpTable>>;

    /// Whether an indirect jump has a form that a tail call may have.
    fn may_be_tail_call(&self, at: u64, code: &[u8]) -> bool;

    /// Whether an indirect jump must lead to a landing mark if the function has landing marks.
    fn needs_landing_mark(&self, code: &[u8]) -> bool;

    /// The depth of the stack after an instruction; `None` if that is not known.
    fn stack_after(&self, at: u64, code: &[u8], before: StackDepth) -> Option<StackDepth>;

    /// Whether an instruction may access memory below the stack pointer, itself or by a register that it
    /// sets.
    fn may_reach_below_stack(&self, at: u64, code: &[u8]) -> bool;

    /// The instruction as objdump writes it; `None` if there is none.
    fn text(&self, at: u64, code: &[u8]) -> Option<String>;

    /// What a uprobe on an instruction does. `may_use_red_zone` tells whether its function may keep
    /// something below the stack pointer.
    fn uprobe(&self, at: u64, code: &[u8], rules: &dyn UprobeRules, may_use_red_zone: &dyn Fn() -> bool) -> Effect;

    /// The worst of what it does by some rules; unknown without any.
    fn worst_uprobe(
        &self,
        (at, code): (u64, &[u8]),
        rules: &[&dyn UprobeRules],
        may_use_red_zone: &dyn Fn() -> bool,
    ) -> Effect {
        let by_each = rules.iter().map(|rules| self.uprobe(at, code, *rules, may_use_red_zone));
        by_each.max_by_key(|effect| effect.badness()).unwrap_or(Effect::Unknown)
    }

    /// The target of a call, or of a jump, which may be the last call of a function; `None` if the
    /// instruction is neither, is conditional, or goes through a register.
    fn callee(&self, at: u64, code: &[u8]) -> Option<Callee>;

    /// Whether a function of this name only returns, or restores registers and returns: a jump to it is a
    /// return.
    fn is_return_thunk(&self, _name: &str) -> bool {
        false
    }

    /// Where a function leaves its result. `elf_flags` are those in the header of its file.
    fn returned(&self, value: &ReturnedValue, elf_flags: u32) -> Result<ReturnedPlace, ResultProblem>;

    /// The slot that an entry of a procedure linkage table jumps through; `None` if the code is not
    /// such an entry, or its slot is not known.
    fn linkage_slot(&self, at: u64, code: &[u8]) -> Option<Vaddr>;

    /// The bytes at `here`, as a little-endian number, after a relocation of a branch or an address;
    /// `None` if the relocation does not change them. `code` has eight bytes, with zeros behind the
    /// end of the section. `target` returns the target of the relocation, or `None` if the object
    /// does not define it. The result then points far outside of the object's code.
    fn relocated(&self, relocation: u32, code: u64, here: Vaddr, target: &dyn Fn() -> Option<Vaddr>) -> Option<u64>;

    /// Bytes of an entry of the kernel's `__ex_table` in old kernels, whose entries had no type;
    /// `None` if they always had one.
    fn untyped_fault_entry(&self) -> Option<usize>;

    /// The relocation with which the loader adds the base address to an addend.
    fn relative_relocation(&self) -> u32;

    /// The relocations of the words that the dynamic linker fills with the addresses of functions in
    /// other images; empty if calls through such words are not followed.
    fn import_relocations(&self) -> &'static [u32];

    /// The size in bytes of a relocation for the offset of a thread-local variable in its TLS block,
    /// and what the relocation subtracts from its addend. Debug information contains such
    /// relocations. `None` for other relocations.
    fn thread_local_relocation(&self, relocation: u32) -> Option<(usize, u64)>;

    /// Whether compilers write where thread-local variables are.
    fn describes_thread_locals(&self) -> bool {
        true
    }

    /// What a relocation does of which several compute one field; `None` for other relocations.
    fn partial_relocation(&self, relocation: u32) -> Option<PartialRelocation>;

    /// The meaning of call frame instructions that vendors define.
    fn call_frame_vendor(&self) -> gimli::Vendor;

    /// The name of a register in assembly; `None` if it has none.
    fn register_name(&self, number: u16) -> Option<Cow<'static, str>>;

    /// The register that assembly names, without a `%` before it.
    fn named_register(&self, name: &str) -> Option<NamedRegister>;

    /// The register to which the assembler writes addresses relative, without a `%` before it;
    /// `None` if it writes none so.
    fn instruction_pointer_name(&self) -> Option<&'static str> {
        None
    }

    /// The segment register that holds the thread pointer, without a `%` before it; `None` if there is
    /// none.
    fn thread_segment(&self) -> Option<&'static str> {
        None
    }

    /// How the assembler writes operands.
    fn operand_syntax(&self) -> OperandSyntax;

    /// Whether a register belongs to the vector or floating-point unit.
    fn is_vector(&self, number: u16) -> bool;

    /// Whether a register is callee-saved.
    fn is_callee_saved(&self, number: u16) -> bool;

    /// The registers of the x87 stack. A processor that has them also has the extended format, in
    /// which they hold numbers, as `long double`.
    fn x87(&self) -> Option<RangeInclusive<u16>>;

    /// Whether `smark` watches running programs itself.
    fn is_watched(&self) -> bool;

    /// Whether markers are exported for this tool.
    fn is_exported_to(&self, tool: Tool) -> bool;

    /// What a tool calls a register of 8 bytes; `None` if it does not hand it out.
    fn tool_register(&self, tool: Tool, number: u16) -> Option<String>;

    /// What a tool calls the instruction pointer where it computes addresses with it; `None` if it
    /// does not.
    fn instruction_pointer(&self, tool: Tool) -> Option<&'static str>;

    /// How gdb reads the floating-point number of 4 or 8 bytes in a vector register; `None` for
    /// other registers.
    fn gdb_float(&self, number: u16, size: u8) -> Option<String>;

    /// A register of gdb whose type has the same 4 or 8 bytes as a number of both kinds; `None` if
    /// there is none.
    fn gdb_float_bits(&self, size: u8) -> Option<GdbFloat>;
}

/// A register that an operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedRegister {
    /// A register by its DWARF number, and the first of its bits that the name refers to.
    Bits(u16, u64),
    /// A register that always reads as zero.
    Zero,
}

/// How an assembler writes operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandSyntax {
    /// `%r`, `$5`, `8(%r,%i,4)`. A compiler may leave out the `%`.
    Att,
    /// `r`, `5` or `#5`, `[r, 8]`.
    Brackets,
    /// `r`, `5`, `8(r)`.
    Parentheses,
}

/// What a relocation does to its field with the address of its target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartialRelocation {
    pub(crate) operation: PartialOperation,
    pub(crate) field: PartialField,
}

/// The operation of a [`PartialRelocation`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum PartialOperation {
    /// The address is stored.
    Set,
    /// The distance from the field to the address is stored.
    Distance,
    Add,
    Subtract,
}

/// The field of a [`PartialRelocation`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum PartialField {
    /// The low bits of the bytes that hold so many.
    Bits(u8),
    /// A number whose bytes keep their number.
    Uleb128,
}

/// A register of gdb whose type has its first bytes as an integer and as a floating-point number.
pub(crate) struct GdbFloat {
    pub(crate) register: &'static str,
    pub(crate) integer: &'static str,
    pub(crate) float: &'static str,
}
