//! Addresses for what has none: the sections of a relocatable object, laid out one after the other.
//!
//! Each section of an `ET_REL` file starts at 0, so that one number means a place in each of them. Debug information is read with
//! the sections laid out as a linker might do it, and what comes of it is turned back into a section and an offset. In a linked image the
//! addresses are the linker's.

use std::collections::HashMap;

use object::{Object as _, ObjectSection as _, SectionFlags, SectionIndex, elf};

use super::Image;
use crate::address::{SectionOffset, Vaddr};
use crate::ranges::RangeMap;

/// Where the first section stands: not at 0, which says in many places of DWARF that something is not there.
const FIRST: u64 = 0x1000;

/// The addresses of the loaded sections of a relocatable object.
#[derive(Debug)]
pub(crate) struct Layout {
    starts: HashMap<SectionIndex, Vaddr>,
    sections: RangeMap<(SectionIndex, u64)>,
}

impl Image<'_> {
    /// The layout of a relocatable object; `None` for a linked image, which has its addresses.
    #[must_use]
    pub(crate) fn layout(&self) -> Option<Layout> {
        if !self.is_relocatable() {
            return None;
        }
        let (mut starts, mut ranges, mut next) = (HashMap::new(), Vec::new(), FIRST);
        for section in self.elf.sections() {
            let align = section.align().clamp(1, 1 << 20).next_power_of_two();
            // A gap after each section: an address at the very end of one is not the start of the next.
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
    /// Whether the loaded sections of another image are the same as those of this one, in the same order: then one layout is the other.
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
    /// The address of a place in a section; `None` where the section is not loaded.
    #[must_use]
    pub(crate) fn address(&self, section: SectionIndex, offset: SectionOffset) -> Option<Vaddr> {
        Some(Vaddr(self.starts.get(&section)?.0.wrapping_add(offset.0)))
    }

    /// The place in a section that has an address; the end of a section belongs to it.
    #[must_use]
    pub(crate) fn section_offset(&self, address: Vaddr) -> Option<(SectionIndex, SectionOffset)> {
        let (section, start) = self.sections.get(address.0)?;
        Some((section, SectionOffset(address.0.wrapping_sub(start))))
    }
}
