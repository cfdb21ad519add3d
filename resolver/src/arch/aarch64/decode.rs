//! Decoding by the bits of the word (Arm ARM, C4.1). Each instruction has four bytes, and all
//! instructions that change the control flow are in one class.
//!
//! yaxpeax-arm writes the text. The control flow does not rely on yaxpeax-arm, because it does not
//! know future vector extensions. None of those instructions branches.

use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::InstDecoder;

use crate::code::instruction::{Instruction, InstructionKind, Successors};

/// The register with the return address.
const LINK: u32 = 30;

/// The instruction at the start of `bytes`.
pub(super) fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Decodes `bytes` and gives each instruction to `each` until that returns false. Returns the
/// address of the first bytes that are not an instruction.
pub(super) fn sweep(start: u64, bytes: &[u8], each: &mut dyn FnMut(Instruction) -> bool) -> Option<u64> {
    if start % 4 != 0 {
        return Some(start);
    }
    let mut undecoded = None;
    let mut at = start;
    for bytes in bytes.chunks(4) {
        let next = word(bytes).and_then(|word| Some((successors(word, at)?, kind(word))));
        match next {
            Some((successors, kind)) => {
                if !each(Instruction { at, size: 4, successors, kind }) {
                    break;
                }
            }
            // The size is fixed, so the following instructions are decoded all the same.
            None => undecoded = undecoded.or(Some(at)),
        }
        at = at.wrapping_add(4);
    }
    undecoded
}

/// The text of the instruction.
pub(super) fn text(at: u64, bytes: &[u8]) -> Option<String> {
    let text = InstDecoder::default().decode(&mut U8Reader::new(bytes.get(..4)?)).ok()?.to_string();
    // yaxpeax-arm writes addresses as `$+0x10`.
    let Some((before, offset)) = text.split_once('$') else { return Some(text) };
    let (sign, digits) = offset.split_at_checked(1)?;
    let digits = digits.trim_start_matches("0x");
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    let (digits, after) = digits.split_at_checked(end)?;
    let offset = u64::from_str_radix(digits, 16).ok()?;
    let base = if before.starts_with("adrp") { at & !0xfff } else { at };
    let target = if sign == "-" { base.wrapping_sub(offset) } else { base.wrapping_add(offset) };
    Some(format!("{before}{target:#x}{after}"))
}

/// Sign-extends the `bits` of a word from bit `from` on.
pub(super) fn signed(word: u32, from: u32, bits: u32) -> i64 {
    let up = 32u32.saturating_sub(from.saturating_add(bits));
    i64::from((word.wrapping_shl(up) as i32).wrapping_shr(32u32.saturating_sub(bits)))
}

fn successors(word: u32, at: u64) -> Option<Successors> {
    let to = |from, bits| at.wrapping_add_signed(signed(word, from, bits).wrapping_mul(4));
    Some(match word {
        // `udf` has the first bits of another class. After it: all but branches, exceptions and
        // system instructions.
        _ if word >> 16 == 0 => Successors::Traps,
        _ if word & 0x1c00_0000 != 0x1400_0000 => Successors::Next,
        _ if word & 0xfc00_0000 == 0x1400_0000 => Successors::Jump(to(0, 26)),
        _ if word & 0xfc00_0000 == 0x9400_0000 => Successors::Call,
        // b.al and b.nv branch always. No compiler writes them.
        _ if word & 0xff00_0000 == 0x5400_0000 => Successors::Conditional(to(5, 19)),
        _ if word & 0x7e00_0000 == 0x3400_0000 => Successors::Conditional(to(5, 19)),
        _ if word & 0x7e00_0000 == 0x3600_0000 => Successors::Conditional(to(5, 14)),
        // br x30, braaz x30 and the like
        _ if is_br(word) && word >> 5 & 31 == LINK => Successors::Returns,
        _ if is_br(word) => Successors::Indirect,
        // blr, blraa and the like
        _ if word & 0xffff_fc1f == 0xd63f_0000 || word & 0xfeff_f800 == 0xd63f_0800 => Successors::Call,
        // ret, retaa, retab
        _ if word & 0xffff_fc1f == 0xd65f_0000 || word & 0xffff_fbff == 0xd65f_0bff => Successors::Returns,
        // eret, eretaa, drps
        _ if word & 0xffff_f3ff == 0xd69f_03e0 || word == 0xd6bf_03e0 => Successors::Ends,
        // svc, hvc, smc; brk, hlt and dcps trap.
        _ if word & 0xffe0_001c == 0xd400_0000 => Successors::Next,
        _ if word & 0xff00_0000 == 0xd400_0000 => Successors::Traps,
        _ if word & 0xff00_0000 == 0xd500_0000 => Successors::Next,
        _ => return None,
    })
}

