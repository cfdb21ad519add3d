//! A BPF program that is being written: what the programs that write records and those that count
//! share.

use std::sync::Arc;

use simple_markers_resolver::location::Expr;
use simple_markers_resolver::types::ReadTable;

use super::assembler::{Assembler, Code, Label, TooLong};
use super::expression::{Compiler, EntryWords, StackAllocator, Target};
use super::instruction::{Alu, Helper, JumpCondition, Map, Reg, Size};
use super::off_cpu::WaitOffsets;
use crate::aggregate::Tally;
use crate::plan::{Aggregate, Condition, ContextNumber, FieldPlace, Input, MAX_WORDS, Uncompilable};
use crate::record::stack::StackSettings;

/// Why there is no program for a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramError {
    /// The inputs take more than [`MAX_WORDS`] words.
    TooManyFields,
    /// The program is too long.
    TooLong,
}

impl From<TooLong> for ProgramError {
    fn from(_: TooLong) -> Self {
        Self::TooLong
    }
}

/// The word of the stack with the number of the site, or of the process.
pub(super) const KEY: i16 = -8;
/// The first word of the stack after it.
pub(super) const FIRST: i16 = 16;

/// The process numbers are less (`PID_MAX_LIMIT` of the kernel, a power of two).
pub(crate) const MAX_PROCESSES: u32 = 1 << 22;

/// Which processes the programs look at. They end at once in others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessFilter {
    /// All.
    All,
    /// Those in [`Map::Processes`].
    Set,
    /// Those in a control group of version 2, and in the groups below it.
    Group {
        /// Its number.
        id: u64,
        /// How many groups are above it.
        level: u32,
    },
}

/// The programs of a session.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSettings {
    /// Which processes are traced.
    pub processes: ProcessFilter,
    /// What the record of a hit has of stacks.
    pub stacks: StackSettings,
    /// Where the kernel keeps how long threads wait for CPUs; `None` if no interval is split.
    pub waits: Option<WaitOffsets>,
}

/// What a program does at one of the sites of its address, in the order of the sites.
#[derive(Clone, Copy, Debug)]
pub struct Section<'p> {
    /// The number of the site less that of the first section.
    pub distance: u32,
    /// What is read.
    pub inputs: &'p [Input],
    /// The hits that are wanted; `None` for all.
    pub filter: Option<&'p Condition>,
    /// What is counted, and the group of the marker, if hits are counted.
    pub aggregate: &'p Aggregate,
    /// The group of the marker.
    pub group: u32,
    /// What is read of whole values, by number.
    pub reads: &'p [Arc<ReadTable>],
    /// The frame of the site, if an input has values of its entry.
    pub frame: Option<FrameLookup<'p>>,
}

/// The frame of a site, and what is read of its entry.
#[derive(Clone, Copy, Debug)]
pub struct FrameLookup<'p> {
    /// The number of the entry.
    pub entry: u32,
    /// The stack pointer at the entry, computed at the site.
    pub stack_pointer: &'p Expr,
    /// The values that are noted at the entry.
    pub values: &'p [Expr],
}

/// The program that does nothing.
///
/// # Errors
///
/// Never in practice: the program has two instructions.
pub fn nothing() -> Result<Code, ProgramError> {
    let mut code = Assembler::default();
    code.set(Reg::R0, 0);
    code.exit();
    Ok(code.finish()?)
}

/// A program that exchanges a value atomically, which not every kernel can.
///
/// # Errors
///
/// Never in practice: the program has a few instructions.
pub fn exchange() -> Result<Code, ProgramError> {
    let mut code = Assembler::default();
    code.store_immediate(Size::Eight, Reg::Frame, -8, 0);
    code.set(Reg::R0, 0);
    code.set(Reg::R1, 1);
    code.exchange_atomically(Reg::Frame, -8, Reg::R1);
    code.exit();
    Ok(code.finish()?)
}

/// A program that finds the registers with which the kernel was entered, which not every kernel can.
///
/// # Errors
///
/// Never in practice: the program has a few instructions.
pub fn find_registers() -> Result<Code, ProgramError> {
    let mut code = Assembler::default();
    code.call(Helper::GetCurrentTaskBtf);
    code.copy(Reg::R1, Reg::R0);
    code.call(Helper::TaskPtRegs);
    code.set(Reg::R0, 0);
    code.exit();
    Ok(code.finish()?)
}

