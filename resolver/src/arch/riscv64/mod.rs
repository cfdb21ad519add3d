//! RISC-V with 64 bits (RV64GC). Its code is little-endian.

mod decode;
mod jump_tables;
mod registers;
mod relocation;
mod returned;
mod stack;
mod uprobe;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use object::elf;

use super::returned_value::{ResultProblem, ReturnedPlace, ReturnedValue};
use super::{EffectsReader, GdbFloat, InstructionSet, NamedRegister, OperandSyntax, PartialRelocation};
use crate::address::Vaddr;
use crate::code::data_flow::{Convention, DataReader};
use crate::code::instruction::{Callee, Effects, Instruction, StackDepth};
use crate::code::jump_table::{JumpTable, JumpTableSearch};
use crate::code::probe::Effect;
use crate::export::Tool;
use crate::uprobe_rules::UprobeRules;
use decode::{InstructionWord, JAL, RA};

#[derive(Debug)]
pub(crate) struct Riscv64;

pub(crate) static RISCV64: Riscv64 = Riscv64;

impl InstructionSet for Riscv64 {
    fn decode(&self, start: u64, code: &[u8], each: &mut dyn FnMut(Instruction) -> bool) -> Option<u64> {
        decode::sweep(start, code, each)
    }

    fn effects(&self) -> EffectsReader {
        Box::new(|_, code| InstructionWord::of(code).map_or(Effects::UNKNOWN, InstructionWord::effects))
    }

    fn data_flow(&self) -> Option<(DataReader, Convention)> {
        None
    }

    fn clobbered_by_calls(&self) -> u64 {
        // ra, t0 to t6, a0 to a7, and the same of the floating-point registers.
        1 << RA | 0xe0 | 0xff << 10 | 0xf << 28 | (0xff | 0xff << 10 | 0xf << 28) << 32
    }

    fn register_bit(&self, number: u16) -> Option<u32> {
        (1..64).contains(&number).then(|| number.into())
    }

    fn anchor_size(&self) -> u8 {
        2
    }

    fn stack_pointer(&self) -> u16 {
        2
    }

    fn address_bits(&self) -> u32 {
        64
    }

    fn jump_tables(&self, search: &mut dyn JumpTableSearch, jump: usize) -> Option<Vec<JumpTable>> {
        jump_tables::tables(search, jump)
    }

    fn may_be_tail_call(&self, _: u64, _: &[u8]) -> bool {
        true
    }

    fn needs_landing_mark(&self, _: &[u8]) -> bool {
        false
    }

    fn stack_after(&self, _: u64, code: &[u8], before: StackDepth) -> Option<StackDepth> {
        stack::after(code, before)
    }

    /// The ABI has no red zone.
    fn may_reach_below_stack(&self, _: u64, _: &[u8]) -> bool {
        false
    }

    fn text(&self, _: u64, code: &[u8]) -> Option<String> {
        uprobe::text(code)
    }

    fn uprobe(&self, _: u64, code: &[u8], _: &dyn UprobeRules, _: &dyn Fn() -> bool) -> Effect {
        uprobe::effect(code)
    }

    fn callee(&self, at: u64, code: &[u8]) -> Option<Callee> {
        let word = InstructionWord::of(code)?;
        let is_call = word.opcode() == JAL && word.rd() == RA;
        is_call.then(|| Callee::At(Vaddr(at.wrapping_add_signed(word.jump_offset()))))
    }

    fn is_return_thunk(&self, name: &str) -> bool {
        // The end of a function with `-msave-restore`.
        name.starts_with("__riscv_restore_")
    }

    fn returned(&self, value: &ReturnedValue, elf_flags: u32) -> Result<ReturnedPlace, ResultProblem> {
        returned::of(value, elf_flags)
    }

    fn linkage_slot(&self, _: u64, _: &[u8]) -> Option<Vaddr> {
        // An entry computes the address of its slot in several steps.
        None
    }

    fn relocated(&self, relocation: u32, code: u64, here: Vaddr, target: &dyn Fn() -> Option<Vaddr>) -> Option<u64> {
        relocation::relocated(relocation, code, here, target)
    }

    fn untyped_fault_entry(&self) -> Option<usize> {
        // Before Linux 5.17.
        Some(8)
    }

    fn relative_relocation(&self) -> u32 {
        elf::R_RISCV_RELATIVE
    }

    fn import_relocations(&self) -> &'static [u32] {
        &[]
    }

    fn thread_local_relocation(&self, relocation: u32) -> Option<(usize, u64)> {
        // The addend counts from the middle of what an instruction reaches.
        (relocation == elf::R_RISCV_TLS_DTPREL64).then_some((8, 0x800))
    }

    fn partial_relocation(&self, relocation: u32) -> Option<PartialRelocation> {
        relocation::partial(relocation)
    }

    fn call_frame_vendor(&self) -> gimli::Vendor {
        gimli::Vendor::Default
    }

    fn register_name(&self, number: u16) -> Option<Cow<'static, str>> {
        registers::name(number)
    }

    fn named_register(&self, name: &str) -> Option<NamedRegister> {
        registers::named(name)
    }

    fn operand_syntax(&self) -> OperandSyntax {
        OperandSyntax::Parentheses
    }

    fn is_vector(&self, number: u16) -> bool {
        matches!(number, 32..=63 | 96..=127)
    }

    fn is_callee_saved(&self, number: u16) -> bool {
        // s0 to s11, fs0 to fs11.
        matches!(number, 8 | 9 | 18..=27 | 40 | 41 | 50..=59)
    }

    fn x87(&self) -> Option<RangeInclusive<u16>> {
        None
    }

    fn is_watched(&self) -> bool {
        true
    }

    fn is_exported_to(&self, tool: Tool) -> bool {
        matches!(tool, Tool::Kernel | Tool::Perf | Tool::Gdb)
    }

    fn tool_register(&self, tool: Tool, number: u16) -> Option<String> {
        let name = registers::name(number)?;
        match (tool, number) {
            // `arch/riscv/kernel/ptrace.c`.
            (Tool::Kernel | Tool::Perf, 1..=31) => Some(format!("%{name}")),
            (Tool::Gdb, 0..=31) => Some(format!("${name}")),
            _ => None,
        }
    }

    fn instruction_pointer(&self, tool: Tool) -> Option<&'static str> {
        match tool {
            Tool::Kernel | Tool::Perf => Some("%epc"),
            Tool::Gdb => Some("$pc"),
            Tool::SdtReaders | Tool::Bpftrace | Tool::SystemTap => None,
        }
    }

    fn gdb_float(&self, number: u16, size: u8) -> Option<String> {
        let member = if size == 4 { "float" } else { "double" };
        (32..64).contains(&number).then(|| registers::name(number)).flatten().map(|name| format!("${name}.{member}"))
    }

    fn gdb_float_bits(&self, _: u8) -> Option<GdbFloat> {
        None
    }
}
