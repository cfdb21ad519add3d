//! Reads whole values: the part of a program that copies the bytes of a value, and follows the steps of
//! its table ([`ReadTable`]) to what its pointers lead to.
//!
//! The bytes go to a slot, a piece of memory that the hit owns until its record is written: a program
//! that waits for a page must not hold up the records of others. The steps are data, so the program is
//! the same for all types. It is one loop, which the kernel checks step by step; all that it knows from
//! one round to the next is in the slot.

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::export::ValueBytes;
use simple_markers_resolver::location::{Expr, Node};
use simple_markers_resolver::types::{FollowStep, NO_STEPS, ReadCount, ReadPlace, ReadStep, ReadTable};

use super::assembler::Assembler;
use super::assembler::Label;
use super::expression::{Compiler, EntryWords};
use super::instruction::{Alu, Helper, JumpCondition, Map, Reg, Size};
use super::program::Program;
use super::slot::{ADDRESS, CHUNK, CHUNKS, ELEMENT, LENGTH, OWNER, SLOTS, SLOTS_OF_CPU, STEP, TOUCHED, USED};
use crate::plan::{Input, MAX_WHOLE, Uncompilable, WholeInput};
use crate::whole::{CHUNK_HEADER, LOAD_BIAS_BIT, UNREADABLE_BIT, UNREADABLE_SIZE_BIT, area, root_room};

/// How many slots a hit tries.
const TRIES: i32 = 4;
/// The most rounds of the loop for a value, and of all loops of a program. The kernel checks some 500
/// instructions for each, and takes no program with more than a million.
const ROUNDS: (i32, i32) = (256, 1024);
/// How many chunks a value has before the first round: the value itself, and the load bias.
pub(super) const FIRST_CHUNKS: i32 = 2;

/// The size of a step in its map.
const STEP_SIZE_BITS: i32 = 5;

const END: u64 = 0;
const TEST: u64 = 1;
const FOLLOW: u64 = 2;
const ONE: u64 = 0;
const NUMBER: u64 = 1;
const TEXT: u64 = 2;
const NUMBER_AND_ONE: u64 = 3;
const UNTIL: u64 = 4;
/// The bit of a step whose elements end at the address.
const BEFORE: u64 = 1 << 15;
/// The bit of a step whose elements are in a block.
pub(super) const BLOCK: u64 = 1 << 14;
/// The bit of the length of a block that says that it is the block behind that of the first element.
const NEXT_BLOCK: u64 = 1 << 16;

/// The most rounds of the loop for each value of a program that reads some whole values.
pub(super) fn rounds<'p>(inputs: impl Iterator<Item = &'p Input>) -> i32 {
    let wholes = inputs.filter(|input| matches!(input, Input::Whole(_))).count();
    let (of_value, of_program) = ROUNDS;
    of_value.min(of_program / i32::try_from(wholes.max(1)).unwrap_or(i32::MAX)).max(1)
}

/// The first step of a value. None if not all of its bytes are read: the steps would look behind them.
fn first_step(input: &WholeInput) -> u16 {
    let (ValueBytes::Memory { size, .. } | ValueBytes::Parts { size, .. }) = &input.bytes;
    if *size <= u32::from(root_room(input)) { input.start } else { NO_STEPS }
}

/// How many steps the map of a table has: a power of two.
pub(crate) fn map_steps(table: &ReadTable) -> usize {
    table.steps.len().max(1).next_power_of_two()
}

