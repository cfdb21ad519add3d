//! AArch64. Its code is little-endian, also in big-endian images.

mod decode;
mod jump_tables;
mod relocation;
mod stack;
mod uprobe;

use object::elf;

use super::instruction::{Callee, Effects, Instruction, StackDepth};
use super::instruction_set::{EffectsReader, InstructionSet};
use super::jump_table::{JumpTable, JumpTableSearch};
use super::probe::Probe;
use crate::address::Vaddr;

#[derive(Debug)]
pub(crate) struct Aarch64;

pub(crate) static AARCH64: Aarch64 = Aarch64;

impl InstructionSet for Aarch64 {
    fn machine(&self) -> u16 {
        elf::EM_AARCH64
    }

    fn decode(&self, start: u64, code: &[u8], each: &mut dyn FnMut(Instruction) -> bool) -> Option<u64> {
        decode::sweep(start, code, each)
    }

    fn effects(&self) -> EffectsReader {
        Box::new(|_, code| {
            let effects = |word| Effects { written: decode::written(word), stores: decode::stores(word) };
            decode::word(code).map_or(Effects::UNKNOWN, effects)
        })
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

    fn probe(&self, at: u64, code: &[u8]) -> Probe {
        uprobe::probe(at, code)
    }

    fn callee(&self, at: u64, code: &[u8]) -> Option<Callee> {
        let word = decode::word(code)?;
        let is_bl = word & 0xfc00_0000 == 0x9400_0000;
        is_bl.then(|| Callee::At(Vaddr(at.wrapping_add_signed(decode::signed(word, 0, 26).wrapping_mul(4)))))
    }

    fn linkage_slot(&self, _: u64, _: &[u8]) -> Option<Vaddr> {
        // An entry computes the address of its slot in several steps.
        None
    }

    fn relocated(&self, relocation: u32, field: u32, here: Vaddr, target: &dyn Fn() -> Option<Vaddr>) -> Option<u32> {
        relocation::relocated(relocation, field, here, target())
    }

    fn untyped_fault_entry(&self) -> Option<usize> {
        // Before Linux 5.17.
        Some(8)
    }
}
