//! What a thread did during an interval: the part of the programs that count which tells it.
//!
//! At a hit, a thread is on a CPU. So how long it waited for one is what the kernel says
//! (`sched_info.run_delay`), and how long it was off the CPUs is what `super::off_cpu` notes. Both and the
//! time must be of one moment: they are read again if the thread has left its CPU meanwhile.

use super::instruction::{Alu, Helper, JumpCondition as Jump, Map, NO_EXIST, Reg, Size};
use super::off_cpu::WaitOffsets;
use super::program::Program;
use super::stack_sums::{SumWords, add_blocked};
use crate::aggregate::{
    FIRST_NOTED, IntervalPart, LAST, NOTHING, OFF, OFF_CPU_SIZE, OPEN, PART_LONGEST, PART_SHORTEST, PART_SUM, SINCE,
    STACKS, START_OFF, START_QUEUED, START_SIZE, START_TASK, SUM_BUCKET, UNKNOWN,
};
use crate::histogram::FINE;
use crate::plan::Uncompilable;

/// How often it is read.
const TRIES: usize = 3;

/// The words of the stack with what is noted where intervals end.
#[derive(Clone, Copy)]
pub(super) struct SplitWords {
    /// How long the thread was off the CPUs; [`UNKNOWN`] if it is not known.
    off: i16,
    /// How long it waited for a CPU.
    queued: i16,
    /// When the thread was first noted.
    first_noted: i16,
}

