//! What instructions do to the stack pointer and to x29.

use super::decode::{self, signed};
use crate::code::instruction::StackDepth;

/// x29 and the stack pointer in the encoding.
const FRAME: u32 = 29;
const STACK: u32 = 31;

pub(super) fn after(code: &[u8], before: StackDepth) -> Option<StackDepth> {
    let word = decode::word(code)?;
    let sum = sum(word, before);
    let writes = |register: u32| decode::written(word) & 1 << register != 0;
    let destination = word & 31;
    let frame = match destination {
        FRAME if sum.is_some() => sum,
        _ if writes(FRAME) => None,
        _ => before.frame,
    };
    let stack = match destination {
        _ if !writes(STACK) => before.stack,
        STACK if sum.is_some() => sum?,
        _ => before.stack.wrapping_sub(write_back(word)?),
    };
    Some(StackDepth { stack, frame })
}

/// The depth of the result of an `add` or `sub` of an immediate to the stack pointer or x29.
fn sum(word: u32, before: StackDepth) -> Option<i64> {
    let from = match word >> 5 & 31 {
        STACK => Some(before.stack),
        FRAME => before.frame,
        _ => None,
    };
    let immediate = i64::from(word >> 10 & 0xfff) << if word & 1 << 22 != 0 { 12 } else { 0 };
    match word & 0xff80_0000 {
        0x9100_0000 => from.map(|from| from.wrapping_sub(immediate)),
        0xd100_0000 => from.map(|from| from.wrapping_add(immediate)),
        _ => None,
    }
}

/// How much a load or store of one register or a pair adds to its base; `None` for other
/// instructions.
fn write_back(word: u32) -> Option<i64> {
    if word & 0x3a80_0000 == 0x2880_0000 {
        let size = if word & 1 << 26 != 0 {
            4i64 << (word >> 30 & 3)
        } else if word >> 31 != 0 {
            8
        } else {
            4
        };
        Some(signed(word, 15, 7).wrapping_mul(size))
    } else if word & 0x3b20_0400 == 0x3800_0400 {
        Some(signed(word, 12, 9))
    } else {
        None
    }
}
