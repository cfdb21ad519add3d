//! Code in relocatable objects. The linker has not yet filled in the branches and addresses there,
//! so this module makes them refer to the section layout.

use std::borrow::Cow;

use object::{Object as _, ObjectSection as _, RelocationFlags, SectionFlags, SectionIndex, SectionKind, elf};

use super::{Image, Layout, RelocationTarget};
use crate::address::SectionOffset;

impl<'data> Image<'data> {
    /// The contents of a loaded section of a relocatable object. In code, branches and table
    /// addresses are relocated to the addresses that `layout` assigns to their targets. If no
    /// section defines the target, they lead outside the layout. The result is empty if the section
    /// cannot be read.
    pub(crate) fn branches_applied(&self, section: SectionIndex, layout: &Layout) -> Cow<'data, [u8]> {
        let Ok(header) = self.elf.section_by_index(section) else { return Cow::Borrowed(&[]) };
        let mut bytes = Cow::Borrowed(header.data().unwrap_or_default());
        let is_code = matches!(header.flags(),
            SectionFlags::Elf { sh_flags } if sh_flags & u64::from(elf::SHF_EXECINSTR) != 0);
        let (true, Some(set)) = (is_code, self.processor().set()) else { return bytes };
        for (offset, relocation) in header.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let Some(here) = layout.address(section, SectionOffset(offset)) else { continue };
            let target = || match self.pointee(&bytes, offset, &relocation, 4) {
                Ok(RelocationTarget::Section(section, value)) => layout.address(section, SectionOffset(value)),
                Ok(RelocationTarget::Nowhere) | Err(_) => None,
            };
            let Some(start) = usize::try_from(offset).ok() else { continue };
            let field = bytes.get(start..).unwrap_or_default().iter().take(8);
            let code = field.rev().fold(0, |code, byte| code << 8 | u64::from(*byte));
            let Some(code) = set.relocated(r_type, code, here, &target) else { continue };
            for (byte, new) in bytes.to_mut().iter_mut().skip(start).zip(code.to_le_bytes()) {
                *byte = new;
            }
        }
        bytes
    }

    /// The offsets of the relocations in a read-only data section of a relocatable object, in
    /// ascending order. `None` for other sections.
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
