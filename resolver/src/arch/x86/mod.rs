//! x86-64 (also x32) and i386.

mod calls;
mod data_flow;
mod decode;
mod demand;
mod jump_tables;
mod registers;
mod relocation;
mod returned;
mod stack;
mod uprobe;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use iced_x86::InstructionInfoFactory;
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

/// One of the two modes that programs run in.
#[derive(Debug)]
pub(crate) struct X86 {
    /// 64 or 32.
    bitness: u32,
}

pub(crate) static X86_64: X86 = X86 { bitness: 64 };
pub(crate) static I386: X86 = X86 { bitness: 32 };

/// The registers that a call preserves under the System V ABI, as [`decode::bit`] numbers them:
/// rbx, rsp, rbp, r12 to r15. On i386: ebx, esp, ebp, esi, edi.
///
/// r9, r10 and r11 also count as preserved, although a call may change them. No calling convention
/// returns a value in them. So code that reads one of them after a call knows that the callee does
/// not write it: with `-fipa-ra`, gcc keeps the address of a jump table there across the calls in a
/// loop.
const KEPT_64: u64 = 1 << 3 | 1 << 4 | 1 << 5 | 0x7f << 9;
const KEPT_32: u64 = 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7;

/// System V ABI for x86-64, 3.2.3.
const CONVENTION: Convention = Convention {
    stack_pointer: 4,
    // Other than for jump tables, it matters that r8 to r11 may change.
    clobbered: !KEPT_64 | 0x0f00,
    // rax, rdx.
    results: 1 | 1 << 2,
    // rdi, rsi, rdx, rcx, r8, r9; r10 is the static chain.
    arguments: 1 << 7 | 1 << 6 | 1 << 2 | 1 << 1 | 1 << 8 | 1 << 9 | 1 << 10,
    // rax may be an argument of another convention.
    other_arguments: 1,
    parameters: [7, 6, 2],
};

impl X86 {
    fn is_64(&self) -> bool {
        self.bitness == 64
    }
}

impl InstructionSet for X86 {
    fn decode(&self, start: u64, code: &[u8], each: &mut dyn FnMut(Instruction) -> bool) -> Option<u64> {
        decode::sweep(self.bitness, start, code, each)
    }

    fn effects(&self) -> EffectsReader {
        let bitness = self.bitness;
        let mut factory = InstructionInfoFactory::new();
        Box::new(move |at, code| {
            decode::decode(bitness, at, code).map_or(Effects::UNKNOWN, |iced| decode::effects(&mut factory, &iced))
        })
    }

    fn data_flow(&self) -> Option<(DataReader, Convention)> {
        self.is_64().then(|| (data_flow::reader(), CONVENTION))
    }

    fn clobbered_by_calls(&self) -> u64 {
        if self.is_64() { !KEPT_64 } else { !KEPT_32 }
    }

    fn register_bit(&self, number: u16) -> Option<u32> {
        // System V ABI for x86-64, figure 3.36: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp.
        const FIRST_64: [u32; 8] = [0, 2, 1, 3, 6, 7, 5, 4];
        let number = u32::from(number);
        match (self.is_64(), number) {
            (true, 0..=7) => FIRST_64.get(usize::try_from(number).ok()?).copied(),
            (true, 8..=15) => Some(number),
            (true, 17..=32) => Some(number - 1),
            (true, 67..=82) => Some(number - 67 + 32),
            (false, 0..=7) => Some(number),
            (false, 21..=28) => Some(number - 21 + 16),
            _ => None,
        }
    }

    fn anchor_size(&self) -> u8 {
        1
    }

    fn stack_pointer(&self) -> u16 {
        if self.is_64() { 7 } else { 4 }
    }

    fn pushed_by_call(&self) -> u8 {
        if self.is_64() { 8 } else { 4 }
    }

    fn address_bits(&self) -> u32 {
        self.bitness
    }

    fn jump_tables(&self, search: &mut dyn JumpTableSearch, jump: usize) -> Option<Vec<JumpTable>> {
        jump_tables::tables(search, jump, self.bitness)
    }

    fn may_be_tail_call(&self, at: u64, code: &[u8]) -> bool {
        jump_tables::may_be_tail_call(self.bitness, at, code)
    }

    fn needs_landing_mark(&self, code: &[u8]) -> bool {
        // With `-fcf-protection`, compilers write the prefix `notrack` on jumps that may lead to
        // code without an `endbr64`.
        code.first() != Some(&0x3e)
    }

    fn stack_after(&self, at: u64, code: &[u8], before: StackDepth) -> Option<StackDepth> {
        stack::after(self.bitness, at, code, before)
    }

    fn may_reach_below_stack(&self, at: u64, code: &[u8]) -> bool {
        stack::may_reach_below(self.bitness, at, code)
    }

    fn text(&self, at: u64, code: &[u8]) -> Option<String> {
        decode::decode(self.bitness, at, code).as_ref().map(decode::text)
    }

    fn uprobe(&self, at: u64, code: &[u8], rules: &dyn UprobeRules, may_use_red_zone: &dyn Fn() -> bool) -> Effect {
        uprobe::effect(self.bitness, (at, code), rules, may_use_red_zone)
    }

