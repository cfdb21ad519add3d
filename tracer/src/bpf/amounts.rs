//! The part of the programs that count which adds up amounts.

use super::assembler::Label;
use super::instruction::{Alu, Helper, JumpCondition, Map, NO_EXIST, Reg, Size};
use super::program::Program;
use crate::aggregate::{NEGATIVE_AMOUNT, TOTAL_LARGEST, TOTAL_SIZE, TOTAL_SMALLEST, TOTAL_UPPER, Tally};
use crate::plan::Uncompilable;

impl Program<'_> {
    /// Adds the amount in `R7` to those of a key, whose bucket is not written yet.
    pub(super) fn amount(&mut self, key: i16, is_signed: bool) -> Result<(), Uncompilable> {
        let (end, counted, positive, done) = (self.end, self.code.label(), self.code.label(), self.code.label());
        let code = &mut self.code;
        code.copy(Reg::R8, Reg::R7);
        code.set(Reg::R4, 0);
        if is_signed {
            code.jump_if_immediate(JumpCondition::SignedGreaterEqual, Reg::R8, 0, positive);
            code.negate(Reg::R8);
            code.set(Reg::R4, NEGATIVE_AMOUNT.into());
            code.place(positive);
        }
        self.fine_bucket();
        self.code.alu(Alu::Or, Reg::R2, Reg::R4);
        self.code.store(Size::Four, Reg::Frame, key + 4, Reg::R2);
        self.add_to_values(key, None, counted)?;
        self.code.jump(end);
        self.code.place(counted);
        self.code.store_immediate(Size::Four, Reg::Frame, key + 4, is_signed.into());
        let total = self.push(TOTAL_SIZE)?;
        let code = &mut self.code;
        code.set(Reg::R1, u32::MAX.into());
        code.alu(Alu::And, Reg::R1, Reg::R7);
        code.store(Size::Eight, Reg::Frame, total, Reg::R1);
        code.copy(Reg::R1, Reg::R7);
        code.alu_immediate(if is_signed { Alu::Arsh } else { Alu::Rsh }, Reg::R1, 32);
        code.store(Size::Eight, Reg::Frame, total + TOTAL_UPPER, Reg::R1);
        if is_signed {
            code.set(Reg::R1, 1 << 63);
            code.alu(Alu::Xor, Reg::R7, Reg::R1);
        }
        code.store(Size::Eight, Reg::Frame, total + TOTAL_LARGEST, Reg::R7);
        code.alu_immediate(Alu::Xor, Reg::R7, -1);
        code.store(Size::Eight, Reg::Frame, total + TOTAL_SMALLEST, Reg::R7);
        self.add_to_total(key, total, done);
        self.update(Map::Amounts, key, total, NO_EXIST);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, end);
        // Another CPU was faster.
        self.add_to_total(key, total, done);
        self.add_one_to(Tally::Full);
        self.code.place(done);
        Ok(())
    }

    /// Adds a total on the stack to that of a key and jumps to `done`. Goes on if the key has none.
    fn add_to_total(&mut self, key: i16, total: i16, done: Label) {
        let absent = self.code.label();
        self.map_and_key(Map::Amounts, key);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, absent);
        self.code.copy(Reg::R1, Reg::R0);
        for offset in [0, TOTAL_UPPER] {
            self.code.load(Size::Eight, Reg::R2, Reg::Frame, total + offset);
            self.code.add_atomically(Reg::R1, offset, Reg::R2);
        }
        for offset in [TOTAL_LARGEST, TOTAL_SMALLEST] {
            self.code.load(Size::Eight, Reg::R8, Reg::Frame, total + offset);
            self.raise_at(offset);
        }
        self.code.jump(done);
        self.code.place(absent);
    }
}
