//! The BPF programs that run at sites.
//!
//! A record is reserved in the ring buffer only after everything that may sleep. Otherwise a
//! program that waits for a page would hold up the records of all others. The time is taken after
//! the reservation, which makes the order of times provable (`crate::order`).

use simple_markers_resolver::location::Expr;

use super::assembler::{Assembler, Code, Label, TooLong};
use super::expression::{Compiler, Stack, Target, Uncompilable};
use super::instruction::{Alu, Condition, Helper, Map, Reg, Size};
use crate::aggregate::Tally;
use crate::event::Place;
use crate::filter;
use crate::record::{self, FieldKind, Layout};

/// What to read for a field of the record.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The value of a computation.
    Number(Expr),
    /// A text at an address that ends with a NUL.
    Text {
        /// The address.
        address: Expr,
        /// The most bytes to read, with the NUL.
        most: u16,
    },
    /// Bytes at an address.
    Bytes {
        /// The address.
        address: Expr,
        /// How many there are.
        length: Expr,
        /// The most bytes to read.
        most: u16,
    },
    /// A field of the record of a kernel event, which is the context of the program.
    Field {
        /// The offset of the field in the record.
        offset: u16,
        /// Where its value is.
        place: Place,
    },
}

impl Input {
    /// How many words of the stack it takes.
    #[must_use]
    pub fn words(&self) -> usize {
        match self {
            Self::Number(_) | Self::Text { .. } | Self::Field { .. } => 1,
            Self::Bytes { .. } => 2,
        }
    }

    /// The kind of its field.
    #[must_use]
    pub fn kind(&self) -> FieldKind {
        match self {
            Self::Number(_) => FieldKind::Number,
            Self::Text { most, .. } => FieldKind::Text(*most),
            Self::Bytes { most, .. } => FieldKind::Bytes(*most),
            Self::Field { place, .. } => place.kind(),
        }
    }
}

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
const KEY: i16 = -8;
/// The first word of the stack after it.
const FIRST: i16 = 16;

/// The most words that the inputs of a program take. The rest of the stack is for computations.
pub const MAX_WORDS: usize = 24;

/// The process numbers are less (`PID_MAX_LIMIT` of the kernel, a power of two).
pub(crate) const MAX_PROCESSES: u32 = 1 << 22;

/// The programs of a session.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether only processes in [`Map::Processes`] are traced.
    pub of_processes: bool,
    /// Whether the record of a hit has the stack.
    pub with_stack: bool,
}

/// Whether an input can be read.
///
/// # Errors
///
/// Why it cannot.
pub fn check(input: &Input, target: &Target) -> Result<(), Uncompilable> {
    let mut code = Assembler::default();
    let failed = code.label();
    let mut compile = |of: &Expr| {
        let stack = &mut Stack::new(FIRST + 8 * MAX_WORDS as i16);
        Compiler { code: &mut code, target, stack, failed }.value(of)
    };
    match input {
        Input::Number(value) => compile(value),
        Input::Text { address, .. } => compile(address),
        Input::Bytes { address, length, .. } => compile(address).and_then(|()| compile(length)),
        Input::Field { .. } => Ok(()),
    }
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

/// The program that writes a record for each hit for which a filter holds. Every input must have
/// passed [`check`].
///
/// # Errors
///
/// Why there is none.
pub fn trace(
    inputs: &[Input],
    filter: Option<&filter::Condition>,
    target: &Target,
    settings: Settings,
) -> Result<(Code, Layout), ProgramError> {
    if inputs.iter().map(Input::words).sum::<usize>() > MAX_WORDS {
        return Err(ProgramError::TooManyFields);
    }
    let mut layout = Layout::new(inputs.iter().map(Input::kind));
    if settings.with_stack {
        layout = layout.with_stack();
    }
    let mut program = Program::new(target, settings, None);
    program.start_inputs(inputs, filter.is_some());
    if let Some(filter) = filter {
        program.filter(inputs, filter).map_err(|_| ProgramError::TooManyFields)?;
    }
    let all: Vec<usize> = (0..inputs.len()).collect();
    program.prepare_all(inputs, &all).map_err(|_| ProgramError::TooManyFields)?;
    program.reserve(layout.size());
    for (index, (input, (offset, _))) in inputs.iter().zip(layout.fields()).enumerate() {
        let Some(words) = program.words.get(index).copied().flatten() else { continue };
        program.write(input, *offset as i16, words, index);
    }
    if let Some(offset) = layout.stack() {
        program.stack_of_user(offset as i16);
    }
    program.submit();
    Ok((program.finish()?, layout))
}

/// The reader looks at the ring buffer at regular times (`BPF_RB_NO_WAKEUP`).
const RING_NO_WAKEUP: u64 = 1;

/// The stack words of an input: its value or address, and its length.
pub(super) type Words = (i16, Option<i16>);

/// Sets `R1` to the address of the byte of a process in [`Map::Processes`].
pub(crate) fn process_byte(code: &mut Assembler, process: Reg) {
    // The verifier does not know that the number is less.
    code.alu_immediate(Alu::And, process, MAX_PROCESSES as i32 - 1);
    code.set_map_value(Reg::R1, Map::Processes);
    code.alu(Alu::Add, Reg::R1, process);
}

/// A program that is being written. `R6` has the context, `R7` the record, `R9` the bits of the
/// fields that could not be read.
pub(super) struct Program<'t> {
    pub(super) code: Assembler,
    target: &'t Target,
    pub(super) stack: Stack,
    /// Where the program ends.
    pub(super) end: Label,
    /// The stack words of the inputs that are computed.
    pub(super) words: Vec<Option<Words>>,
    /// The inputs that may be unread.
    uncertain: u64,
}

