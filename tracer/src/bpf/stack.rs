//! Writes the stacks of a hit to its record ([`crate::record::stack`]).
//!
//! The memory of the stack is copied when the record is reserved, so the program must not sleep then. Before,
//! it makes the pages present if it may sleep. A stack can end before the size that is asked for: then it is
//! copied piece by piece, and the piece that cannot be read as far as its page.

use super::instruction::{Alu, Helper, JumpCondition, KERNEL_STACK, Reg, Size, USER_STACK};
use super::program::Program;
use crate::arch::Platform;
use crate::plan::Uncompilable;
use crate::record::Layout;
use crate::record::stack::{MEMORY, REGISTERS, REGISTERS_SIZE, STACK_SIZE};

/// The size of a page, or a part of it.
const PAGE: i32 = 4096;
/// The most pieces in which a stack is copied.
const PIECES: u32 = 16;

/// Where the registers of the program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegisterSource {
    /// In the context of the program at a uprobe.
    Context,
    /// Where the kernel was entered (`bpf_task_pt_regs`).
    Entry,
}

impl Program<'_> {
    /// Makes the pages of a stack present that is to be copied.
    pub(super) fn touch_stack(&mut self, layout: &Layout) -> Result<(), Uncompilable> {
        let (Some(size), true, Some(platform)) = (layout.copied(), self.target.is_sleepable, Platform::HOST) else {
            return Ok(());
        };
        let conventions = platform.conventions();
        let Some(offset) = conventions.register(conventions.stack_pointer()) else { return Ok(()) };
        let (byte, end) = (self.stack.push()?, self.code.label());
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R8, Reg::R6, offset);
        // With the last byte, which may be on another page.
        for distance in (0..size).step_by(PAGE as usize).chain([size.saturating_sub(1)]) {
            code.copy(Reg::R1, Reg::Frame);
            code.alu_immediate(Alu::Add, Reg::R1, byte.into());
            code.set(Reg::R2, 1);
            code.copy(Reg::R3, Reg::R8);
            code.alu_immediate(Alu::Add, Reg::R3, i32::try_from(distance).unwrap_or(i32::MAX));
            code.call(Helper::CopyFromUser);
            code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, end);
        }
        code.place(end);
        self.stack.pop();
        Ok(())
    }

    /// Writes the stacks that a layout has. `R7` has the record of `size` bytes; `R8` is used.
    pub(super) fn write_stacks(&mut self, layout: &Layout, size: u32, registers: RegisterSource) {
        if let Some(offset) = layout.stack() {
            self.followed_stack(offset as i16, USER_STACK);
        }
        if let Some(offset) = layout.kernel_stack() {
            self.followed_stack(offset as i16, KERNEL_STACK);
        }
        if let Some(copied) = layout.copied() {
            self.copied_stack(size.saturating_sub(layout.copy_size()) as i32, copied, registers);
        }
    }

    /// Writes the frames that the kernel follows.
    fn followed_stack(&mut self, offset: i16, flags: u64) {
        let code = &mut self.code;
        let is_read = code.label();
        code.copy(Reg::R1, Reg::R6);
        code.copy(Reg::R2, Reg::R7);
        code.alu_immediate(Alu::Add, Reg::R2, i32::from(offset) + 8);
        code.set(Reg::R3, STACK_SIZE.into());
        code.set(Reg::R4, flags);
        code.call(Helper::GetStack);
        code.jump_if_immediate(JumpCondition::SignedGreaterEqual, Reg::R0, 0, is_read);
        code.set(Reg::R0, 0);
        code.place(is_read);
        code.store(Size::Eight, Reg::R7, offset, Reg::R0);
    }

    /// Copies the registers and `size` bytes of the stack to an offset of the record. `R7` has the address of
    /// the copy meanwhile.
    fn copied_stack(&mut self, offset: i32, size: u32, registers: RegisterSource) {
        let conventions = Platform::HOST.map(Platform::conventions);
        let stack_pointer = conventions.and_then(|of| of.register(of.stack_pointer())).unwrap_or_default();
        let piece = (size / PIECES).max(size.min(1024)) as i32;
        let memory = i32::from(MEMORY);
        let code = &mut self.code;
        let (done, rest) = (code.label(), code.label());
        code.alu_immediate(Alu::Add, Reg::R7, offset);
        code.store_immediate(Size::Eight, Reg::R7, 0, 0);
        if registers == RegisterSource::Entry {
            code.call(Helper::GetCurrentTaskBtf);
            code.copy(Reg::R1, Reg::R0);
            code.call(Helper::TaskPtRegs);
            code.copy(Reg::R3, Reg::R0);
        } else {
            code.copy(Reg::R3, Reg::R6);
        }
        code.copy(Reg::R1, Reg::R7);
        code.alu_immediate(Alu::Add, Reg::R1, REGISTERS.into());
        code.set(Reg::R2, register_bytes().into());
        code.call(Helper::ProbeReadKernel);
        code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, done);
        code.load(Size::Eight, Reg::R8, Reg::R7, REGISTERS as i16 + stack_pointer);
        for (distance, length) in std::iter::once((0, size as i32)).chain(pieces(size, piece)) {
            code.copy(Reg::R1, Reg::R7);
            code.alu_immediate(Alu::Add, Reg::R1, memory + distance);
            code.set(Reg::R2, length as u64);
            code.copy(Reg::R3, Reg::R8);
            code.alu_immediate(Alu::Add, Reg::R3, distance);
            code.call(Helper::ProbeReadUser);
            if length == size as i32 && distance == 0 {
                let is_cut = code.label();
                code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, is_cut);
                code.store_immediate(Size::Eight, Reg::R7, 0, size as i32);
                code.jump(done);
                code.place(is_cut);
            } else {
                code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, rest);
                code.store_immediate(Size::Eight, Reg::R7, 0, distance + length);
            }
        }
        code.place(rest);
        // R1: how many bytes there are. R2: how many there are from there to the end of the page.
        code.load(Size::Eight, Reg::R1, Reg::R7, 0);
        code.jump_if_immediate(JumpCondition::Greater, Reg::R1, size as i32 - piece, done);
        code.copy(Reg::R3, Reg::R8);
        code.alu(Alu::Add, Reg::R3, Reg::R1);
        code.copy(Reg::R2, Reg::R3);
        code.negate(Reg::R2);
        code.alu_immediate(Alu::And, Reg::R2, PAGE - 1);
        code.jump_if_immediate(JumpCondition::GreaterEqual, Reg::R2, piece, done);
        code.copy(Reg::R4, Reg::R1);
        code.alu(Alu::Add, Reg::R4, Reg::R2);
        code.store(Size::Eight, Reg::R7, 8, Reg::R4);
        code.copy(Reg::R4, Reg::R7);
        code.alu_immediate(Alu::Add, Reg::R4, memory);
        code.alu(Alu::Add, Reg::R4, Reg::R1);
        code.copy(Reg::R1, Reg::R4);
        code.call(Helper::ProbeReadUser);
        code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, done);
        code.load(Size::Eight, Reg::R1, Reg::R7, 8);
        code.store(Size::Eight, Reg::R7, 0, Reg::R1);
        code.place(done);
        code.alu_immediate(Alu::Sub, Reg::R7, offset);
    }
}

/// The offsets and lengths of the pieces of a copy.
fn pieces(size: u32, piece: i32) -> impl Iterator<Item = (i32, i32)> {
    let size = size as i32;
    (0..size).step_by(piece.max(1) as usize).map(move |at| (at, piece.min(size - at))).filter(move |_| piece < size)
}

/// How many bytes of registers the kernel has.
fn register_bytes() -> u16 {
    Platform::HOST.map_or(0, |host| host.conventions().registers_size()).min(REGISTERS_SIZE)
}
