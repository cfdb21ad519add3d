//! Decoding by the bits (RISC-V ISA manual, volume I, chapters 24 and 26). A compressed instruction
//! is read as the one of four bytes that it stands for.

use crate::code::instruction::{Effects, Instruction, InstructionKind, Successors};

/// The registers by their numbers in the encoding, which are those of DWARF.
pub(super) const ZERO: u32 = 0;
pub(super) const RA: u32 = 1;
pub(super) const SP: u32 = 2;
pub(super) const S0: u32 = 8;

/// The major opcodes.
pub(super) const LOAD: u32 = 0x03;
const LOAD_FP: u32 = 0x07;
pub(super) const MISC_MEM: u32 = 0x0f;
pub(super) const OP_IMM: u32 = 0x13;
pub(super) const AUIPC: u32 = 0x17;
pub(super) const OP_IMM_32: u32 = 0x1b;
const STORE: u32 = 0x23;
const STORE_FP: u32 = 0x27;
pub(super) const AMO: u32 = 0x2f;
pub(super) const OP: u32 = 0x33;
pub(super) const LUI: u32 = 0x37;
const OP_32: u32 = 0x3b;
const MADD: u32 = 0x43;
const MSUB: u32 = 0x47;
const NMSUB: u32 = 0x4b;
const NMADD: u32 = 0x4f;
const OP_FP: u32 = 0x53;
pub(super) const BRANCH: u32 = 0x63;
pub(super) const JALR: u32 = 0x67;
pub(super) const JAL: u32 = 0x6f;
pub(super) const SYSTEM: u32 = 0x73;

/// An instruction as one of four bytes, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InstructionWord {
    pub(super) bits: u32,
    pub(super) size: u8,
}

