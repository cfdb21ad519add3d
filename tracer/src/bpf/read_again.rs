//! Tells whole values that another thread changes while they are read, by reading all of their bytes again.

use simple_markers_resolver::export::ValueBytes;

use super::instruction::{Alu, JumpCondition, Reg, Size};
use super::program::Program;
use super::slot::{ADDRESS, AGAIN, CHUNK, CHUNKS, USED};
use super::whole::FIRST_CHUNKS;
use crate::plan::WholeInput;
use crate::whole::{CHANGED_BIT, CHUNK_HEADER, area, root_room};

impl Program<'_> {
    /// Reads all chunks once more, and marks the first one if a byte is another one. If none is, all were
    /// there at one time, unless something changed there and back in between.
    /// `rounds` are those of the steps.
    pub(super) fn read_again(&mut self, input: &WholeInput, rounds: i32) {
        let area = i32::from(area(input.most));
        // Each round of the steps reads at most one chunk.
        let rounds = rounds.saturating_add(FIRST_CHUNKS);
        // What was in registers is not read again.
        let first = match &input.bytes {
            ValueBytes::Memory { .. } => 0,
            ValueBytes::Parts { size, .. } => {
                let room = u32::from(root_room(input));
                u32::from(CHUNK_HEADER) + (*size).min(room).next_multiple_of(8)
            }
        };
        let code = &mut self.code;
        let (round, compare, word) = (code.label(), code.label(), code.label());
        let (changed, done) = (code.label(), code.label());
        code.store_immediate(Size::Eight, Reg::R7, CHUNK, first as i32);
        code.set(Reg::R8, 0);
        code.place(round);
        code.load(Size::Eight, Reg::R4, Reg::R7, CHUNK);
        code.load(Size::Eight, Reg::R1, Reg::R7, USED);
        code.jump_if(JumpCondition::GreaterEqual, Reg::R4, Reg::R1, compare);
        code.copy(Reg::R3, Reg::R4);
        self.chunk(Reg::R3, area);
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R1, Reg::R3, CHUNKS);
        code.store(Size::Eight, Reg::R3, AGAIN, Reg::R1);
        code.store(Size::Eight, Reg::R7, ADDRESS, Reg::R1);
        code.load(Size::Eight, Reg::R1, Reg::R3, CHUNKS + 8);
        code.store(Size::Eight, Reg::R3, AGAIN + 8, Reg::R1);
        code.load(Size::Four, Reg::R2, Reg::R3, CHUNKS + 8);
        // The last word, in which bytes may be behind the chunk.
        code.copy(Reg::R5, Reg::R2);
        code.alu_immediate(Alu::Add, Reg::R5, 7);
        code.alu_immediate(Alu::And, Reg::R5, -8);
        code.alu(Alu::Add, Reg::R4, Reg::R5);
        code.copy(Reg::R5, Reg::R4);
        code.alu_immediate(Alu::Add, Reg::R5, CHUNK_HEADER.into());
        code.store(Size::Eight, Reg::R7, CHUNK, Reg::R5);
        self.chunk(Reg::R4, area);
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R5, Reg::R4, CHUNKS + 8);
        code.store(Size::Eight, Reg::R4, AGAIN + 8, Reg::R5);
        code.alu_immediate(Alu::And, Reg::R2, area - 1);
        code.copy(Reg::R1, Reg::R3);
        code.alu_immediate(Alu::Add, Reg::R1, i32::from(AGAIN) + i32::from(CHUNK_HEADER));
        code.load(Size::Eight, Reg::R3, Reg::R7, ADDRESS);
        self.copy_from_program();
        let code = &mut self.code;
        code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, changed);
        code.alu_immediate(Alu::Add, Reg::R8, 1);
        code.jump_if_immediate(JumpCondition::Less, Reg::R8, rounds, round);

        code.place(compare);
        code.load(Size::Eight, Reg::R5, Reg::R7, USED);
        code.set(Reg::R8, first.into());
        code.place(word);
        code.jump_if(JumpCondition::GreaterEqual, Reg::R8, Reg::R5, done);
        code.copy(Reg::R3, Reg::R8);
        self.chunk(Reg::R3, area);
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R1, Reg::R3, CHUNKS);
        code.load(Size::Eight, Reg::R2, Reg::R3, AGAIN);
        code.jump_if(JumpCondition::NotEqual, Reg::R1, Reg::R2, changed);
        code.alu_immediate(Alu::Add, Reg::R8, 8);
        code.jump_if_immediate(JumpCondition::Less, Reg::R8, area, word);
        code.jump(done);
        code.place(changed);
        code.load(Size::Eight, Reg::R1, Reg::R7, CHUNKS + 8);
        code.set(Reg::R2, 1 << CHANGED_BIT);
        code.alu(Alu::Or, Reg::R1, Reg::R2);
        code.store(Size::Eight, Reg::R7, CHUNKS + 8, Reg::R1);
        code.place(done);
    }
}
