//! How a program gets the number of its site where the kernel hands it none: linked instructions, in which
//! something else takes the place of the call that asks for it (`bpf_get_attach_cookie`).

use super::assembler::{Assembler, TooLong};
use super::instruction::{Alu, Helper, Instruction, Map, Reg, Size};

/// How many addresses there are in a page: the lowest bits of an address are those of its offset in the file.
pub const PLACES: u64 = 4096;
/// The opcode of a call, and the source register of one of a function of the program (RFC 9669, 4.3.1).
const CALL: u8 = 0x85;
const OF_PROGRAM: u8 = 1 << 4;

/// Puts the number itself there.
#[must_use]
pub fn set_cookie(code: &[u8], cookie: u64) -> Vec<u8> {
    // It is stored as a number of 4 bytes.
    let mut number = Assembler::default();
    number.alu_immediate(Alu::Mov, Reg::R0, cookie as i32);
    let number = number.finish().map(|code| code.link(&|_| -1)).unwrap_or_default();
    replaced(code, &|_| number.clone())
}

/// Puts a function there that finds the number in the value of a map, by the lowest bits of the address of the
/// site: [`PLACES`] numbers of 8 bytes. `instruction_pointer` is where the program finds that address in its
/// context.
///
/// # Errors
///
/// Never in practice: the function has no jumps.
pub fn find_cookie(code: &[u8], map: i32, instruction_pointer: i16) -> Result<Vec<u8>, TooLong> {
    let mut function = Assembler::default();
    function.load(Size::Eight, Reg::R0, Reg::R1, instruction_pointer);
    function.alu_immediate(Alu::And, Reg::R0, PLACES as i32 - 1);
    function.alu_immediate(Alu::Lsh, Reg::R0, 3);
    function.set_map_value(Reg::R1, Map::Places);
    function.alu(Alu::Add, Reg::R1, Reg::R0);
    function.load(Size::Eight, Reg::R0, Reg::R1, 0);
    function.exit();
    let function = function.finish()?.link(&|_| map);
    let length = code.len() / Instruction::SIZE;
    let call = |index: usize| {
        let immediate = i32::try_from(length - index - 1).unwrap_or(i32::MAX);
        Instruction { opcode: CALL, registers: OF_PROGRAM, offset: 0, immediate }.to_bytes().to_vec()
    };
    let mut code = replaced(code, &call);
    code.extend(function);
    Ok(code)
}

/// The instructions with others in place of the calls, by their index.
fn replaced(code: &[u8], with: &dyn Fn(usize) -> Vec<u8>) -> Vec<u8> {
    let call = Instruction { opcode: CALL, registers: 0, offset: 0, immediate: Helper::GetAttachCookie as i32 };
    let instructions = code.chunks(Instruction::SIZE).enumerate();
    instructions.flat_map(|(index, it)| if it == call.to_bytes() { with(index) } else { it.to_vec() }).collect()
}
