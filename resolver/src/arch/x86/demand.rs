//! Which bits of registers an instruction uses.

use iced_x86::{Instruction as Iced, InstructionInfo, Mnemonic, OpKind, Register};
use smallvec::SmallVec;

use super::decode::{gpr, is_read};
use crate::code::data_flow::{DataFlow, How, Use};

/// The lower bits of a value with so many bytes.
fn low(size: usize) -> u64 {
    u32::try_from(size)
        .ok()
        .and_then(|size| u64::MAX.checked_shr(64u32.checked_sub(size.checked_mul(8)?)?))
        .unwrap_or(0)
}

fn bits(register: Register) -> u64 {
    match register {
        Register::AH | Register::BH | Register::CH | Register::DH => 0xff00,
        register => low(register.size()),
    }
}

/// Adds what an instruction uses.
pub(super) fn add(flow: &mut DataFlow, iced: &Iced, info: &InstructionInfo) {
    if let Some(uses) = operands(iced) {
        flow.uses = uses;
        // The registers of an address are used with all bits.
        for used in info.used_memory() {
            let registers = [used.base(), used.index()].into_iter().filter_map(gpr);
            flow.uses.extend(registers.map(|register| Use { register, bits: u64::MAX, how: How::Always }));
        }
        return;
    }
    let read = info.used_registers().iter().filter(|used| is_read(used.access()));
    flow.uses = read
        .filter_map(|used| Some(Use { register: gpr(used.register())?, bits: bits(used.register()), how: How::Always }))
        .collect();
}

/// The uses of an instruction whose result is a register; `None` if nothing special is known.
fn operands(iced: &Iced) -> Option<SmallVec<[Use; 2]>> {
    let of = |operand: u32| (iced.op_kind(operand) == OpKind::Register).then(|| iced.op_register(operand));
    let first = of(0)?;
    let to = gpr(first)?;
    let second = (iced.op_count() > 1).then(|| of(1)).flatten();
    // Other registers, such as those of vectors, are another matter.
    if second.is_some_and(|second| gpr(second).is_none()) || bits(first) == 0xff00 {
        return None;
    }
    let constant = (iced.op_count() > 1).then(|| immediate(iced, iced.op_count() - 1)).flatten();
    let mine = bits(first);
    let using = |register: Register, bits: u64, how: How| gpr(register).map(|register| Use { register, bits, how });
    let both = |how: How, mask: u64| {
        let second = second.and_then(|second| using(second, bits(second), how));
        using(first, mine & mask, how).into_iter().chain(second).collect()
    };
    Some(match iced.mnemonic() {
        Mnemonic::Xor | Mnemonic::Sub if second == Some(first) => SmallVec::new(),
        Mnemonic::Mov | Mnemonic::Movzx => {
            second.and_then(|second| using(second, bits(second), How::Same(to))).into_iter().collect()
        }
        Mnemonic::Movsx | Mnemonic::Movsxd => {
            second.and_then(|second| using(second, bits(second), How::Signed(to))).into_iter().collect()
        }
        Mnemonic::And => both(How::Same(to), constant.unwrap_or(u64::MAX)),
        Mnemonic::Or => both(How::Same(to), !constant.unwrap_or(0)),
        Mnemonic::Xor | Mnemonic::Not | Mnemonic::Cmova | Mnemonic::Cmovae | Mnemonic::Cmovb | Mnemonic::Cmovbe => {
            both(How::Same(to), u64::MAX)
        }
        Mnemonic::Cmove | Mnemonic::Cmovne | Mnemonic::Cmovg | Mnemonic::Cmovge | Mnemonic::Cmovl => {
            both(How::Same(to), u64::MAX)
        }
        Mnemonic::Cmovle | Mnemonic::Cmovs | Mnemonic::Cmovns => both(How::Same(to), u64::MAX),
        _ => return None,
    })
}

fn immediate(iced: &Iced, operand: u32) -> Option<u64> {
    iced.try_immediate(operand).ok()
}
