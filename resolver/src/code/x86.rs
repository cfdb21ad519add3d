//! Instructions of x86, by iced-x86.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter, GasFormatter, Instruction as Iced, InstructionInfoFactory,
    Mnemonic, OpAccess, Register,
};

use super::cfg::{Instruction, InstructionKind, Successors};

/// Decodes `bytes` and gives each instruction to `each` until it says to stop; the address of what is none.
pub(super) fn sweep(bitness: u32, start: u64, bytes: &[u8], mut each: impl FnMut(Instruction) -> bool) -> Option<u64> {
    let mut decoder = Decoder::with_ip(bitness, bytes, start, DecoderOptions::NONE);
    let mut iced = Iced::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut iced);
        if iced.is_invalid() {
            return Some(iced.ip());
        }
        if !each(neutral(&iced)) {
            break;
        }
    }
    None
}

/// The instruction at the start of `bytes`; `None` where there is none.
pub(super) fn decode(bitness: u32, at: u64, bytes: &[u8]) -> Option<Iced> {
    let mut decoder = Decoder::with_ip(bitness, bytes, at, DecoderOptions::NONE);
    let iced = decoder.decode();
    (!iced.is_invalid()).then_some(iced)
}

/// The instruction as objdump writes it, but for blanks.
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

fn neutral(iced: &Iced) -> Instruction {
    let successors = match iced.flow_control() {
        FlowControl::UnconditionalBranch if iced.is_jmp_short_or_near() => Successors::Jump(iced.near_branch_target()),
        FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend if iced.near_branch_target() != 0 => {
            Successors::Conditional(iced.near_branch_target())
        }
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
        // What assemblers pad 32-bit code with: `lea 0x0(%esi),%esi`, `xchg %ax,%ax`, `mov %esi,%esi`.
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
            let is_whole = register.size() == if iced.code_size() == iced_x86::CodeSize::Code64 { 8 } else { 4 };
            is_whole && register == iced.op1_register()
        }
    }
}

/// The registers that an instruction may write, one bit for each by its number in the encoding; vector registers from bit 16.
pub(super) fn written(factory: &mut InstructionInfoFactory, iced: &Iced) -> u64 {
    let mut mask = 0;
    for used in factory.info(iced).used_registers() {
        if matches!(
            used.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        ) {
            mask |= bit(used.register());
        }
    }
    mask
}

/// The bit of a register: the general-purpose ones from bit 0, vectors from bit 16.
pub(super) fn bit(register: Register) -> u64 {
    let full = register.full_register();
    if full.is_gpr() {
        1u64.checked_shl(u32::try_from(full.number()).unwrap_or(u32::MAX)).unwrap_or(0)
    } else if full.is_vector_register() {
        1u64.checked_shl(u32::try_from(full.number()).unwrap_or(u32::MAX).saturating_add(16)).unwrap_or(0)
    } else {
        0
    }
}

/// What may be read behind a call and be another value than before it: by the System V ABI a call keeps rbx, rbp, rsp, r12 to r15 (i386: ebx,
/// ebp, esp, esi, edi). It may change r9, r10 and r11, and no convention returns a value there. Who reads one of these behind a call knows
/// that the callee leaves it alone: gcc looks (`-fipa-ra`), and keeps the address of a jump table there over the calls in a loop.
pub(super) fn clobbered(bitness: u32) -> u64 {
    let kept: u64 =
        if bitness == 64 { 1 << 3 | 1 << 4 | 1 << 5 | 0x7f << 9 } else { 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 };
    !kept
}

/// Whether an instruction writes memory or has an effect outside of registers.
pub(super) fn stores(factory: &mut InstructionInfoFactory, iced: &Iced) -> bool {
    let writes = factory.info(iced).used_memory().iter().any(|used| {
        matches!(used.access(), OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
    });
    writes || iced.is_save_restore_instruction() || iced.is_privileged() || iced.flow_control() != FlowControl::Next
}
