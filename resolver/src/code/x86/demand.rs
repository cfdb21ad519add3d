//! Which bits of registers an instruction uses.

use iced_x86::{Instruction as Iced, InstructionInfo, Mnemonic, OpAccess, OpKind, Register, RflagsBits};

use super::super::data_flow::{DataFlow, Gpr, How, Use};
use super::data_flow::{gpr, is_read};

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
    flow.sets_flags = iced.rflags_modified() & RflagsBits::ZF != 0;
    flow.reads_flags = iced.rflags_read() != 0;
    for used in info.used_registers() {
        let is_whole = used.register().is_gpr64() || used.register().is_gpr32();
        if let (true, OpAccess::Write | OpAccess::ReadWrite, Some(register)) =
            (is_whole, used.access(), gpr(used.register()))
        {
            flow.overwrites |= 1 << register;
        }
    }
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
fn operands(iced: &Iced) -> Option<Vec<Use>> {
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
    let both = |how: fn(Gpr) -> How, mask: u64| {
        let second = second.and_then(|second| using(second, bits(second), how(to)));
        using(first, mine & mask, how(to)).into_iter().chain(second).collect()
    };
    Some(match iced.mnemonic() {
        Mnemonic::Xor | Mnemonic::Sub if second == Some(first) => Vec::new(),
        Mnemonic::Mov | Mnemonic::Movzx => {
            second.and_then(|second| using(second, bits(second), How::Same(to))).into_iter().collect()
        }
        Mnemonic::Movsx | Mnemonic::Movsxd => {
            second.and_then(|second| using(second, bits(second), How::Signed(to))).into_iter().collect()
        }
        Mnemonic::And => both(How::Same, constant.unwrap_or(u64::MAX)),
        Mnemonic::Or => both(How::Same, !constant.unwrap_or(0)),
        Mnemonic::Xor | Mnemonic::Not | Mnemonic::Cmova | Mnemonic::Cmovae | Mnemonic::Cmovb | Mnemonic::Cmovbe => {
            both(How::Same, u64::MAX)
        }
        Mnemonic::Cmove | Mnemonic::Cmovne | Mnemonic::Cmovg | Mnemonic::Cmovge | Mnemonic::Cmovl => {
            both(How::Same, u64::MAX)
        }
        Mnemonic::Cmovle | Mnemonic::Cmovs | Mnemonic::Cmovns => both(How::Same, u64::MAX),
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Dec | Mnemonic::Neg => both(How::Lower, u64::MAX),
        Mnemonic::Imul if iced.op_count() == 2 => both(How::Lower, u64::MAX),
        Mnemonic::Imul if iced.op_count() == 3 => {
            second.and_then(|second| using(second, mine, How::Lower(to))).into_iter().collect()
        }
        Mnemonic::Lea => {
            let registers = [iced.memory_base(), iced.memory_index()].into_iter();
            return Some(registers.filter_map(|register| using(register, mine, How::Lower(to))).collect());
        }
        Mnemonic::Shl | Mnemonic::Sal | Mnemonic::Shr | Mnemonic::Sar => {
            let by = u8::try_from(constant? & if first.is_gpr64() { 63 } else { 31 }).ok()?;
            let shifted = match iced.mnemonic() {
                Mnemonic::Shr | Mnemonic::Sar => How::FromLeft(to, by),
                _ => How::FromRight(to, by),
            };
            let sign = (iced.mnemonic() == Mnemonic::Sar)
                .then(|| using(first, mine & !(mine >> 1), How::Signed(to)))
                .flatten();
            using(first, mine, shifted).into_iter().chain(sign).collect()
        }
        Mnemonic::Test => {
            let mask = constant.unwrap_or(u64::MAX);
            let second = second.and_then(|second| using(second, bits(second), How::Always));
            using(first, mine & mask, How::Always).into_iter().chain(second).collect()
        }
        _ => return None,
    })
}

fn immediate(iced: &Iced, operand: u32) -> Option<u64> {
    iced.try_immediate(operand).ok()
}