/// The stack words of an input: its value or address, and its length.
pub(super) type Words = (i16, Option<i16>);

/// Sets `R1` to the address of the byte of a process in [`Map::Processes`].
pub(crate) fn process_byte(code: &mut Assembler, process: Reg) {
    // The verifier does not know that the number is less.
    code.alu_immediate(Alu::And, process, MAX_PROCESSES as i32 - 1);
    code.set_map_value(Reg::R1, Map::Processes);
    code.alu(Alu::Add, Reg::R1, process);
}

/// Jumps to a label if the thread that runs is not in a control group.
pub(crate) fn require_group(code: &mut Assembler, id: u64, level: u32, outside: Label) {
    code.set(Reg::R1, level.into());
    code.call(Helper::GetCurrentAncestorCgroupId);
    code.set(Reg::R1, id);
    code.jump_if(JumpCondition::NotEqual, Reg::R0, Reg::R1, outside);
}

/// A program that is being written. `R6` has the context, `R7` the record, `R9` the bits of the
/// fields that could not be read.
pub(super) struct Program<'t> {
    pub(super) code: Assembler,
    pub(super) target: &'t Target,
    pub(super) waits: Option<WaitOffsets>,
    /// What is read of whole values, by number.
    reads: &'t [Arc<ReadTable>],
    /// The most rounds of the loop for a whole value.
    pub(super) rounds: i32,
    /// The stack words with the addresses of slots.
    pub(super) slots: Vec<i16>,
    pub(super) stack: StackAllocator,
    /// Where the program ends in other processes.
    exit: Label,
    /// Where the section ends.
    pub(super) end: Label,
    /// The distance of the section.
    distance: u32,
    /// The stack words of the inputs that are computed.
    pub(super) words: Vec<Option<Words>>,
    /// The inputs that may be unread.
    uncertain: u64,
    /// The stack words of values of the entry of the function.
    pub(super) entered: Vec<(Expr, i16)>,
    /// The stack words of what the kernel knows of the thread.
    contexts: Vec<(ContextNumber, i16)>,
}

