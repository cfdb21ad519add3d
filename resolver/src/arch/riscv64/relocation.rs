//! Relocations of code and data (RISC-V ELF psABI, "Relocations").

use object::elf;

use super::decode;
use crate::address::Vaddr;
use crate::arch::{PartialField, PartialOperation, PartialRelocation};

/// Bits that are not an instruction, of four bytes and of two. They replace an instruction whose
/// target cannot be encoded. Its function then has no proven answer.
const UNKNOWN: u64 = 0x7f;
const UNKNOWN_HALF: u64 = 4;

/// The upper immediate of an address that is not computed: far from the object, where nothing can be
/// read.
const FAR: u64 = 0x7_ffff << 12;

/// The code with its target applied. `target` is `None` if the object does not define it. `None` if
/// the code does not change.
pub(super) fn relocated(relocation: u32, code: u64, here: Vaddr, target: &dyn Fn() -> Option<Vaddr>) -> Option<u64> {
    let word = code as u32;
    // A target that the object does not define is outside of its functions: at the limit of the
    // range, of so many bits.
    let offset = |bits: u32| {
        let most = 1i64 << (bits - 1);
        let offset = target().map_or(most - 2, |target| target.0.wrapping_sub(here.0) as i64);
        (-most..most).contains(&offset).then_some(offset as u32)
    };
    let four = |bits: Option<u32>| code >> 32 << 32 | bits.map_or(UNKNOWN, u64::from);
    let two = |bits: Option<u32>| code >> 16 << 16 | bits.map_or(UNKNOWN_HALF, u64::from);
    match relocation {
        elf::R_RISCV_BRANCH => Some(four(offset(13).map(|offset| decode::with_branch(word, offset)))),
        elf::R_RISCV_JAL => Some(four(offset(21).map(|offset| decode::with_jump(word, offset)))),
        elf::R_RISCV_RVC_BRANCH => Some(two(offset(9).map(|offset| compressed_branch(word, offset)))),
        elf::R_RISCV_RVC_JUMP => Some(two(offset(12).map(|offset| compressed_jump(word, offset)))),
        // `auipc` and `jalr`, whose immediate is signed.
        elf::R_RISCV_CALL | elf::R_RISCV_CALL_PLT => {
            let offset = target().map_or(FAR, |target| target.0.wrapping_sub(here.0));
            let (high, low) = (offset.wrapping_add(0x800) & 0xffff_f000, offset & 0xfff);
            Some(code & 0x000f_ffff_0000_0fff | high | low << 52)
        }
        // The lower part of an address has a relocation of its own, with the label of the upper one.
        elf::R_RISCV_PCREL_HI20
        | elf::R_RISCV_HI20
        | elf::R_RISCV_GOT_HI20
        | elf::R_RISCV_TLS_GOT_HI20
        | elf::R_RISCV_TLS_GD_HI20
        | elf::R_RISCV_TLSDESC_HI20 => Some(code & !0xffff_f000 | FAR),
        _ => None,
    }
}

fn compressed_branch(half: u32, offset: u32) -> u32 {
    let bit = |from: u32, at: u32| (offset >> from & 1) << at;
    let high = bit(8, 12) | bit(4, 11) | bit(3, 10);
    half & 0xe383 | high | bit(7, 6) | bit(6, 5) | bit(2, 4) | bit(1, 3) | bit(5, 2)
}

fn compressed_jump(half: u32, offset: u32) -> u32 {
    let bit = |from: u32, at: u32| (offset >> from & 1) << at;
    let high = bit(11, 12) | bit(4, 11) | bit(9, 10) | bit(8, 9) | bit(10, 8) | bit(6, 7);
    half & 0xe003 | high | bit(7, 6) | bit(3, 5) | bit(2, 4) | bit(1, 3) | bit(5, 2)
}

