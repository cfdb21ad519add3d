//! `.debug_aranges`: which unit holds an address, as the compiler states it (DWARF 5, 6.1.2).
//!
//! gimli skips each pair of zeros with a recursive call, so a long run of zeros overflows the
//! stack. This module reads the section itself.

use std::ops::Range;

use gimli::{DebugInfoOffset, Reader as _};

use super::sections::Reader;

/// Gives each range of a section with the unit that it belongs to. A set ends at the first entry
/// that cannot be read.
pub(super) fn ranges(mut section: Reader<'_>, mut each: impl FnMut(DebugInfoOffset, Range<u64>)) {
    while let Ok((length, format)) = section.read_initial_length() {
        let Ok(mut set) = section.split(length) else { break };
        // `None`: the form of the set is not supported.
        let _ = of_set(&mut set, format, &mut each);
    }
}

fn of_set(
    set: &mut Reader<'_>,
    format: gimli::Format,
    each: &mut impl FnMut(DebugInfoOffset, Range<u64>),
) -> gimli::Result<()> {
    let whole = set.len();
    let version = set.read_u16()?;
    let unit = DebugInfoOffset(set.read_offset(format)?);
    let (size, segments) = (set.read_u8()?, set.read_u8()?);
    if version != 2 || segments != 0 || !matches!(size, 1 | 2 | 4 | 8) {
        return Ok(());
    }
    // Pairs are aligned to their size, counted from the length field of the set.
    let pair = usize::from(size) * 2;
    let header = whole.saturating_sub(set.len()).saturating_add(usize::from(format.initial_length_size()));
    set.skip(header.next_multiple_of(pair) - header)?;
    while !set.is_empty() {
        let (begin, length) = (set.read_address(size)?, set.read_address(size)?);
        // Linkers leave zeros in the middle, in place of code that they dropped.
        if let Some(end) = begin.checked_add(length).filter(|end| *end > begin) {
            each(unit, begin..end);
        }
    }
    Ok(())
}