impl<'t> Program<'t> {
    /// Ends at once in other processes, and leaves the number of the site in the word [`KEY`].
    ///
    /// `other_thread` is the offset in the context of the number of another thread that counts.
    pub(super) fn new(target: &'t Target, settings: ProgramSettings, other_thread: Option<u16>) -> Self {
        let mut code = Assembler::default();
        let (exit, end) = (code.label(), code.label());
        code.copy(Reg::R6, Reg::R1);
        match settings.processes {
            ProcessFilter::All => {}
            ProcessFilter::Set => {
                let is_traced = code.label();
                code.call(Helper::GetCurrentPidTgid);
                code.alu_immediate(Alu::Rsh, Reg::R0, 32);
                process_byte(&mut code, Reg::R0);
                code.load(Size::One, Reg::R1, Reg::R1, 0);
                if let Some(offset) = other_thread {
                    code.jump_if_immediate(JumpCondition::NotEqual, Reg::R1, 0, is_traced);
                    code.load(Size::Four, Reg::R0, Reg::R6, offset as i16);
                    process_byte(&mut code, Reg::R0);
                    code.load(Size::One, Reg::R1, Reg::R1, 0);
                }
                code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, exit);
                code.place(is_traced);
            }
            // The kernel does not tell the group of another thread.
            ProcessFilter::Group { id, level } => require_group(&mut code, id, level, exit),
        }
        code.copy(Reg::R1, Reg::R6);
        code.call(Helper::GetAttachCookie);
        code.store(Size::Four, Reg::Frame, KEY, Reg::R0);
        let stack = StackAllocator::new(FIRST);
        let (words, slots) = (Vec::new(), Vec::new());
        let (entered, contexts, waits) = (Vec::new(), Vec::new(), settings.waits);
        let (rounds, distance, uncertain) = (0, 0, 0);
        Self {
            code,
            target,
            waits,
            reads: &[],
            rounds,
            slots,
            stack,
            exit,
            end,
            distance,
            words,
            uncertain,
            entered,
            contexts,
        }
    }

    /// Ends a section and begins another one. `stack` is what they share of the stack.
    pub(super) fn begin(&mut self, section: &Section<'t>, stack: &StackAllocator) {
        let more = section.distance.saturating_sub(self.distance);
        if more > 0 {
            self.code.place(self.end);
            self.end = self.code.label();
            self.code.load(Size::Four, Reg::R1, Reg::Frame, KEY);
            self.code.alu_immediate(Alu::Add, Reg::R1, i32::try_from(more).unwrap_or(i32::MAX));
            self.code.store(Size::Four, Reg::Frame, KEY, Reg::R1);
        }
        self.distance = section.distance;
        self.stack = stack.clone();
        (self.words, self.uncertain) = (Vec::new(), 0);
        (self.reads, self.slots) = (section.reads, Vec::new());
        (self.entered, self.contexts) = (Vec::new(), Vec::new());
    }

    pub(super) fn finish(mut self) -> Result<Code, TooLong> {
        self.code.place(self.end);
        self.code.place(self.exit);
        self.code.set(Reg::R0, 0);
        self.code.exit();
        self.code.finish()
    }

    /// Prepares `R9`, and reads the values of the entry. `is_tested` says that the program tests its bits.
    pub(super) fn start_inputs(
        &mut self,
        inputs: &[Input],
        is_tested: bool,
        frame: Option<&FrameLookup<'_>>,
    ) -> Result<(), Uncompilable> {
        self.words = vec![None; inputs.len()];
        self.code.set(Reg::R9, 0);
        if is_tested {
            // The number of a process has less than 31 bits, so this is 0. The verifier does not know
            // it, and so does not try all combinations of the bits.
            self.code.call(Helper::GetCurrentPidTgid);
            self.code.copy(Reg::R9, Reg::R0);
            self.code.alu_immediate(Alu::Rsh, Reg::R9, 63);
            self.code.alu(Alu::Mul, Reg::R9, Reg::R0);
        }
        frame.map_or(Ok(()), |frame| self.read_entry(frame))
    }

    /// Computes inputs that are not computed yet.
    pub(super) fn prepare_all(&mut self, inputs: &[Input], which: &[usize]) -> Result<(), Uncompilable> {
        for index in which {
            let Some(input) = inputs.get(*index) else { continue };
            if self.words.get(*index).is_some_and(Option::is_none) {
                let words = self.prepare(input, *index)?;
                if let Some(known) = self.words.get_mut(*index) {
                    *known = Some(words);
                }
            }
        }
        Ok(())
    }

    /// Notes what the kernel knows of the thread.
    pub(super) fn note_contexts(&mut self, which: &[ContextNumber]) -> Result<(), Uncompilable> {
        for of in which {
            if self.contexts.iter().any(|(known, _)| known == of) {
                continue;
            }
            let word = self.stack.push()?;
            let code = &mut self.code;
            code.call(match of {
                ContextNumber::Process | ContextNumber::Thread => Helper::GetCurrentPidTgid,
                ContextNumber::Cpu => Helper::GetSmpProcessorId,
                ContextNumber::Group => Helper::GetCurrentCgroupId,
            });
            // The thread is the lower half.
            if *of == ContextNumber::Process {
                code.alu_immediate(Alu::Rsh, Reg::R0, 32);
            }
            code.store(Size::Eight, Reg::Frame, word, Reg::R0);
            self.contexts.push((*of, word));
        }
        Ok(())
    }

    /// The word of the stack with what the kernel knows of the thread.
    pub(super) fn context(&self, of: ContextNumber) -> i16 {
        self.contexts.iter().find(|(known, _)| *known == of).map_or(KEY, |(_, word)| *word)
    }

    /// The word of the stack with the number or the address of an input.
    pub(super) fn word(&self, index: usize) -> i16 {
        self.words.get(index).copied().flatten().map_or(KEY, |(word, _)| word)
    }

    /// Jumps to a label if an input could not be read.
    pub(super) fn require(&mut self, index: usize, unread: Label) {
        let bit = index.min(MAX_WORDS);
        if self.uncertain >> bit & 1 == 1 {
            self.code.jump_if_immediate(JumpCondition::Test, Reg::R9, 1 << bit, unread);
        }
    }

    /// Adds 1 to a tally of the site.
    pub(super) fn add_one_to(&mut self, tally: Tally) {
        self.add_one_at(Map::Tallies, tally.offset());
    }

    /// Adds 1 to the value of a map at the number of the site.
    pub(super) fn add_one(&mut self, map: Map) {
        self.add_one_at(map, 0);
    }

    fn add_one_at(&mut self, map: Map, offset: i16) {
        let code = &mut self.code;
        code.set_map(Reg::R1, map);
        key(code);
        code.call(Helper::MapLookupElem);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, self.end);
        code.set(Reg::R1, 1);
        code.add_atomically(Reg::R0, offset, Reg::R1);
    }

    /// Computes the words of an input, and makes the memory of a text present.
    fn prepare(&mut self, input: &Input, index: usize) -> Result<Words, Uncompilable> {
        let (word, failed, done) = (self.stack.push()?, self.code.label(), self.code.label());
        let length = match input {
            Input::Bytes { .. } | Input::Text { limit: Some(_), .. } => Some(self.stack.push()?),
            _ => None,
        };
        match input {
            Input::Number(value) => self.compute(value, word, failed)?,
            Input::Text { address, limit, most } => {
                self.compute(address, word, failed)?;
                self.touch(word, 0)?;
                self.touch(word, i32::from(*most) - 1)?;
                if let (Some(limit), Some(word)) = (limit, length) {
                    self.compute(limit, word, failed)?;
                }
            }
            Input::Bytes { address, length: count, most } => {
                self.compute(address, word, failed)?;
                self.touch(word, 0)?;
                self.touch(word, i32::from(*most) - 1)?;
                self.compute(count, length.unwrap_or(word), failed)?;
            }
            Input::Whole(whole) => {
                let reads = self.reads;
                let table = reads.get(whole.reads).ok_or(Uncompilable::TooLarge)?;
                self.whole(whole, table, word, index)?;
            }
            Input::Field { offset, place: FieldPlace::Number(size) } => self.number_of_event(*offset, *size, word),
            Input::Field { place: FieldPlace::User(address), .. } => self.number_of_event(*address, 8, word),
            // The program looks at it in its place.
            Input::Field { .. } | Input::Recorded { .. } => {
                self.code.store_immediate(Size::Eight, Reg::Frame, word, 0);
            }
        }
        if self.code.is_used(failed) {
            self.code.jump(done);
            self.code.place(failed);
            self.unread(index);
            self.code.store_immediate(Size::Eight, Reg::Frame, word, 0);
            if let Some(length) = length {
                self.code.store_immediate(Size::Eight, Reg::Frame, length, 0);
            }
            self.code.place(done);
        }
        Ok((word, length))
    }

    /// Stores the value of a computation in a word of the stack.
    pub(super) fn compute(&mut self, value: &Expr, word: i16, failed: Label) -> Result<(), Uncompilable> {
        let entered = EntryWords::At(&self.entered);
        Compiler { code: &mut self.code, target: self.target, stack: &mut self.stack, failed, entered }.value(value)?;
        self.code.store(Size::Eight, Reg::Frame, word, Reg::R0);
        Ok(())
    }

    /// Makes the page present that is `distance` bytes after the address in a word.
    fn touch(&mut self, word: i16, distance: i32) -> Result<(), Uncompilable> {
        if !self.target.is_sleepable {
            return Ok(());
        }
        let byte = self.stack.push()?;
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R3, Reg::Frame, word);
        code.alu_immediate(Alu::Add, Reg::R3, distance);
        code.copy(Reg::R1, Reg::Frame);
        code.alu_immediate(Alu::Add, Reg::R1, byte.into());
        code.set(Reg::R2, 1);
        code.call(Helper::CopyFromUser);
        self.stack.pop();
        Ok(())
    }

    /// Marks a field as unread.
    pub(super) fn unread(&mut self, index: usize) {
        self.uncertain |= 1 << index.min(MAX_WORDS);
        self.code.alu_immediate(Alu::Or, Reg::R9, 1 << index.min(MAX_WORDS));
    }
}

/// `R2 = address of the word KEY`.
fn key(code: &mut Assembler) {
    code.copy(Reg::R2, Reg::Frame);
    code.alu_immediate(Alu::Add, Reg::R2, KEY.into());
}