/// The relocations of a difference: linker relaxation moves code, so the assembler leaves it to the
/// linker.
pub(super) fn partial(relocation: u32) -> Option<PartialRelocation> {
    use PartialField::{Bits, Uleb128};
    use PartialOperation::{Add, Distance, Set, Subtract};
    let (operation, field) = match relocation {
        elf::R_RISCV_ADD8 => (Add, Bits(8)),
        elf::R_RISCV_ADD16 => (Add, Bits(16)),
        elf::R_RISCV_ADD32 => (Add, Bits(32)),
        elf::R_RISCV_ADD64 => (Add, Bits(64)),
        elf::R_RISCV_SUB6 => (Subtract, Bits(6)),
        elf::R_RISCV_SUB8 => (Subtract, Bits(8)),
        elf::R_RISCV_SUB16 => (Subtract, Bits(16)),
        elf::R_RISCV_SUB32 => (Subtract, Bits(32)),
        elf::R_RISCV_SUB64 => (Subtract, Bits(64)),
        elf::R_RISCV_SET6 => (Set, Bits(6)),
        elf::R_RISCV_SET8 => (Set, Bits(8)),
        elf::R_RISCV_SET16 => (Set, Bits(16)),
        elf::R_RISCV_SET32 => (Set, Bits(32)),
        elf::R_RISCV_32_PCREL => (Distance, Bits(32)),
        elf::R_RISCV_SET_ULEB128 => (Set, Uleb128),
        elf::R_RISCV_SUB_ULEB128 => (Subtract, Uleb128),
        _ => return None,
    };
    Some(PartialRelocation { operation, field })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected code is what `riscv64-linux-gnu-as` and `ld` give.
    #[test]
    fn branches_get_their_targets() {
        let at = |relocation, code, here, target| relocated(relocation, code, Vaddr(here), &|| Some(Vaddr(target)));
        let call = 0x0000_80e7_0000_0097;
        assert_eq!(at(elf::R_RISCV_CALL_PLT, call, 0x1_0000, 0x3_091c), Some(0x91c0_80e7_0002_1097));
        assert_eq!(at(elf::R_RISCV_CALL_PLT, 0x0003_0067_0000_0317, 0x1_0008, 0x3_091c), Some(0x9143_0067_0002_1317));
        assert_eq!(at(elf::R_RISCV_JAL, 0xef, 0x1_0010, 0x3_091c), Some(0x10d2_00ef));
        assert_eq!(at(elf::R_RISCV_BRANCH, 0x00b5_6063, 0x1_0014, 0x1_0918), Some(0x10b5_62e3));
        assert_eq!(at(elf::R_RISCV_BRANCH, 0x0004_9063, 0x1000, 0xf00), Some(0xf004_90e3));
        assert_eq!(at(elf::R_RISCV_RVC_JUMP, 0xffff_a001, 0x1000, 0x14d2), Some(0xffff_a9c9));
        assert_eq!(at(elf::R_RISCV_RVC_JUMP, 0xa001, 0x1000, 0x800), Some(0xb001));
        assert_eq!(at(elf::R_RISCV_RVC_BRANCH, 0xc101, 0x1000, 0x10fe), Some(0xcd7d));
        assert_eq!(at(elf::R_RISCV_RVC_BRANCH, 0xe081, 0x1000, 0xf00), Some(0xf081));
        assert_eq!(at(elf::R_RISCV_RVC_BRANCH, 0xc381, 0x1000, 0x10aa), Some(0xc7cd));
    }

    #[test]
    fn what_does_not_fit_is_no_instruction() {
        let at =
            |relocation, code, target: Option<u64>| relocated(relocation, code, Vaddr(0x1000), &|| target.map(Vaddr));
        assert_eq!(at(elf::R_RISCV_RVC_BRANCH, 0xffff_c101, Some(0x1100)), Some(0xffff_0004));
        assert_eq!(at(elf::R_RISCV_BRANCH, 0x63, Some(0x2000)), Some(0x7f));
        // Undefined targets are far away, and so is an address.
        assert_eq!(at(elf::R_RISCV_RVC_JUMP, 0xa001, None), Some(0xaffd));
        assert_eq!(at(elf::R_RISCV_CALL, 0x0000_80e7_0000_0097, None), Some(0x0000_80e7_7fff_f097));
        assert_eq!(at(elf::R_RISCV_PCREL_HI20, 0x717, Some(0x2000)), Some(0x7fff_f717));
        assert_eq!(at(elf::R_RISCV_RELAX, 0x717, Some(0x2000)), None);
    }
}
