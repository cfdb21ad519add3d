//! Values at the entry of a function: the program that notes them there, and what a program at a site does to
//! read them.
//!
//! [`Map::Entries`] has them by the frame. The key is the process, with the time of its start, the entry by
//! its number, and the stack pointer at the entry. While a frame exists no other one of the process can have
//! its stack pointer, so what was noted last under its key was noted at its own entry. A program that does
//! not note an entry forgets what was noted under its key before.
//!
//! | offset | size | key |
//! | ---: | ---: | --- |
//! | 0 | 8 | when the process started |
//! | 8 | 4 | the number of the process |
//! | 12 | 4 | the number of the entry |
//! | 16 | 8 | the stack pointer |
//!
//! The value has [`MAX_ENTRY_VALUES`] words and a sum of them and of the stack pointer. The kernel may give the
//! memory of a value that was looked up to another key at once. The sum then tells that.

use simple_markers_resolver::location::Expr;

use super::assembler::{Code, Label};
use super::expression::Target;
use super::instruction::{Alu, Helper, JumpCondition, Map, Reg, Size};
use super::program::{FrameLookup, KEY, ProcessFilter, Program, ProgramError, ProgramSettings, require_group};
use crate::plan::{MAX_ENTRY_VALUES, Uncompilable};
use crate::record::UNSEEN;

/// The size of a key in bytes.
pub const KEY_SIZE: u32 = 24;
/// The size of a value in bytes.
pub const VALUE_SIZE: u32 = 8 * (MAX_ENTRY_VALUES as u32 + 1);
/// How many frames there can be. The kernel forgets those that were not used for the longest time.
pub const FRAMES: u32 = 1 << 16;

const PROCESS: i16 = 8;
const ENTRY: i16 = 12;
const STACK_POINTER: i16 = 16;
const SUM: i16 = 8 * MAX_ENTRY_VALUES as i16;
/// An odd factor of the sum.
const FACTOR: i32 = 0x5bd1_e995;

/// What is counted at each entry ([`Map::EntryTallies`]): one word for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryTally {
    /// The function was entered.
    Entered,
    /// A site asked for the values of its frame.
    Asked,
    /// There were none.
    Unseen,
}

impl EntryTally {
    /// How many there are.
    pub const COUNT: u32 = 3;

    fn offset(self) -> i16 {
        self as i16 * 8
    }
}

/// What was counted at an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryCounts {
    /// How often the function was entered.
    pub entered: u64,
    /// How often a site asked for the values of its frame.
    pub asked: u64,
    /// How often there were none.
    pub unseen: u64,
}

impl EntryCounts {
    /// Adds the words of a CPU.
    pub(crate) fn add(&mut self, words: &[u64]) {
        let word = |tally: EntryTally| words.get(tally as usize).copied().unwrap_or(0);
        self.entered = self.entered.saturating_add(word(EntryTally::Entered));
        self.asked = self.asked.saturating_add(word(EntryTally::Asked));
        self.unseen = self.unseen.saturating_add(word(EntryTally::Unseen));
    }
}

/// The program at the entry of a function. The values are computed from registers.
///
/// # Errors
///
/// The program is too long.
pub fn entry(
    stack_pointer: &Expr,
    values: &[Expr],
    target: &Target,
    settings: ProgramSettings,
) -> Result<Code, ProgramError> {
    // What happened outside of the group must not be taken for what happened in it.
    let group = match settings.processes {
        ProcessFilter::Group { id, level } => Some((id, level)),
        ProcessFilter::All | ProcessFilter::Set => None,
    };
    let processes = if group.is_some() { ProcessFilter::All } else { settings.processes };
    let mut program = Program::new(target, ProgramSettings { processes, ..settings }, None);
    let too_large = |_: Uncompilable| ProgramError::TooManyFields;
    program.note_entry(stack_pointer, values, group).map_err(too_large)?;
    Ok(program.finish()?)
}

