//! x86-64 (also x32) and i386.

mod calls;
mod data_flow;
mod decode;
mod demand;
mod jump_tables;
mod relocation;
mod stack;
mod uprobe;

use iced_x86::InstructionInfoFactory;
use object::elf;

use super::data_flow::{DataReader, Gpr};
use super::instruction::{Callee, Effects, Instruction, StackDepth};
use super::instruction_set::{EffectsReader, InstructionSet};
use super::jump_table::{JumpTable, JumpTableSearch};
use super::probe::Probe;
use crate::address::Vaddr;

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

impl X86 {
    fn is_64(&self) -> bool {
        self.bitness == 64
    }
}

impl InstructionSet for X86 {
    fn machine(&self) -> u16 {
        if self.is_64() { elf::EM_X86_64 } else { elf::EM_386 }
    }

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

    fn data_flow(&self) -> Option<DataReader> {
        self.is_64().then(data_flow::reader)
    }

    fn argument_registers(&self) -> u64 {
        // System V ABI for x86-64, 3.2.3: rdi, rsi, rdx, rcx, r8, r9; r10 is the static chain, and
        // rax may be an argument of another convention.
        1 << 7 | 1 << 6 | 1 << 2 | 1 << 1 | 1 << 8 | 1 << 9 | 1 << 10 | 1
    }

    fn first_parameters(&self) -> [Gpr; 3] {
        [7, 6, 2]
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

    fn probe(&self, at: u64, code: &[u8]) -> Probe {
        uprobe::probe(self.bitness, at, code)
    }

    fn callee(&self, at: u64, code: &[u8]) -> Option<Callee> {
        calls::callee(self.bitness, at, code)
    }

    fn linkage_slot(&self, at: u64, code: &[u8]) -> Option<Vaddr> {
        // On i386 the entries address their slots through %ebx.
        self.is_64().then(|| calls::linkage_slot(at, code)).flatten()
    }

    fn relocated(&self, relocation: u32, _: u32, here: Vaddr, target: &dyn Fn() -> Option<Vaddr>) -> Option<u32> {
        relocation::relocated(self.bitness, relocation, here, target)
    }
}
