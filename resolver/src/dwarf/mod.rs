//! What the debug information says. So far: which function holds an address, for images whose symbols do not say.
//!
//! Owns gimli and addr2line; no type of theirs leaves this folder.

use std::borrow::Cow;

use gimli::{EndianSlice, RunTimeEndian, SectionId};
use simple_markers_record::ByteOrder;

use crate::Error;
use crate::address::Vaddr;
use crate::image::Image;

/// The linkage name, or else the name, of the function that holds each of `addresses` and was not inlined (DWARF 5, 3.3), in their
/// order; `None` where no unit describes one. No unit is parsed that holds none of the addresses.
///
/// # Errors
///
/// A section of debug information cannot be read, or its unit headers are malformed.
pub fn function_names(image: &Image<'_>, addresses: &[Vaddr]) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let malformed = |error: gimli::Error| Error::Dwarf { what: error.to_string() };
    let load = |id: SectionId| match image.contents(id.name()).next() {
        Some(contents) => contents.map(|contents| contents.bytes),
        None => Ok(Cow::Borrowed(&[][..])),
    };
    let sections = gimli::DwarfSections::load(load)?;
    let endian = match image.byte_order() {
        ByteOrder::Little => RunTimeEndian::Little,
        ByteOrder::Big => RunTimeEndian::Big,
    };
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    let context = addr2line::Context::from_dwarf(dwarf).map_err(malformed)?;
    let name = |address: &Vaddr| {
        let mut frames = context.find_frames(address.0).skip_all_loads().ok()?;
        let mut name = None;
        // The frames go from the innermost inlined function outward.
        while let Ok(Some(frame)) = frames.next() {
            name = frame.function.map(|function| function.name.slice().to_vec());
        }
        name
    };
    Ok(addresses.iter().map(name).collect())
}
