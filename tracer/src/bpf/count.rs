//! The programs that count.

use super::assembler::{Code, Label};
use super::expression::Target;
use super::input::NUL_ENDS;
use super::instruction::{Alu, EXISTS, Helper, JumpCondition, KERNEL_STACK, Map, NO_EXIST, Reg, Size, USER_STACK};
use super::program::{KEY, Program, ProgramError, ProgramSettings, Section};
use super::split::SplitWords;
use super::stack_sums::map_and_key;
use crate::aggregate::{
    CUT, DEEPEST, KEY_PROCESS, KEY_SIZE, KEY_STACK, LONGEST, NULL, SHORTEST, START_BY, START_KEY_SIZE, START_NESTED,
    START_SIZE, START_SPLIT, START_TASK, Tally,
};
use crate::histogram::NEGATIVE;
use crate::plan::{
    Aggregate, By, ContextNumber, FieldPlace, Input, Interval, KernelEvent, KeyFields, LONGEST_THREAD_NAME, Number,
    Pairing, Readable, StackNotes, TextPlace, Uncompilable,
};

/// The words of the stack with what is noted when an address is passed where intervals end.
#[derive(Clone, Copy)]
struct PassWords {
    time: i16,
    /// `None` if no interval is split.
    split: Option<SplitWords>,
}

/// Flags of `bpf_map_update_elem`.
const ANY: u64 = 0;

/// How often a maximum is tried to be set while others set it.
const TRIES: usize = 8;

/// The program that counts what the aggregates say, at each of the sites of an address. `event` is the
/// event of the kernel that the only site is.
///
/// # Errors
///
/// The program is too long.
pub fn count<'p>(
    sections: &[Section<'p>],
    target: &'p Target,
    settings: ProgramSettings,
    event: Option<&KernelEvent>,
) -> Result<Code, ProgramError> {
    let mut program = Program::new(target, settings, event.and_then(KernelEvent::other_thread));
    let ends = || sections.iter().filter_map(|section| section.aggregate.end());
    let is_split = ends().any(|interval| interval.is_split);
    let has_stacks = ends().any(|interval| interval.notes.blocked);
    let pass = match ends().next() {
        Some(_) => program.passed(is_split, has_stacks).map_err(|_| ProgramError::TooManyFields)?,
        None => PassWords { time: KEY, split: None },
    };
    let stack = program.stack.clone();
    for section in sections {
        program.begin(section, &stack);
        program.count(section, pass).map_err(|_| ProgramError::TooManyFields)?;
    }
    Ok(program.finish()?)
}

impl Aggregate {
    /// The intervals that end there.
    fn end(&self) -> Option<&Interval> {
        if let Self::End(interval) = self { Some(interval) } else { None }
    }

    /// The inputs that it needs.
    #[must_use]
    pub fn inputs(&self) -> Vec<usize> {
        match self {
            Self::Hits | Self::Processes | Self::Stacks { .. } => Vec::new(),
            Self::Histogram(number) => number.inputs().collect(),
            Self::Values(_) | Self::Amounts { .. } | Self::Start(_) | Self::End(_) => {
                let of_keys = self.fields().flat_map(KeyFields::inputs);
                let mut all: Vec<usize> = of_keys.chain(self.amount().into_iter().flat_map(Number::inputs)).collect();
                all.sort_unstable();
                all.dedup();
                all
            }
        }
    }

    /// What it needs of the thread that runs.
    fn contexts(&self) -> Vec<ContextNumber> {
        let of_keys = self.fields().flat_map(KeyFields::contexts);
        of_keys.chain(self.amount().into_iter().flat_map(Number::contexts)).collect()
    }

    /// The argument whose values are distributed.
    fn amount(&self) -> Option<&Number> {
        match self {
            Self::Histogram(of) | Self::Amounts { of, .. } => Some(of),
            _ => None,
        }
    }

    /// What is read at the site for keys.
    fn fields(&self) -> impl Iterator<Item = &KeyFields> {
        let (key, by) = match self {
            Self::Hits | Self::Processes | Self::Histogram(_) | Self::Stacks { .. } => (None, None),
            Self::Values(of) => (None, Some(of)),
            Self::Amounts { by, .. } => (None, by.as_ref()),
            Self::Start(interval) | Self::End(interval) => {
                (interval.key.fields(), if let By::Here(by) = &interval.by { Some(by) } else { None })
            }
        };
        key.into_iter().chain(by)
    }
}

