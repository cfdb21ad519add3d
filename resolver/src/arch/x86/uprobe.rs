//! What the kernel does with a uprobe on x86 (`arch/x86/kernel/uprobes.c`, Linux 6.18; other
//! versions by [`UprobeRules`]).
//!
//! The kernel looks up the first byte of the opcode in a table of opcodes that it can run
//! elsewhere. If an instruction has a VEX or EVEX prefix, the kernel takes the byte after the
//! prefix for an opcode of one byte. So it refuses `vpxor` (ef) as if it were `out`. It also
//! "emulates" what looks like a branch, a call or a return (`vpcmpeqb` 74, `vmovdqu` to memory 7f,
//! `vpor` eb, `vcmpps` c2), so the instruction is not executed at all.

use super::decode;
use crate::code::probe::{BreaksReason, Effect, ProbeCost, RefusedReason};
use crate::uprobe_rules::UprobeRules;

/// The one-byte opcodes that the kernel accepts in 64-bit programs, with one bit each, in rows of
/// 16 from 00.
const GOOD_64: [u16; 16] = [
    0xbf3f, 0x3f3f, 0x7f7f, 0x7f7f, 0xffff, 0xffff, 0x0ff8, 0xffff, 0xfffb, 0xfbff, 0xffff, 0xffff, 0x0fff, 0xff8f,
    0x0b0f, 0xf3ed,
];

/// The same in 32-bit programs.
const GOOD_32: [u16; 16] = [
    0xff7f, 0x7f7f, 0xffff, 0xffff, 0xffff, 0xffff, 0x0fff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0x0fff, 0xffff,
    0x0f0f, 0xf3ed,
];

/// The no-operations that the kernel emulates because it uses them itself. (It emulates `66 90` and
/// all others with opcode 90 anyway.)
const NOPS: [&[u8]; 6] = [
    &[0x0f, 0x1f, 0x00],
    &[0x0f, 0x1f, 0x40, 0x00],
    &[0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
    &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
];

/// The no-operation that Linux 7.2 rewrites: `cs nopw 0x0(%rax,%rax,1)`.
const TEN_BYTE_NOP: &[u8] = &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00];

/// The parts of an instruction, as the kernel splits it.
struct InstructionEncoding<'a> {
    prefixes: &'a [u8],
    rex: Option<u8>,
    /// Whether the prefix is VEX or EVEX.
    is_vector: bool,
    /// The first byte of the opcode, and the bytes after it.
    opcode: u8,
    rest: &'a [u8],
}

fn encoding(bitness: u32, code: &[u8]) -> Option<InstructionEncoding<'_>> {
    let is_prefix =
        |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x66 | 0x67 | 0xf0 | 0xf2 | 0xf3);
    let count = code.iter().take_while(|byte| is_prefix(byte)).count();
    let (prefixes, mut rest) = code.split_at_checked(count)?;
    let mut rex = None;
    if bitness == 64 && matches!(rest.first(), Some(0x40..=0x4f)) {
        rex = rest.first().copied();
        rest = rest.get(1..)?;
    }
    // In 32-bit code these bytes are prefixes only before a register operand: `les`, `lds` and
    // `bound` of two registers do not exist.
    let is_register_form = rest.get(1).is_some_and(|byte| byte >> 6 == 3);
    let vector = match rest.first() {
        Some(0xc5) if bitness == 64 || is_register_form => 2,
        Some(0xc4) if bitness == 64 || is_register_form => 3,
        Some(0x62) if bitness == 64 || is_register_form => 4,
        _ => 0,
    };
    rest = rest.get(vector..)?;
    let (&opcode, rest) = rest.split_first()?;
    Some(InstructionEncoding { prefixes, rex, is_vector: vector != 0, opcode, rest })
}

