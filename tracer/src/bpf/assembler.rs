//! Assembles BPF instructions: labels, and the maps that a program refers to.

use super::instruction::{Alu, Helper, Instruction, JumpCondition, Map, Reg, Size};

const LOAD_IMMEDIATE: u8 = 0x18;
const LOAD: u8 = 0x61;
const STORE_IMMEDIATE: u8 = 0x62;
const STORE: u8 = 0x63;
const ATOMIC: u8 = 0xdb;
/// The immediate of [`ATOMIC`] (RFC 9669, 5.3).
const COMPARE_AND_EXCHANGE: i32 = 0xf1;
const FETCH_AND_ADD: i32 = 0x01;
const JUMP: u8 = 0x05;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// The second operand is a register, not the immediate.
const BY_REGISTER: u8 = 0x08;
/// In the source register of a 64-bit immediate: it is the file descriptor of a map (RFC 9669, 5.4).
const MAP_BY_FD: u8 = 1;
/// The same, and the immediate is the address of the first value of the map.
const VALUE_BY_FD: u8 = 2;

/// A place that instructions jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(usize);

/// A program without the file descriptors of its maps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Code {
    instructions: Vec<Instruction>,
    maps: Vec<(usize, Map)>,
}

/// Why a program cannot be assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the program has too many instructions for the jumps of BPF")]
pub struct TooLong;

/// A program that is being written.
#[derive(Debug, Default)]
pub struct Assembler {
    instructions: Vec<Instruction>,
    maps: Vec<(usize, Map)>,
    /// The instruction at each label; `None` until it is placed.
    labels: Vec<Option<usize>>,
    /// The jumps, and where they go.
    jumps: Vec<(usize, Label)>,
}

impl Code {
    /// The maps that the program refers to, without duplicates.
    #[must_use]
    pub fn maps(&self) -> Vec<Map> {
        let mut maps = Vec::new();
        for (_, map) in &self.maps {
            if !maps.contains(map) {
                maps.push(*map);
            }
        }
        maps
    }

    /// How many instructions it has. A 64-bit immediate counts twice.
    #[must_use]
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Whether it has no instruction.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    /// The bytes that the kernel takes, with the file descriptor of each map.
    #[must_use]
    pub fn link(&self, descriptor: &dyn Fn(Map) -> i32) -> Vec<u8> {
        let mut instructions = self.instructions.clone();
        for (index, map) in &self.maps {
            if let Some(instruction) = instructions.get_mut(*index) {
                instruction.immediate = descriptor(*map);
            }
        }
        instructions.into_iter().flat_map(Instruction::to_bytes).collect()
    }
}

impl Assembler {
    fn push(&mut self, opcode: u8, destination: Reg, source: Reg, offset: i16, immediate: i32) {
        self.instructions.push(Instruction::new(opcode, destination, source, offset, immediate));
    }

    /// `destination = destination operation source`.
    pub fn alu(&mut self, operation: Alu, destination: Reg, source: Reg) {
        self.push(0x07 | BY_REGISTER | operation.code(), destination, source, 0, 0);
    }

    /// `destination = destination operation immediate`. The immediate is sign-extended.
    pub fn alu_immediate(&mut self, operation: Alu, destination: Reg, immediate: i32) {
        self.push(0x07 | operation.code(), destination, Reg::R0, 0, immediate);
    }

    /// `destination = -destination`.
    pub fn negate(&mut self, destination: Reg) {
        self.push(0x87, destination, Reg::R0, 0, 0);
    }

    /// `destination = source`.
    pub fn copy(&mut self, destination: Reg, source: Reg) {
        self.alu(Alu::Mov, destination, source);
    }

    /// `destination = value`.
    pub fn set(&mut self, destination: Reg, value: u64) {
        match i32::try_from(value as i64) {
            Ok(immediate) => self.alu_immediate(Alu::Mov, destination, immediate),
            Err(_) => {
                self.push(LOAD_IMMEDIATE, destination, Reg::R0, 0, value as u32 as i32);
                self.push(0, Reg::R0, Reg::R0, 0, (value >> 32) as i32);
            }
        }
    }

    /// `destination = address of map`.
    pub fn set_map(&mut self, destination: Reg, map: Map) {
        self.set_from_map(destination, map, MAP_BY_FD);
    }

