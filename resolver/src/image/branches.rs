//! The code of a relocatable object, in which branches and addresses wait for the linker: they are made to lead where its sections are
//! laid out (System V ABI for x86-64, 4.4; ELF for the Arm 64-bit Architecture, 5.7).

use std::borrow::Cow;

use object::{
    Architecture, Object as _, ObjectSection as _, RelocationFlags, SectionFlags, SectionIndex, SectionKind, elf,
};

use super::{Image, Layout, RelocationTarget};
use crate::address::{SectionOffset, Vaddr};

/// How far ahead on x86 what an object does not define is taken to be: past all that is laid out, and a branch still reaches it.
const FAR: u64 = 0x7fff_0000;

/// An instruction that AArch64 has not, in place of one whose target cannot be written in it: nothing is then said of its function.
const UNKNOWN: u32 = 0x5500_0000;

impl<'data> Image<'data> {
    /// The contents of a loaded section of a relocatable object, where it has code with its branches, and what has the addresses of tables,
    /// made to lead where `layout` has their targets, and what no section defines outside; empty where it cannot be read.
    pub(crate) fn branches_applied(&self, section: SectionIndex, layout: &Layout) -> Cow<'data, [u8]> {
        let Ok(header) = self.elf.section_by_index(section) else { return Cow::Borrowed(&[]) };
        let mut bytes = Cow::Borrowed(header.data().unwrap_or_default());
        let is_code = matches!(header.flags(),
            SectionFlags::Elf { sh_flags } if sh_flags & u64::from(elf::SHF_EXECINSTR) != 0);
        if !is_code {
            return bytes;
        }
        for (offset, relocation) in header.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let Some(here) = layout.address(section, SectionOffset(offset)) else { continue };
            let target = || match self.pointee(&bytes, offset, &relocation, 4) {
                Ok(RelocationTarget::Section(section, value)) => layout.address(section, SectionOffset(value)),
                Ok(RelocationTarget::Nowhere) | Err(_) => None,
            };
            let Some(start) = usize::try_from(offset).ok() else { continue };
            let field = start.checked_add(4).and_then(|end| bytes.get(start..end)?.first_chunk().copied());
            let Some(field) = field.map(u32::from_le_bytes) else { continue };
            let value = match self.elf.architecture() {
                Architecture::I386 if matches!(r_type, elf::R_386_PC32 | elf::R_386_PLT32) => Some(x86(here, target())),
                Architecture::X86_64 | Architecture::X86_64_X32
                    if matches!(r_type, elf::R_X86_64_PC32 | elf::R_X86_64_PLT32) =>
                {
                    Some(x86(here, target()))
                }
                Architecture::Aarch64 | Architecture::Aarch64_Ilp32 => aarch64(r_type, field, here, target()),
                _ => None,
            };
            let Some(value) = value else { continue };
            if let Some(field) = bytes.to_mut().get_mut(start..start.saturating_add(4)) {
                field.copy_from_slice(&value.to_le_bytes());
            }
        }
        bytes
    }

    /// Where relocations change a section of a relocatable object that the program only reads, ascending; `None` for other sections.
    pub(crate) fn constant_section(&self, section: SectionIndex) -> Option<Vec<u64>> {
        let header = self.elf.section_by_index(section).ok()?;
        let is_constant = matches!(header.flags(),
            SectionFlags::Elf { sh_flags } if sh_flags & u64::from(elf::SHF_WRITE | elf::SHF_EXECINSTR) == 0);
        if !is_constant || header.kind() == SectionKind::UninitializedData {
            return None;
        }
        let mut offsets: Vec<u64> = header.relocations().map(|(offset, _)| offset).collect();
        offsets.sort_unstable();
        Some(offsets)
    }
}

fn x86(here: Vaddr, target: Option<Vaddr>) -> u32 {
    target.map_or(FAR, |target| target.0.wrapping_sub(here.0)) as u32
}

/// The instruction with its target, which is `None` where the object does not define it; `None` where it stays as it is.
fn aarch64(r_type: u32, word: u32, here: Vaddr, target: Option<Vaddr>) -> Option<u32> {
    let page = |offset: u64| {
        let (low, high) = (offset as u32 & 3, (offset >> 2) as u32 & 0x7_ffff);
        word & 0x9f00_001f | low << 29 | high << 5
    };
    // Bits of the offset, and the first of them.
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
        // Other addresses are of what is in no section that is laid out: past all of them, where nothing can be read.
        _ if word & 0x9f00_0000 == 0x9000_0000 => return Some(page(0xf_ffff)),
        // What else there may be to a branch, or an address, is not known; a call through a descriptor (`blr`) stays one.
        _ => {
            let has_offset = word & 0x7c00_0000 == 0x1400_0000
                || word & 0xfe00_0000 == 0x5400_0000
                || word & 0x7c00_0000 == 0x3400_0000
                || word & 0x9f00_0000 == 0x1000_0000;
            return has_offset.then_some(UNKNOWN);
        }
    };
    let most = 1i64 << (bits - 1);
    // What the object does not define is outside of its functions: as far away as the branch reaches.
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

    /// As `aarch64-linux-gnu-ld` and `objdump` have them.
    #[test]
    fn branches_of_aarch64_get_their_targets() {
        let at = |r_type, word, target| aarch64(r_type, word, Vaddr(0x1000), Some(Vaddr(target)));
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
        let at = |r_type, word, target: Option<u64>| aarch64(r_type, word, Vaddr(0x1000), target.map(Vaddr));
        assert_eq!(at(elf::R_AARCH64_TSTBR14, 0x3718_0001, Some(0x10_0000)), Some(UNKNOWN));
        assert_eq!(at(elf::R_AARCH64_JUMP26, 0x1400_0000, Some(0x1000_0000)), Some(UNKNOWN));
        assert_eq!(at(elf::R_AARCH64_ABS32, 0x1400_0000, Some(0x1000)), Some(UNKNOWN));
        assert_eq!(at(elf::R_AARCH64_TLSDESC_CALL, 0xd63f_0020, Some(0x1000)), None);
        // What is not defined is far away.
        assert_eq!(at(elf::R_AARCH64_JUMP26, 0x1400_0000, None), Some(0x15ff_ffff));
        assert_eq!(at(elf::R_AARCH64_ADR_GOT_PAGE, 0x9000_0001, None), Some(0xf07f_ffe1));
    }
}
