//! Addresses for the sections of a relocatable object, which are laid out one after the other.
//!
//! Each section of an `ET_REL` file starts at address 0, so one number refers to a place in every
//! section. Debug information is read with the sections laid out as a linker might do it. The
//! resulting addresses are converted back to a section and an offset. A linked image keeps the
//! addresses that the linker assigned.

use std::collections::HashMap;

use object::{Object as _, ObjectSection as _, SectionFlags, SectionIndex, elf};

use super::Image;
use crate::address::{SectionOffset, Vaddr};
use crate::ranges::RangeMap;

/// The address of the first section. It is not 0, because a zero address often means "absent" in
/// DWARF.
const FIRST: u64 = 0x1000;

/// The addresses of the loaded sections of a relocatable object.
#[derive(Debug)]
pub(crate) struct Layout {
    starts: HashMap<SectionIndex, Vaddr>,
    sections: RangeMap<(SectionIndex, u64)>,
}

impl Image<'_> {
    /// The layout of a relocatable object. `None` for a linked image, which already has addresses.
    #[must_use]
    pub(crate) fn layout(&self) -> Option<Layout> {
        if !self.is_relocatable() {
            return None;
        }
        let (mut starts, mut ranges, mut next) = (HashMap::new(), Vec::new(), FIRST);
        for section in self.elf.sections() {
            let align = section.align().clamp(1, 1 << 20).next_power_of_two();
            // Leave a gap, so that the end address of a section is not the start of the next one.
            let start = next.checked_next_multiple_of(align);
            let Some((start, end)) = start.and_then(|start| Some((start, start.checked_add(section.size())?))) else {
                continue;
            };
            if !is_loaded(section.flags()) || end > u64::from(u32::MAX >> 1) {
                continue;
            }
            starts.insert(section.index(), Vaddr(start));
            ranges.push((start..end.saturating_add(1), start, (section.index(), start)));
            next = end.saturating_add(16);
        }
        Some(Layout { starts, sections: RangeMap::new(&ranges) })
    }
}

impl Image<'_> {
    /// The address of the first section with this name. In a relocatable object it is the address
    /// in `layout`. `None` if there is no such section.
    #[must_use]
    pub(crate) fn section_address(&self, name: &str, layout: Option<&Layout>) -> Option<Vaddr> {
        let section = self.sections(name).next()?;
        match layout {
            Some(layout) => layout.address(section, SectionOffset(0)),
            None => Some(Vaddr(self.elf.section_by_index(section).ok()?.address())),
        }
    }

    /// Whether this image and `other` have the same loaded sections in the same order. If so, they
    /// have the same layout.
    #[must_use]
    pub(crate) fn is_laid_out_as(&self, other: &Image<'_>) -> bool {
        let loaded = |image: &Image<'_>| {
            let sections = image.elf.sections().filter(|section| is_loaded(section.flags()));
            sections
                .map(|section| (image.names.name(section.index()).to_vec(), section.size(), section.align()))
                .collect::<Vec<_>>()
        };
        loaded(self) == loaded(other)
    }
}

fn is_loaded(flags: SectionFlags) -> bool {
    matches!(flags, SectionFlags::Elf { sh_flags } if sh_flags & u64::from(elf::SHF_ALLOC) != 0)
}

impl Layout {
    /// The address of an offset in a section. `None` if the section is not loaded.
    #[must_use]
    pub(crate) fn address(&self, section: SectionIndex, offset: SectionOffset) -> Option<Vaddr> {
        Some(Vaddr(self.starts.get(&section)?.0.wrapping_add(offset.0)))
    }

    /// The section and the offset at an address. The end address of a section belongs to that
    /// section.
    #[must_use]
    pub(crate) fn section_offset(&self, address: Vaddr) -> Option<(SectionIndex, SectionOffset)> {
        let (section, start) = self.sections.get(address.0)?;
        Some((section, SectionOffset(address.0.wrapping_sub(start))))
    }
}
