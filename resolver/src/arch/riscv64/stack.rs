//! What instructions do to the stack pointer and to s0, which is the frame pointer.

use super::decode::{InstructionWord, JAL, JALR, RA, S0, SP, ZERO};
use crate::code::instruction::StackDepth;

pub(super) fn after(code: &[u8], before: StackDepth) -> Option<StackDepth> {
    let word = InstructionWord::of(code)?;
    // `-msave-restore`: the prologue calls a function that pushes, and returns through t0.
    if matches!(word.opcode(), JAL | JALR) && !matches!(word.rd(), ZERO | RA) {
        return None;
    }
    let from = match word.rs1() {
        SP => Some(before.stack),
        S0 => before.frame,
        _ => None,
    };
    let sum = from.filter(|_| word.is_addi()).map(|from| from.wrapping_sub(word.immediate()));
    let writes = |register: u32| word.effects().written & 1 << register != 0;
    let frame = if writes(S0) { sum } else { before.frame };
    let stack = if writes(SP) { sum? } else { before.stack };
    Some(StackDepth { stack, frame })
}