pub(super) fn effect(
    bitness: u32,
    (pc, bytes): (u64, &[u8]),
    rules: &dyn UprobeRules,
    may_use_red_zone: &dyn Fn() -> bool,
) -> Effect {
    const EMULATED: Effect = Effect::Fires(ProbeCost::Emulated);
    const STEPPED: Effect = Effect::Fires(ProbeCost::Stepped);
    let Some(iced) = decode::decode(bitness, pc, bytes) else { return Effect::Unknown };
    let code = bytes.get(..iced.len()).unwrap_or_default();
    if code == TEN_BYTE_NOP && bitness == 64 && rules.rewrites_ten_byte_nops() {
        return Effect::Fires(ProbeCost::Called);
    }
    let Some(InstructionEncoding { prefixes, rex, is_vector, opcode, rest }) = encoding(bitness, code) else {
        return Effect::Unknown;
    };
    let modrm = if opcode == 0x0f && !is_vector { rest.get(1) } else { rest.first() };
    let reg = modrm.map(|modrm| modrm >> 3 & 7);
    let is_memory = modrm.is_some_and(|modrm| modrm >> 6 != 3);
    if prefixes.contains(&0xf0) {
        return Effect::Refused(RefusedReason::LockPrefix);
    }
    if prefixes.iter().any(|prefix| matches!(prefix, 0x26 | 0x2e | 0x36 | 0x3e)) {
        return Effect::Refused(RefusedReason::SegmentPrefix);
    }
    // XOP: some kernels decode it, others do not.
    if opcode == 0x8f && !is_vector && reg != Some(0) {
        return Effect::Unknown;
    }
    if opcode == 0x1f || opcode == 0x8e && reg == Some(2) {
        return Effect::Refused(RefusedReason::MissedTrap);
    }
    let good = if bitness == 64 { &GOOD_64 } else { &GOOD_32 };
    if good.get(usize::from(opcode >> 4)).is_none_or(|row| row & 1 << (opcode & 15) == 0) {
        return Effect::Refused(if is_vector { RefusedReason::MisreadVector } else { RefusedReason::NotInTable });
    }
    // From here on the kernel accepts the probe.
    let is_nop = !is_vector && (opcode == 0x90 || opcode == 0x0f && rest.first() == Some(&0x1f) && reg == Some(0));
    let is_rewritten = is_nop && code.len() == 5 && bitness == 64 && rex.is_none_or(|rex| rex & 1 == 0);
    if is_rewritten && rules.rewrites_five_byte_nops() {
        return if may_use_red_zone() {
            Effect::Breaks(BreaksReason::RedZone)
        } else {
            Effect::Fires(ProbeCost::Called)
        };
    }
    if rules.emulates_long_nops() && NOPS.contains(&code) {
        return EMULATED;
    }
    match opcode {
        _ if is_vector => match opcode {
            0x70..=0x7f | 0x90 | 0xe8 | 0xe9 | 0xeb => Effect::Breaks(BreaksReason::TakenForBranch),
            0xc2 | 0xca | 0xcb | 0xc3 | 0x9d => Effect::Breaks(BreaksReason::TakenForReturn),
            _ => STEPPED,
        },
        0x90 if rex.is_some_and(|rex| rex & 1 != 0) => Effect::Breaks(BreaksReason::TakenForNop),
        0x90 => EMULATED,
        0xeb | 0xe9 | 0xe8 | 0x70..=0x7f if prefixes.contains(&0x66) => Effect::Refused(RefusedReason::Branch16),
        0xeb | 0xe9 | 0xe8 | 0x70..=0x7f => EMULATED,
        0x50..=0x57 if code.len() == 1 || (code.len() == 2 && rex == Some(0x41)) => EMULATED,
        0x0f => match (rest.first(), reg) {
            (Some(0x80..=0x8f), _) if prefixes.contains(&0x66) => Effect::Refused(RefusedReason::Branch16),
            (Some(0x80..=0x8f), _) => EMULATED,
            // sldt, str, sgdt, sidt, smsw: with UMIP the kernel emulates them itself, but uses a
            // wrong address.
            (Some(0x00), Some(0 | 1)) | (Some(0x01), Some(4)) => Effect::Breaks(BreaksReason::Umip),
            (Some(0x01), Some(0 | 1)) if is_memory => Effect::Breaks(BreaksReason::Umip),
            _ => STEPPED,
        },
        // Repeated string instructions, including `repe cmps` and similar.
        0xa4..=0xa7 | 0xaa..=0xaf if prefixes.iter().any(|prefix| matches!(prefix, 0xf2 | 0xf3)) => {
            Effect::FiresEachIteration
        }
        0x9c => Effect::Breaks(BreaksReason::PushesTrapFlag),
        0xc7 if rest.first() == Some(&0xf8) => Effect::Breaks(BreaksReason::TransactionAborts),
        _ => STEPPED,
    }
}
