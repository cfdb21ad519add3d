//! Where a site is: as its record and reports have it, and as a link-time address, in which debug
//! information and code are laid out. Only here one becomes the other.

use object::SectionIndex;

use crate::address::{SectionOffset, Vaddr};
use crate::image::Layout;

/// Where a live site is. The order is that of lists: by section (only in a relocatable object),
/// then by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Pc {
    /// The section in which `address` is an offset; `None` if `address` is a link-time address.
    pub(super) section: Option<usize>,
    pub(super) address: u64,
}

impl Pc {
    /// A link-time address.
    pub(super) fn linked(address: u64) -> Self {
        Self { section: None, address }
    }

    /// An offset in a section of a relocatable object.
    pub(super) fn in_section(section: SectionIndex, offset: SectionOffset) -> Self {
        Self { section: Some(section.0), address: offset.0 }
    }

    /// The place of an address. `layout` is that of a relocatable object; `None` if the address is in
    /// none of its sections.
    pub(super) fn of(address: Vaddr, layout: Option<&Layout>) -> Option<Self> {
        match layout {
            Some(layout) => layout.section_offset(address).map(|(section, offset)| Self::in_section(section, offset)),
            None => Some(Self::linked(address.0)),
        }
    }

    /// The address of the place.
    pub(super) fn vaddr(self, layout: Option<&Layout>) -> Option<Vaddr> {
        match (layout, self.section) {
            (Some(layout), Some(section)) => layout.address(SectionIndex(section), SectionOffset(self.address)),
            _ => Some(Vaddr(self.address)),
        }
    }
}

/// An address as reports have it: in a relocatable object the offset in its section.
pub(super) fn reported(address: Vaddr, layout: Option<&Layout>) -> u64 {
    Pc::of(address, layout).map_or(address.0, |pc| pc.address)
}
