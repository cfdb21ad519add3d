//! Names for the addresses in the text of a location: a symbol, or the section of a relocatable
//! object.

use simple_markers_record::ByteOrder;

use crate::address::Vaddr;
use crate::demangle::demangle;
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
