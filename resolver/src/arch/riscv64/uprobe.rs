//! What the kernel does with a uprobe on RISC-V. Taken from `arch/riscv/kernel/probes/decode-insn.c`
//! and the masks in `arch/riscv/include/asm/insn.h`, not measured.

use super::decode::{self, InstructionWord};
use crate::code::probe::{Effect, ProbeCost, RefusedReason};

/// An instruction as the assembler takes any; `None` if there is none.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    let (half, word) = parts(bytes)?;
    Some(match word.size {
        4 => format!(".insn 4, {:#010x}", word.bits),
        size => format!(".insn {size}, {half:#06x}"),
    })
}

fn parts(bytes: &[u8]) -> Option<(u16, InstructionWord)> {
    let half = bytes.first_chunk().map(|half| u16::from_le_bytes(*half))?;
    Some((half, InstructionWord::of(bytes)?))
}

pub(super) fn effect(bytes: &[u8]) -> Effect {
    let Some((half, word)) = parts(bytes) else { return Effect::Unknown };
    match word.opcode() {
        // ecall, ebreak, and those that read or write a control register.
        decode::SYSTEM => Effect::Refused(RefusedReason::SystemInstruction),
        decode::MISC_MEM => Effect::Refused(RefusedReason::Fence),
        decode::AUIPC | decode::BRANCH | decode::JAL | decode::JALR => Effect::Fires(ProbeCost::Emulated),
        // Older kernels take `c.addiw` for the `c.jal` of 32-bit processors, which they refuse, and some
        // `c.mv` and `c.add` for `c.jr` and `c.jalr`.
        decode::OP_IMM_32 if half & 0xe003 == 0x2001 => Effect::Unknown,
        decode::OP_IMM | decode::OP if matches!(half & 0xf007, 0x8002 | 0x9002) => Effect::Unknown,
        // The trap of a probe between `lr` and `sc` ends the reservation.
        decode::AMO if word.funct7() >> 2 & !1 == 2 => Effect::Unknown,
        _ => Effect::Fires(ProbeCost::Stepped),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encodings are from GNU as, the expected results from the masks in the kernel's header.
    #[test]
    fn instructions_are_taken_by_the_kernels_masks() {
        const EMULATED: Effect = Effect::Fires(ProbeCost::Emulated);
        const STEPPED: Effect = Effect::Fires(ProbeCost::Stepped);
        const SYSTEM: Effect = Effect::Refused(RefusedReason::SystemInstruction);
        for (bits, expected, text) in [
            (0x0000_0097, EMULATED, "auipc ra, 0"),
            (0x10b5_62e3, EMULATED, "bltu a0, a1, .+2308"),
            (0x10d2_00ef, EMULATED, "jal ra, .+133388"),
            (0x0003_0067, EMULATED, "jr t1"),
            (0xa9c9, EMULATED, "c.j .+1234"),
            (0xcd7d, EMULATED, "c.beqz a0, .+254"),
            (0x8302, EMULATED, "c.jr t1"),
            (0x9782, EMULATED, "c.jalr a5"),
            (0x9002, SYSTEM, "c.ebreak"),
            (0x0000_0073, SYSTEM, "ecall"),
            (0x0030_2573, SYSTEM, "frcsr a0"),
            (0x0ff0_000f, Effect::Refused(RefusedReason::Fence), "fence"),
            (0x07c4_2603, STEPPED, "lw a2, 124(s0)"),
            (0x1fe8, STEPPED, "c.addi4spn a0, sp, 1020"),
            (0x856e, STEPPED, "c.mv a0, s11"),
            (0x28fd, Effect::Unknown, "c.addiw a7, 31"),
            (0x8522, Effect::Unknown, "c.mv a0, s0"),
            (0x1005_252f, Effect::Unknown, "lr.w a0, (a0)"),
            (0x18a5_262f, Effect::Unknown, "sc.w a2, a0, (a0)"),
            (0x00a5_262f, STEPPED, "amoadd.w a2, a0, (a0)"),
        ] {
            assert_eq!(effect(&u32::to_le_bytes(bits)), expected, "{text}");
        }
    }
}