    /// `destination = address of the first value of map`. The map must be an array.
    pub fn set_map_value(&mut self, destination: Reg, map: Map) {
        self.set_from_map(destination, map, VALUE_BY_FD);
    }

    fn set_from_map(&mut self, destination: Reg, map: Map, source: u8) {
        self.maps.push((self.instructions.len(), map));
        let registers = destination as u8 | source << 4;
        self.instructions.push(Instruction { opcode: LOAD_IMMEDIATE, registers, offset: 0, immediate: 0 });
        self.push(0, Reg::R0, Reg::R0, 0, 0);
    }

    /// `destination = *(source + offset)`, zero-extended.
    pub fn load(&mut self, size: Size, destination: Reg, source: Reg, offset: i16) {
        self.push(LOAD | size.code(), destination, source, offset, 0);
    }

    /// `*(destination + offset) = source`.
    pub fn store(&mut self, size: Size, destination: Reg, offset: i16, source: Reg) {
        self.push(STORE | size.code(), destination, source, offset, 0);
    }

    /// `*(destination + offset) = immediate`.
    pub fn store_immediate(&mut self, size: Size, destination: Reg, offset: i16, immediate: i32) {
        self.push(STORE_IMMEDIATE | size.code(), destination, Reg::R0, offset, immediate);
    }

    /// `*(destination + offset) += source`, 8 bytes, atomically.
    pub fn add_atomically(&mut self, destination: Reg, offset: i16, source: Reg) {
        self.push(ATOMIC, destination, source, offset, 0);
    }

    /// `*(destination + offset) += source`, 8 bytes, atomically. `source` gets what it was.
    pub fn fetch_and_add(&mut self, destination: Reg, offset: i16, source: Reg) {
        self.push(ATOMIC, destination, source, offset, FETCH_AND_ADD);
    }

    /// `*(destination + offset) = source` if it was `R0`, 8 bytes, atomically. `R0` gets what it was.
    pub fn exchange_atomically(&mut self, destination: Reg, offset: i16, source: Reg) {
        self.push(ATOMIC, destination, source, offset, COMPARE_AND_EXCHANGE);
    }

    /// Calls a function. Its arguments are in `R1` to `R5`, its result in `R0`.
    pub fn call(&mut self, helper: Helper) {
        self.push(CALL, Reg::R0, Reg::R0, 0, helper as i32);
    }

    /// Ends the program.
    pub fn exit(&mut self) {
        self.push(EXIT, Reg::R0, Reg::R0, 0, 0);
    }

    /// A label that is placed later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label before the next instruction.
    pub fn place(&mut self, label: Label) {
        if let Some(place) = self.labels.get_mut(label.0) {
            *place = Some(self.instructions.len());
        }
    }

    /// Jumps to a label.
    pub fn jump(&mut self, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(JUMP, Reg::R0, Reg::R0, 0, 0);
    }

    /// Jumps to a label if `left condition right`.
    pub fn jump_if(&mut self, condition: JumpCondition, left: Reg, right: Reg, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(0x05 | BY_REGISTER | condition.code(), left, right, 0, 0);
    }

    /// Jumps to a label if `left condition right`. The immediate is sign-extended.
    pub fn jump_if_immediate(&mut self, condition: JumpCondition, left: Reg, right: i32, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(0x05 | condition.code(), left, Reg::R0, 0, right);
    }

    /// Whether an instruction jumps to a label. The kernel refuses code that is never reached.
    #[must_use]
    pub fn is_used(&self, label: Label) -> bool {
        self.jumps.iter().any(|(_, to)| *to == label)
    }

    /// The program.
    ///
    /// # Errors
    ///
    /// A jump is too long for its 16-bit offset.
    pub fn finish(mut self) -> Result<Code, TooLong> {
        for (at, label) in &self.jumps {
            let place = self.labels.get(label.0).copied().flatten().ok_or(TooLong)?;
            let distance = place as i64 - *at as i64 - 1;
            if let Some(instruction) = self.instructions.get_mut(*at) {
                instruction.offset = i16::try_from(distance).map_err(|_| TooLong)?;
            }
        }
        Ok(Code { instructions: self.instructions, maps: self.maps })
    }
}
