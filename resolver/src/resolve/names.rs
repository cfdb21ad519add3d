//! Names for the addresses in the text of a location: a symbol, or the section of a relocatable
//! object.

use simple_markers_record::ByteOrder;

use crate::address::Vaddr;
use crate::demangle::demangle;
use crate::image::symbols::Symbol;
use crate::image::{Image, Layout};
use crate::location::LocationNames;
use crate::location::Processor;

/// The names of the addresses of an image.
pub(super) struct AddressNames<'a> {
    image: &'a Image<'a>,
    layout: Option<&'a Layout>,
    processor: Processor,
}

impl<'a> AddressNames<'a> {
    pub(super) fn new(image: &'a Image<'a>, layout: Option<&'a Layout>, processor: Processor) -> Self {
        Self { image, layout, processor }
    }

    /// The flags in the header of the file.
    pub(super) fn elf_flags(&self) -> u32 {
        self.image.elf_flags()
    }

    /// Whether the name of the function that is entered at an address says that gcc may have dropped its
    /// result (`-fipa-sra`: `f.isra.0`).
    pub(super) fn may_have_no_result(&self, entry: u64) -> bool {
        let (section, offset) = match self.layout {
            Some(layout) => match layout.section_offset(Vaddr(entry)) {
                Some((section, offset)) => (Some(section), offset.0),
                None => return false,
            },
            None => (None, entry),
        };
        let functions = self.image.functions();
        let says = |symbol: &Symbol| functions.name(symbol).windows(6).any(|part| part == b".isra.");
        functions.at(section, offset).is_some_and(|symbol| symbol.start == offset && says(&symbol))
    }
}

impl LocationNames for AddressNames<'_> {
    fn processor(&self) -> Processor {
        self.processor
    }

    fn address_size(&self) -> u8 {
        self.image.address_size()
    }

    fn is_big_endian(&self) -> bool {
        self.image.byte_order() == ByteOrder::Big
    }

    fn symbol(&self, address: Vaddr) -> Option<String> {
        let (section, offset) = match self.layout {
            Some(layout) => {
                let (section, offset) = layout.section_offset(address)?;
                (Some(section), offset.0)
            }
            None => (None, address.0),
        };
        let tables = [self.image.variables(), self.image.functions()];
        let symbol = tables.iter().find_map(|table| Some((table, table.at(section, offset)?)));
        let (name, into) = match (symbol, section) {
            (Some((table, symbol)), _) => (demangle(table.name(&symbol)), offset.wrapping_sub(symbol.start)),
            (None, Some(section)) => (self.image.section_name(section), offset),
            (None, None) => return None,
        };
        Some(if into == 0 { name } else { format!("{name}+{into:#x}") })
    }
}