impl Program<'_> {
    /// Notes the time when the address is passed, in a word of the stack. The time that the program takes
    /// is no part of an interval that ends there, and an interval that begins there too takes none.
    fn passed(&mut self, is_split: bool, has_stacks: bool) -> Result<PassWords, Uncompilable> {
        let time = self.stack.push()?;
        self.code.call(Helper::KtimeGetNs);
        self.code.store(Size::Eight, Reg::Frame, time, Reg::R0);
        let split = if is_split { Some(self.passed_off(time, has_stacks)?) } else { None };
        Ok(PassWords { time, split })
    }

    /// Counts at a site. `pass` has the words with what is noted when the address is passed.
    fn count(&mut self, section: &Section<'_>, pass: PassWords) -> Result<(), Uncompilable> {
        let Section { inputs, filter, aggregate, group, .. } = *section;
        let is_tested = filter.is_some() || !aggregate.inputs().is_empty();
        self.start_inputs(inputs, is_tested, section.frame.as_ref())?;
        if let Some(filter) = filter {
            if let Aggregate::Start(interval @ Interval { key: Pairing::Frame(of), .. }) = aggregate {
                self.forget_call(inputs, of, interval.notes)?;
            }
            self.filter(inputs, filter)?;
        }
        self.prepare_all(inputs, &aggregate.inputs())?;
        self.note_contexts(&aggregate.contexts())?;
        self.add_one_to(Tally::Hits);
        if *aggregate == Aggregate::Hits {
            return Ok(());
        }
        // The last word is used for starts only.
        let key = self.push(START_KEY_SIZE)?;
        let unread = self.code.label();
        match aggregate {
            Aggregate::Hits => {}
            Aggregate::Processes => {
                self.code.call(Helper::GetCurrentPidTgid);
                self.code.alu_immediate(Alu::Rsh, Reg::R0, 32);
                self.zero(key, 7);
                self.code.store(Size::Eight, Reg::Frame, key + 16, Reg::R0);
                self.add_to_values(key, None, self.end)?;
            }
            Aggregate::Stacks { is_kernel } => {
                let flags = if *is_kernel { KERNEL_STACK } else { USER_STACK };
                self.zero(key, 7);
                self.code.store_immediate(Size::Eight, Reg::Frame, key, group as i32);
                self.code.copy(Reg::R1, Reg::R6);
                self.code.set_map(Reg::R2, Map::Stacks);
                self.code.set(Reg::R3, flags);
                self.code.call(Helper::GetStackid);
                // The number of the stack, or why there is none.
                self.code.store(Size::Eight, Reg::Frame, key + KEY_STACK as i16, Reg::R0);
                if !is_kernel {
                    self.code.call(Helper::GetCurrentPidTgid);
                    self.code.alu_immediate(Alu::Rsh, Reg::R0, 32);
                    self.code.store(Size::Eight, Reg::Frame, key + KEY_PROCESS as i16, Reg::R0);
                }
                self.add_to_values(key, None, self.end)?;
            }
            Aggregate::Values(of) => {
                self.code.store_immediate(Size::Eight, Reg::Frame, key, group as i32);
                self.key(inputs, of, key, unread);
                self.add_to_values(key, None, self.end)?;
            }
            Aggregate::Amounts { of, by } => {
                match by {
                    Some(by) => self.key(inputs, by, key, unread),
                    None => self.zero(key + 8, 6),
                }
                self.load_number(of, Reg::R7, unread);
                self.code.store_immediate(Size::Four, Reg::Frame, key, group as i32);
                self.amount(key, of.is_signed())?;
            }
            Aggregate::Histogram(of) => {
                self.load_number(of, Reg::R1, unread);
                self.coarse_bucket(of.is_signed());
                self.code.store_immediate(Size::Four, Reg::Frame, key, group as i32);
                self.code.store(Size::Four, Reg::Frame, key + 4, Reg::R2);
                self.add_to_values(key, None, self.end)?;
            }
            Aggregate::Start(interval @ Interval { key: of, by, .. }) => {
                self.interval_key(inputs, of.fields(), key, unread);
                let start = self.push(interval.start_size())?;
                if let By::Here(by) = by {
                    // What is counted by begins behind the first word of a key.
                    self.key(inputs, by, start + interval.by_offset() - 8, unread);
                }
                match of.is_frame() {
                    true => self.start_call(key, start, interval)?,
                    false => self.start(key, start, interval)?,
                }
            }
            Aggregate::End(interval @ Interval { key: of, by, .. }) => {
                self.interval_key(inputs, of.fields(), key, unread);
                let value = match by {
                    By::Nothing => None,
                    By::Here(_) | By::AtStart(_) => Some(self.push(KEY_SIZE)?),
                };
                if let (By::Here(by), Some(value)) = (by, value) {
                    self.key(inputs, by, value, unread);
                }
                self.finish_interval(key, value, interval, pass)?;
            }
        }
        if self.code.is_used(unread) {
            let end = self.end;
            self.code.jump(end);
            self.code.place(unread);
            self.add_one_to(Tally::Unread);
        }
        Ok(())
    }

    /// The process, and the thread or the values of arguments.
    fn interval_key(&mut self, inputs: &[Input], of: Option<&KeyFields>, key: i16, unread: Label) {
        self.code.call(Helper::GetCurrentPidTgid);
        let Some(of) = of else {
            self.code.store_immediate(Size::Eight, Reg::Frame, key, 0);
            self.code.store_immediate(Size::Eight, Reg::Frame, key + 8, 0);
            self.code.store(Size::Eight, Reg::Frame, key + 16, Reg::R0);
            return self.zero(key + 24, 4);
        };
        self.code.alu_immediate(Alu::Rsh, Reg::R0, 32);
        self.code.store(Size::Eight, Reg::Frame, key, Reg::R0);
        self.key(inputs, of, key, unread);
    }

    fn zero(&mut self, from: i16, words: i16) {
        for word in 0..words {
            self.code.store_immediate(Size::Eight, Reg::Frame, from + word * 8, 0);
        }
    }

    /// Writes a key after its first word.
    fn key(&mut self, inputs: &[Input], of: &KeyFields, key: i16, unread: Label) {
        self.zero(key + 8, 6);
        // A helper writes some bytes behind the text, where numbers may be.
        let is_number = |(field, _): &(&Readable, usize)| matches!(field, Readable::Number { .. });
        let (numbers, texts): (Vec<_>, Vec<_>) = of.places().partition(is_number);
        for (field, offset) in texts.into_iter().chain(numbers) {
            match field {
                Readable::Number { number, .. } => {
                    self.load_number(number, Reg::R1, unread);
                    self.code.store(Size::Eight, Reg::Frame, key + offset as i16, Reg::R1);
                }
                Readable::Text(TextPlace::Input(field)) => {
                    if let Some(input) = inputs.get(*field) {
                        self.text_key(input, *field, (key, of.most_text()), unread);
                    }
                }
                Readable::Text(TextPlace::ThreadName) => self.thread_name_key(key),
            }
        }
    }

    fn thread_name_key(&mut self, key: i16) {
        let text = key + 16;
        self.thread_name(Reg::Frame, text.into());
        let code = &mut self.code;
        let done = code.label();
        code.set(Reg::R2, 0);
        for at in (text..).take(LONGEST_THREAD_NAME) {
            code.load(Size::One, Reg::R1, Reg::Frame, at);
            code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, done);
            code.alu_immediate(Alu::Add, Reg::R2, 1);
        }
        code.place(done);
        code.store(Size::Eight, Reg::Frame, key + 8, Reg::R2);
    }

    /// Writes a text of at most so many bytes to a key.
    fn text_key(&mut self, input: &Input, field: usize, (key, most): (i16, usize), unread: Label) {
        self.require(field, unread);
        let word = self.word(field);
        let (length, text, most) = (key + 8, key + 16, most as i32);
        let code = &mut self.code;
        let done = code.label();
        code.load(Size::Eight, Reg::R3, Reg::Frame, word);
        match input {
            Input::Bytes { .. } => {
                let (_, count) = self.words.get(field).copied().flatten().unwrap_or_default();
                let (within, ends_with_nul) = (code.label(), code.label());
                code.load(Size::Eight, Reg::R2, Reg::Frame, count.unwrap_or(word));
                code.jump_if_immediate(JumpCondition::Equal, Reg::R2, NUL_ENDS, ends_with_nul);
                code.store(Size::Eight, Reg::Frame, length, Reg::R2);
                code.jump_if_immediate(JumpCondition::LessEqual, Reg::R2, most, within);
                code.set(Reg::R2, CUT);
                code.store(Size::Eight, Reg::Frame, length, Reg::R2);
                code.set(Reg::R2, most as u64);
                code.place(within);
                code.copy(Reg::R1, Reg::Frame);
                code.alu_immediate(Alu::Add, Reg::R1, text.into());
                code.call(Helper::ProbeReadUser);
                code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, unread);
                code.jump(done);
                code.place(ends_with_nul);
                // The key has the length 0.
                code.jump_if_immediate(JumpCondition::Equal, Reg::R3, 0, done);
                self.read_text(text, most + 2, None);
                self.text_length(key, most, unread);
            }
            Input::Text { .. } | Input::Field { place: FieldPlace::User(_), .. } => {
                let of_input = input.most_text().unwrap_or_default();
                let is_text = code.label();
                code.jump_if_immediate(JumpCondition::NotEqual, Reg::R3, 0, is_text);
                code.set(Reg::R1, NULL);
                code.store(Size::Eight, Reg::Frame, length, Reg::R1);
                code.jump(done);
                code.place(is_text);
                // With the NUL, and a byte more to see that the text goes on.
                let (_, limit) = self.words.get(field).copied().flatten().unwrap_or_default();
                self.read_text(text, i32::from(of_input).min(most + 2), limit);
                self.text_length(key, most, unread);
            }
            Input::Field { offset, place } => {
                self.text_of_event(*offset, *place, most as u16 + 2, text);
                self.text_length(key, most, unread);
            }
            Input::Number(_) | Input::Recorded { .. } | Input::Whole(_) => {}
        }
        self.code.place(done);
    }

    /// Stores the length of a text that a helper copied into a key, and removes what is behind `most` bytes. `R0` has what the helper returned.
    fn text_length(&mut self, key: i16, most: i32, unread: Label) {
        let code = &mut self.code;
        let whole = code.label();
        code.jump_if_immediate(JumpCondition::SignedLess, Reg::R0, 0, unread);
        // Without the NUL.
        code.alu_immediate(Alu::Sub, Reg::R0, 1);
        code.jump_if_immediate(JumpCondition::LessEqual, Reg::R0, most, whole);
        code.set(Reg::R0, CUT);
        code.store_immediate(Size::Eight, Reg::Frame, key + 16 + most as i16, 0);
        code.place(whole);
        code.store(Size::Eight, Reg::Frame, key + 8, Reg::R0);
    }

    /// `R1 = map`, `R2 = address of the key`.
    pub(super) fn map_and_key(&mut self, map: Map, key: i16) {
        map_and_key(&mut self.code, map, key);
    }

    /// Updates a map with a word of the stack.
    pub(super) fn update(&mut self, map: Map, key: i16, value: i16, flags: u64) {
        self.map_and_key(map, key);
        self.code.copy(Reg::R3, Reg::Frame);
        self.code.alu_immediate(Alu::Add, Reg::R3, value.into());
        self.code.set(Reg::R4, flags);
        self.code.call(Helper::MapUpdateElem);
        // Before Linux 6.4 the upper half of a negative result is 0.
        self.code.alu_immediate(Alu::Lsh, Reg::R0, 32);
        self.code.alu_immediate(Alu::Arsh, Reg::R0, 32);
    }

    /// Adds to the value at a key and jumps to `done`, or to `absent` if the key is not there.
    fn increase(&mut self, key: i16, amount: i16, done: Label, absent: Label) {
        self.map_and_key(Map::Values, key);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, absent);
        self.code.load(Size::Eight, Reg::R1, Reg::Frame, amount);
        self.code.add_atomically(Reg::R0, 0, Reg::R1);
        self.code.jump(done);
    }

    /// Adds to the value at a key, which may be new, and jumps to `done`. Goes on if there is no space.
    /// `amount` is a word of the stack; `None` for 1.
    pub(super) fn add_to_values(&mut self, key: i16, amount: Option<i16>, done: Label) -> Result<(), Uncompilable> {
        let one = self.stack.push()?;
        let amount = amount.unwrap_or(one);
        if amount == one {
            self.code.store_immediate(Size::Eight, Reg::Frame, one, 1);
        }
        let (absent, full) = (self.code.label(), self.code.label());
        self.increase(key, amount, done, absent);
        self.code.place(absent);
        self.update(Map::Values, key, amount, NO_EXIST);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, done);
        self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, EXISTS, full);
        // Another CPU was faster.
        self.increase(key, amount, done, full);
        self.code.place(full);
        self.add_one_to(Tally::Full);
        self.stack.pop();
        Ok(())
    }

    /// The lowest of so many bytes of the stack.
    pub(super) fn push(&mut self, size: u32) -> Result<i16, Uncompilable> {
        let mut lowest = 0;
        for _ in 0..size / 8 {
            lowest = self.stack.push()?;
        }
        Ok(lowest)
    }

    /// Notes a start, after those of its key that have no end yet. The last word of the key is its place
    /// among them.
    fn start(&mut self, key: i16, start: i16, interval: &Interval) -> Result<(), Uncompilable> {
        let place = key + KEY_SIZE as i16;
        let (full, is_deep) = (self.code.label(), self.code.label());
        self.first_start(key, start, interval, full)?;
        self.map_and_key(Map::Starts, key);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, full);
        self.code.set(Reg::R1, 1);
        self.code.fetch_and_add(Reg::R0, START_NESTED, Reg::R1);
        self.code.alu_immediate(Alu::Add, Reg::R1, 1);
        self.code.jump_if_immediate(JumpCondition::GreaterEqual, Reg::R1, DEEPEST as i32, is_deep);
        self.code.store(Size::Eight, Reg::Frame, place, Reg::R1);
        self.update(Map::Starts, key, start, ANY);
        self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, full);
        self.add_one_to(Tally::Nested);
        self.end_with(start, interval.notes);
        self.code.place(is_deep);
        // In the place of the last one.
        self.code.set(Reg::R1, -1i64 as u64);
        self.code.add_atomically(Reg::R0, START_NESTED, Reg::R1);
        self.code.store_immediate(Size::Eight, Reg::Frame, place, DEEPEST as i32 - 1);
        self.replace_start(key, start, interval.notes, full)
    }

    /// Ends the program after a start was noted.
    fn end_with(&mut self, start: i16, notes: StackNotes) {
        if notes.are_wanted() {
            self.opens(start);
        }
        self.code.jump(self.end);
    }

    /// Notes the start of a call. One at the same frame did not return.
    fn start_call(&mut self, key: i16, start: i16, interval: &Interval) -> Result<(), Uncompilable> {
        let full = self.code.label();
        self.first_start(key, start, interval, full)?;
        self.replace_start(key, start, interval.notes, full)
    }

    /// Notes a start if its key has none, and ends the program then. Leads to `full` if there is no space.
    fn first_start(&mut self, key: i16, start: i16, interval: &Interval, full: Label) -> Result<(), Uncompilable> {
        let exists = self.code.label();
        self.code.store_immediate(Size::Eight, Reg::Frame, key + KEY_SIZE as i16, 0);
        self.code.store_immediate(Size::Eight, Reg::Frame, start + START_NESTED, 0);
        // The time that this program takes so far is no part of the interval.
        if interval.is_split {
            self.starts_off(start)?;
        } else {
            self.code.call(Helper::KtimeGetNs);
            self.code.store(Size::Eight, Reg::Frame, start, Reg::R0);
        }
        self.update(Map::Starts, key, start, NO_EXIST);
        self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, exists);
        self.end_with(start, interval.notes);
        self.code.place(exists);
        self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, EXISTS, full);
        Ok(())
    }

    /// Notes a start in place of another one, which stays without an end. `full` is where the program ends
    /// without space.
    fn replace_start(&mut self, key: i16, start: i16, notes: StackNotes, full: Label) -> Result<(), Uncompilable> {
        self.add_one_to(Tally::Unmatched);
        if notes.are_wanted() {
            self.closes_at(key)?;
        }
        self.update(Map::Starts, key, start, ANY);
        self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, full);
        self.end_with(start, notes);
        self.code.place(full);
        self.add_one_to(Tally::Full);
        Ok(())
    }

    /// Forgets the start of a call at the frame of another one, whose hit may not be wanted. The first call did
    /// not return.
    fn forget_call(&mut self, inputs: &[Input], frame: &KeyFields, notes: StackNotes) -> Result<(), Uncompilable> {
        self.prepare_all(inputs, &frame.inputs().collect::<Vec<_>>())?;
        let stack = self.stack.clone();
        let key = self.push(START_KEY_SIZE)?;
        let (unread, absent) = (self.code.label(), self.code.label());
        self.interval_key(inputs, Some(frame), key, unread);
        self.code.store_immediate(Size::Eight, Reg::Frame, key + KEY_SIZE as i16, 0);
        if notes.are_wanted() {
            self.closes_at(key)?;
        }
        self.map_and_key(Map::Starts, key);
        self.code.call(Helper::MapDeleteElem);
        self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, absent);
        self.add_one_to(Tally::Unmatched);
        self.code.place(absent);
        if self.code.is_used(unread) {
            self.code.place(unread);
        }
        // The key is not needed any more.
        self.stack = stack;
        Ok(())
    }

    /// Adds the interval that ends now. `value` is the key of the value that times are counted by, which may come
    /// from the start.
    fn finish_interval(
        &mut self,
        key: i16,
        value: Option<i16>,
        interval: &Interval,
        pass: PassWords,
    ) -> Result<(), Uncompilable> {
        self.code.load(Size::Eight, Reg::R8, Reg::Frame, pass.time);
        let is_at_start = matches!(interval.by, By::AtStart(_));
        let (bucket, place, end) = (self.stack.push()?, key + KEY_SIZE as i16, self.end);
        let split = match pass.split.filter(|_| interval.is_split) {
            Some(end) => Some((self.push(START_SPLIT)?, end)),
            None => None,
        };
        let (unmatched, in_order, is_last) = (self.code.label(), self.code.label(), self.code.label());
        self.code.store_immediate(Size::Eight, Reg::Frame, place, 0);
        self.map_and_key(Map::Starts, key);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, unmatched);
        self.code.load(Size::Eight, Reg::R1, Reg::R0, START_NESTED);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, is_last);
        self.code.set(Reg::R1, -1i64 as u64);
        self.code.fetch_and_add(Reg::R0, START_NESTED, Reg::R1);
        self.code.store(Size::Eight, Reg::Frame, place, Reg::R1);
        self.map_and_key(Map::Starts, key);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, unmatched);
        self.code.place(is_last);
        self.code.load(Size::Eight, Reg::R7, Reg::R0, 0);
        if let (Some(value), true) = (value, is_at_start) {
            for offset in (0..START_BY as i16).step_by(8) {
                self.code.load(Size::Eight, Reg::R1, Reg::R0, interval.by_offset() + offset);
                self.code.store(Size::Eight, Reg::Frame, value + 8 + offset, Reg::R1);
            }
        }
        if let Some((start, _)) = split {
            for offset in (0..START_SPLIT as i16).step_by(8) {
                self.code.load(Size::Eight, Reg::R1, Reg::R0, START_SIZE as i16 + offset);
                self.code.store(Size::Eight, Reg::Frame, start + offset, Reg::R1);
            }
        }
        self.map_and_key(Map::Starts, key);
        self.code.call(Helper::MapDeleteElem);
        self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, unmatched);
        if let (Some((start, _)), true) = (split, interval.notes.are_wanted()) {
            self.closes(start + START_TASK);
        }
        // The start may have been noted after this program began: on another CPU, or here.
        self.code.jump_if(JumpCondition::GreaterEqual, Reg::R8, Reg::R7, in_order);
        self.code.copy(Reg::R7, Reg::R8);
        self.code.place(in_order);
        self.code.alu(Alu::Sub, Reg::R8, Reg::R7);
        self.fine_bucket();
        self.code.store(Size::Eight, Reg::Frame, bucket, Reg::R2);
        if let Some(value) = value {
            self.code.store(Size::Eight, Reg::Frame, value, Reg::R2);
        }
        self.map_and_key(Map::Times, bucket);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, end);
        self.code.set(Reg::R1, 1);
        self.code.add_atomically(Reg::R0, 0, Reg::R1);
        self.raise(LONGEST, bucket);
        self.code.alu_immediate(Alu::Xor, Reg::R8, -1);
        self.raise(SHORTEST, bucket);
        if let Some(value) = value {
            let done = if split.is_some() { self.code.label() } else { end };
            self.add_to_values(value, None, done)?;
            if split.is_some() {
                self.code.jump(end);
                self.code.place(done);
            }
        }
        if let Some((start, at_end)) = split {
            self.code.alu_immediate(Alu::Xor, Reg::R8, -1);
            self.split_interval(start, at_end, value, bucket)?;
        }
        self.code.jump(end);
        self.code.place(unmatched);
        self.add_one_to(Tally::Unmatched);
        self.stack.pop();
        Ok(())
    }

    /// Raises an entry of the map of times to `R8`.
    fn raise(&mut self, entry: u32, key: i16) {
        let end = self.end;
        self.code.store_immediate(Size::Eight, Reg::Frame, key, entry as i32);
        self.map_and_key(Map::Times, key);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, end);
        self.code.copy(Reg::R1, Reg::R0);
        self.raise_at(0);
    }

    /// Raises the number at an offset from `R1` to `R8`.
    pub(super) fn raise_at(&mut self, offset: i16) {
        let done = self.code.label();
        self.code.load(Size::Eight, Reg::R0, Reg::R1, offset);
        for _ in 0..TRIES {
            self.code.jump_if(JumpCondition::GreaterEqual, Reg::R0, Reg::R8, done);
            self.code.copy(Reg::R2, Reg::R0);
            self.code.exchange_atomically(Reg::R1, offset, Reg::R8);
            self.code.jump_if(JumpCondition::Equal, Reg::R0, Reg::R2, done);
        }
        self.code.place(done);
    }

    /// Leaves in `R2` how many bits the number in `R1` has, if it is not 0, minus one.
    fn logarithm(&mut self) {
        let code = &mut self.code;
        code.set(Reg::R2, 0);
        for shift in [32, 16, 8, 4, 2, 1] {
            let skip = code.label();
            code.copy(Reg::R3, Reg::R1);
            code.alu_immediate(Alu::Rsh, Reg::R3, shift);
            code.jump_if_immediate(JumpCondition::Equal, Reg::R3, 0, skip);
            code.copy(Reg::R1, Reg::R3);
            code.alu_immediate(Alu::Add, Reg::R2, shift);
            code.place(skip);
        }
    }

    /// Leaves the coarse bucket of the number in `R1` in `R2`.
    fn coarse_bucket(&mut self, is_signed: bool) {
        let (done, positive) = (self.code.label(), self.code.label());
        self.code.set(Reg::R2, 0);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, done);
        self.code.set(Reg::R4, 1);
        if is_signed {
            self.code.jump_if_immediate(JumpCondition::SignedGreaterEqual, Reg::R1, 0, positive);
            self.code.negate(Reg::R1);
            self.code.set(Reg::R4, u64::from(NEGATIVE) + 1);
            self.code.place(positive);
        }
        self.logarithm();
        self.code.alu(Alu::Add, Reg::R2, Reg::R4);
        self.code.place(done);
    }

    /// Leaves the fine bucket of the number in `R8` in `R2`.
    pub(super) fn fine_bucket(&mut self) {
        let done = self.code.label();
        self.code.copy(Reg::R2, Reg::R8);
        self.code.jump_if_immediate(JumpCondition::Less, Reg::R8, 8, done);
        self.code.copy(Reg::R1, Reg::R8);
        self.logarithm();
        let code = &mut self.code;
        code.copy(Reg::R3, Reg::R2);
        code.alu_immediate(Alu::Sub, Reg::R3, 3);
        code.copy(Reg::R1, Reg::R8);
        code.alu(Alu::Rsh, Reg::R1, Reg::R3);
        code.alu_immediate(Alu::And, Reg::R1, 7);
        code.alu_immediate(Alu::Sub, Reg::R2, 2);
        code.alu_immediate(Alu::Lsh, Reg::R2, 3);
        code.alu(Alu::Add, Reg::R2, Reg::R1);
        code.place(done);
    }
}
