//! AArch64. Its code is little-endian, also in big-endian images.

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

#[derive(Debug)]
pub(crate) struct Aarch64;

pub(crate) static AARCH64: Aarch64 = Aarch64;

impl InstructionSet for Aarch64 {
    fn decode(&self, start: u64, code: &[u8], each: &mut dyn FnMut(Instruction) -> bool) -> Option<u64> {
        decode::sweep(start, code, each)
    }

    fn effects(&self) -> EffectsReader {
        Box::new(|_, code| {
            let effects = |word| Effects { written: decode::written(word), stores: decode::stores(word) };
            decode::word(code).map_or(Effects::UNKNOWN, effects)
        })
    }

    fn data_flow(&self) -> Option<(DataReader, Convention)> {
        None
    }

    fn clobbered_by_calls(&self) -> u64 {
        // The procedure call standard: x0 to x18, x30 and the vectors. Only the lower halves of v8
        // to v15 are kept.
        0xffff_ffff_0000_0000 | 1 << 30 | 0x7_ffff
    }

    fn register_bit(&self, number: u16) -> Option<u32> {
        match u32::from(number) {
            number @ 0..=31 => Some(number),
            number @ 64..=95 => Some(number - 32),
            _ => None,
        }
    }

    fn anchor_size(&self) -> u8 {
        4
    }

    fn stack_pointer(&self) -> u16 {
        31
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
        // `bti` also marks function entries, and pages may be unguarded, so nothing is concluded
        // from it.
        false
    }

    fn stack_after(&self, _: u64, code: &[u8], before: StackDepth) -> Option<StackDepth> {
        stack::after(code, before)
    }

    /// The ABI has no red zone.
    fn may_reach_below_stack(&self, _: u64, _: &[u8]) -> bool {
        false
    }

    fn text(&self, at: u64, code: &[u8]) -> Option<String> {
        uprobe::text(at, code)
    }

    fn uprobe(&self, at: u64, code: &[u8], rules: &dyn UprobeRules, _: &dyn Fn() -> bool) -> Effect {
        uprobe::effect(at, code, rules)
    }

    fn callee(&self, at: u64, code: &[u8]) -> Option<Callee> {
        let word = decode::word(code)?;
        let is_bl = word & 0xfc00_0000 == 0x9400_0000;
        is_bl.then(|| Callee::At(Vaddr(at.wrapping_add_signed(decode::signed(word, 0, 26).wrapping_mul(4)))))
    }

    fn returned(&self, value: &ReturnedValue, _: u32) -> Result<ReturnedPlace, ResultProblem> {
        returned::of(value)
    }

    fn linkage_slot(&self, _: u64, _: &[u8]) -> Option<Vaddr> {
        // An entry computes the address of its slot in several steps.
        None
    }

    fn relocated(&self, relocation: u32, code: u64, here: Vaddr, target: &dyn Fn() -> Option<Vaddr>) -> Option<u64> {
        let word = relocation::relocated(relocation, code as u32, here, target())?;
        Some(code >> 32 << 32 | u64::from(word))
    }

    fn untyped_fault_entry(&self) -> Option<usize> {
        // Before Linux 5.17.
        Some(8)
    }

    fn relative_relocation(&self) -> u32 {
        elf::R_AARCH64_RELATIVE
    }

    fn import_relocations(&self) -> &'static [u32] {
        &[]
    }

    /// Neither gcc 12 nor clang 14 does.
    fn describes_thread_locals(&self) -> bool {
        false
    }

    fn thread_local_relocation(&self, relocation: u32) -> Option<(usize, u64)> {
        (relocation == elf::R_AARCH64_TLS_DTPREL).then_some((8, 0))
    }

    fn partial_relocation(&self, _: u32) -> Option<PartialRelocation> {
        None
    }

    fn call_frame_vendor(&self) -> gimli::Vendor {
        gimli::Vendor::AArch64
    }

    fn register_name(&self, number: u16) -> Option<Cow<'static, str>> {
        registers::name(number)
    }

    fn named_register(&self, name: &str) -> Option<NamedRegister> {
        registers::named(name)
    }

    fn operand_syntax(&self) -> OperandSyntax {
        OperandSyntax::Brackets
    }

    fn is_vector(&self, number: u16) -> bool {
        matches!(number, 64..=127)
    }

    fn is_callee_saved(&self, number: u16) -> bool {
        // AAPCS64 6.1.1.
        matches!(number, 19..=29)
    }

    fn x87(&self) -> Option<RangeInclusive<u16>> {
        None
    }

    fn is_watched(&self) -> bool {
        true
    }

    fn is_exported_to(&self, tool: Tool) -> bool {
        !matches!(tool, Tool::Bpftrace | Tool::SystemTap)
    }

    fn tool_register(&self, tool: Tool, number: u16) -> Option<String> {
        let name = registers::name(number)?;
        match (tool, number) {
            // `arch/arm64/kernel/ptrace.c`.
            (Tool::Kernel | Tool::Perf, 0..=32) => Some(format!("%{name}")),
            (Tool::Gdb, 0..=32) => Some(format!("${name}")),
            (Tool::SdtReaders, 0..=31) => Some(name.into_owned()),
            _ => None,
        }
    }

    fn instruction_pointer(&self, tool: Tool) -> Option<&'static str> {
        match tool {
            Tool::Kernel | Tool::Perf => Some("%pc"),
            Tool::Gdb => Some("$pc"),
            Tool::SdtReaders | Tool::Bpftrace | Tool::SystemTap => None,
        }
    }

    fn gdb_float(&self, number: u16, size: u8) -> Option<String> {
        let member = if size == 4 { "s" } else { "d" };
        (64..=95).contains(&number).then(|| format!("$v{}.{member}.f[0]", number - 64))
    }

    fn gdb_float_bits(&self, size: u8) -> Option<GdbFloat> {
        let (integer, float) = if size == 4 { ("s.u[0]", "s.f[0]") } else { ("d.u[0]", "d.f[0]") };
        Some(GdbFloat { register: "$v0", integer, float })
    }
}
