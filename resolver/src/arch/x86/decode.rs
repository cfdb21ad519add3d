//! Decoding, with iced-x86.

use iced_x86::{
    CodeSize, Decoder, DecoderOptions, FlowControl, Formatter, GasFormatter, Instruction as Iced,
    InstructionInfoFactory, Mnemonic, OpAccess, Register,
};

use crate::code::data_flow::Gpr;
use crate::code::instruction::{Effects, Instruction, InstructionKind, Successors};

/// Decodes `bytes` and gives each instruction to `each` until that returns false. Returns the
/// address of the first bytes that are not an instruction.
pub(super) fn sweep(bitness: u32, start: u64, bytes: &[u8], each: &mut dyn FnMut(Instruction) -> bool) -> Option<u64> {
    let mut decoder = Decoder::with_ip(bitness, bytes, start, DecoderOptions::NONE);
    let mut iced = Iced::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut iced);
        if iced.is_invalid() {
            return Some(iced.ip());
        }
        if !each(instruction(&iced)) {
            break;
        }
    }
    None
}

/// The instruction at the start of `bytes`; `None` if they are none.
pub(super) fn decode(bitness: u32, at: u64, bytes: &[u8]) -> Option<Iced> {
    let mut decoder = Decoder::with_ip(bitness, bytes, at, DecoderOptions::NONE);
    let iced = decoder.decode();
    (!iced.is_invalid()).then_some(iced)
}

/// The instruction as objdump writes it, except for blanks.
pub(super) fn text(iced: &Iced) -> String {
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_space_after_operand_separator(false);
    options.set_uppercase_hex(false);
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_small_hex_numbers_in_decimal(false);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(true);
    let mut text = String::new();
    formatter.format(iced, &mut text);
    text
}

fn instruction(iced: &Iced) -> Instruction {
    let successors = match iced.flow_control() {
        FlowControl::UnconditionalBranch if iced.is_jmp_short_or_near() => Successors::Jump(iced.near_branch_target()),
        FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend if iced.near_branch_target() != 0 => {
            Successors::Conditional(iced.near_branch_target())
        }
        FlowControl::Return if iced.mnemonic() == Mnemonic::Ret => Successors::Returns,
        // Far jumps and returns, `iret`.
        FlowControl::UnconditionalBranch | FlowControl::Return => Successors::Ends,
        FlowControl::IndirectBranch => Successors::Indirect,
        FlowControl::Call | FlowControl::IndirectCall => Successors::Call,
        FlowControl::Exception => Successors::Traps,
        FlowControl::Next | FlowControl::Interrupt | FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => {
            Successors::Next
        }
    };
    let kind = match iced.mnemonic() {
        Mnemonic::Nop | Mnemonic::Int3 => InstructionKind::Padding,
        // Assemblers pad 32-bit code with `lea 0x0(%esi),%esi`, `xchg %ax,%ax` and `mov %esi,%esi`.
        Mnemonic::Lea | Mnemonic::Xchg | Mnemonic::Mov if does_nothing(iced) => InstructionKind::Padding,
        Mnemonic::Endbr64 | Mnemonic::Endbr32 => InstructionKind::LandingMark,
        _ => InstructionKind::Plain,
    };
    // An instruction is at most 15 bytes long.
    Instruction { at: iced.ip(), size: u8::try_from(iced.len()).unwrap_or(u8::MAX), successors, kind }
}

fn does_nothing(iced: &Iced) -> bool {
    match iced.mnemonic() {
        Mnemonic::Lea => {
            iced.memory_base() == iced.op0_register()
                && iced.memory_index() == Register::None
                && iced.memory_displacement64() == 0
        }
        // In 64-bit code a 32-bit move clears the upper half.
        _ => {
            let register = iced.op0_register();
            let is_whole = register.size() == if iced.code_size() == CodeSize::Code64 { 8 } else { 4 };
            is_whole && register == iced.op1_register()
        }
    }
}

/// The registers that an instruction may write, by [`bit`], and whether it stores.
pub(super) fn effects(factory: &mut InstructionInfoFactory, iced: &Iced) -> Effects {
    let info = factory.info(iced);
    let registers = info.used_registers().iter().filter(|used| is_write(used.access()));
    let written = registers.fold(0, |mask, used| mask | bit(used.register()));
    let stores = info.used_memory().iter().any(|used| is_write(used.access()))
        || iced.is_save_restore_instruction()
        || iced.is_privileged()
        || iced.flow_control() != FlowControl::Next;
    Effects { written, stores }
}

/// The bit of a register: general-purpose registers from bit 0 by their number in the encoding,
/// vector registers from bit 16.
pub(super) fn bit(register: Register) -> u64 {
    let full = register.full_register();
    let first = if full.is_gpr() {
        0
    } else if full.is_vector_register() {
        16
    } else {
        return 0;
    };
    let number = u32::try_from(full.number()).unwrap_or(u32::MAX);
    1u64.checked_shl(number.saturating_add(first)).unwrap_or(0)
}

/// The general-purpose register that a register is a part of.
pub(super) fn gpr(register: Register) -> Option<Gpr> {
    let is_it = register.is_gpr64() || register.is_gpr32() || register.is_gpr16() || register.is_gpr8();
    is_it.then(|| register.full_register().number()).and_then(|number| u8::try_from(number).ok())
}

pub(super) fn is_write(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

pub(super) fn is_read(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}