impl<'t> Program<'t> {
    /// Ends at once in other processes, and leaves the number of the site in the word [`KEY`].
    ///
    /// `other_thread` is the offset in the context of the number of another thread that counts.
    pub(super) fn new(target: &'t Target, settings: Settings, other_thread: Option<u16>) -> Self {
        let mut code = Assembler::default();
        let end = code.label();
        code.copy(Reg::R6, Reg::R1);
        if settings.of_processes {
            let is_traced = code.label();
            code.call(Helper::GetCurrentPidTgid);
            code.alu_immediate(Alu::Rsh, Reg::R0, 32);
            process_byte(&mut code, Reg::R0);
            code.load(Size::One, Reg::R1, Reg::R1, 0);
            if let Some(offset) = other_thread {
                code.jump_if_immediate(Condition::NotEqual, Reg::R1, 0, is_traced);
                code.load(Size::Four, Reg::R0, Reg::R6, offset as i16);
                process_byte(&mut code, Reg::R0);
                code.load(Size::One, Reg::R1, Reg::R1, 0);
            }
            code.jump_if_immediate(Condition::Equal, Reg::R1, 0, end);
            code.place(is_traced);
        }
        code.copy(Reg::R1, Reg::R6);
        code.call(Helper::GetAttachCookie);
        code.store(Size::Four, Reg::Frame, KEY, Reg::R0);
        Self { code, target, stack: Stack::new(FIRST), end, words: Vec::new(), uncertain: 0 }
    }

    pub(super) fn finish(mut self) -> Result<Code, TooLong> {
        let end = self.end;
        self.code.place(end);
        self.code.set(Reg::R0, 0);
        self.code.exit();
        self.code.finish()
    }

