//! The bytes of an image by address. A linked image has them in its segments. In a relocatable one
//! they are prepared section by section, each once.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use object::SectionIndex;

use crate::address::Vaddr;
use crate::code::Memory;
use crate::image::{Constants, Image, Layout};

/// The bytes of an image.
pub(super) struct CodeBytes<'a> {
    image: &'a Image<'a>,
    layout: Option<&'a Layout>,
    constants: OnceLock<Constants<'a>>,
    /// The sections of a relocatable object, by address.
    sections: Vec<CodeSection<'a>>,
}

struct CodeSection<'data> {
    index: SectionIndex,
    range: Range<u64>,
    bytes: OnceLock<Cow<'data, [u8]>>,
    /// Where relocations change it; `None` if the section is not constant.
    relocated: OnceLock<Option<Vec<u64>>>,
}

/// The most bytes that a relocation changes.
const WIDEST: u64 = 8;

impl<'a> CodeBytes<'a> {
    pub(super) fn new(image: &'a Image<'a>, layout: Option<&'a Layout>) -> Self {
        let laid_out = layout.into_iter().flat_map(|layout| image.laid_out(layout));
        let section = |(index, range)| CodeSection { index, range, bytes: OnceLock::new(), relocated: OnceLock::new() };
        let mut sections: Vec<_> = laid_out.map(section).collect();
        sections.sort_by_key(|section| section.range.start);
        Self { image, layout, constants: OnceLock::new(), sections }
    }

    pub(super) fn image(&self) -> &'a Image<'a> {
        self.image
    }

    pub(super) fn layout(&self) -> Option<&'a Layout> {
        self.layout
    }

    /// The bytes from an address on.
    pub(super) fn from(&self, at: Vaddr) -> Option<&[u8]> {
        let Some(layout) = self.layout else { return self.image.bytes_from(at) };
        let section = self.section(at)?;
        let bytes = section.bytes.get_or_init(|| self.image.branches_applied(section.index, layout));
        bytes.get(usize::try_from(at.0.checked_sub(section.range.start)?).ok()?..)
    }

    fn section(&self, at: Vaddr) -> Option<&CodeSection<'a>> {
        let after = self.sections.partition_point(|section| section.range.start <= at.0);
        self.sections.get(after.checked_sub(1)?)
    }

    /// The memory that jump tables are read from.
    pub(super) fn memory(&self) -> &dyn Memory {
        match self.layout {
            Some(_) => self,
            None => self.constants.get_or_init(|| Constants::of(self.image)),
        }
    }
}

/// The memory of a relocatable object: what no relocation changes. The jump tables of AArch64 have
/// differences within a section, which the assembler knows. The linker has yet to fill in those of
/// x86.
impl Memory for CodeBytes<'_> {
    fn read(&self, at: Vaddr, size: usize) -> Option<&[u8]> {
        let section = self.section(at)?;
        let relocated = section.relocated.get_or_init(|| self.image.constant_section(section.index)).as_ref()?;
        let start = at.0.checked_sub(section.range.start)?;
        let end = start.checked_add(size as u64)?;
        let next = relocated.partition_point(|offset| offset.saturating_add(WIDEST) <= start);
        if relocated.get(next).is_some_and(|offset| *offset < end) {
            return None;
        }
        self.from(at)?.get(..size)
    }
}