impl InstructionWord {
    /// The instruction at the start of `bytes`; `None` if it is not known.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let half = u16::from_le_bytes(*bytes.first_chunk()?);
        if half & 3 != 3 {
            return Some(Self { bits: expand(half.into())?, size: 2 });
        }
        let bits = u32::from_le_bytes(*bytes.first_chunk()?);
        // Longer ones are reserved.
        (bits & 0x1c != 0x1c).then_some(Self { bits, size: 4 })
    }

    pub(super) fn opcode(self) -> u32 {
        self.bits & 0x7f
    }

    pub(super) fn rd(self) -> u32 {
        self.bits >> 7 & 31
    }

    pub(super) fn rs1(self) -> u32 {
        self.bits >> 15 & 31
    }

    pub(super) fn rs2(self) -> u32 {
        self.bits >> 20 & 31
    }

    pub(super) fn funct3(self) -> u32 {
        self.bits >> 12 & 7
    }

    pub(super) fn funct7(self) -> u32 {
        self.bits >> 25
    }

    /// The immediate of a load, an addition or `jalr`.
    pub(super) fn immediate(self) -> i64 {
        i64::from(self.bits as i32 >> 20)
    }

    /// The upper immediate of `lui` and `auipc`.
    pub(super) fn upper(self) -> i64 {
        i64::from((self.bits & 0xffff_f000) as i32)
    }

    /// Whether it is `addi`, of which `li` and `mv` are forms.
    pub(super) fn is_addi(self) -> bool {
        self.opcode() == OP_IMM && self.funct3() == 0
    }

    /// Whether it is an operation of two registers with these function codes.
    pub(super) fn is_op(self, funct3: u32, funct7: u32) -> bool {
        self.opcode() == OP && self.funct3() == funct3 && self.funct7() == funct7
    }

    /// The offset of a conditional branch.
    fn branch_offset(self) -> i64 {
        let it = self.bits;
        let low = (it >> 8 & 15) << 1 | (it >> 25 & 63) << 5 | (it >> 7 & 1) << 11;
        i64::from(low) | i64::from(it as i32 >> 31) << 12
    }

    /// The offset of `jal`.
    pub(super) fn jump_offset(self) -> i64 {
        let it = self.bits;
        let low = (it >> 21 & 0x3ff) << 1 | (it >> 20 & 1) << 11 | (it >> 12 & 0xff) << 12;
        i64::from(low) | i64::from(it as i32 >> 31) << 20
    }

    /// Where the code goes on. `before` is the instruction before it, with its address.
    fn successors(self, at: u64, before: Option<(u64, Self)>) -> Option<Successors> {
        Some(match self.opcode() {
            BRANCH => Successors::Conditional(at.wrapping_add_signed(self.branch_offset())),
            JAL if self.rd() == ZERO => Successors::Jump(at.wrapping_add_signed(self.jump_offset())),
            JAL | JALR if self.rd() != ZERO => Successors::Call,
            JALR => match before {
                // A tail call: `auipc t1, ..; jr t1`. No code jumps between the two.
                Some((from, auipc)) if auipc.opcode() == AUIPC && auipc.rd() == self.rs1() => {
                    let target = from.wrapping_add_signed(auipc.upper()).wrapping_add_signed(self.immediate());
                    Successors::Jump(target & !1)
                }
                _ if self.rs1() == RA && self.immediate() == 0 => Successors::Returns,
                _ => Successors::Indirect,
            },
            SYSTEM => match self.bits {
                // ebreak, unimp
                0x0010_0073 | 0xc000_1073 => Successors::Traps,
                // sret, mret
                0x1020_0073 | 0x3020_0073 => Successors::Ends,
                _ => Successors::Next,
            },
            LOAD | LOAD_FP | MISC_MEM | OP_IMM | AUIPC | OP_IMM_32 | STORE | STORE_FP | AMO | OP | LUI | OP_32
            | MADD | MSUB | NMSUB | NMADD | OP_FP => Successors::Next,
            // Vectors, and what vendors define, of which none branches.
            0x57 | 0x77 => Successors::Next,
            _ => return None,
        })
    }

    /// What it may change: x0 to x31 from bit 0, f0 to f31 from bit 32.
    pub(super) fn effects(self) -> Effects {
        let x = 1u64.wrapping_shl(self.rd()) & !1;
        let f = 1u64.wrapping_shl(self.rd() + 32);
        let written = match self.opcode() {
            LOAD | OP_IMM | AUIPC | OP_IMM_32 | OP | LUI | OP_32 | JALR | JAL | AMO | MISC_MEM => x,
            STORE | STORE_FP | BRANCH => 0,
            LOAD_FP | MADD | MSUB | NMSUB | NMADD => f,
            // Some move to general registers.
            OP_FP | 0x57 | 0x77 => x | f,
            SYSTEM if self.funct3() != 0 => x,
            _ => u64::MAX,
        };
        let is_plain = matches!(
            self.opcode(),
            LOAD | LOAD_FP | OP_IMM | AUIPC | OP_IMM_32 | OP | LUI | OP_32 | MADD | MSUB | NMSUB | NMADD | OP_FP
        );
        Effects { written, stores: !is_plain }
    }
}

/// Decodes `bytes` and gives each instruction to `each` until that returns false. Returns the
/// address of the first bytes that are not an instruction.
pub(super) fn sweep(start: u64, bytes: &[u8], each: &mut dyn FnMut(Instruction) -> bool) -> Option<u64> {
    if start % 2 != 0 {
        return Some(start);
    }
    let (mut at, mut rest, mut before) = (start, bytes, None);
    let mut undecoded = None;
    while let Some(half) = rest.first_chunk().map(|half| u16::from_le_bytes(*half)) {
        let size = if half & 3 == 3 { 4 } else { 2 };
        let word = InstructionWord::of(rest);
        // `c.unimp` has no long form.
        let successors = match (half, word) {
            (0, _) => Some(Successors::Traps),
            (_, Some(word)) => word.successors(at, before),
            (_, None) => None,
        };
        match successors {
            Some(successors) => {
                let is_nop = word.is_some_and(|word| word.bits == 0x13);
                let kind = if is_nop { InstructionKind::Padding } else { InstructionKind::Plain };
                if !each(Instruction { at, size, successors, kind }) {
                    return undecoded;
                }
            }
            // The first bits give the size, so the following instructions are decoded all the same.
            None => undecoded = undecoded.or(Some(at)),
        }
        before = word.map(|word| (at, word));
        at = at.wrapping_add(size.into());
        rest = rest.get(usize::from(size)..).unwrap_or_default();
    }
    undecoded.or((!rest.is_empty()).then_some(at))
}

