//! The programs at events of the kernel. Their context is the record of the event, but for its first 8
//! bytes.

use super::assembler::Code;
use super::expression::Target;
use super::instruction::{Alu, Helper, JumpCondition, Reg, Size};
use super::program::{Program, ProgramError, ProgramSettings};
use super::stack::RegisterSource;
use crate::plan::{Condition, FAULT, FieldPlace, Input, KernelEvent, USER_TEXT};
use crate::record::{self, Layout};

/// How many bytes of the dynamic part of a record are copied at most. A record takes the first space
/// that suffices; what exceeds the last one is cut.
const SPACES: [u16; 3] = [64, 256, 1024];

/// How a text ends of which a part is missing, as in the kernel's own records.
const GOES_ON: &[u8] = b"...";

/// The program that writes a record for each event for which a filter holds.
///
/// # Errors
///
/// Why there is none.
pub fn trace(
    event: &KernelEvent,
    inputs: &[Input],
    filter: Option<&Condition>,
    target: &Target,
    settings: ProgramSettings,
) -> Result<(Code, Layout), ProgramError> {
    let layout = event.layout(inputs, settings.stacks);
    let mut program = Program::new(target, settings, event.other_thread());
    program.start_inputs(inputs, filter.is_some(), None).map_err(|_| ProgramError::TooManyFields)?;
    if let Some(filter) = filter {
        program.filter(inputs, filter).map_err(|_| ProgramError::TooManyFields)?;
    }
    let located: Vec<(u16, u16)> = inputs.iter().filter_map(located).collect();
    let fixed = event.fixed_size();
    program.code.set(Reg::R8, fixed.into());
    if event.user_space() > 0 {
        program.write_event_with_texts(event, inputs, &layout);
        return Ok((program.finish()?, layout));
    }
    if located.is_empty() {
        program.write_event(event.id(), &layout, 0, fixed);
        return Ok((program.finish()?, layout));
    }
    for (offset, base) in located {
        program.reach(offset, base);
    }
    let (mut spaces, end) = (SPACES.iter().peekable(), program.end);
    while let Some(space) = spaces.next() {
        let next = program.code.label();
        if spaces.peek().is_some() {
            let most = i32::from(fixed) + i32::from(*space);
            program.code.jump_if_immediate(JumpCondition::Greater, Reg::R8, most, next);
        }
        program.write_event(event.id(), &layout, *space, fixed);
        if spaces.peek().is_some() {
            program.code.jump(end);
            program.code.place(next);
        }
    }
    Ok((program.finish()?, layout))
}

/// The offset of a field that says where its value is, and what its place is counted from.
fn located(input: &Input) -> Option<(u16, u16)> {
    match input {
        Input::Field { offset, place: FieldPlace::Located(base) } => Some((*offset, *base)),
        _ => None,
    }
}