    fn callee(&self, at: u64, code: &[u8]) -> Option<Callee> {
        calls::callee(self.bitness, at, code)
    }

    fn is_return_thunk(&self, name: &str) -> bool {
        // Kernels that mitigate "retbleed" return through this one.
        name == "__x86_return_thunk"
    }

    fn returned(&self, value: &ReturnedValue, _: u32) -> Result<ReturnedPlace, ResultProblem> {
        if self.is_64() { returned::of_64(value) } else { returned::of_32(value) }
    }

    fn linkage_slot(&self, at: u64, code: &[u8]) -> Option<Vaddr> {
        // On i386 the entries address their slots through %ebx.
        self.is_64().then(|| calls::linkage_slot(at, code)).flatten()
    }

    fn relocated(&self, relocation: u32, code: u64, here: Vaddr, target: &dyn Fn() -> Option<Vaddr>) -> Option<u64> {
        let field = relocation::relocated(self.bitness, relocation, here, target)?;
        Some(code >> 32 << 32 | u64::from(field))
    }

    fn untyped_fault_entry(&self) -> Option<usize> {
        None
    }

    fn relative_relocation(&self) -> u32 {
        if self.is_64() { elf::R_X86_64_RELATIVE } else { elf::R_386_RELATIVE }
    }

    fn import_relocations(&self) -> &'static [u32] {
        if self.is_64() { &[elf::R_X86_64_JUMP_SLOT, elf::R_X86_64_GLOB_DAT] } else { &[] }
    }

    fn thread_local_relocation(&self, relocation: u32) -> Option<(usize, u64)> {
        match (self.is_64(), relocation) {
            (true, elf::R_X86_64_DTPOFF64) => Some((8, 0)),
            (true, elf::R_X86_64_DTPOFF32) | (false, elf::R_386_TLS_LDO_32) => Some((4, 0)),
            _ => None,
        }
    }

    fn partial_relocation(&self, _: u32) -> Option<PartialRelocation> {
        None
    }

    fn call_frame_vendor(&self) -> gimli::Vendor {
        gimli::Vendor::Default
    }

    fn register_name(&self, number: u16) -> Option<Cow<'static, str>> {
        if self.is_64() { registers::name_64(number) } else { registers::name_32(number) }
    }

    fn named_register(&self, name: &str) -> Option<NamedRegister> {
        let (number, first) = if self.is_64() { registers::named_64(name) } else { registers::named_32(name) }?;
        Some(NamedRegister::Bits(number, first))
    }

    fn instruction_pointer_name(&self) -> Option<&'static str> {
        self.is_64().then_some("rip")
    }

    fn thread_segment(&self) -> Option<&'static str> {
        Some(if self.is_64() { "fs" } else { "gs" })
    }

    fn operand_syntax(&self) -> OperandSyntax {
        OperandSyntax::Att
    }

    fn is_vector(&self, number: u16) -> bool {
        if self.is_64() { matches!(number, 17..=48 | 67..=82) } else { matches!(number, 11..=36) }
    }

    fn is_callee_saved(&self, number: u16) -> bool {
        // AMD64 ABI 3.2.1, i386 ABI 2.2.
        if self.is_64() { matches!(number, 3 | 6 | 12..=15) } else { matches!(number, 3 | 5..=7) }
    }

    fn x87(&self) -> Option<RangeInclusive<u16>> {
        Some(if self.is_64() { 33..=40 } else { 11..=18 })
    }

    fn is_watched(&self) -> bool {
        self.is_64()
    }

    fn is_exported_to(&self, _: Tool) -> bool {
        self.is_64()
    }

    fn tool_register(&self, tool: Tool, number: u16) -> Option<String> {
        if !self.is_64() || number > 16 {
            return None;
        }
        let name = registers::name_64(number)?;
        let name = name.trim_start_matches('%');
        // `arch/x86/kernel/ptrace.c`: `di`, but `r8`.
        let short = if (8..=15).contains(&number) { name } else { name.trim_start_matches('r') };
        match tool {
            Tool::Kernel | Tool::Perf => Some(format!("%{short}")),
            Tool::Bpftrace => Some(short.to_owned()),
            Tool::SystemTap => Some(name.to_owned()),
            Tool::Gdb => Some(format!("${name}")),
            Tool::SdtReaders => (number < 16).then(|| format!("%{name}")),
        }
    }

    fn instruction_pointer(&self, tool: Tool) -> Option<&'static str> {
        Some(match tool {
            Tool::Kernel | Tool::Perf => "%ip",
            Tool::Bpftrace => "ip",
            Tool::SystemTap => "rip",
            Tool::Gdb => "$pc",
            Tool::SdtReaders => "%rip",
        })
    }

    fn gdb_float(&self, number: u16, size: u8) -> Option<String> {
        let member = if size == 4 { "v4_float" } else { "v2_double" };
        (17..=32).contains(&number).then(|| format!("$xmm{}.{member}[0]", number - 17))
    }

    fn gdb_float_bits(&self, size: u8) -> Option<GdbFloat> {
        let (integer, float) = if size == 4 { ("v4_int32[0]", "v4_float[0]") } else { ("v2_int64[0]", "v2_double[0]") };
        Some(GdbFloat { register: "$xmm0", integer, float })
    }
}
