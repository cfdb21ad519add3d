//! The jump tables of gcc, clang and rustc on AArch64.
//!
//! `adrp/add T` in `%t`; `ldrb w, [%t, i]` (`ldrh`, `ldr`, `ldrsw`); `adr %b, base`; `add %b, %b,
//! w, sxtb #2` (gcc; clang zero-extends, `add %b, %b, x, lsl #2`); `br %b`. A check comes first:
//! `cmp i, #n; b.hi default`.

use super::decode::{self, signed};
use crate::code::jump_table::{self, Entries, JumpTable, JumpTableSearch, MOVES, TableStep};

/// The tables that the jump at `index` goes through; `None` if it may not use a table.
pub(super) fn tables(search: &mut dyn JumpTableSearch, index: usize) -> Option<Vec<JumpTable>> {
    let mut shapes = Aarch64Tables { search };
    let (_, jump) = shapes.word(index)?;
    // br
    if jump & 0xffff_fc1f != 0xd61f_0000 {
        return None;
    }
    let mut tables = Vec::new();
    for definition in shapes.definitions(index, jump >> 5 & 31)? {
        tables.push(shapes.sum(definition)?);
    }
    Some(tables)
}

struct Aarch64Tables<'a> {
    search: &'a mut dyn JumpTableSearch,
}

/// The holder is the number of a register.
type NumberWalk = jump_table::Walk<u32>;

impl Aarch64Tables<'_> {
    /// An instruction, and its address.
    fn word(&self, index: usize) -> Option<(u64, u32)> {
        let (at, code) = self.search.code(index)?;
        Some((at, decode::word(code)?))
    }

    fn definitions(&mut self, index: usize, register: u32) -> Option<Vec<usize>> {
        self.search.definitions(index, bit(register)?)
    }

    fn definition(&mut self, index: usize, register: u32) -> Option<usize> {
        self.search.definition(index, bit(register)?)
    }

    /// The only constant that a register holds at the instruction at `index`.
    fn constant(&mut self, index: usize, register: u32, deep: u32) -> Option<u64> {
        let mut value = None;
        for definition in self.definitions(index, register)? {
            let (at, word) = self.word(definition)?;
            let offset = signed(word, 5, 19) << 2 | i64::from(word >> 29 & 3);
            let one = match word {
                _ if word & 0x9f00_0000 == 0x1000_0000 => at.wrapping_add_signed(offset),
                _ if word & 0x9f00_0000 == 0x9000_0000 => (at & !0xfff).wrapping_add_signed(offset << 12),
                _ if word & 0xff80_0000 == 0x9100_0000 && deep > 0 => {
                    let added = u64::from(word >> 10 & 0xfff) << if word & 1 << 22 != 0 { 12 } else { 0 };
                    self.constant(definition, word >> 5 & 31, deep - 1)?.wrapping_add(added)
                }
                _ if word & 0xffe0_ffe0 == 0xaa00_03e0 && deep > 0 => {
                    self.constant(definition, word >> 16 & 31, deep - 1)?
                }
                _ => return None,
            };
            if value.replace(one).is_some_and(|other| other != one) {
                return None;
            }
        }
        value
    }

    /// The table of a jump to the sum that the instruction at `index` computes.
    fn sum(&mut self, index: usize) -> Option<JumpTable> {
        let (_, word) = self.word(index)?;
        let (one, other) = (word >> 5 & 31, word >> 16 & 31);
        match word {
            // An extended register: the second operand is the entry.
            _ if word & 0xffe0_0000 == 0x8b20_0000 => {
                let (extend, shift) = (word >> 13 & 7, u8::try_from(word >> 10 & 7).ok()?);
                self.entry(index, one, other, shift, extend >= 4)
            }
            // A shifted one.
            _ if word & 0xffe0_0000 == 0x8b00_0000 => {
                let shift = u8::try_from(word >> 10 & 63).ok()?;
                let table = self.entry(index, one, other, shift, false);
                if shift == 0 { table.or_else(|| self.entry(index, other, one, 0, false)) } else { table }
            }
            _ => None,
        }
    }

    fn entry(&mut self, index: usize, base: u32, entry: u32, shift: u8, is_extended: bool) -> Option<JumpTable> {
        let base = self.constant(index, base, MOVES)?;
        let load = self.definition(index, entry)?;
        let (_, word) = self.word(load)?;
        // A load whose offset is a register, scaled by the size of an entry.
        if word & 0x3f20_0c00 != 0x3820_0800 {
            return None;
        }
        let (size, opcode) = (1u8 << (word >> 30), word >> 22 & 3);
        let (is_scaled, is_byte) = (word & 1 << 12 != 0, size == 1);
        if opcode == 0 || !(is_scaled || is_byte) {
            return None;
        }
        let at = self.constant(load, word >> 5 & 31, MOVES)?;
        let entries = self.bound(load, word >> 16 & 31);
        Some(JumpTable { at, size, base, shift, signed: is_extended || opcode >= 2, entries })
    }

    /// How many values an index register may have at the instruction at `index`.
    fn bound(&self, index: usize, register: u32) -> Entries {
        jump_table::bound(self.search, index, register, |walk, before, after| self.step(walk, before, after))
    }

    /// Goes back over an instruction.
    fn step(&self, walk: &mut NumberWalk, index: usize, after: usize) -> TableStep {
        let Some((_, word)) = self.word(index) else { return TableStep::GiveUp };
        // b.cond
        if word & 0xff00_0010 == 0x5400_0000 {
            walk.pass_branch(word, self.search.is_taken(index, after));
            return TableStep::Continue;
        }
        if let (Some(beyond), Some(last)) = (walk.beyond, walk.compared(word)) {
            return last.checked_add(beyond).map_or(TableStep::GiveUp, TableStep::Found);
        }
        if self.search.is_call(index) {
            return TableStep::GiveUp;
        }
        if sets_flags(word) {
            walk.beyond = None;
        }
        match self.search.may_write(index, 1u64.wrapping_shl(walk.holder)) {
            true => walk.follow(word),
            false => TableStep::Continue,
        }
    }
}