impl Program<'_> {
    /// Notes how long the thread was off the CPUs at the time in a word, which is set anew if it has left its CPU
    /// since. `has_stacks` says that the stacks are noted with which it is blocked.
    pub(super) fn passed_off(&mut self, time: i16, has_stacks: bool) -> Result<SplitWords, Uncompilable> {
        let words = SplitWords { off: self.stack.push()?, queued: self.stack.push()?, first_noted: self.stack.push()? };
        let SplitWords { off, queued, first_noted } = words;
        let (unknown, is_read, done) = (self.code.label(), self.code.label(), self.code.label());
        self.code.call(Helper::GetCurrentTask);
        self.code.store(Size::Eight, Reg::Frame, queued, Reg::R0);
        self.map_and_key(Map::OffCpu, queued);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(Jump::Equal, Reg::R0, 0, unknown);
        self.code.copy(Reg::R8, Reg::R0);
        self.code.load(Size::Eight, Reg::R1, Reg::R8, FIRST_NOTED);
        self.code.store(Size::Eight, Reg::Frame, first_noted, Reg::R1);
        for attempt in 1..=TRIES {
            self.read_off(off, queued)?;
            if attempt < TRIES {
                self.code.load(Size::Eight, Reg::R1, Reg::R8, LAST);
                self.code.load(Size::Eight, Reg::R2, Reg::Frame, time);
                self.code.jump_if(Jump::LessEqual, Reg::R1, Reg::R2, is_read);
                self.code.call(Helper::KtimeGetNs);
                self.code.store(Size::Eight, Reg::Frame, time, Reg::R0);
            }
        }
        self.code.place(is_read);
        if has_stacks {
            self.add_last_time()?;
        }
        self.code.jump(done);
        self.code.place(unknown);
        self.code.set(Reg::R1, UNKNOWN);
        self.code.store(Size::Eight, Reg::Frame, off, Reg::R1);
        self.code.store(Size::Eight, Reg::Frame, first_noted, Reg::R1);
        self.code.place(done);
        Ok(words)
    }

    /// Adds the last time off a CPU of this thread, whose value in `Map::OffCpu` is in `R8`, to the sum of its stacks.
    fn add_last_time(&mut self) -> Result<(), Uncompilable> {
        let WaitOffsets { run_delay, last_arrival } = self.waits.ok_or(Uncompilable::Types)?;
        let (stack, done) = (self.stack.clone(), self.code.label());
        let words = SumWords { key: self.push(16)?, value: self.push(16)? };
        self.stack = stack;
        self.read_task(last_arrival, words.value);
        self.read_task(run_delay, words.key);
        self.code.load(Size::Eight, Reg::R2, Reg::Frame, words.value);
        self.code.load(Size::Eight, Reg::R1, Reg::R8, SINCE);
        self.code.jump_if_immediate(Jump::Equal, Reg::R1, 0, done);
        self.code.alu(Alu::Sub, Reg::R2, Reg::R1);
        self.code.store(Size::Eight, Reg::Frame, words.value, Reg::R2);
        self.code.load(Size::Eight, Reg::R3, Reg::Frame, words.key);
        add_blocked(&mut self.code, words);
        self.code.place(done);
        Ok(())
    }

    /// Notes that an interval is open in this thread, whose `task_struct` is in a start on the stack.
    pub(super) fn opens(&mut self, start: i16) {
        let unknown = self.code.label();
        self.map_and_key(Map::OffCpu, start + START_SIZE as i16 + START_TASK);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(Jump::Equal, Reg::R0, 0, unknown);
        self.code.set(Reg::R1, 1);
        self.code.add_atomically(Reg::R0, OPEN, Reg::R1);
        self.code.place(unknown);
    }

    /// Notes that an interval is not open any more, which began at the time in `R7` in the thread whose `task_struct`
    /// is in a word.
    pub(super) fn closes(&mut self, task: i16) {
        let unknown = self.code.label();
        self.map_and_key(Map::OffCpu, task);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(Jump::Equal, Reg::R0, 0, unknown);
        // It was not noted then, or another thread has the address now.
        self.code.load(Size::Eight, Reg::R1, Reg::R0, FIRST_NOTED);
        self.code.jump_if(Jump::Greater, Reg::R1, Reg::R7, unknown);
        self.code.set(Reg::R1, u64::MAX);
        self.code.add_atomically(Reg::R0, OPEN, Reg::R1);
        self.code.place(unknown);
    }

    /// The same for the interval whose start has a key, if one has it.
    pub(super) fn closes_at(&mut self, key: i16) -> Result<(), Uncompilable> {
        let (task, absent) = (self.stack.push()?, self.code.label());
        self.map_and_key(Map::Starts, key);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(Jump::Equal, Reg::R0, 0, absent);
        self.code.load(Size::Eight, Reg::R7, Reg::R0, 0);
        self.code.load(Size::Eight, Reg::R1, Reg::R0, START_SIZE as i16 + START_TASK);
        self.code.store(Size::Eight, Reg::Frame, task, Reg::R1);
        self.closes(task);
        self.code.place(absent);
        self.stack.pop();
        Ok(())
    }

    /// Notes in a start on the stack the time, and how long the thread was off the CPUs until then. From now on
    /// this is noted of the thread.
    pub(super) fn starts_off(&mut self, start: i16) -> Result<(), Uncompilable> {
        let split = start + START_SIZE as i16;
        let (task, off, queued) = (split + START_TASK, split + START_OFF, split + START_QUEUED);
        let stack = self.stack.clone();
        let value = self.push(OFF_CPU_SIZE)?;
        self.stack = stack;
        let (known, unknown, done) = (self.code.label(), self.code.label(), self.code.label());
        self.code.call(Helper::GetCurrentTask);
        self.code.store(Size::Eight, Reg::Frame, task, Reg::R0);
        self.map_and_key(Map::OffCpu, task);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(Jump::NotEqual, Reg::R0, 0, known);
        self.code.call(Helper::KtimeGetNs);
        for word in (0..OFF_CPU_SIZE as i16).step_by(8).filter(|word| *word != FIRST_NOTED) {
            self.code.store_immediate(Size::Eight, Reg::Frame, value + word, 0);
        }
        self.code.store(Size::Eight, Reg::Frame, value + FIRST_NOTED, Reg::R0);
        self.code.store_immediate(Size::Eight, Reg::Frame, value + STACKS, NOTHING as i32);
        self.update(Map::OffCpu, task, value, NO_EXIST);
        self.map_and_key(Map::OffCpu, task);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(Jump::Equal, Reg::R0, 0, unknown);
        self.code.place(known);
        self.code.copy(Reg::R8, Reg::R0);
        for attempt in 1..=TRIES {
            self.code.load(Size::Eight, Reg::R7, Reg::R8, LAST);
            self.read_off(off, queued)?;
            self.code.call(Helper::KtimeGetNs);
            self.code.store(Size::Eight, Reg::Frame, start, Reg::R0);
            if attempt < TRIES {
                self.code.load(Size::Eight, Reg::R1, Reg::R8, LAST);
                self.code.jump_if(Jump::Equal, Reg::R1, Reg::R7, done);
            }
        }
        self.code.jump(done);
        self.code.place(unknown);
        self.code.call(Helper::KtimeGetNs);
        self.code.store(Size::Eight, Reg::Frame, start, Reg::R0);
        self.code.set(Reg::R1, UNKNOWN);
        self.code.store(Size::Eight, Reg::Frame, off, Reg::R1);
        self.code.store(Size::Eight, Reg::Frame, queued, Reg::R1);
        self.code.place(done);
        Ok(())
    }

    /// Notes how long this thread, whose value in `Map::OffCpu` is in `R8`, was off the CPUs and waited for one.
    fn read_off(&mut self, off: i16, queued: i16) -> Result<(), Uncompilable> {
        let WaitOffsets { run_delay, last_arrival } = self.waits.ok_or(Uncompilable::Types)?;
        let done = self.code.label();
        self.code.load(Size::Eight, Reg::R1, Reg::R8, SINCE);
        self.code.load(Size::Eight, Reg::R2, Reg::R8, OFF);
        self.code.store(Size::Eight, Reg::Frame, off, Reg::R2);
        self.code.jump_if_immediate(Jump::Equal, Reg::R1, 0, done);
        self.read_task(last_arrival, queued);
        self.code.load(Size::Eight, Reg::R2, Reg::Frame, queued);
        self.code.load(Size::Eight, Reg::R1, Reg::R8, SINCE);
        self.code.jump_if(Jump::SignedLessEqual, Reg::R2, Reg::R1, done);
        self.code.alu(Alu::Sub, Reg::R2, Reg::R1);
        self.code.load(Size::Eight, Reg::R1, Reg::Frame, off);
        self.code.alu(Alu::Add, Reg::R1, Reg::R2);
        self.code.store(Size::Eight, Reg::Frame, off, Reg::R1);
        self.code.place(done);
        self.read_task(run_delay, queued);
        Ok(())
    }

    /// Reads a number of 8 bytes of this thread to a word of the stack.
    fn read_task(&mut self, offset: u32, word: i16) {
        self.code.call(Helper::GetCurrentTask);
        self.code.copy(Reg::R3, Reg::R0);
        self.code.alu_immediate(Alu::Add, Reg::R3, i32::try_from(offset).unwrap_or(i32::MAX));
        self.code.copy(Reg::R1, Reg::Frame);
        self.code.alu_immediate(Alu::Add, Reg::R1, word.into());
        self.code.set(Reg::R2, 8);
        self.code.call(Helper::ProbeReadKernel);
    }

    /// Adds the parts of an interval, whose time is in `R8`, and which began at the time in `R7`. `start` is what
    /// was noted at its start, `value` the key of the value that times are counted by, and `word` a free one.
    pub(super) fn split_interval(
        &mut self,
        start: i16,
        end: SplitWords,
        value: Option<i16>,
        word: i16,
    ) -> Result<(), Uncompilable> {
        let whole = self.end;
        self.code.store_immediate(Size::Eight, Reg::Frame, word, 0);
        self.map_and_key(Map::Parts, word);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(Jump::Equal, Reg::R0, 0, whole);
        self.code.copy(Reg::R9, Reg::R0);
        self.code.add_atomically(Reg::R9, 0, Reg::R8);
        // It began in another thread, or in an earlier one with this number.
        self.code.call(Helper::GetCurrentTask);
        self.code.load(Size::Eight, Reg::R1, Reg::Frame, start + START_TASK);
        self.code.jump_if(Jump::NotEqual, Reg::R0, Reg::R1, whole);
        self.code.load(Size::Eight, Reg::R1, Reg::Frame, end.first_noted);
        self.code.jump_if(Jump::Greater, Reg::R1, Reg::R7, whole);
        self.code.load(Size::Eight, Reg::R1, Reg::Frame, start + START_OFF);
        self.code.jump_if_immediate(Jump::Equal, Reg::R1, -1, whole);
        self.code.load(Size::Eight, Reg::R2, Reg::Frame, end.off);
        self.code.alu(Alu::Sub, Reg::R2, Reg::R1);
        self.at_most(Reg::R2, Reg::R8);
        self.code.load(Size::Eight, Reg::R3, Reg::Frame, end.queued);
        self.code.load(Size::Eight, Reg::R1, Reg::Frame, start + START_QUEUED);
        self.code.alu(Alu::Sub, Reg::R3, Reg::R1);
        self.at_most(Reg::R3, Reg::R2);
        self.code.alu(Alu::Sub, Reg::R8, Reg::R2);
        self.code.alu(Alu::Sub, Reg::R2, Reg::R3);
        // The words of the start are not needed any more.
        let parts = IntervalPart::ALL.into_iter().zip([start, start + 8, start + 16]);
        for ((_, part), register) in parts.clone().zip([Reg::R8, Reg::R3, Reg::R2]) {
            self.code.store(Size::Eight, Reg::Frame, part, register);
        }
        for (part, time) in parts {
            self.add_part(part, time, value)?;
        }
        Ok(())
    }

    /// `number = most` if it is more, and 0 if it is negative.
    fn at_most(&mut self, number: Reg, most: Reg) {
        let (is_positive, is_less) = (self.code.label(), self.code.label());
        self.code.jump_if_immediate(Jump::SignedGreaterEqual, number, 0, is_positive);
        self.code.set(number, 0);
        self.code.place(is_positive);
        self.code.jump_if(Jump::LessEqual, number, most, is_less);
        self.code.copy(number, most);
        self.code.place(is_less);
    }

    /// Adds a part of an interval to the value of `Map::Parts` in `R9`, and to those of the value in a key.
    fn add_part(&mut self, part: IntervalPart, time: i16, value: Option<i16>) -> Result<(), Uncompilable> {
        let end = self.end;
        self.code.load(Size::Eight, Reg::R8, Reg::Frame, time);
        self.code.add_atomically(Reg::R9, part.offset() + PART_SUM, Reg::R8);
        self.fine_bucket();
        // For the verifier.
        self.code.jump_if_immediate(Jump::GreaterEqual, Reg::R2, FINE as i32, end);
        if let Some(value) = value {
            self.code.store(Size::Four, Reg::Frame, value, Reg::R2);
            self.code.store_immediate(Size::Four, Reg::Frame, value + 4, part.number() as i32);
        }
        self.code.alu_immediate(Alu::Lsh, Reg::R2, 3);
        self.code.alu(Alu::Add, Reg::R2, Reg::R9);
        self.code.set(Reg::R1, 1);
        self.code.add_atomically(Reg::R2, part.offset(), Reg::R1);
        self.code.copy(Reg::R1, Reg::R9);
        self.raise_at(part.offset() + PART_LONGEST);
        self.code.alu_immediate(Alu::Xor, Reg::R8, -1);
        self.raise_at(part.offset() + PART_SHORTEST);
        let Some(value) = value else { return Ok(()) };
        for amount in [None, Some(time)] {
            let next = self.code.label();
            if amount.is_some() {
                self.code.load(Size::Eight, Reg::R1, Reg::Frame, time);
                self.code.jump_if_immediate(Jump::Equal, Reg::R1, 0, next);
                self.code.store_immediate(Size::Four, Reg::Frame, value, SUM_BUCKET as i32);
            }
            self.add_to_values(value, amount, next)?;
            self.code.jump(end);
            self.code.place(next);
        }
        Ok(())
    }
}
