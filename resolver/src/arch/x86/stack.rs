//! How instructions change the stack pointer and the frame pointer.

use iced_x86::{Instruction as Iced, Mnemonic, OpKind, Register};

use super::decode::decode;
use crate::code::instruction::StackDepth;

pub(super) fn after(bitness: u32, at: u64, code: &[u8], before: StackDepth) -> Option<StackDepth> {
    let it = decode(bitness, at, code)?;
    let registers = if bitness == 64 { (Register::RSP, Register::RBP) } else { (Register::ESP, Register::EBP) };
    let stack = stack_after(&it, bitness, registers, before)?;
    let frame = frame_after(&it, registers, stack, before.frame);
    Some(StackDepth { stack, frame })
}

/// Whether an operand is in memory below the stack pointer or the frame pointer, or another register gets
/// such an address.
pub(super) fn may_reach_below(bitness: u32, at: u64, code: &[u8]) -> bool {
    let Some(it) = decode(bitness, at, code) else { return true };
    let is_stack = |register| matches!(register, Register::RSP | Register::RBP | Register::ESP | Register::EBP);
    let is_to_stack = is_stack(destination(&it));
    let is_memory = it.op_kinds().any(|kind| kind == OpKind::Memory);
    match it.mnemonic() {
        Mnemonic::Lea => is_stack(it.memory_base()) && !is_to_stack,
        Mnemonic::Mov if it.op1_kind() == OpKind::Register && is_stack(it.op1_register()) => !is_to_stack,
        _ => is_memory && is_stack(it.memory_base()) && (it.memory_displacement64() as i64) < 0,
    }
}

/// The register that an instruction writes, if its first operand is one.
fn destination(it: &Iced) -> Register {
    if it.op0_kind() == OpKind::Register { it.op0_register() } else { Register::None }
}

fn stack_after(it: &Iced, bitness: u32, (stack, base): (Register, Register), before: StackDepth) -> Option<i64> {
    let is_to_stack = destination(it) == stack;
    let immediate = || it.try_immediate(1).ok().map(|bits| bits as i64);
    Some(match it.mnemonic() {
        Mnemonic::Sub if is_to_stack => before.stack.wrapping_add(immediate()?),
        Mnemonic::Add if is_to_stack => before.stack.wrapping_sub(immediate()?),
        Mnemonic::Lea if is_to_stack && it.memory_index() == Register::None => {
            let offset = it.memory_displacement64() as i64;
            let offset = if bitness == 32 { i64::from(it.memory_displacement32() as i32) } else { offset };
            match it.memory_base() {
                from if from == stack => before.stack.wrapping_sub(offset),
                from if from == base => before.frame?.wrapping_sub(offset),
                _ => return None,
            }
        }
        Mnemonic::Mov if is_to_stack && it.op1_register() == base => before.frame?,
        Mnemonic::Leave => before.frame?.wrapping_sub(i64::from(bitness / 8)),
        // The callee frees what a call pushes.
        _ if it.is_call_near() || it.is_call_near_indirect() => before.stack,
        Mnemonic::Push | Mnemonic::Cmp | Mnemonic::Test => pushed(it, before),
        _ if is_to_stack => return None,
        _ => pushed(it, before),
    })
}

fn pushed(it: &Iced, before: StackDepth) -> i64 {
    before.stack.wrapping_sub(i64::from(it.stack_pointer_increment()))
}

/// The depth of the address in the frame pointer. `depth` is the depth of the stack after the
/// instruction.
fn frame_after(it: &Iced, (stack, base): (Register, Register), depth: i64, before: Option<i64>) -> Option<i64> {
    let is_to_frame = destination(it) == base;
    match it.mnemonic() {
        Mnemonic::Mov if is_to_frame && it.op1_register() == stack => Some(depth),
        Mnemonic::Lea if is_to_frame && it.memory_base() == stack && it.memory_index() == Register::None => {
            Some(depth.wrapping_sub(it.memory_displacement64() as i64))
        }
        Mnemonic::Leave => None,
        Mnemonic::Push | Mnemonic::Cmp | Mnemonic::Test => before,
        _ if is_to_frame => None,
        _ => before,
    }
}