/// The bits of `value` from `from` to `to`, moved to `at`.
fn moved(value: u32, to: u32, from: u32, at: u32) -> u32 {
    (value >> from & ((1 << (to - from + 1)) - 1)) << at
}

fn i_type(opcode: u32, funct3: u32, rd: u32, rs1: u32, immediate: u32) -> u32 {
    (immediate & 0xfff) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

fn s_type(opcode: u32, funct3: u32, rs1: u32, rs2: u32, immediate: u32) -> u32 {
    moved(immediate, 11, 5, 25) | rs2 << 20 | rs1 << 15 | funct3 << 12 | moved(immediate, 4, 0, 7) | opcode
}

fn r_type(opcode: u32, funct3: u32, funct7: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

/// A conditional branch with its offset.
pub(super) fn with_branch(bits: u32, offset: u32) -> u32 {
    bits & 0x01ff_f07f
        | moved(offset, 12, 12, 31)
        | moved(offset, 10, 5, 25)
        | moved(offset, 4, 1, 8)
        | moved(offset, 11, 11, 7)
}

/// A `jal` with its offset.
pub(super) fn with_jump(bits: u32, offset: u32) -> u32 {
    bits & 0xfff
        | moved(offset, 20, 20, 31)
        | moved(offset, 10, 1, 21)
        | moved(offset, 11, 11, 20)
        | moved(offset, 19, 12, 12)
}

/// The instruction of four bytes that a compressed one of RV64GC stands for; `None` if it is
/// reserved, or of an extension that is not known.
fn expand(c: u32) -> Option<u32> {
    let (rd, rs2) = (moved(c, 11, 7, 0), moved(c, 6, 2, 0));
    // The registers x8 to x15, in three bits.
    let (high, low) = (moved(c, 9, 7, 0) + 8, moved(c, 4, 2, 0) + 8);
    let sign = (c >> 12 & 1).wrapping_neg();
    let immediate = sign << 5 | rs2;
    let shift = moved(c, 12, 12, 5) | rs2;
    let word_offset = moved(c, 12, 10, 3) | moved(c, 6, 6, 2) | moved(c, 5, 5, 6);
    let double_offset = moved(c, 12, 10, 3) | moved(c, 6, 5, 6);
    Some(match (c & 3, c >> 13) {
        (0, 0) => {
            let offset = moved(c, 12, 11, 4) | moved(c, 10, 7, 6) | moved(c, 6, 6, 2) | moved(c, 5, 5, 3);
            if offset == 0 {
                return None;
            }
            i_type(OP_IMM, 0, low, SP, offset)
        }
        (0, 1) => i_type(LOAD_FP, 3, low, high, double_offset),
        (0, 2) => i_type(LOAD, 2, low, high, word_offset),
        (0, 3) => i_type(LOAD, 3, low, high, double_offset),
        (0, 5) => s_type(STORE_FP, 3, high, low, double_offset),
        (0, 6) => s_type(STORE, 2, high, low, word_offset),
        (0, 7) => s_type(STORE, 3, high, low, double_offset),
        (1, 0) => i_type(OP_IMM, 0, rd, rd, immediate),
        (1, 1) if rd != 0 => i_type(OP_IMM_32, 0, rd, rd, immediate),
        (1, 2) => i_type(OP_IMM, 0, rd, ZERO, immediate),
        (1, 3) if immediate == 0 => return None,
        (1, 3) if rd == SP => {
            let offset = sign << 9 | moved(c, 6, 6, 4) | moved(c, 5, 5, 6) | moved(c, 4, 3, 7) | moved(c, 2, 2, 5);
            i_type(OP_IMM, 0, SP, SP, offset)
        }
        (1, 3) => immediate << 12 | rd << 7 | LUI,
        (1, 4) => match (c >> 10 & 3, c >> 12 & 1, c >> 5 & 3) {
            (0, ..) => i_type(OP_IMM, 5, high, high, shift),
            (1, ..) => i_type(OP_IMM, 5, high, high, shift | 0x400),
            (2, ..) => i_type(OP_IMM, 7, high, high, immediate),
            (_, 0, 0) => r_type(OP, 0, 0x20, high, high, low),
            (_, 0, 1) => r_type(OP, 4, 0, high, high, low),
            (_, 0, 2) => r_type(OP, 6, 0, high, high, low),
            (_, 0, _) => r_type(OP, 7, 0, high, high, low),
            (_, _, 0) => r_type(OP_32, 0, 0x20, high, high, low),
            (_, _, 1) => r_type(OP_32, 0, 0, high, high, low),
            _ => return None,
        },
        (1, 5) => {
            let low = moved(c, 11, 11, 4) | moved(c, 10, 9, 8) | moved(c, 8, 8, 10) | moved(c, 7, 7, 6);
            let offset = sign << 11 | low | moved(c, 6, 6, 7) | moved(c, 5, 3, 1) | moved(c, 2, 2, 5);
            with_jump(JAL, offset)
        }
        (1, funct3) if funct3 >= 6 => {
            let low = moved(c, 11, 10, 3) | moved(c, 6, 5, 6) | moved(c, 4, 3, 1) | moved(c, 2, 2, 5);
            // beqz, bnez
            with_branch(BRANCH | (funct3 & 1) << 12 | high << 15, sign << 8 | low)
        }
        (2, 0) => i_type(OP_IMM, 1, rd, rd, shift),
        (2, 1) => i_type(LOAD_FP, 3, rd, SP, moved(c, 12, 12, 5) | moved(c, 6, 5, 3) | moved(c, 4, 2, 6)),
        (2, 2) if rd != 0 => i_type(LOAD, 2, rd, SP, moved(c, 12, 12, 5) | moved(c, 6, 4, 2) | moved(c, 3, 2, 6)),
        (2, 3) if rd != 0 => i_type(LOAD, 3, rd, SP, moved(c, 12, 12, 5) | moved(c, 6, 5, 3) | moved(c, 4, 2, 6)),
        (2, 4) => match (c >> 12 & 1, rd, rs2) {
            (0, 0, 0) => return None,
            (0, _, 0) => i_type(JALR, 0, ZERO, rd, 0),
            // `mv`, as the assembler expands it.
            (0, ..) => i_type(OP_IMM, 0, rd, rs2, 0),
            // ebreak
            (_, 0, 0) => 0x0010_0073,
            (_, _, 0) => i_type(JALR, 0, RA, rd, 0),
            _ => r_type(OP, 0, 0, rd, rd, rs2),
        },
        (2, 5) => s_type(STORE_FP, 3, SP, rs2, moved(c, 12, 10, 3) | moved(c, 9, 7, 6)),
        (2, 6) => s_type(STORE, 2, SP, rs2, moved(c, 12, 9, 2) | moved(c, 8, 7, 6)),
        (2, 7) => s_type(STORE, 3, SP, rs2, moved(c, 12, 10, 3) | moved(c, 9, 7, 6)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encodings are from GNU as, with and without compressed instructions.
    const EXPANDED: [(u16, u32, &str); 42] = [
        (0x1fe8, 0x3fc1_0513, "addi a0, sp, 1020"),
        (0x0024, 0x0081_0493, "addi s1, sp, 8"),
        (0x3de8, 0x0f85_b507, "fld fa0, 248(a1)"),
        (0x5c70, 0x07c4_2603, "lw a2, 124(s0)"),
        (0x7bf4, 0x0f07_b683, "ld a3, 240(a5)"),
        (0xa704, 0x0097_3427, "fsd fs1, 8(a4)"),
        (0xc0c8, 0x00a4_a223, "sw a0, 4(s1)"),
        (0xe140, 0x0885_3023, "sd s0, 128(a0)"),
        (0x0001, 0x0000_0013, "nop"),
        (0x1281, 0xfe02_8293, "addi t0, t0, -32"),
        (0x28fd, 0x01f8_889b, "addiw a7, a7, 31"),
        (0x5dfd, 0xfff0_0d93, "li s11, -1"),
        (0x7101, 0xe001_0113, "addi sp, sp, -512"),
        (0x617d, 0x1f01_0113, "addi sp, sp, 496"),
        (0x7505, 0xfffe_1537, "lui a0, 0xfffe1"),
        (0x6ffd, 0x0001_ffb7, "lui t6, 0x1f"),
        (0x917d, 0x03f5_5513, "srli a0, a0, 63"),
        (0x8785, 0x4017_d793, "srai a5, a5, 1"),
        (0x98f5, 0xffd4_f493, "andi s1, s1, -3"),
        (0x8d0d, 0x40b5_0533, "sub a0, a0, a1"),
        (0x8e35, 0x00d6_4633, "xor a2, a2, a3"),
        (0x8f5d, 0x00f7_6733, "or a4, a4, a5"),
        (0x8c65, 0x0094_7433, "and s0, s0, s1"),
        (0x9d1d, 0x40f5_053b, "subw a0, a0, a5"),
        (0x9ca9, 0x00a4_84bb, "addw s1, s1, a0"),
        (0xa9c9, 0x4d20_006f, "j 1b+1234"),
        (0xb001, 0x801f_f06f, "j 2b-2048"),
        (0xcd7d, 0x0e05_0f63, "beqz a0, 3b+254"),
        (0xf081, 0xf004_90e3, "bnez s1, 4b-256"),
        (0xc7cd, 0x0a07_8563, "beqz a5, 5b+170"),
        (0x1dfe, 0x03fd_9d93, "slli s11, s11, 63"),
        (0x38fe, 0x1f81_3887, "fld fa7, 504(sp)"),
        (0x50fe, 0x0fc1_2083, "lw ra, 252(sp)"),
        (0x7fb2, 0x1281_3f83, "ld t6, 296(sp)"),
        (0x8302, 0x0003_0067, "jr t1"),
        (0x856e, 0x000d_8513, "mv a0, s11"),
        (0x9002, 0x0010_0073, "ebreak"),
        (0x9782, 0x0007_80e7, "jalr a5"),
        (0x9972, 0x01c9_0933, "add s2, s2, t3"),
        (0xb6ee, 0x17b1_3427, "fsd fs11, 360(sp)"),
        (0xc382, 0x0c01_2223, "sw zero, 196(sp)"),
        (0xff86, 0x1e11_3c23, "sd ra, 504(sp)"),
    ];

    #[test]
    fn compressed_instructions_stand_for_those_of_four_bytes() {
        for (half, bits, text) in EXPANDED {
            assert_eq!(InstructionWord::of(&half.to_le_bytes()), Some(InstructionWord { bits, size: 2 }), "{text}");
        }
    }

    #[test]
    fn what_is_reserved_is_no_instruction() {
        // Zero immediates, `c.jr zero`, four bits of Zcb, an instruction of six bytes.
        for half in [0x0004u16, 0x6101, 0x8002, 0x9c65, 0x001f] {
            assert_eq!(InstructionWord::of(&[half.to_le_bytes(), [0; 2]].concat()), None, "{half:#x}");
        }
    }

    #[test]
    fn code_goes_on_where_the_instruction_says() {
        let found = |code: &[u8]| {
            let mut found = Vec::new();
            let undecoded = sweep(0x1000, code, &mut |it| {
                found.push((it.at, it.successors));
                true
            });
            (found, undecoded)
        };
        // auipc t1, 0x20; jr -1792(t1); c.j 100c; ret; bltu a0, a1, 1000; c.ebreak; c.unimp
        let code = [0x17, 0x03, 2, 0, 0x67, 0, 3, 0x90, 0x11, 0xa0, 0x82, 0x80, 0xe3, 0x6a, 0xb5, 0xfe, 2, 0x90, 0, 0];
        let expected = [
            (0x1000, Successors::Next),
            (0x1004, Successors::Jump(0x2_0900)),
            (0x1008, Successors::Jump(0x100c)),
            (0x100a, Successors::Returns),
            (0x100c, Successors::Conditional(0x1000)),
            (0x1010, Successors::Traps),
            (0x1012, Successors::Traps),
        ];
        assert_eq!(found(&code), (expected.to_vec(), None));
        // Without the `auipc` before it the jump may lead anywhere; half an instruction is none.
        assert_eq!(found(&[0x67, 0, 3, 0x90, 0x17, 3]), (vec![(0x1000, Successors::Indirect)], Some(0x1004)));
    }
}
