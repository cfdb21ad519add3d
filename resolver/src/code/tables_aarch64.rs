//! The jump tables of gcc, clang and rustc on AArch64.
//!
//! `adrp/add T` in `%t`; `ldrb w, [%t, i]` (`ldrh`, `ldr`, `ldrsw`); `adr %b, base`; `add %b, %b, w, sxtb #2` (gcc; clang zero-extends,
//! `add %b, %b, x, lsl #2`); `br %b`. Before it `cmp i, #n; b.hi default`.

use super::aarch64::{self, signed};
use super::cfg::{Cfg, Successors};
use super::jump_tables::{Entries, JumpTable, Resolver};
use super::reaching_definitions::{ReachingDefinitions, bytes};

/// How far back the check of an index is looked for, in instructions.
const FAR: usize = 200;

struct Shapes<'a, 'f> {
    resolver: &'a Resolver<'f>,
    cfg: &'a Cfg,
    reach: &'a mut ReachingDefinitions,
}

/// The tables that the jump at `index` goes through; `None` where it may be something else.
pub(super) fn tables(
    resolver: &Resolver<'_>,
    cfg: &Cfg,
    reach: &mut ReachingDefinitions,
    index: usize,
) -> Option<Vec<JumpTable>> {
    let mut shapes = Shapes { resolver, cfg, reach };
    let jump = shapes.word(index)?;
    if jump & 0xffff_fc1f != 0xd61f_0000 {
        return None;
    }
    let mut tables = Vec::new();
    for definition in shapes.definitions(index, jump >> 5 & 31)? {
        tables.push(shapes.sum(definition)?);
    }
    Some(tables)
}

/// The depth of the stack, and that of x29 where it holds a place in it, after an instruction; `None` where unknown.
pub(super) fn depth(code: &[u8], depth: i64, frame: Option<i64>) -> Option<(i64, Option<i64>)> {
    let word = aarch64::word(code)?;
    let (d, n) = (word & 31, word >> 5 & 31);
    let from = match n {
        31 => Some(depth),
        29 => frame,
        _ => None,
    };
    let immediate = i64::from(word >> 10 & 0xfff) << if word & 1 << 22 != 0 { 12 } else { 0 };
    let result = match word & 0xff80_0000 {
        0x9100_0000 => from.map(|from| from.wrapping_sub(immediate)),
        0xd100_0000 => from.map(|from| from.wrapping_add(immediate)),
        _ => None,
    };
    let frame_after = match d {
        29 if result.is_some() => result,
        _ if aarch64::written(word) & 1 << 29 != 0 => None,
        _ => frame,
    };
    if aarch64::written(word) & 1 << 31 == 0 {
        return Some((depth, frame_after));
    }
    if d == 31 && result.is_some() {
        return Some((result?, frame_after));
    }
    // Pairs and single registers, with the stack pointer changed before or after.
    let change = if word & 0x3a80_0000 == 0x2880_0000 {
        let size = if word & 1 << 26 != 0 {
            4i64 << (word >> 30 & 3)
        } else if word >> 31 != 0 {
            8
        } else {
            4
        };
        signed(word, 15, 7).wrapping_mul(size)
    } else if word & 0x3b20_0400 == 0x3800_0400 {
        signed(word, 12, 9)
    } else {
        return None;
    };
    Some((depth.wrapping_sub(change), frame_after))
}

impl Shapes<'_, '_> {
    fn word(&self, index: usize) -> Option<u32> {
        aarch64::word(bytes(self.resolver.function, self.cfg.instructions.get(index)?.at))
    }

    fn definitions(&mut self, index: usize, register: u32) -> Option<Vec<usize>> {
        if register == 31 {
            return None;
        }
        self.reach.definitions(self.cfg, index, 1u64.checked_shl(register)?)
    }