/// `br`, `braa` and the like.
pub(super) fn is_br(word: u32) -> bool {
    word & 0xffff_fc1f == 0xd61f_0000 || word & 0xfeff_f800 == 0xd61f_0800
}

fn kind(word: u32) -> InstructionKind {
    match word {
        0xd503_201f => InstructionKind::Padding,
        // bti, bti c, bti j, bti jc
        0xd503_241f | 0xd503_245f | 0xd503_249f | 0xd503_24df => InstructionKind::LandingMark,
        _ => InstructionKind::Plain,
    }
}

fn x(number: u32) -> u64 {
    1u64.wrapping_shl(number & 31)
}

fn v(number: u32) -> u64 {
    1u64.wrapping_shl((number & 31).wrapping_add(32))
}

/// The registers that an instruction may write, maybe too many: x0 to x30 from bit 0, the stack
/// pointer in bit 31, vectors from bit 32.
pub(super) fn written(word: u32) -> u64 {
    let (d, n, t2, s) = (word & 31, word >> 5 & 31, word >> 10 & 31, word >> 16 & 31);
    // x31 is the zero register, except as an address or the result of an addition.
    let gpr = |number: u32| if number == 31 { 0 } else { x(number) };
    let is_vector = word & 1 << 26 != 0;
    match word >> 25 & 15 {
        // Immediates: the result of an addition or logical operation that sets no flags may be the
        // stack pointer.
        8 | 9 => {
            let sets_flags = match word >> 23 & 7 {
                2 | 3 => word & 1 << 29 != 0,
                4 => word >> 29 & 3 == 3,
                _ => true,
            };
            if d == 31 && !sets_flags { x(31) } else { gpr(d) }
        }
        5 | 13 if word & 0x3fe0_0000 == 0x0b20_0000 && d == 31 => x(31),
        5 | 13 => gpr(d),
        // Some of them move to general registers.
        7 | 15 => gpr(d) | v(d),
        4 | 6 | 12 | 14 => {
            let t = if is_vector { v } else { |number: u32| if number == 31 { 0 } else { x(number) } };
            match word >> 28 & 3 {
                0 if is_vector => v(d) | v(d + 1) | v(d + 2) | v(d + 3) | x(n),
                0 => gpr(d) | gpr(t2) | gpr(s) | x(n),
                1 if word & 1 << 24 == 0 => t(d),
                1 => gpr(d) | gpr(s) | x(n),
                2 => {
                    let loads = if word & 1 << 22 != 0 { t(d) | t(t2) } else { 0 };
                    loads | if word & 1 << 23 != 0 { x(n) } else { 0 }
                }
                _ => {
                    let loads = if word >> 22 & 3 != 0 { t(d) } else { 0 };
                    match (word & 1 << 24, word & 1 << 21, word >> 10 & 3) {
                        (0, 0, 1 | 3) => loads | x(n),
                        (0, 0, _) | (1.., _, _) | (0, _, 2) => loads,
                        // Atomic operations, loads with authenticated addresses.
                        _ => gpr(d) | t(d) | x(n),
                    }
                }
            }
        }
        10 | 11 => match word {
            _ if word & 0xfc00_0000 == 0x9400_0000 || word & 0xffff_0000 == 0xd63f_0000 => x(30),
            _ if word & 0xff00_0000 == 0xd400_0000 => u64::MAX,
            // The hints that authenticate write x16, x17 or x30.
            _ if word & 0xffff_f01f == 0xd503_201f && word != 0xd503_201f => x(16) | x(17) | x(30),
            _ if word & 0xff00_0000 == 0xd500_0000 => gpr(d),
            _ => 0,
        },
        // Reserved, SME, SVE.
        _ => u64::MAX,
    }
}

/// Whether an instruction may write memory or have an effect outside of registers.
pub(super) fn stores(word: u32) -> bool {
    match word >> 25 & 15 {
        5 | 7 | 8 | 9 | 13 | 15 => false,
        4 | 6 | 12 | 14 => match word >> 28 & 3 {
            1 => word & 1 << 24 != 0,
            2 => word & 1 << 22 == 0,
            3 => {
                let is_vector = word & 1 << 26 != 0;
                let opcode = word >> 22 & 3;
                let is_atomic = word & 1 << 24 == 0 && word & 1 << 21 != 0 && word >> 10 & 3 == 0;
                opcode == 0 || is_vector && opcode == 2 || is_atomic
            }
            _ => true,
        },
        _ => word != 0xd503_201f,
    }
}
