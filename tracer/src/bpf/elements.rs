//! Where the elements of a collection begin that do not begin at the address of the first one: in a block, or in
//! the middle of a buffer.

use simple_markers_resolver::types::ReadTable;

use super::assembler::Label;
use super::instruction::{Alu, JumpCondition, Reg, Size};
use super::program::Program;
use super::slot::{ADDRESS, LENGTH, TOUCHED};
use super::whole::BLOCK;
use crate::plan::WholeInput;

impl Program<'_> {
    /// Replaces the address of the table of blocks by that of the first element in its block, if the step
    /// in `R4` and at `R5` says so. [`LENGTH`] has the number of the element in the block then.
    pub(super) fn enter_block(&mut self, input: &WholeInput, table: &ReadTable, area: i32, none: Label) {
        let code = &mut self.code;
        let (plain, found) = (code.label(), code.label());
        code.copy(Reg::R1, Reg::R4);
        code.alu_immediate(Alu::And, Reg::R1, BLOCK as i32);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, plain);
        code.load(Size::Four, Reg::R1, Reg::R5, 24);
        self.field(Reg::R1, area);
        let code = &mut self.code;
        code.load(Size::Two, Reg::R2, Reg::R5, 28);
        // The number of the element in its block, and that of the block.
        code.copy(Reg::R1, Reg::R0);
        code.alu(Alu::Mod, Reg::R1, Reg::R2);
        code.store(Size::Eight, Reg::R7, LENGTH, Reg::R1);
        code.alu(Alu::Div, Reg::R0, Reg::R2);
        code.load(Size::Two, Reg::R1, Reg::R5, 30);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, found);
        code.alu_immediate(Alu::Add, Reg::R0, 1);
        code.store(Size::Eight, Reg::R7, TOUCHED, Reg::R0);
        code.load(Size::Four, Reg::R1, Reg::R5, 20);
        self.field(Reg::R1, area);
        let code = &mut self.code;
        // Whether there are elements behind the first block.
        code.load(Size::Eight, Reg::R1, Reg::R7, LENGTH);
        code.alu(Alu::Add, Reg::R0, Reg::R1);
        code.jump_if(JumpCondition::LessEqual, Reg::R0, Reg::R2, none);
        code.store_immediate(Size::Eight, Reg::R7, LENGTH, 0);
        code.load(Size::Eight, Reg::R0, Reg::R7, TOUCHED);
        code.place(found);
        code.load(Size::Eight, Reg::R3, Reg::R7, ADDRESS);
        code.alu_immediate(Alu::Lsh, Reg::R0, 3);
        code.alu(Alu::Add, Reg::R3, Reg::R0);
        code.copy(Reg::R1, Reg::R7);
        code.alu_immediate(Alu::Add, Reg::R1, TOUCHED.into());
        code.set(Reg::R2, 8);
        self.copy_from_program();
        self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, none);
        self.step(input, table);
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R1, Reg::R7, TOUCHED);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, none);
        code.load(Size::Eight, Reg::R2, Reg::R7, LENGTH);
        code.copy(Reg::R3, Reg::R4);
        code.alu_immediate(Alu::Rsh, Reg::R3, 32);
        code.alu(Alu::Mul, Reg::R2, Reg::R3);
        code.alu(Alu::Add, Reg::R1, Reg::R2);
        code.store(Size::Eight, Reg::R7, ADDRESS, Reg::R1);
        code.place(plain);
    }

    /// Leaves those of the elements in `R0` that are in the block, if the step in `R4` and at `R5` says
    /// that they are in one.
    pub(super) fn end_with_block(&mut self) {
        let code = &mut self.code;
        let within = code.label();
        code.copy(Reg::R1, Reg::R4);
        code.alu_immediate(Alu::And, Reg::R1, BLOCK as i32);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, within);
        code.load(Size::Two, Reg::R1, Reg::R5, 28);
        code.load(Size::Eight, Reg::R3, Reg::R7, LENGTH);
        code.alu(Alu::Sub, Reg::R1, Reg::R3);
        code.jump_if(JumpCondition::LessEqual, Reg::R0, Reg::R1, within);
        code.copy(Reg::R0, Reg::R1);
        code.place(within);
    }

    /// Begins at another element than the first, if the step at `R5` says so, and leaves fewer elements in
    /// `R0` then.
    pub(super) fn skip_elements(&mut self, area: i32, has_blocks: bool) {
        let first = self.code.label();
        let code = &mut self.code;
        if has_blocks {
            code.copy(Reg::R1, Reg::R4);
            code.alu_immediate(Alu::And, Reg::R1, BLOCK as i32);
            code.jump_if_immediate(JumpCondition::NotEqual, Reg::R1, 0, first);
        }
        code.load(Size::Four, Reg::R1, Reg::R5, 24);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, first);
        code.store(Size::Eight, Reg::R7, LENGTH, Reg::R0);
        code.alu_immediate(Alu::Sub, Reg::R1, 1);
        self.field(Reg::R1, area);
        let code = &mut self.code;
        code.store(Size::Eight, Reg::R7, TOUCHED, Reg::R0);
        code.copy(Reg::R1, Reg::R4);
        code.alu_immediate(Alu::Rsh, Reg::R1, 32);
        code.alu(Alu::Mul, Reg::R0, Reg::R1);
        code.load(Size::Eight, Reg::R1, Reg::R7, ADDRESS);
        code.alu(Alu::Add, Reg::R1, Reg::R0);
        code.store(Size::Eight, Reg::R7, ADDRESS, Reg::R1);
        code.load(Size::Four, Reg::R1, Reg::R5, 28);
        self.field(Reg::R1, area);
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R1, Reg::R7, TOUCHED);
        code.alu(Alu::Sub, Reg::R0, Reg::R1);
        code.load(Size::Eight, Reg::R1, Reg::R7, LENGTH);
        code.jump_if(JumpCondition::LessEqual, Reg::R0, Reg::R1, first);
        code.copy(Reg::R0, Reg::R1);
        code.place(first);
    }
}