impl NumberWalk {
    /// Takes account of the condition of a branch between the check and the table.
    fn pass_branch(&mut self, word: u32, is_taken: bool) {
        self.beyond = match (word & 15, is_taken) {
            // hi, ls
            (8, false) | (9, true) => Some(1),
            // hs, lo
            (2, false) | (3, true) => Some(0),
            _ => None,
        };
    }

    /// The number that an instruction compares the index with.
    fn compared(&self, word: u32) -> Option<u64> {
        let is_compare = word & 0x7f80_001f == 0x7100_001f && word >> 5 & 31 == self.holder;
        is_compare.then(|| u64::from(word >> 10 & 0xfff) << if word & 1 << 22 != 0 { 12 } else { 0 })
    }

    /// Continues with the source of an instruction that copies into the register with the index.
    fn follow(&mut self, word: u32) -> TableStep {
        match word {
            // mov
            _ if word & 0x7fe0_ffe0 == 0x2a00_03e0 => self.holder = word >> 16 & 31,
            // uxtb, and x, x, #0xff
            _ if word & 0xffff_fc00 == 0x5300_1c00
                || word & 0x7fbf_fc00 == 0x1200_1c00
                || word & 0xffff_fc00 == 0x9240_1c00 =>
            {
                self.limit = 256;
                self.holder = word >> 5 & 31;
            }
            // ldrb
            _ if word & 0x3b00_0000 == 0x3900_0000 && word >> 30 == 0 && word >> 22 & 3 == 1 => {
                self.limit = 256;
                return TableStep::GiveUp;
            }
            _ => return TableStep::GiveUp,
        }
        TableStep::Continue
    }
}

/// The bit of a register that is no stack pointer.
fn bit(register: u32) -> Option<u64> {
    if register == 31 { None } else { 1u64.checked_shl(register) }
}

/// Whether an instruction is of a class with instructions that set the flags.
fn sets_flags(word: u32) -> bool {
    word & 0x3f00_0000 == 0x2b00_0000
        || word & 0x3f00_0000 == 0x3100_0000
        || word & 0x1fe0_0000 == 0x1a40_0000
        || word & 0x7f80_0000 == 0x7200_0000
        || word & 0x7f00_0000 == 0x6a00_0000
        || word & 0x5f20_0000 == 0x1e20_0000
}
