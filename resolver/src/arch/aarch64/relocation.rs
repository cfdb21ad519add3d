//! Relocations of branches and addresses (ELF for the Arm 64-bit Architecture, 5.7).

use object::elf;

use crate::address::Vaddr;

/// A word that is not an instruction. It replaces an instruction whose target cannot be encoded.
/// Its function then has no proven answer.
const UNKNOWN: u32 = 0x5500_0000;

/// The instruction with its target applied. `target` is `None` if the object does not define it.
/// `None` if the instruction does not change.
pub(super) fn relocated(r_type: u32, word: u32, here: Vaddr, target: Option<Vaddr>) -> Option<u32> {
    let page = |offset: u64| {
        let (low, high) = (offset as u32 & 3, (offset >> 2) as u32 & 0x7_ffff);
        word & 0x9f00_001f | low << 29 | high << 5
    };
    // The size of the offset in bits, and its first bit.
    let (bits, from): (u32, u32) = match (r_type, target) {
        (elf::R_AARCH64_JUMP26 | elf::R_AARCH64_CALL26, _) => (26, 0),
        (elf::R_AARCH64_CONDBR19, _) => (19, 5),
        (elf::R_AARCH64_TSTBR14, _) => (14, 5),
        (elf::R_AARCH64_ADR_PREL_LO21, Some(target)) => {
            let offset = target.0.wrapping_sub(here.0) as i64;
            return Some(if (-(1 << 20)..1 << 20).contains(&offset) { page(offset as u64) } else { UNKNOWN });
        }
        (elf::R_AARCH64_ADR_PREL_PG_HI21 | elf::R_AARCH64_ADR_PREL_PG_HI21_NC, Some(target)) => {
            return Some(page((target.0 >> 12).wrapping_sub(here.0 >> 12)));
        }
        (elf::R_AARCH64_ADD_ABS_LO12_NC, Some(target)) => {
            return Some(word & !(0xfff << 10) | (target.0 as u32 & 0xfff) << 10);
        }
        // The symbol is in no section of the object. Its address is placed after all of them, where
        // nothing can be read.
        _ if word & 0x9f00_0000 == 0x9000_0000 => return Some(page(0xf_ffff)),
        // Other relocations of a branch or an address are not supported. A call through a
        // descriptor (`blr`) does not change.
        _ => {
            let has_offset = word & 0x7c00_0000 == 0x1400_0000
                || word & 0xfe00_0000 == 0x5400_0000
                || word & 0x7c00_0000 == 0x3400_0000
                || word & 0x9f00_0000 == 0x1000_0000;
            return has_offset.then_some(UNKNOWN);
        }
    };
    let most = 1i64 << (bits - 1);
    // A target that the object does not define is outside of its functions: at the limit of the
    // branch's range.
    let offset = target.map_or(most - 1, |target| (target.0.wrapping_sub(here.0) as i64) >> 2);
    if !(-most..most).contains(&offset) {
        return Some(UNKNOWN);
    }
    let mask = ((1u32 << bits) - 1) << from;
    Some(word & !mask | (offset as u32) << from & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected words are what `aarch64-linux-gnu-ld` and `objdump` give.
    #[test]
    fn branches_of_aarch64_get_their_targets() {
        let at = |r_type, word, target| relocated(r_type, word, Vaddr(0x1000), Some(Vaddr(target)));
        // b 1010; bl ff0; b.eq 1008; cbz x0, ffc; tbnz w1, #3, 1020
        assert_eq!(at(elf::R_AARCH64_JUMP26, 0x1400_0000, 0x1010), Some(0x1400_0004));
        assert_eq!(at(elf::R_AARCH64_CALL26, 0x9400_0000, 0xff0), Some(0x97ff_fffc));
        assert_eq!(at(elf::R_AARCH64_CONDBR19, 0x5400_0000, 0x1008), Some(0x5400_0040));
        assert_eq!(at(elf::R_AARCH64_CONDBR19, 0xb400_0000, 0xffc), Some(0xb4ff_ffe0));
        assert_eq!(at(elf::R_AARCH64_TSTBR14, 0x3718_0001, 0x1020), Some(0x3718_0101));
        // adrp x1, 3000; add x1, x1, #0x123; adr x2, 100c
        assert_eq!(at(elf::R_AARCH64_ADR_PREL_PG_HI21, 0x9000_0001, 0x3123), Some(0xd000_0001));
        assert_eq!(at(elf::R_AARCH64_ADD_ABS_LO12_NC, 0x9100_0021, 0x3123), Some(0x9104_8c21));
        assert_eq!(at(elf::R_AARCH64_ADR_PREL_LO21, 0x1000_0002, 0x100c), Some(0x1000_0062));
    }

    #[test]
    fn what_does_not_fit_is_no_instruction() {
        let at = |r_type, word, target: Option<u64>| relocated(r_type, word, Vaddr(0x1000), target.map(Vaddr));
        assert_eq!(at(elf::R_AARCH64_TSTBR14, 0x3718_0001, Some(0x10_0000)), Some(UNKNOWN));
        assert_eq!(at(elf::R_AARCH64_JUMP26, 0x1400_0000, Some(0x1000_0000)), Some(UNKNOWN));
        assert_eq!(at(elf::R_AARCH64_ABS32, 0x1400_0000, Some(0x1000)), Some(UNKNOWN));
        assert_eq!(at(elf::R_AARCH64_TLSDESC_CALL, 0xd63f_0020, Some(0x1000)), None);
        // An undefined target is far away.
        assert_eq!(at(elf::R_AARCH64_JUMP26, 0x1400_0000, None), Some(0x15ff_ffff));
        assert_eq!(at(elf::R_AARCH64_ADR_GOT_PAGE, 0x9000_0001, None), Some(0xf07f_ffe1));
    }
}