impl Program<'_> {
    /// Raises `R8` to the end of the value of a field.
    fn reach(&mut self, offset: u16, base: u16) {
        let code = &mut self.code;
        let is_within = code.label();
        code.load(Size::Four, Reg::R1, Reg::R6, offset as i16);
        code.copy(Reg::R2, Reg::R1);
        code.alu_immediate(Alu::And, Reg::R1, 0xffff);
        code.alu_immediate(Alu::Rsh, Reg::R2, 16);
        code.alu(Alu::Add, Reg::R1, Reg::R2);
        code.alu_immediate(Alu::Add, Reg::R1, base.into());
        code.jump_if(JumpCondition::LessEqual, Reg::R1, Reg::R8, is_within);
        code.copy(Reg::R8, Reg::R1);
        code.place(is_within);
    }

    /// Writes a record with room for `space` bytes behind the `fixed` ones. `R8` has the size of the
    /// kernel's record.
    fn write_event(&mut self, id: u16, layout: &Layout, space: u16, fixed: u16) {
        let size = self.reserve_event(layout, space);
        let raw = layout.raw().unwrap_or(record::FIELDS) as i16;
        self.code.store(Size::Eight, Reg::R7, raw, Reg::R8);
        self.copy_event(id, raw + 8, fixed.saturating_add(space));
        self.write_stacks(layout, size, RegisterSource::Entry);
        self.submit();
    }

    /// Reserves a record with room for `space` bytes behind those of all records of the event. Returns its size.
    fn reserve_event(&mut self, layout: &Layout, space: u16) -> u32 {
        let size = u32::from(layout.size().saturating_add(space)).saturating_add(layout.copy_size());
        self.reserve(size);
        size
    }

    /// Copies `size` bytes of the kernel's record to an offset of a record.
    fn copy_event(&mut self, id: u16, start: i16, size: u16) {
        let code = &mut self.code;
        code.copy(Reg::R1, Reg::R7);
        code.alu_immediate(Alu::Add, Reg::R1, start.into());
        code.set(Reg::R2, size.into());
        code.copy(Reg::R3, Reg::R6);
        code.call(Helper::ProbeReadKernel);
        // The kernel has a pointer there.
        code.store_immediate(Size::Four, Reg::R7, start, id.into());
        code.load(Size::Four, Reg::R1, Reg::R7, record::THREAD as i16);
        code.store(Size::Four, Reg::R7, start + 4, Reg::R1);
    }

    /// Writes a record with the texts of the program behind that of the kernel.
    fn write_event_with_texts(&mut self, event: &KernelEvent, inputs: &[Input], layout: &Layout) {
        let size = self.reserve_event(layout, event.user_space());
        let raw = layout.raw().unwrap_or(record::FIELDS) as i16;
        let texts = inputs.iter().enumerate().filter_map(|(index, input)| match input {
            Input::Field { offset, place: FieldPlace::User(address) } => Some((index, *offset as i16, *address as i16)),
            _ => None,
        });
        let texts: Vec<(usize, i16, i16)> = texts.collect();
        // The fields for the texts are behind those of the kernel.
        let of_kernel = texts.iter().map(|(_, offset, _)| *offset as u16).min().unwrap_or(event.fixed_size());
        self.copy_event(event.id(), raw + 8, of_kernel);
        for (index, offset, address) in texts {
            self.text_behind(index, raw + 8, offset, address);
        }
        self.code.store(Size::Eight, Reg::R7, raw, Reg::R8);
        self.write_stacks(layout, size, RegisterSource::Entry);
        self.submit();
    }

    /// Copies the text at an address that is in the record to the end of it, and says where in the field at an
    /// offset. `R8` has the size of the record, which begins at `start`.
    fn text_behind(&mut self, index: usize, start: i16, offset: i16, address: i16) {
        let (is_read, failed) = (self.code.label(), self.code.label());
        let most = i32::from(USER_TEXT);
        let code = &mut self.code;
        // A null pointer has no text.
        code.set(Reg::R0, 0);
        code.load(Size::Eight, Reg::R3, Reg::R7, start + address);
        code.jump_if_immediate(JumpCondition::Equal, Reg::R3, 0, is_read);
        code.copy(Reg::R1, Reg::R7);
        code.alu(Alu::Add, Reg::R1, Reg::R8);
        code.alu_immediate(Alu::Add, Reg::R1, start.into());
        // A byte more tells that it goes on.
        code.set(Reg::R2, u64::from(USER_TEXT) + 1);
        code.call(Helper::ProbeReadUserStr);
        // An error is a large number.
        code.jump_if_immediate(JumpCondition::Greater, Reg::R0, most + 1, failed);
        code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, most + 1, is_read);
        self.put_behind(GOES_ON, start + most as i16 - GOES_ON.len() as i16 - 1);
        self.code.set(Reg::R0, most as u64);
        self.code.jump(is_read);
        self.code.place(failed);
        self.unread(index);
        self.put_behind(FAULT, start);
        self.code.set(Reg::R0, FAULT.len() as u64 + 1);
        let code = &mut self.code;
        code.place(is_read);
        // `__data_loc`: the length and the place.
        code.copy(Reg::R1, Reg::R0);
        code.alu_immediate(Alu::Lsh, Reg::R1, 16);
        code.alu(Alu::Or, Reg::R1, Reg::R8);
        code.store(Size::Four, Reg::R7, start + offset, Reg::R1);
        code.alu(Alu::Add, Reg::R8, Reg::R0);
    }

    /// Stores a text and its NUL at `R7 + R8`, plus an offset.
    fn put_behind(&mut self, bytes: &[u8], offset: i16) {
        let code = &mut self.code;
        code.copy(Reg::R1, Reg::R7);
        code.alu(Alu::Add, Reg::R1, Reg::R8);
        for (byte, at) in bytes.iter().chain(&[0]).zip(offset..) {
            code.store_immediate(Size::One, Reg::R1, at, i32::from(*byte));
        }
    }

    /// Stores a number of the record in a word of the stack.
    pub(super) fn number_of_event(&mut self, offset: u16, size: u8, word: i16) {
        let code = &mut self.code;
        let load = match size {
            1 => Some(Size::One),
            2 => Some(Size::Two),
            4 => Some(Size::Four),
            8 => Some(Size::Eight),
            _ => None,
        };
        match load.filter(|_| offset % u16::from(size) == 0) {
            Some(load) => {
                code.load(load, Reg::R0, Reg::R6, offset as i16);
                code.store(Size::Eight, Reg::Frame, word, Reg::R0);
            }
            None => {
                code.store_immediate(Size::Eight, Reg::Frame, word, 0);
                code.copy(Reg::R1, Reg::Frame);
                code.alu_immediate(Alu::Add, Reg::R1, word.into());
                code.set(Reg::R2, size.into());
                code.copy(Reg::R3, Reg::R6);
                code.alu_immediate(Alu::Add, Reg::R3, offset.into());
                code.call(Helper::ProbeReadKernel);
            }
        }
    }

    /// Copies a text of the record to the stack: at most `most` bytes with a NUL. `R0` has their number
    /// with the NUL, or an error.
    pub(super) fn text_of_event(&mut self, offset: u16, place: FieldPlace, most: u16, to: i16) {
        let code = &mut self.code;
        match place {
            FieldPlace::Located(base) => {
                code.load(Size::Four, Reg::R1, Reg::R6, offset as i16);
                code.copy(Reg::R2, Reg::R1);
                code.alu_immediate(Alu::Rsh, Reg::R2, 16);
                // The text may have no NUL. The kernel counts one that it adds.
                code.alu_immediate(Alu::Add, Reg::R2, 1);
                let is_less = code.label();
                code.jump_if_immediate(JumpCondition::LessEqual, Reg::R2, most.into(), is_less);
                code.set(Reg::R2, most.into());
                code.place(is_less);
                code.alu_immediate(Alu::And, Reg::R1, 0xffff);
                code.copy(Reg::R3, Reg::R6);
                code.alu(Alu::Add, Reg::R3, Reg::R1);
                code.alu_immediate(Alu::Add, Reg::R3, base.into());
            }
            FieldPlace::Inline(size) => {
                code.set(Reg::R2, most.min(size.saturating_add(1)).into());
                code.copy(Reg::R3, Reg::R6);
                code.alu_immediate(Alu::Add, Reg::R3, offset.into());
            }
            // The caller has read it.
            FieldPlace::Number(_) | FieldPlace::User(_) => {
                code.set(Reg::R2, 0);
                code.copy(Reg::R3, Reg::R6);
            }
        }
        code.copy(Reg::R1, Reg::Frame);
        code.alu_immediate(Alu::Add, Reg::R1, to.into());
        code.call(Helper::ProbeReadKernelStr);
    }
}