/// The value of the map of a table.
pub(crate) fn map_value(table: &ReadTable) -> Vec<u8> {
    let words = table.steps.iter().flat_map(|step| match *step {
        ReadStep::End { size } => [END | u64::from(size) << 32, 0, 0, 0],
        ReadStep::Test { offset, bits, low, span, is_in, skip } => {
            let unused = 64 - u64::from(bits.clamp(1, 64));
            [TEST | unused << 8 | u64::from(is_in) << 16 | u64::from(skip) << 32, offset.into(), low, span]
        }
        ReadStep::Follow(FollowStep { pointer, add, place, count, most, stride, steps }) => {
            let (kind, at) = match count {
                ReadCount::One => (ONE, 0),
                ReadCount::Number(at) => (NUMBER, at),
                ReadCount::NumberAndOne(at) => (NUMBER_AND_ONE, at),
                ReadCount::Until(at) => (UNTIL, at),
                ReadCount::Text => (TEXT, 0),
            };
            let (begins, from) = match place {
                ReadPlace::First => (0, 0),
                ReadPlace::Before => (BEFORE, 0),
                ReadPlace::Block { index, block, is_next } => {
                    let block = u64::from(block) | if is_next { NEXT_BLOCK } else { 0 };
                    (BLOCK, u64::from(index) | block << 32)
                }
                // 0 is none.
                ReadPlace::From { index, capacity } => (0, (u64::from(index) + 1) | u64::from(capacity) << 32),
            };
            let add = u64::from(add as u32) << 32;
            [
                FOLLOW | kind << 8 | begins | u64::from(steps) << 16 | u64::from(stride) << 32,
                u64::from(pointer) | add,
                u64::from(most) | u64::from(at) << 32,
                from,
            ]
        }
    });
    let mut value: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    value.resize(map_steps(table) << STEP_SIZE_BITS, 0);
    value
}

