//! Branches that a Linux kernel patches into its code at run time: the static keys of `__jump_table` (`include/linux/jump_label.h`).
//!
//! An entry has two offsets of four bytes from where they stand, to the code and to the target, then the key; 16 bytes on all processors
//! whose instructions are understood.

use simple_markers_record::ByteOrder;

use crate::address::{SectionOffset, Vaddr};
use crate::image::{Image, Layout};

const TABLE: &str = "__jump_table";
const ENTRY: usize = 16;

/// The targets of patched branches, ascending, each with the instruction that becomes the branch.
pub(super) fn branches(image: &Image<'_>, layout: Option<&Layout>) -> Vec<(Vaddr, Vaddr)> {
    let mut branches = Vec::new();
    for contents in image.contents(TABLE) {
        let Ok(mut contents) = contents else { continue };
        let start = match layout {
            Some(layout) => layout.address(contents.section, SectionOffset(0)),
            None => image.section_address(TABLE, None),
        };
        let Some(start) = start else { continue };
        if let Some(layout) = layout {
            let place = |section, offset| layout.address(section, SectionOffset(offset)).map_or(0, |at| at.0);
            // What cannot be relocated leads nowhere near.
            image.relocate(TABLE, &mut contents, place, |_| {});
        }
        for (index, entry) in contents.bytes.chunks_exact(ENTRY).enumerate() {
            let at = start.0.wrapping_add((index as u64).wrapping_mul(ENTRY as u64));
            let field = |offset: usize| {
                let bytes: [u8; 4] = entry.get(offset..offset.checked_add(4)?)?.try_into().ok()?;
                let value = match image.byte_order() {
                    ByteOrder::Little => i32::from_le_bytes(bytes),
                    ByteOrder::Big => i32::from_be_bytes(bytes),
                };
                Some(Vaddr(at.wrapping_add(offset as u64).wrapping_add_signed(value.into())))
            };
            if let (Some(from), Some(target)) = (field(0), field(4)) {
                branches.push((target, from));
            }
        }
    }
    branches.sort_unstable();
    branches
}
