//! Location lists of DWARF 4 that begin with two zeros (`.debug_loc`; DWARF 4, 2.6.2).
//!
//! Two zeros end a list. LLVM also writes them as the first entry of a list, for an empty range at
//! the start of the unit. What follows decides: if all bytes up to the next list are entries and
//! their end, the first entry is an empty range.

use std::sync::Arc;

use gimli::{AttributeValue, Reader as _};

use super::locations::Locations;
use super::sections::Reader;
use crate::Error;

impl<'s> Locations<'s> {
    /// Whether the list at an offset goes on after two zeros at its start. `lists` is the section.
    pub(super) fn begins_with_empty_range(
        &self,
        unit: usize,
        offset: usize,
        lists: Reader<'s>,
        address_size: u8,
    ) -> Result<bool, Error> {
        let offsets = self.list_offsets(unit)?;
        let after = offsets.partition_point(|known| *known <= offset);
        // The last list of a unit is followed by those of another one.
        let Some(end) = offsets.get(after) else { return Ok(false) };
        let mut bytes = lists;
        let is_whole = bytes
            .skip(offset)
            .and_then(|()| bytes.split(end.saturating_sub(offset)))
            .and_then(|bytes| is_list_after_zeros(bytes, address_size));
        Ok(is_whole.unwrap_or(false))
    }

    fn list_offsets(&self, index: usize) -> Result<Arc<Vec<usize>>, Error> {
        self.list_offsets.get_or_make(index, || {
            let mut offsets = Vec::new();
            self.units.each_attribute(index, |attribute| {
                if let AttributeValue::LocationListsRef(offset) = attribute.value() {
                    offsets.push(offset.0);
                }
            })?;
            offsets.sort_unstable();
            offsets.dedup();
            Ok(offsets)
        })
    }
}

/// Whether bytes are an entry of two zeros, other entries, and the end of the list.
fn is_list_after_zeros(mut bytes: Reader<'_>, address_size: u8) -> gimli::Result<bool> {
    let highest = u64::MAX >> (64 - 8 * u32::from(address_size.clamp(1, 8)));
    let mut is_first = true;
    loop {
        let (begin, end) = (bytes.read_address(address_size)?, bytes.read_address(address_size)?);
        if begin == 0 && end == 0 && !is_first {
            return Ok(bytes.is_empty());
        }
        if begin != highest {
            let length = bytes.read_u16()?;
            bytes.skip(length.into())?;
        }
        is_first = false;
    }
}
