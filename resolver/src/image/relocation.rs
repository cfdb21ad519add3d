//! The contents of a section of a relocatable object with its relocations applied (gABI "Relocation").
//!
//! Only for `ET_REL`. In an image that the linker wrote they are applied already, even where `--emit-relocs` left them in (kernel
//! images are linked so), and applying them again would be wrong.

use std::collections::HashMap;

use object::{
    Architecture, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags, RelocationKind, SectionIndex,
    SymbolSection, elf,
};
use simple_markers_record::ByteOrder;

use super::{Contents, Image};
use crate::Error;
use crate::address::SectionOffset;

/// Where a relocated field points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelocationTarget {
    /// The offset in a section.
    Section(SectionIndex, u64),
    /// Nowhere: the relocation is against no symbol, or one that no section defines. `ld -r` leaves such for what it discarded.
    Nowhere,
}

/// What the relocations of a section say, by offset of the field that they change.
#[derive(Debug, Default)]
pub(crate) struct Relocated {
    targets: HashMap<u64, RelocationTarget>,
}

impl Relocated {
    /// Where the field at `offset` points; `None` where no relocation changes it.
    #[must_use]
    pub(crate) fn target(&self, offset: u64) -> Option<RelocationTarget> {
        self.targets.get(&offset).copied()
    }
}

impl Image<'_> {
    /// The targets of the relocations of a section called `name`. A relocation that cannot be applied goes to `error` and is left out.
    ///
    /// Empty for a linked image.
    pub(crate) fn relocated(
        &self,
        name: &'static str,
        contents: &Contents<'_>,
        mut error: impl FnMut(Error),
    ) -> Relocated {
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

    /// Applies the relocations of a section of a relocatable object to its contents. `place` is the value of an offset in a section;
    /// a relocation that cannot be applied goes to `error` and is left out.
    pub(crate) fn relocate(
        &self,
        name: &'static str,
        contents: &mut Contents<'_>,
        place: impl Fn(SectionIndex, u64) -> u64,
        mut error: impl FnMut(Error),
    ) {
        let Ok(section) = self.elf.section_by_index(contents.section) else { return };
        for (offset, relocation) in section.relocations() {
            let here = place(contents.section, offset);
            let value = self.value(&contents.bytes, offset, &relocation, here, &place);
            let written = value.and_then(|value| match value {
                Some((value, size)) => set_integer(contents.bytes.to_mut(), offset, size, self.byte_order(), value)
                    .ok_or_else(|| "past the end of the section".to_owned()),
                None => Ok(()),
            });
            if let Err(what) = written {
                error(Error::Relocation { section: name, offset: SectionOffset(offset), what });
            }
        }
    }

    /// What a relocation writes, and bytes of it; `None` where it writes nothing.
    fn value(
        &self,
        bytes: &[u8],
        offset: u64,
        relocation: &object::Relocation,
        here: u64,
        place: &impl Fn(SectionIndex, u64) -> u64,
    ) -> Result<Option<(u64, usize)>, String> {
        let thread_local = self.thread_local_size(relocation);
        let is_relative = relocation.kind() == RelocationKind::Relative;
        let size = match thread_local {
            Some(size) => size,
            None if relocation.kind() == RelocationKind::None => return Ok(None),
            None => size(relocation, &[RelocationKind::Absolute, RelocationKind::Relative])?,
        };
        let value = match self.pointee(bytes, offset, relocation, size)? {
            RelocationTarget::Nowhere => return Ok(None),
            RelocationTarget::Section(_, value) if thread_local.is_some() => value,
            RelocationTarget::Section(section, value) => place(section, value),
        };
        Ok(Some((if is_relative { value.wrapping_sub(here) } else { value }, size)))
    }

    /// Bytes of a relocation for the offset of a thread-local variable in its block, which debug information has; `None` for others.
    fn thread_local_size(&self, relocation: &object::Relocation) -> Option<usize> {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { return None };
        match (self.elf.architecture(), r_type) {
            (Architecture::X86_64, elf::R_X86_64_DTPOFF64) | (Architecture::Aarch64, elf::R_AARCH64_TLS_DTPREL) => {
                Some(8)
            }
            (Architecture::X86_64, elf::R_X86_64_DTPOFF32) | (Architecture::I386, elf::R_386_TLS_LDO_32) => Some(4),
            _ => None,
        }
    }

    fn target(&self, bytes: &[u8], offset: u64, relocation: &object::Relocation) -> Result<RelocationTarget, String> {
        match relocation.target() {
            object::RelocationTarget::Symbol(index) if index.0 != 0 => {
                self.pointee(bytes, offset, relocation, size(relocation, &[RelocationKind::Absolute])?)
            }
            _ => Ok(RelocationTarget::Nowhere),
        }
    }

    /// Where the symbol and addend of a relocation of `size` bytes point.
    pub(super) fn pointee(
        &self,
        bytes: &[u8],
        offset: u64,
        relocation: &object::Relocation,
        size: usize,
    ) -> Result<RelocationTarget, String> {
        let object::RelocationTarget::Symbol(index) = relocation.target() else { return Ok(RelocationTarget::Nowhere) };
        if index.0 == 0 {
            return Ok(RelocationTarget::Nowhere);
        }
        let symbol =
            self.elf.symbol_by_index(index).map_err(|_| format!("against symbol {}, which is not there", index.0))?;
        let section = match symbol.section() {
            SymbolSection::Section(section) => section,
            SymbolSection::Undefined => return Ok(RelocationTarget::Nowhere),
            _ => return Err(format!("against symbol {}, which is in no section", index.0)),
        };
        let implicit = match relocation.has_implicit_addend() {
            true => integer(bytes, offset, size, self.byte_order()).ok_or("past the end of the section")?,
            false => 0,
        };
        let value = symbol.address().wrapping_add(implicit).wrapping_add_signed(relocation.addend());
        let value = if size == 4 { value & u64::from(u32::MAX) } else { value };
        Ok(RelocationTarget::Section(section, value))
    }
}

/// Bytes of a relocation of one of `kinds`.
fn size(relocation: &object::Relocation, kinds: &[RelocationKind]) -> Result<usize, String> {
    match relocation.size() {
        bits @ (32 | 64) if kinds.contains(&relocation.kind()) => Ok(usize::from(bits / 8)),
        _ => Err(format!("of an unknown kind, {:?}", relocation.flags())),
    }
}

/// Writes the low `size` bytes of an integer at `offset`; `None` where they do not lie in `bytes`.
fn set_integer(bytes: &mut [u8], offset: u64, size: usize, order: ByteOrder, value: u64) -> Option<()> {
    let start = usize::try_from(offset).ok()?;
    let field = bytes.get_mut(start..start.checked_add(size)?)?;
    let little = value.to_le_bytes();
    let low = little.get(..size)?;
    field.copy_from_slice(low);
    if order == ByteOrder::Big {
        field.reverse();
    }
    Some(())
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