    fn definition(&mut self, index: usize, register: u32) -> Option<usize> {
        match *self.definitions(index, register)? {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The one constant that a register holds where the instruction at `index` begins.
    fn constant(&mut self, index: usize, register: u32, deep: u32) -> Option<u64> {
        let mut value = None;
        for definition in self.definitions(index, register)? {
            let (at, word) = (self.cfg.instructions.get(definition)?.at, self.word(definition)?);
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
        let word = self.word(index)?;
        let (one, other) = (word >> 5 & 31, word >> 16 & 31);
        match word {
            // An extended register: the entry is the second.
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
        let base = self.constant(index, base, 3)?;
        let load = self.definition(index, entry)?;
        let word = self.word(load)?;
        // A load with a register for its offset, of an entry's size or scaled by it.
        if word & 0x3f20_0c00 != 0x3820_0800 {
            return None;
        }
        let (size, opcode) = (1u8 << (word >> 30), word >> 22 & 3);
        let (is_scaled, is_byte) = (word & 1 << 12 != 0, size == 1);
        if opcode == 0 || !(is_scaled || is_byte) {
            return None;
        }
        let at = self.constant(load, word >> 5 & 31, 3)?;
        let mut limit = u64::MAX;
        let entries = match self.check(load, word >> 16 & 31, &mut limit) {
            Some(entries) => Entries::Checked(entries.min(limit)),
            None => Entries::AtMost(limit),
        };
        Some(JumpTable { at, size, base, shift, signed: is_extended || opcode >= 2, entries })
    }

    /// How many values the check of an index lets through; lowers `limit` to how many it has by its size.
    ///
    /// Goes back over instructions with one way in each: the check is then passed on every way to the jump.
    fn check(&mut self, index: usize, register: u32, limit: &mut u64) -> Option<u64> {
        let (mut index, mut register) = (index, register);
        let mut check: Option<u64> = None;
        for _ in 0..FAR {
            let before = self.reach.only_before(index)?;
            let word = self.word(before)?;
            let is_taken =
                self.cfg.is(before, |was| was.end() != self.cfg.instructions.get(index).map_or(0, |it| it.at));
            if word & 0xff00_0010 == 0x5400_0000 {
                check = match (word & 15, is_taken) {
                    // hi, ls
                    (8, false) | (9, true) => Some(1),
                    // hs, lo
                    (2, false) | (3, true) => Some(0),
                    _ => None,
                };
                index = before;
                continue;
            }
            // cmp with an immediate
            if word & 0x7f80_001f == 0x7100_001f {
                if let (Some(beyond), true) = (check, word >> 5 & 31 == register) {
                    let last = u64::from(word >> 10 & 0xfff) << if word & 1 << 22 != 0 { 12 } else { 0 };
                    return last.checked_add(beyond);
                }
                check = None;
            }
            if self.cfg.is(before, |it| it.successors == Successors::Call) {
                return None;
            }
            // Other compares, whatever they are: all that set flags are among these classes.
            let sets_flags = word & 0x3f00_0000 == 0x2b00_0000
                || word & 0x3f00_0000 == 0x3100_0000 && word & 0x7f80_001f != 0x7100_001f
                || word & 0x1fe0_0000 == 0x1a40_0000
                || word & 0x7f80_0000 == 0x7200_0000
                || word & 0x7f00_0000 == 0x6a00_0000
                || word & 0x5f20_0000 == 0x1e20_0000;
            if sets_flags {
                check = None;
            }
            if self.reach.writes.get(before).is_none_or(|written| written & 1u64.wrapping_shl(register) != 0) {
                match word {
                    // mov
                    _ if word & 0x7fe0_ffe0 == 0x2a00_03e0 => register = word >> 16 & 31,
                    // uxtb, and x, x, #0xff
                    _ if word & 0xffff_fc00 == 0x5300_1c00
                        || word & 0x7fbf_fc00 == 0x1200_1c00
                        || word & 0xffff_fc00 == 0x9240_1c00 =>
                    {
                        *limit = 256;
                        register = word >> 5 & 31;
                    }
                    // ldrb
                    _ if word & 0x3b00_0000 == 0x3900_0000 && word >> 30 == 0 && word >> 22 & 3 == 1 => {
                        *limit = 256;
                        return None;
                    }
                    _ => return None,
                }
            }
            index = before;
        }
        None
    }
}
