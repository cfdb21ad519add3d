//! Code in relocatable objects. The linker has not yet filled in the branches and addresses there,
//! so this module makes them refer to the section layout.

use std::borrow::Cow;

use object::{Object as _, ObjectSection as _, RelocationFlags, SectionFlags, SectionIndex, SectionKind, elf};

use super::{Image, Layout, RelocationTarget};
use crate::address::SectionOffset;
use crate::code;

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
        let (true, Some(set)) = (is_code, code::of_machine(self.machine())) else { return bytes };
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
            let value = set.relocated(r_type, field, here, &target);
            let Some(value) = value else { continue };
            if let Some(field) = bytes.to_mut().get_mut(start..start.saturating_add(4)) {
                field.copy_from_slice(&value.to_le_bytes());
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
