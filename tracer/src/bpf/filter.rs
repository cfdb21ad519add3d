//! Compiles filters.

use super::assembler::{Assembler, Label};
use super::input::NUL_ENDS;
use super::instruction::{Alu, Helper, JumpCondition, Reg, Size};
use super::program::Program;
use crate::aggregate::Tally;
use crate::plan::{Condition, FieldPlace, Input, Number, Operator, Place, TextPlace, Uncompilable};
use crate::record::NAME_SIZE;

/// Where a condition goes.
#[derive(Clone, Copy)]
struct Ways {
    holds: Label,
    fails: Label,
    /// An input could not be read.
    unread: Label,
}

impl Program<'_> {
    /// Ends the program unless the filter holds.
    pub(super) fn filter(&mut self, inputs: &[Input], filter: &Condition) -> Result<(), Uncompilable> {
        self.prepare_all(inputs, &filter.inputs())?;
        self.note_contexts(&filter.contexts())?;
        let holds = self.code.label();
        let ways = Ways { holds, fails: self.end, unread: self.code.label() };
        self.condition(inputs, filter, ways)?;
        if self.code.is_used(ways.unread) {
            self.code.place(ways.unread);
            self.add_one_to(Tally::Unfiltered);
            self.code.jump(self.end);
        }
        self.code.place(holds);
        Ok(())
    }

    fn condition(&mut self, inputs: &[Input], condition: &Condition, ways: Ways) -> Result<(), Uncompilable> {
        match condition {
            // Only a whole filter is known.
            Condition::Known(result) => self.code.jump(if *result { ways.holds } else { ways.fails }),
            Condition::Or(left, right) => {
                let second = self.code.label();
                self.condition(inputs, left, Ways { fails: second, ..ways })?;
                self.code.place(second);
                self.condition(inputs, right, ways)?;
            }
            Condition::And(left, right) => {
                let second = self.code.label();
                self.condition(inputs, left, Ways { holds: second, ..ways })?;
                self.code.place(second);
                self.condition(inputs, right, ways)?;
            }
            Condition::Not(inner) => {
                self.condition(inputs, inner, Ways { holds: ways.fails, fails: ways.holds, ..ways })?;
            }
            Condition::Numbers { left, operator, right } => self.numbers(left, *operator, right, ways),
            Condition::Text { at, literal, is_equal } => {
                let ways = match is_equal {
                    true => ways,
                    false => Ways { holds: ways.fails, fails: ways.holds, ..ways },
                };
                match at {
                    TextPlace::Input(field) => {
                        if let Some(input) = inputs.get(*field) {
                            self.text_equals(input, *field, literal, ways)?;
                        }
                    }
                    TextPlace::ThreadName => self.thread_name_equals(literal, ways)?,
                }
            }
        }
        Ok(())
    }

    fn numbers(&mut self, left: &Number, operator: Operator, right: &Number, ways: Ways) {
        let is_signed = |number: &Number| match number {
            Number::Known(_) => None,
            Number::Read { is_signed, .. } => Some(*is_signed),
        };
        let (left_signed, right_signed) = (is_signed(left), is_signed(right));
        self.load_number(left, Reg::R1, ways.unread);
        self.load_number(right, Reg::R2, ways.unread);
        // A known number fits into the type of the other one.
        match (left_signed, right_signed) {
            (Some(true), Some(false)) => self.negative(Reg::R1, operator, ways),
            (Some(false), Some(true)) => self.negative(Reg::R2, operator.mirrored(), ways),
            _ => {}
        }
        let signed = left_signed.unwrap_or(true) && right_signed.unwrap_or(true);
        let jump = match (operator, signed) {
            (Operator::Equal, _) => JumpCondition::Equal,
            (Operator::NotEqual, _) => JumpCondition::NotEqual,
            (Operator::Less, true) => JumpCondition::SignedLess,
            (Operator::Less, false) => JumpCondition::Less,
            (Operator::LessEqual, true) => JumpCondition::SignedLessEqual,
            (Operator::LessEqual, false) => JumpCondition::LessEqual,
            (Operator::Greater, true) => JumpCondition::SignedGreater,
            (Operator::Greater, false) => JumpCondition::Greater,
            (Operator::GreaterEqual, true) => JumpCondition::SignedGreaterEqual,
            (Operator::GreaterEqual, false) => JumpCondition::GreaterEqual,
        };
        self.code.jump_if(jump, Reg::R1, Reg::R2, ways.holds);
        self.code.jump(ways.fails);
    }

    /// A negative number is less than every unsigned one.
    fn negative(&mut self, number: Reg, operator: Operator, ways: Ways) {
        let to = if operator.holds(std::cmp::Ordering::Less) { ways.holds } else { ways.fails };
        self.code.jump_if_immediate(JumpCondition::SignedLess, number, 0, to);
    }

    /// Loads a number, extended to 8 bytes by its sign. Uses `R3`.
    pub(super) fn load_number(&mut self, number: &Number, to: Reg, unread: Label) {
        match *number {
            Number::Known(value) => self.code.set(to, value as u64),
            Number::Read { at, other, size, is_signed } => {
                self.load_place(at, to, size, is_signed, unread);
                if let Some(other) = other {
                    self.load_place(other, Reg::R3, size, is_signed, unread);
                    self.code.jump_if(JumpCondition::NotEqual, to, Reg::R3, unread);
                }
            }
        }
    }

    fn load_place(&mut self, place: Place, to: Reg, size: u8, is_signed: bool, unread: Label) {
        match place {
            Place::Constant(bits) => self.code.set(to, bits),
            Place::Context(of) => {
                let word = self.context(of);
                self.code.load(Size::Eight, to, Reg::Frame, word);
            }
            Place::Input(field) => {
                self.require(field, unread);
                self.code.load(Size::Eight, to, Reg::Frame, self.word(field));
            }
        }
        let unused = 64 - i32::from(size.clamp(1, 8)) * 8;
        if unused > 0 {
            self.code.alu_immediate(Alu::Lsh, to, unused);
            self.code.alu_immediate(if is_signed { Alu::Arsh } else { Alu::Rsh }, to, unused);
        }
    }

    fn text_equals(&mut self, input: &Input, field: usize, literal: &[u8], ways: Ways) -> Result<(), Uncompilable> {
        self.require(field, ways.unread);
        let length = literal.len() as i32;
        let (word, words) = (self.word(field), (literal.len() + 2).div_ceil(8));
        let mut buffer = 0;
        for _ in 0..words {
            buffer = self.stack.push()?;
        }
        let code = &mut self.code;
        code.load(Size::Eight, Reg::R3, Reg::Frame, word);
        match input {
            Input::Bytes { .. } => {
                let (_, count) = self.words.get(field).copied().flatten().unwrap_or_default();
                let (ends_with_nul, is_read) = (code.label(), code.label());
                code.load(Size::Eight, Reg::R2, Reg::Frame, count.unwrap_or(word));
                code.jump_if_immediate(JumpCondition::Equal, Reg::R2, NUL_ENDS, ends_with_nul);
                code.jump_if_immediate(JumpCondition::NotEqual, Reg::R2, length, ways.fails);
                if length > 0 {
                    code.copy(Reg::R1, Reg::Frame);
                    code.alu_immediate(Alu::Add, Reg::R1, buffer.into());
                    code.set(Reg::R2, length as u64);
                    code.call(Helper::ProbeReadUser);
                    code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, ways.unread);
                }
                code.jump(is_read);
                code.place(ends_with_nul);
                // In place of an empty text.
                code.jump_if_immediate(
                    JumpCondition::Equal,
                    Reg::R3,
                    0,
                    if length == 0 { ways.holds } else { ways.fails },
                );
                self.read_text(buffer, length + 2, None);
                self.text_length_equals(length, ways);
                self.code.place(is_read);
            }
            Input::Text { .. } | Input::Field { place: FieldPlace::User(_), .. } => {
                let most = input.most_text().unwrap_or_default();
                let (_, limit) = self.words.get(field).copied().flatten().unwrap_or_default();
                let code = &mut self.code;
                // A null pointer has no text.
                code.jump_if_immediate(JumpCondition::Equal, Reg::R3, 0, ways.fails);
                // With the NUL, and a byte more to see that the text goes on.
                self.read_text(buffer, (length + 2).min(i32::from(most)), limit);
                self.text_length_equals(length, ways);
            }
            Input::Field { offset, place } => {
                self.text_of_event(*offset, *place, literal.len() as u16 + 2, buffer);
                self.text_length_equals(length, ways);
            }
            Input::Number(_) | Input::Recorded { .. } | Input::Whole(_) => {}
        }
        self.bytes_equal(buffer, literal, ways);
        for _ in 0..words {
            self.stack.pop();
        }
        Ok(())
    }

    /// Compares the name of the thread, which the kernel pads with zeros.
    fn thread_name_equals(&mut self, literal: &[u8], ways: Ways) -> Result<(), Uncompilable> {
        let buffer = self.push(NAME_SIZE.into())?;
        self.thread_name(Reg::Frame, buffer.into());
        let padded: Vec<u8> = literal.iter().copied().chain([0]).collect();
        self.bytes_equal(buffer, &padded, ways);
        for _ in 0..NAME_SIZE / 8 {
            self.stack.pop();
        }
        Ok(())
    }

    /// Copies the name of the thread to an offset from an address: [`NAME_SIZE`] bytes.
    pub(super) fn thread_name(&mut self, from: Reg, offset: i32) {
        let code = &mut self.code;
        code.copy(Reg::R1, from);
        code.alu_immediate(Alu::Add, Reg::R1, offset);
        code.set(Reg::R2, NAME_SIZE.into());
        code.call(Helper::GetCurrentComm);
    }

    /// Compares bytes of the stack with a literal, and goes on either way.
    fn bytes_equal(&mut self, buffer: i16, literal: &[u8], ways: Ways) {
        let code = &mut self.code;
        let (mut rest, mut at) = (literal, buffer);
        for (bytes, size) in [(8, Size::Eight), (4, Size::Four), (2, Size::Two), (1, Size::One)] {
            while let Some((part, after)) = rest.split_at_checked(bytes) {
                let expected = part.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
                code.load(size, Reg::R1, Reg::Frame, at);
                code.set(Reg::R2, expected);
                code.jump_if(JumpCondition::NotEqual, Reg::R1, Reg::R2, ways.fails);
                rest = after;
                at += bytes as i16;
            }
        }
        code.jump(ways.holds);
    }

    /// Reads the text at the address in `R3` into words of the stack, at most so many bytes with its NUL.
    /// `limit` is the word that has the precision of its conversion.
    pub(super) fn read_text(&mut self, to: i16, most: i32, limit: Option<i16>) {
        self.code.copy(Reg::R1, Reg::Frame);
        self.code.alu_immediate(Alu::Add, Reg::R1, to.into());
        text_size(&mut self.code, most, limit);
        self.code.call(Helper::ProbeReadUserStr);
    }

    /// Compares the length of a text that a helper copied. `R0` has what the helper returned.
    fn text_length_equals(&mut self, length: i32, ways: Ways) {
        self.code.jump_if_immediate(JumpCondition::SignedLess, Reg::R0, 0, ways.unread);
        // With the NUL.
        self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, length + 1, ways.fails);
    }
}

/// `R2` = the bytes to read of a text with its NUL: `most`, or fewer if the word `limit` has a precision.
pub(super) fn text_size(code: &mut Assembler, most: i32, limit: Option<i16>) {
    let Some(limit) = limit else {
        code.set(Reg::R2, most as u64);
        return;
    };
    let within = code.label();
    code.load(Size::Eight, Reg::R2, Reg::Frame, limit);
    // An `int`. As an unsigned number, a negative one is large.
    code.alu_immediate(Alu::Lsh, Reg::R2, 32);
    code.alu_immediate(Alu::Arsh, Reg::R2, 32);
    code.jump_if_immediate(JumpCondition::Less, Reg::R2, most - 1, within);
    code.set(Reg::R2, (most - 1) as u64);
    code.place(within);
    code.alu_immediate(Alu::Add, Reg::R2, 1);
}