impl Program<'_> {
    /// Notes the values of a frame.
    fn note_entry(
        &mut self,
        stack_pointer: &Expr,
        values: &[Expr],
        group: Option<(u64, u32)>,
    ) -> Result<(), Uncompilable> {
        let (key, value) = (self.push(KEY_SIZE)?, self.push(VALUE_SIZE)?);
        let (end, forget) = (self.end, self.code.label());
        self.code.load(Size::Four, Reg::R1, Reg::Frame, KEY);
        self.code.store(Size::Four, Reg::Frame, key + ENTRY, Reg::R1);
        self.frame_key(stack_pointer, key, end)?;
        if let Some((id, level)) = group {
            require_group(&mut self.code, id, level, forget);
        }
        for index in 0..MAX_ENTRY_VALUES {
            let word = value + 8 * index as i16;
            match values.get(index) {
                Some(of) => self.compute(of, word, forget)?,
                None => self.code.store_immediate(Size::Eight, Reg::Frame, word, 0),
            }
        }
        self.code.load(Size::Eight, Reg::R1, Reg::Frame, key + STACK_POINTER);
        for index in 0..MAX_ENTRY_VALUES {
            self.code.load(Size::Eight, Reg::R2, Reg::Frame, value + 8 * index as i16);
            self.add_to_sum();
        }
        self.code.store(Size::Eight, Reg::Frame, value + SUM, Reg::R1);
        self.count_entry(key, EntryTally::Entered);
        self.update(Map::Entries, key, value, 0);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, end);
        self.code.place(forget);
        self.map_and_key(Map::Entries, key);
        self.code.call(Helper::MapDeleteElem);
        Ok(())
    }

    /// Reads the values of the frame of a site to words of the stack.
    pub(super) fn read_entry(&mut self, frame: &FrameLookup<'_>) -> Result<(), Uncompilable> {
        let mut words = Vec::new();
        for value in frame.values {
            let word = self.stack.push()?;
            self.code.store_immediate(Size::Eight, Reg::Frame, word, 0);
            words.push((value.clone(), word));
        }
        let stack = self.stack.clone();
        let key = self.push(KEY_SIZE)?;
        let (unseen, asked) = (self.code.label(), self.code.label());
        self.code.store_immediate(Size::Four, Reg::Frame, key + ENTRY, frame.entry as i32);
        self.frame_key(frame.stack_pointer, key, unseen)?;
        self.map_and_key(Map::Entries, key);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, unseen);
        self.code.load(Size::Eight, Reg::R1, Reg::Frame, key + STACK_POINTER);
        for index in 0..MAX_ENTRY_VALUES {
            self.code.load(Size::Eight, Reg::R2, Reg::R0, 8 * index as i16);
            if let Some((_, word)) = words.get(index) {
                self.code.store(Size::Eight, Reg::Frame, *word, Reg::R2);
            }
            self.add_to_sum();
        }
        self.code.load(Size::Eight, Reg::R2, Reg::R0, SUM);
        self.code.jump_if(JumpCondition::Equal, Reg::R1, Reg::R2, asked);
        self.code.place(unseen);
        self.code.alu_immediate(Alu::Or, Reg::R9, 1 << UNSEEN);
        self.count_entry(key, EntryTally::Unseen);
        self.code.place(asked);
        self.count_entry(key, EntryTally::Asked);
        self.stack = stack;
        self.entered = words;
        Ok(())
    }

    /// Completes a key that has the number of the entry. Leads to a label if the stack pointer cannot be read.
    fn frame_key(&mut self, stack_pointer: &Expr, key: i16, unread: Label) -> Result<(), Uncompilable> {
        let identity = self.target.kernel.identity.ok_or(Uncompilable::EntryValue)?;
        self.code.call(Helper::GetCurrentTaskBtf);
        self.code.load(Size::Eight, Reg::R0, Reg::R0, offset(identity.first_thread)?);
        self.code.load(Size::Eight, Reg::R0, Reg::R0, offset(identity.start)?);
        self.code.store(Size::Eight, Reg::Frame, key, Reg::R0);
        self.code.call(Helper::GetCurrentPidTgid);
        self.code.alu_immediate(Alu::Rsh, Reg::R0, 32);
        self.code.store(Size::Four, Reg::Frame, key + PROCESS, Reg::R0);
        // The key is complete on all paths, as the kernel wants it.
        self.code.store_immediate(Size::Eight, Reg::Frame, key + STACK_POINTER, 0);
        self.compute(stack_pointer, key + STACK_POINTER, unread)
    }

    /// Adds the word in `R2` to the sum in `R1`.
    fn add_to_sum(&mut self) {
        self.code.alu(Alu::Xor, Reg::R1, Reg::R2);
        self.code.alu_immediate(Alu::Mul, Reg::R1, FACTOR);
    }

    /// Counts at the entry of a key.
    fn count_entry(&mut self, key: i16, tally: EntryTally) {
        let none = self.code.label();
        self.map_and_key(Map::EntryTallies, key + ENTRY);
        self.code.call(Helper::MapLookupElem);
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, none);
        self.code.set(Reg::R1, 1);
        self.code.add_atomically(Reg::R0, tally.offset(), Reg::R1);
        self.code.place(none);
    }
}

fn offset(of: u32) -> Result<i16, Uncompilable> {
    i16::try_from(of).map_err(|_| Uncompilable::EntryValue)
}