impl Program<'_> {
    /// Reads a whole value. The word of the stack gets the address of its slot, which has no chunks if the
    /// value could not be read. `R7` and `R8` are used.
    ///
    /// There is always a slot, so that the kernel has one case to check and not two for each value before.
    pub(super) fn whole(
        &mut self,
        input: &WholeInput,
        table: &ReadTable,
        word: i16,
        index: usize,
    ) -> Result<(), Uncompilable> {
        let (unread, done) = (self.code.label(), self.code.label());
        self.own_slot(unread)?;
        self.root(input, unread)?;
        let follows = first_step(input) != NO_STEPS;
        if follows {
            self.follow_all(input, table);
        }
        if follows || matches!(input.bytes, ValueBytes::Memory { .. }) {
            self.read_again(input, if follows { self.rounds } else { 0 });
        }
        self.code.jump(done);
        self.code.place(unread);
        self.code.store_immediate(Size::Eight, Reg::R7, USED, 0);
        self.unread(index);
        self.code.place(done);
        self.code.store(Size::Eight, Reg::Frame, word, Reg::R7);
        self.slots.push(word);
        Ok(())
    }

    /// Frees the slots of the inputs that were read.
    pub(super) fn free_slots(&mut self) {
        if !self.target.has_exchange {
            return;
        }
        for word in self.slots.clone() {
            self.code.load(Size::Eight, Reg::R1, Reg::Frame, word);
            free_slot(&mut self.code);
        }
    }

    /// Copies the chunks of an input to a field of the record, and their size before it. `R7` has the
    /// record.
    pub(super) fn write_whole(&mut self, input: &WholeInput, word: i16, offset: i16) {
        let code = &mut self.code;
        let done = code.label();
        code.store_immediate(Size::Eight, Reg::R7, offset, 0);
        code.load(Size::Eight, Reg::R3, Reg::Frame, word);
        code.load(Size::Eight, Reg::R2, Reg::R3, USED);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R2, 0, done);
        code.alu_immediate(Alu::And, Reg::R2, i32::from(area(input.most)) - 1);
        code.store(Size::Eight, Reg::R7, offset, Reg::R2);
        code.copy(Reg::R1, Reg::R7);
        code.alu_immediate(Alu::Add, Reg::R1, i32::from(offset) + 8);
        code.alu_immediate(Alu::Add, Reg::R3, CHUNKS.into());
        code.call(Helper::ProbeReadKernel);
        code.place(done);
    }

    /// `R7 = address of a slot` that no other hit owns. If there is none, `R7` has one that nothing is read to.
    fn own_slot(&mut self, none: Label) -> Result<(), Uncompilable> {
        let key = self.stack.push()?;
        let end = self.end;
        let code = &mut self.code;
        let look_up = |code: &mut Assembler, number: u32| {
            code.store_immediate(Size::Four, Reg::Frame, key, number as i32);
            look_up_slot(code, key, end);
        };
        if self.target.has_exchange {
            let is_own = code.label();
            code.call(Helper::GetCurrentPidTgid);
            code.copy(Reg::R8, Reg::R0);
            for distance in 0..TRIES {
                code.copy(Reg::R1, Reg::R8);
                code.alu_immediate(Alu::Add, Reg::R1, distance);
                code.alu_immediate(Alu::And, Reg::R1, SLOTS as i32 - 1);
                code.store(Size::Four, Reg::Frame, key, Reg::R1);
                look_up_slot(code, key, end);
                code.set(Reg::R0, 0);
                code.set(Reg::R1, 1);
                code.exchange_atomically(Reg::R7, OWNER, Reg::R1);
                code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, is_own);
            }
            look_up(code, SLOTS);
            code.jump(none);
            code.place(is_own);
        } else {
            // The number of the value is that of the slot: those of a CPU belong to one hit.
            let number = u32::try_from(self.slots.len()).unwrap_or(u32::MAX).min(SLOTS_OF_CPU);
            look_up(code, number);
            if number == SLOTS_OF_CPU {
                code.jump(none);
            }
        }
        self.stack.pop();
        Ok(())
    }

    /// Makes the first chunk, which is the value itself.
    fn root(&mut self, input: &WholeInput, failed: Label) -> Result<(), Uncompilable> {
        let room = u32::from(root_room(input));
        let (ValueBytes::Memory { size, .. } | ValueBytes::Parts { size, .. }) = &input.bytes;
        let length = (*size).min(room);
        let bytes = CHUNKS + CHUNK_HEADER as i16;
        match &input.bytes {
            ValueBytes::Memory { address, .. } => {
                self.compute_to_r0(address, failed)?;
                let code = &mut self.code;
                code.store(Size::Eight, Reg::R7, CHUNKS, Reg::R0);
                code.copy(Reg::R3, Reg::R0);
                code.copy(Reg::R1, Reg::R7);
                code.alu_immediate(Alu::Add, Reg::R1, bytes.into());
                code.set(Reg::R2, length.into());
                self.copy_from_program();
                self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, failed);
            }
            ValueBytes::Parts { parts, .. } => {
                self.code.store_immediate(Size::Eight, Reg::R7, CHUNKS, 0);
                for (index, part) in parts.iter().enumerate() {
                    let at = i16::try_from(8 * index).ok().and_then(|at| at.checked_add(bytes));
                    let at = at.filter(|_| 8 * index < length as usize).ok_or(Uncompilable::TooLarge)?;
                    match part {
                        Some(part) => self.compute_to_r0(part, failed)?,
                        None => self.code.set(Reg::R0, 0),
                    }
                    self.code.store(Size::Eight, Reg::R7, at, Reg::R0);
                }
            }
        }
        let start = first_step(input);
        let code = &mut self.code;
        code.set(Reg::R1, u64::from(length) | u64::from(start) << 32);
        code.store(Size::Eight, Reg::R7, CHUNKS + 8, Reg::R1);
        let mut used = u32::from(CHUNK_HEADER) + length.next_multiple_of(8);
        if input.has_load_bias {
            let at =
                i16::try_from(used).ok().and_then(|used| used.checked_add(CHUNKS)).ok_or(Uncompilable::TooLarge)?;
            let bias = Expr::new(Node::Address(Vaddr(0))).ok_or(Uncompilable::TooLarge)?;
            self.compute_to_r0(&bias, failed)?;
            self.code.store(Size::Eight, Reg::R7, at, Reg::R0);
            self.code.set(Reg::R1, u64::from(NO_STEPS) << 32 | 1 << LOAD_BIAS_BIT);
            self.code.store(Size::Eight, Reg::R7, at + 8, Reg::R1);
            used += u32::from(CHUNK_HEADER);
        }
        let code = &mut self.code;
        code.store_immediate(Size::Eight, Reg::R7, USED, used as i32);
        code.store_immediate(Size::Eight, Reg::R7, CHUNK, 0);
        code.store_immediate(Size::Eight, Reg::R7, ELEMENT, 0);
        code.store_immediate(Size::Eight, Reg::R7, STEP, start.into());
        Ok(())
    }

    fn compute_to_r0(&mut self, value: &Expr, failed: Label) -> Result<(), Uncompilable> {
        let entered = EntryWords::At(&self.entered);
        Compiler { code: &mut self.code, target: self.target, stack: &mut self.stack, failed, entered }.value(value)
    }

    /// Copies `R2` bytes from the address `R3` of the program to `R1`. `R0` is 0 if that succeeds.
    pub(super) fn copy_from_program(&mut self) {
        self.code.call(if self.target.is_sleepable { Helper::CopyFromUser } else { Helper::ProbeReadUser });
    }

    /// Takes the steps of the elements of each chunk, in the order of the chunks.
    fn follow_all(&mut self, input: &WholeInput, table: &ReadTable) {
        let area = i32::from(area(input.most));
        let code = &mut self.code;
        let (round, next, done) = (code.label(), code.label(), code.label());
        let (advance, test, follow, other_chunk) = (code.label(), code.label(), code.label(), code.label());
        code.set(Reg::R8, 0);
        code.place(round);
        self.step(input, table);
        let code = &mut self.code;
        code.copy(Reg::R1, Reg::R4);
        code.alu_immediate(Alu::And, Reg::R1, 0xff);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R1, TEST as i32, test);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R1, FOLLOW as i32, follow);

        // The end of an element: the next one of the chunk, if there is one.
        code.alu_immediate(Alu::Rsh, Reg::R4, 32);
        code.load(Size::Eight, Reg::R2, Reg::R7, ELEMENT);
        code.alu(Alu::Add, Reg::R2, Reg::R4);
        code.store(Size::Eight, Reg::R7, ELEMENT, Reg::R2);
        code.alu(Alu::Add, Reg::R2, Reg::R4);
        code.load(Size::Eight, Reg::R3, Reg::R7, CHUNK);
        self.chunk(Reg::R3, area);
        let code = &mut self.code;
        code.load(Size::Four, Reg::R5, Reg::R3, CHUNKS + 8);
        code.jump_if(JumpCondition::Greater, Reg::R2, Reg::R5, other_chunk);
        self.first_step(next);

        // The next chunk, if there is one.
        let code = &mut self.code;
        code.place(other_chunk);
        code.alu_immediate(Alu::Add, Reg::R5, i32::from(CHUNK_HEADER) + 7);
        code.alu_immediate(Alu::And, Reg::R5, -8);
        code.load(Size::Eight, Reg::R3, Reg::R7, CHUNK);
        code.alu(Alu::Add, Reg::R3, Reg::R5);
        code.store(Size::Eight, Reg::R7, CHUNK, Reg::R3);
        code.load(Size::Eight, Reg::R1, Reg::R7, USED);
        code.jump_if(JumpCondition::GreaterEqual, Reg::R3, Reg::R1, done);
        code.store_immediate(Size::Eight, Reg::R7, ELEMENT, 0);
        self.chunk(Reg::R3, area);
        self.first_step(next);

        self.code.place(test);
        self.test_step(area, advance, next);
        self.code.place(follow);
        self.follow_step(input, table, area, advance, next);

        let code = &mut self.code;
        code.place(advance);
        self.next_step(Reg::R1);
        let code = &mut self.code;
        code.place(next);
        code.alu_immediate(Alu::Add, Reg::R8, 1);
        code.jump_if_immediate(JumpCondition::Less, Reg::R8, self.rounds, round);
        code.place(done);
    }

    /// Passes over steps unless a number is in the range that the step in `R4` and at `R5` has.
    fn test_step(&mut self, area: i32, advance: Label, next: Label) {
        self.code.load(Size::Four, Reg::R1, Reg::R5, 8);
        self.field(Reg::R1, area);
        let code = &mut self.code;
        let (outside, skip) = (code.label(), code.label());
        // The bits beyond the size of the number.
        code.copy(Reg::R2, Reg::R4);
        code.alu_immediate(Alu::Rsh, Reg::R2, 8);
        code.alu_immediate(Alu::And, Reg::R2, 63);
        code.load(Size::Eight, Reg::R1, Reg::R5, 16);
        code.alu(Alu::Sub, Reg::R0, Reg::R1);
        code.alu(Alu::Lsh, Reg::R0, Reg::R2);
        code.alu(Alu::Rsh, Reg::R0, Reg::R2);
        code.load(Size::Eight, Reg::R1, Reg::R5, 24);
        code.copy(Reg::R3, Reg::R4);
        code.alu_immediate(Alu::Rsh, Reg::R3, 16);
        code.alu_immediate(Alu::And, Reg::R3, 1);
        code.jump_if(JumpCondition::Greater, Reg::R0, Reg::R1, outside);
        code.jump_if_immediate(JumpCondition::NotEqual, Reg::R3, 0, advance);
        code.jump(skip);
        code.place(outside);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R3, 0, advance);
        code.place(skip);
        code.alu_immediate(Alu::Rsh, Reg::R4, 32);
        code.load(Size::Eight, Reg::R1, Reg::R7, STEP);
        code.alu(Alu::Add, Reg::R1, Reg::R4);
        code.alu_immediate(Alu::Add, Reg::R1, 1);
        code.store(Size::Eight, Reg::R7, STEP, Reg::R1);
        code.jump(next);
    }

    /// Adds a chunk with what a pointer leads to.
    fn follow_step(&mut self, input: &WholeInput, table: &ReadTable, area: i32, advance: Label, next: Label) {
        let is_in_block =
            |step: &ReadStep| matches!(step, ReadStep::Follow(FollowStep { place: ReadPlace::Block { .. }, .. }));
        let has_blocks = table.steps.iter().any(is_in_block);
        let (counted, within, fits) = (self.code.label(), self.code.label(), self.code.label());
        let (text, add, failed) = (self.code.label(), self.code.label(), self.code.label());
        self.code.load(Size::Four, Reg::R1, Reg::R5, 8);
        self.field(Reg::R1, area);
        let code = &mut self.code;
        code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, advance);
        code.load(Size::Four, Reg::R1, Reg::R5, 12);
        code.alu_immediate(Alu::Lsh, Reg::R1, 32);
        code.alu_immediate(Alu::Arsh, Reg::R1, 32);
        code.alu(Alu::Add, Reg::R0, Reg::R1);
        code.store(Size::Eight, Reg::R7, ADDRESS, Reg::R0);
        if has_blocks {
            self.enter_block(input, table, area, advance);
        }
        let code = &mut self.code;
        code.load(Size::Four, Reg::R2, Reg::R5, 16);
        code.copy(Reg::R1, Reg::R4);
        code.alu_immediate(Alu::Rsh, Reg::R1, 8);
        code.alu_immediate(Alu::And, Reg::R1, 0x3f);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R1, TEXT as i32, text);
        code.set(Reg::R0, 1);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R1, ONE as i32, counted);
        code.store(Size::Eight, Reg::R7, TOUCHED, Reg::R1);
        code.load(Size::Four, Reg::R1, Reg::R5, 20);
        self.field(Reg::R1, area);
        let code = &mut self.code;
        let number = code.label();
        code.load(Size::Eight, Reg::R1, Reg::R7, TOUCHED);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R1, NUMBER as i32, counted);
        code.jump_if_immediate(JumpCondition::NotEqual, Reg::R1, UNTIL as i32, number);
        code.load(Size::Eight, Reg::R1, Reg::R7, ADDRESS);
        code.alu(Alu::Sub, Reg::R0, Reg::R1);
        code.copy(Reg::R1, Reg::R4);
        code.alu_immediate(Alu::Rsh, Reg::R1, 32);
        code.alu(Alu::Div, Reg::R0, Reg::R1);
        code.jump(counted);
        code.place(number);
        code.alu_immediate(Alu::Add, Reg::R0, 1);
        code.place(counted);
        if has_blocks {
            self.end_with_block();
        }
        self.skip_elements(area, has_blocks);
        let code = &mut self.code;
        code.jump_if(JumpCondition::LessEqual, Reg::R0, Reg::R2, within);
        code.copy(Reg::R0, Reg::R2);
        code.place(within);
        code.copy(Reg::R1, Reg::R4);
        code.alu_immediate(Alu::Rsh, Reg::R1, 32);
        code.copy(Reg::R2, Reg::R0);
        code.alu(Alu::Mul, Reg::R2, Reg::R1);
        self.room(input, advance);
        let code = &mut self.code;
        code.jump_if(JumpCondition::LessEqual, Reg::R2, Reg::R5, fits);
        // As many whole elements as there is room for.
        code.copy(Reg::R2, Reg::R5);
        code.alu(Alu::Div, Reg::R2, Reg::R1);
        code.alu(Alu::Mul, Reg::R2, Reg::R1);
        code.place(fits);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R2, 0, advance);
        code.alu_immediate(Alu::And, Reg::R2, area - 1);
        code.store(Size::Eight, Reg::R7, LENGTH, Reg::R2);
        let begins = code.label();
        code.copy(Reg::R1, Reg::R4);
        code.alu_immediate(Alu::And, Reg::R1, BEFORE as i32);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, begins);
        code.load(Size::Eight, Reg::R1, Reg::R7, ADDRESS);
        code.alu(Alu::Sub, Reg::R1, Reg::R2);
        code.store(Size::Eight, Reg::R7, ADDRESS, Reg::R1);
        code.place(begins);
        code.alu_immediate(Alu::Rsh, Reg::R4, 16);
        code.alu_immediate(Alu::And, Reg::R4, 0xffff);
        code.alu_immediate(Alu::Lsh, Reg::R4, 32);
        code.alu(Alu::Or, Reg::R4, Reg::R2);
        self.begin_chunk(area, Some(Reg::R4));
        self.copy_from_program();
        let code = &mut self.code;
        code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, failed);
        code.load(Size::Eight, Reg::R2, Reg::R7, LENGTH);
        code.place(add);
        code.alu_immediate(Alu::Add, Reg::R2, i32::from(CHUNK_HEADER) + 7);
        code.alu_immediate(Alu::And, Reg::R2, -8);
        code.load(Size::Eight, Reg::R1, Reg::R7, USED);
        code.alu(Alu::Add, Reg::R1, Reg::R2);
        code.store(Size::Eight, Reg::R7, USED, Reg::R1);
        code.jump(next);

        code.place(failed);
        code.load(Size::Eight, Reg::R3, Reg::R7, USED);
        self.chunk(Reg::R3, area);
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R1, Reg::R7, LENGTH);
        code.alu_immediate(Alu::Lsh, Reg::R1, (UNREADABLE_SIZE_BIT - UNREADABLE_BIT) as i32);
        code.alu_immediate(Alu::Or, Reg::R1, 1);
        code.alu_immediate(Alu::Lsh, Reg::R1, UNREADABLE_BIT as i32);
        code.store(Size::Eight, Reg::R3, CHUNKS + 8, Reg::R1);
        code.set(Reg::R2, 0);
        code.jump(add);

        // A text up to its NUL: only a read that does not sleep ends there.
        code.place(text);
        code.store(Size::Eight, Reg::R7, LENGTH, Reg::R2);
        if self.target.is_sleepable {
            for is_last in [false, true] {
                let code = &mut self.code;
                code.load(Size::Eight, Reg::R3, Reg::R7, ADDRESS);
                if is_last {
                    code.load(Size::Eight, Reg::R1, Reg::R7, LENGTH);
                    code.alu(Alu::Add, Reg::R3, Reg::R1);
                    code.alu_immediate(Alu::Sub, Reg::R3, 1);
                }
                code.copy(Reg::R1, Reg::R7);
                code.alu_immediate(Alu::Add, Reg::R1, TOUCHED.into());
                code.set(Reg::R2, 1);
                code.call(Helper::CopyFromUser);
            }
        }
        self.room(input, advance);
        let code = &mut self.code;
        let is_short = code.label();
        code.load(Size::Eight, Reg::R2, Reg::R7, LENGTH);
        code.jump_if(JumpCondition::LessEqual, Reg::R2, Reg::R5, is_short);
        code.copy(Reg::R2, Reg::R5);
        code.place(is_short);
        code.alu_immediate(Alu::And, Reg::R2, area - 1);
        code.store(Size::Eight, Reg::R7, LENGTH, Reg::R2);
        self.begin_chunk(area, None);
        let code = &mut self.code;
        let has_end = code.label();
        code.call(Helper::ProbeReadUserStr);
        code.jump_if_immediate(JumpCondition::SignedLess, Reg::R0, 0, failed);
        // The last byte is a NUL that the kernel has put there, or that of the text.
        code.load(Size::Eight, Reg::R1, Reg::R7, LENGTH);
        code.jump_if(JumpCondition::Less, Reg::R0, Reg::R1, has_end);
        code.alu_immediate(Alu::Sub, Reg::R0, 1);
        code.place(has_end);
        code.alu_immediate(Alu::And, Reg::R0, area - 1);
        code.load(Size::Eight, Reg::R3, Reg::R7, USED);
        self.chunk(Reg::R3, area);
        let code = &mut self.code;
        code.store(Size::Eight, Reg::R3, CHUNKS + 8, Reg::R0);
        code.copy(Reg::R2, Reg::R0);
        code.jump(add);
    }

    /// Begins the chunk at the offset in `R3`, with the address that is read and what its header says of
    /// it. `R1` is where its bytes go, and `R3` the address. `R4` and `R5` are overwritten.
    fn begin_chunk(&mut self, area: i32, length_and_steps: Option<Reg>) {
        self.next_step(Reg::R5);
        self.chunk(Reg::R3, area);
        let code = &mut self.code;
        if let Some(word) = length_and_steps {
            code.store(Size::Eight, Reg::R3, CHUNKS + 8, word);
        }
        code.copy(Reg::R1, Reg::R3);
        code.alu_immediate(Alu::Add, Reg::R1, i32::from(CHUNKS) + i32::from(CHUNK_HEADER));
        code.load(Size::Eight, Reg::R4, Reg::R7, ADDRESS);
        code.store(Size::Eight, Reg::R3, CHUNKS, Reg::R4);
        code.copy(Reg::R3, Reg::R4);
    }

    /// Goes on to the first step of the elements of the chunk at `R3`.
    fn first_step(&mut self, next: Label) {
        self.code.load(Size::Two, Reg::R1, Reg::R3, CHUNKS + 12);
        self.code.store(Size::Eight, Reg::R7, STEP, Reg::R1);
        self.code.jump(next);
    }

    /// `R5 = the address of the next step`, `R4 = its first word`. `R1` is overwritten.
    pub(super) fn step(&mut self, input: &WholeInput, table: &ReadTable) {
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R1, Reg::R7, STEP);
        code.alu_immediate(Alu::And, Reg::R1, map_steps(table) as i32 - 1);
        code.alu_immediate(Alu::Lsh, Reg::R1, STEP_SIZE_BITS);
        code.set_map_value(Reg::R5, Map::Steps(u32::try_from(input.reads).unwrap_or(u32::MAX)));
        code.alu(Alu::Add, Reg::R5, Reg::R1);
        code.load(Size::Eight, Reg::R4, Reg::R5, 0);
    }

    /// `R3 = bytes of chunks that there are`, `R5 = bytes that the next chunk has room for`. Goes on
    /// elsewhere if there is no room for one.
    fn room(&mut self, input: &WholeInput, none: Label) {
        let most = i32::from(input.most.min(MAX_WHOLE).saturating_sub(CHUNK_HEADER));
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R3, Reg::R7, USED);
        code.jump_if_immediate(JumpCondition::GreaterEqual, Reg::R3, most, none);
        code.set(Reg::R5, most as u64);
        code.alu(Alu::Sub, Reg::R5, Reg::R3);
    }

    /// Replaces the offset of a chunk in a register with its address less [`CHUNKS`].
    pub(super) fn chunk(&mut self, register: Reg, area: i32) {
        self.code.alu_immediate(Alu::And, register, area - 8);
        self.code.alu(Alu::Add, register, Reg::R7);
    }

    /// `R0 = the 8 bytes at an offset in the element`. `R1` and `R3` are overwritten.
    pub(super) fn field(&mut self, offset: Reg, area: i32) {
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R3, Reg::R7, CHUNK);
        code.alu(Alu::Add, Reg::R3, offset);
        code.load(Size::Eight, Reg::R1, Reg::R7, ELEMENT);
        code.alu(Alu::Add, Reg::R3, Reg::R1);
        code.alu_immediate(Alu::Add, Reg::R3, CHUNK_HEADER.into());
        code.alu_immediate(Alu::And, Reg::R3, area - 1);
        code.alu(Alu::Add, Reg::R3, Reg::R7);
        code.load(Size::Eight, Reg::R0, Reg::R3, CHUNKS);
    }

    /// Goes on to the next step.
    fn next_step(&mut self, free: Reg) {
        self.code.load(Size::Eight, free, Reg::R7, STEP);
        self.code.alu_immediate(Alu::Add, free, 1);
        self.code.store(Size::Eight, Reg::R7, STEP, free);
    }
}

/// `R7 = address of the slot` whose number is on the stack.
fn look_up_slot(code: &mut Assembler, key: i16, none: Label) {
    code.set_map(Reg::R1, Map::Slots);
    code.copy(Reg::R2, Reg::Frame);
    code.alu_immediate(Alu::Add, Reg::R2, key.into());
    code.call(Helper::MapLookupElem);
    code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, none);
    code.copy(Reg::R7, Reg::R0);
}

/// Gives up the slot at `R1`.
fn free_slot(code: &mut Assembler) {
    code.set(Reg::R2, u64::MAX);
    code.fetch_and_add(Reg::R1, OWNER, Reg::R2);
}
