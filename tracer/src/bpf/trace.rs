//! The programs that write a record for each hit.
//!
//! A record is reserved in the ring buffer only after everything that may sleep. Otherwise a
//! program that waits for a page would hold up the records of all others. The time is taken after
//! the reservation, which makes the order of times provable (`crate::order`).

use super::assembler::Code;
use super::expression::Target;
use super::filter::text_size;
use super::input::NUL_ENDS;
use super::instruction::{Alu, Helper, JumpCondition, Map, Reg, Size};
use super::program::{KEY, Program, ProgramError, ProgramSettings, Section, Words};
use super::stack::RegisterSource;
use super::whole::rounds;
use crate::plan::{Input, MAX_WORDS};
use crate::record::{self, Layout};

/// A reader who has read all records before this one is woken up.
const RING_WAKES: u64 = 0;

/// The program that writes a record for each hit for which a filter holds, at each of the sites of an
/// address. Every input must have passed [`check`](super::input::check). Returns the layouts of the
/// records too.
///
/// # Errors
///
/// Why there is none.
pub fn trace<'p>(
    sections: &[Section<'p>],
    target: &'p Target,
    settings: ProgramSettings,
) -> Result<(Code, Vec<Layout>), ProgramError> {
    let mut program = Program::new(target, settings, None);
    program.rounds = rounds(sections.iter().flat_map(|section| section.inputs));
    let (stack, mut layouts) = (program.stack.clone(), Vec::new());
    for section in sections {
        program.begin(section, &stack);
        layouts.push(program.trace(section, settings)?);
    }
    Ok((program.finish()?, layouts))
}

impl Program<'_> {
    /// Writes the record of a site.
    fn trace(&mut self, section: &Section<'_>, settings: ProgramSettings) -> Result<Layout, ProgramError> {
        let Section { inputs, filter, .. } = *section;
        if inputs.iter().map(Input::words).sum::<usize>() > MAX_WORDS {
            return Err(ProgramError::TooManyFields);
        }
        let layout = Layout::new(inputs.iter().map(Input::kind)).with_stacks(settings.stacks);
        let is_tested = filter.is_some() || section.frame.is_some();
        self.start_inputs(inputs, is_tested, section.frame.as_ref()).map_err(|_| ProgramError::TooManyFields)?;
        if let Some(filter) = filter {
            self.filter(inputs, filter).map_err(|_| ProgramError::TooManyFields)?;
        }
        let all: Vec<usize> = (0..inputs.len()).collect();
        self.prepare_all(inputs, &all).map_err(|_| ProgramError::TooManyFields)?;
        self.touch_stack(&layout).map_err(|_| ProgramError::TooManyFields)?;
        let size = u32::from(layout.size()).saturating_add(layout.copy_size());
        self.reserve(size);
        for (index, (input, (offset, _))) in inputs.iter().zip(layout.fields()).enumerate() {
            let Some(words) = self.words.get(index).copied().flatten() else { continue };
            self.write(input, *offset as i16, words, index);
        }
        self.free_slots();
        self.write_stacks(&layout, size, RegisterSource::Context);
        self.submit();
        Ok(layout)
    }

    /// Reserves a record and writes its header. `R7` has its address.
    pub(super) fn reserve(&mut self, size: u32) {
        let (is_reserved, end) = (self.code.label(), self.end);
        let code = &mut self.code;
        code.set_map(Reg::R1, Map::Ring);
        code.set(Reg::R2, size.into());
        code.set(Reg::R3, 0);
        code.call(Helper::RingbufReserve);
        code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, is_reserved);
        self.add_one(Map::Lost);
        self.free_slots();
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
        self.thread_name(Reg::R7, record::NAME.into());
    }

    /// Hands the record on.
    pub(super) fn submit(&mut self) {
        let code = &mut self.code;
        code.store(Size::Eight, Reg::R7, record::UNREAD as i16, Reg::R9);
        code.copy(Reg::R1, Reg::R7);
        code.set(Reg::R2, RING_WAKES);
        code.call(Helper::RingbufSubmit);
    }

    /// Writes a field of the record.
    fn write(&mut self, input: &Input, offset: i16, (word, length): Words, index: usize) {
        if let Input::Whole(whole) = input {
            return self.write_whole(whole, word, offset);
        }
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R3, Reg::Frame, word);
        code.store(Size::Eight, Reg::R7, offset, Reg::R3);
        let (Input::Text { most, .. } | Input::Bytes { most, .. }) = input else { return };
        let most = i32::from(*most);
        let (is_read, failed) = (code.label(), code.label());
        let is_text = matches!(input, Input::Text { .. });
        if let Some(length) = length.filter(|_| !is_text) {
            let (within, ends_with_nul) = (code.label(), code.label());
            code.load(Size::Eight, Reg::R2, Reg::Frame, length);
            code.jump_if_immediate(JumpCondition::Equal, Reg::R2, NUL_ENDS, ends_with_nul);
            code.store(Size::Eight, Reg::R7, offset + 8, Reg::R2);
            code.jump_if_immediate(JumpCondition::LessEqual, Reg::R2, most, within);
            code.set(Reg::R2, most as u64);
            code.place(within);
            code.copy(Reg::R1, Reg::R7);
            code.alu_immediate(Alu::Add, Reg::R1, i32::from(offset) + 16);
            code.call(Helper::ProbeReadUser);
            code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, is_read);
            code.jump(failed);
            code.place(ends_with_nul);
        }
        code.store_immediate(Size::Eight, Reg::R7, offset + 8, 0);
        // A null pointer has no text.
        code.jump_if_immediate(JumpCondition::Equal, Reg::R3, 0, is_read);
        text_size(code, most, length.filter(|_| is_text));
        code.copy(Reg::R1, Reg::R7);
        code.alu_immediate(Alu::Add, Reg::R1, i32::from(offset) + 16);
        code.call(Helper::ProbeReadUserStr);
        code.jump_if_immediate(JumpCondition::SignedLess, Reg::R0, 0, failed);
        if length.is_some() && !is_text {
            let goes_on = code.label();
            code.jump_if_immediate(JumpCondition::Equal, Reg::R0, most, goes_on);
            // Without the NUL.
            code.alu_immediate(Alu::Sub, Reg::R0, 1);
            code.store(Size::Eight, Reg::R7, offset + 8, Reg::R0);
            code.jump(is_read);
            code.place(goes_on);
            // The last byte is a NUL that the kernel has put there, or that of the text.
            code.store_immediate(Size::Eight, Reg::R7, offset + 8, NUL_ENDS);
            code.load(Size::Eight, Reg::R3, Reg::Frame, word);
            code.alu_immediate(Alu::Add, Reg::R3, most - 1);
            code.set(Reg::R2, 1);
            code.copy(Reg::R1, Reg::R7);
            code.alu_immediate(Alu::Add, Reg::R1, i32::from(offset) + 16 + most - 1);
            code.call(Helper::ProbeReadUser);
        } else {
            code.store(Size::Eight, Reg::R7, offset + 8, Reg::R0);
        }
        code.jump(is_read);
        code.place(failed);
        self.unread(index);
        self.code.place(is_read);
    }
}