    /// Prepares `R9`. `is_tested` says that the program tests its bits.
    pub(super) fn start_inputs(&mut self, inputs: &[Input], is_tested: bool) {
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

    /// The word of the stack with the number or the address of an input.
    pub(super) fn word(&self, index: usize) -> i16 {
        self.words.get(index).copied().flatten().map_or(KEY, |(word, _)| word)
    }

    /// Jumps to a label if an input could not be read.
    pub(super) fn require(&mut self, index: usize, unread: Label) {
        let bit = index.min(MAX_WORDS);
        if self.uncertain >> bit & 1 == 1 {
            self.code.jump_if_immediate(Condition::Test, Reg::R9, 1 << bit, unread);
        }
    }

    /// Adds 1 to a tally of the site.
    pub(super) fn add_one_to(&mut self, tally: Tally) {
        self.add_one_at(Map::Tallies, tally.offset());
    }

    /// Adds 1 to the value of a map at the number of the site.
    fn add_one(&mut self, map: Map) {
        self.add_one_at(map, 0);
    }

    fn add_one_at(&mut self, map: Map, offset: i16) {
        let code = &mut self.code;
        code.set_map(Reg::R1, map);
        key(code);
        code.call(Helper::MapLookupElem);
        code.jump_if_immediate(Condition::Equal, Reg::R0, 0, self.end);
        code.set(Reg::R1, 1);
        code.add_atomically(Reg::R0, offset, Reg::R1);
    }

    /// Computes the words of an input, and makes the memory of a text present.
    fn prepare(&mut self, input: &Input, index: usize) -> Result<Words, Uncompilable> {
        let (word, failed, done) = (self.stack.push()?, self.code.label(), self.code.label());
        let length = match input {
            Input::Bytes { .. } => Some(self.stack.push()?),
            Input::Number(_) | Input::Text { .. } | Input::Field { .. } => None,
        };
        match input {
            Input::Number(value) => self.compute(value, word, failed)?,
            Input::Text { address, most } => {
                self.compute(address, word, failed)?;
                self.touch(word, 0)?;
                self.touch(word, i32::from(*most) - 1)?;
            }
            Input::Bytes { address, length: count, most } => {
                self.compute(address, word, failed)?;
                self.touch(word, 0)?;
                self.touch(word, i32::from(*most) - 1)?;
                self.compute(count, length.unwrap_or(word), failed)?;
            }
            Input::Field { offset, place: Place::Number(size) } => self.number_of_event(*offset, *size, word),
            // The program looks at it in its place.
            Input::Field { .. } => self.code.store_immediate(Size::Eight, Reg::Frame, word, 0),
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
    fn compute(&mut self, value: &Expr, word: i16, failed: Label) -> Result<(), Uncompilable> {
        Compiler { code: &mut self.code, target: self.target, stack: &mut self.stack, failed }.value(value)?;
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
    fn unread(&mut self, index: usize) {
        self.uncertain |= 1 << index.min(MAX_WORDS);
        self.code.alu_immediate(Alu::Or, Reg::R9, 1 << index.min(MAX_WORDS));
    }

    /// Reserves a record and writes its header. `R7` has its address.
    pub(super) fn reserve(&mut self, size: u16) {
        let (is_reserved, end) = (self.code.label(), self.end);
        let code = &mut self.code;
        code.set_map(Reg::R1, Map::Ring);
        code.set(Reg::R2, size.into());
        code.set(Reg::R3, 0);
        code.call(Helper::RingbufReserve);
        code.jump_if_immediate(Condition::NotEqual, Reg::R0, 0, is_reserved);
        self.add_one(Map::Lost);
        let code = &mut self.code;
        code.jump(end);
        code.place(is_reserved);
        code.copy(Reg::R7, Reg::R0);
        code.call(Helper::KtimeGetNs);
        code.store(Size::Eight, Reg::R7, record::TIME as i16, Reg::R0);
        code.call(Helper::GetCurrentPidTgid);
        code.store(Size::Eight, Reg::R7, record::THREAD as i16, Reg::R0);
        code.load(Size::Four, Reg::R0, Reg::Frame, KEY);
        code.store(Size::Four, Reg::R7, record::SITE as i16, Reg::R0);
        code.call(Helper::GetSmpProcessorId);
        code.store(Size::Four, Reg::R7, record::CPU as i16, Reg::R0);
        code.copy(Reg::R1, Reg::R7);
        code.alu_immediate(Alu::Add, Reg::R1, record::NAME.into());
        code.set(Reg::R2, record::NAME_SIZE.into());
        code.call(Helper::GetCurrentComm);
    }

    /// Hands the record on.
    pub(super) fn submit(&mut self) {
        let code = &mut self.code;
        code.store(Size::Eight, Reg::R7, record::UNREAD as i16, Reg::R9);
        code.copy(Reg::R1, Reg::R7);
        code.set(Reg::R2, RING_NO_WAKEUP);
        code.call(Helper::RingbufSubmit);
    }

    /// Writes the stack, which the kernel follows by frame pointers.
    pub(super) fn stack_of_user(&mut self, offset: i16) {
        let code = &mut self.code;
        let is_read = code.label();
        code.copy(Reg::R1, Reg::R6);
        code.copy(Reg::R2, Reg::R7);
        code.alu_immediate(Alu::Add, Reg::R2, i32::from(offset) + 8);
        code.set(Reg::R3, record::STACK_SIZE.into());
        code.set(Reg::R4, USER_STACK);
        code.call(Helper::GetStack);
        code.jump_if_immediate(Condition::SignedGreaterEqual, Reg::R0, 0, is_read);
        code.set(Reg::R0, 0);
        code.place(is_read);
        code.store(Size::Eight, Reg::R7, offset, Reg::R0);
    }

    /// Writes a field of the record.
    fn write(&mut self, input: &Input, offset: i16, (word, length): Words, index: usize) {
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R3, Reg::Frame, word);
        code.store(Size::Eight, Reg::R7, offset, Reg::R3);
        let most = match input {
            Input::Number(_) | Input::Field { .. } => return,
            Input::Text { most, .. } | Input::Bytes { most, .. } => i32::from(*most),
        };
        let is_read = code.label();
        if let Some(length) = length {
            let within = code.label();
            code.load(Size::Eight, Reg::R2, Reg::Frame, length);
            code.store(Size::Eight, Reg::R7, offset + 8, Reg::R2);
            code.jump_if_immediate(Condition::LessEqual, Reg::R2, most, within);
            code.set(Reg::R2, most as u64);
            code.place(within);
        } else {
            code.store_immediate(Size::Eight, Reg::R7, offset + 8, 0);
            // A null pointer has no text.
            code.jump_if_immediate(Condition::Equal, Reg::R3, 0, is_read);
            code.set(Reg::R2, most as u64);
        }
        code.copy(Reg::R1, Reg::R7);
        code.alu_immediate(Alu::Add, Reg::R1, i32::from(offset) + 16);
        let failed = code.label();
        if length.is_some() {
            code.call(Helper::ProbeReadUser);
            code.jump_if_immediate(Condition::Equal, Reg::R0, 0, is_read);
        } else {
            code.call(Helper::ProbeReadUserStr);
            code.jump_if_immediate(Condition::SignedLess, Reg::R0, 0, failed);
            code.store(Size::Eight, Reg::R7, offset + 8, Reg::R0);
            code.jump(is_read);
            code.place(failed);
        }
        self.unread(index);
        self.code.place(is_read);
    }
}

/// The stack of the program, not of the kernel (`BPF_F_USER_STACK`).
const USER_STACK: u64 = 1 << 8;

/// `R2 = address of the word KEY`.
fn key(code: &mut Assembler) {
    code.copy(Reg::R2, Reg::Frame);
    code.alu_immediate(Alu::Add, Reg::R2, KEY.into());
}
