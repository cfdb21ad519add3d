//! The contents of a section of a relocatable object with its relocations applied (gABI "Relocation").
//!
//! Only for `ET_REL`. In an image that the linker wrote they are applied already, even where `--emit-relocs` left them in (kernel
//! images are linked so), and applying them again would be wrong.

use std::collections::HashMap;

use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, RelocationKind, RelocationTarget, SectionIndex, SymbolSection,
};
use simple_markers_record::ByteOrder;

use super::{Contents, Image};
use crate::Error;
use crate::address::SectionOffset;

/// Where a relocated field points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The offset in a section.
    Section(SectionIndex, u64),
    /// Nowhere: the relocation is against no symbol, or one that no section defines. `ld -r` leaves such for what it discarded.
    Nowhere,
}

/// What the relocations of a section say, by offset of the field that they change.
#[derive(Debug, Default)]
pub struct Relocated {
    targets: HashMap<u64, Target>,
}

impl Relocated {
    /// Where the field at `offset` points; `None` where no relocation changes it.
    #[must_use]
    pub fn target(&self, offset: u64) -> Option<Target> {
        self.targets.get(&offset).copied()
    }
}

impl Image<'_> {
    /// The targets of the relocations of a section called `name`. A relocation that cannot be applied goes to `error` and is left out.
    ///
    /// Empty for a linked image.
    pub fn relocated(&self, name: &'static str, contents: &Contents<'_>, mut error: impl FnMut(Error)) -> Relocated {
        let mut relocated = Relocated::default();
        if !self.is_relocatable() {
            return relocated;
        }
        let Ok(section) = self.elf.section_by_index(contents.section) else { return relocated };
        for (offset, relocation) in section.relocations() {
            match self.target(&contents.bytes, offset, &relocation) {
                Ok(target) => {
                    relocated.targets.insert(offset, target);
                }
                Err(what) => error(Error::Relocation { section: name, offset: SectionOffset(offset), what }),
            }
        }
        relocated
    }

    fn target(&self, bytes: &[u8], offset: u64, relocation: &object::Relocation) -> Result<Target, String> {
        let RelocationTarget::Symbol(index) = relocation.target() else { return Ok(Target::Nowhere) };
        if index.0 == 0 {
            return Ok(Target::Nowhere);
        }
        if relocation.kind() != RelocationKind::Absolute || !matches!(relocation.size(), 32 | 64) {
            return Err(format!("of an unknown kind, {:?}", relocation.flags()));
        }
        let symbol =
            self.elf.symbol_by_index(index).map_err(|_| format!("against symbol {}, which is not there", index.0))?;
        let section = match symbol.section() {
            SymbolSection::Section(section) => section,
            SymbolSection::Undefined => return Ok(Target::Nowhere),
            _ => return Err(format!("against symbol {}, which is in no section", index.0)),
        };
        let size = usize::from(relocation.size() / 8);
        let implicit = match relocation.has_implicit_addend() {
            true => integer(bytes, offset, size, self.byte_order()).ok_or("past the end of the section")?,
            false => 0,
        };
        let value = symbol.address().wrapping_add(implicit).wrapping_add_signed(relocation.addend());
        let value = if size == 4 { value & u64::from(u32::MAX) } else { value };
        Ok(Target::Section(section, value))
    }
}

/// The unsigned integer of `size` bytes at `offset`; `None` where it does not lie in `bytes`.
fn integer(bytes: &[u8], offset: u64, size: usize, order: ByteOrder) -> Option<u64> {
    let start = usize::try_from(offset).ok()?;
    let bytes = bytes.get(start..start.checked_add(size)?)?;
    let shift = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
    Some(match order {
        ByteOrder::Little => bytes.iter().rev().fold(0, shift),
        ByteOrder::Big => bytes.iter().fold(0, shift),
    })
}
