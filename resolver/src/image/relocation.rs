//! Applies the relocations of a relocatable object to the contents of a section (gABI
//! "Relocation").
//!
//! This applies to `ET_REL` only. The linker has already applied the relocations of a linked image.
//! `--emit-relocs` keeps them in the file (kernel images are linked that way), but applying them
//! again would be wrong.

use std::collections::HashMap;

use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags, RelocationKind, SectionIndex, SymbolSection,
};
use simple_markers_record::ByteOrder;

use super::{Contents, Image};
use crate::address::SectionOffset;
use crate::arch::{PartialField, PartialOperation, PartialRelocation};
use crate::error::{Error, RelocationProblem};

/// The target of a relocated field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelocationTarget {
    /// An offset in a section.
    Section(SectionIndex, u64),
    /// No target: the relocation has no symbol, or no section defines its symbol. `ld -r` leaves
    /// such relocations for discarded sections.
    Nowhere,
}

/// The targets of the relocations of a section, by the offset of the relocated field.
#[derive(Debug, Default)]
pub(crate) struct RelocationTargets {
    targets: HashMap<u64, RelocationTarget>,
}

impl RelocationTargets {
    /// The target of the field at `offset`. `None` if no relocation changes the field.
    #[must_use]
    pub(crate) fn target(&self, offset: u64) -> Option<RelocationTarget> {
        self.targets.get(&offset).copied()
    }
}

impl Image<'_> {
    /// The targets of the relocations of the section `name`; empty for a linked image. A relocation
    /// that cannot be applied is passed to `error` and left out.
    pub(crate) fn relocated(
        &self,
        name: &'static str,
        contents: &Contents<'_>,
        mut error: impl FnMut(Error),
    ) -> RelocationTargets {
        let mut relocated = RelocationTargets::default();
        if !self.is_relocatable() {
            return relocated;
        }
        let Ok(section) = self.elf.section_by_index(contents.section) else { return relocated };
        for (offset, relocation) in section.relocations() {
            match self.target(&contents.bytes, offset, &relocation) {
                Ok(target) => {
                    relocated.targets.insert(offset, target);
                }
                Err(problem) => {
                    error(Error::Relocation { section: name, offset: SectionOffset(offset), problem });
                }
            }
        }
        relocated
    }

    /// Applies the relocations of a section of a relocatable object to its contents. `place`
    /// returns the value for an offset in a section. A relocation that cannot be applied is passed
    /// to `error` and left out.
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
            let written = match self.partial(&relocation) {
                Some(partial) => self.add_partial(contents, offset, &relocation, partial, &place),
                None => self.value(&contents.bytes, offset, &relocation, here, &place).and_then(|value| match value {
                    Some((value, size)) => set_integer(contents.bytes.to_mut(), offset, size, self.byte_order(), value)
                        .ok_or(RelocationProblem::PastEnd),
                    None => Ok(()),
                }),
            };
            if let Err(problem) = written {
                error(Error::Relocation { section: name, offset: SectionOffset(offset), problem });
            }
        }
    }

    /// The value that a relocation writes, and its size in bytes. `None` if it writes nothing.
    fn value(
        &self,
        bytes: &[u8],
        offset: u64,
        relocation: &object::Relocation,
        here: u64,
        place: &impl Fn(SectionIndex, u64) -> u64,
    ) -> Result<Option<(u64, usize)>, RelocationProblem> {
        let thread_local = self.thread_local(relocation);
        let is_relative = relocation.kind() == RelocationKind::Relative;
        let size = match thread_local {
            Some((size, _)) => size,
            None if relocation.kind() == RelocationKind::None => return Ok(None),
            None => size(relocation, &[RelocationKind::Absolute, RelocationKind::Relative])?,
        };
        let value = match self.pointee(bytes, offset, relocation, size)? {
            RelocationTarget::Nowhere => return Ok(None),
            RelocationTarget::Section(section, value) => match thread_local {
                Some((_, bias)) => value.wrapping_sub(bias),
                None => place(section, value),
            },
        };
        Ok(Some((if is_relative { value.wrapping_sub(here) } else { value }, size)))
    }

    fn thread_local(&self, relocation: &object::Relocation) -> Option<(usize, u64)> {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { return None };
        self.processor().set()?.thread_local_relocation(r_type)
    }

    fn partial(&self, relocation: &object::Relocation) -> Option<PartialRelocation> {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { return None };
        self.processor().set()?.partial_relocation(r_type)
    }

    /// Applies one of several relocations that compute a field.
    fn add_partial(
        &self,
        contents: &mut Contents<'_>,
        offset: u64,
        relocation: &object::Relocation,
        PartialRelocation { operation, field }: PartialRelocation,
        place: &impl Fn(SectionIndex, u64) -> u64,
    ) -> Result<(), RelocationProblem> {
        let target = match self.pointee(&contents.bytes, offset, relocation, 8)? {
            RelocationTarget::Nowhere => return Ok(()),
            RelocationTarget::Section(section, value) => place(section, value),
        };
        let here = place(contents.section, offset);
        let changed = |field: u64| match operation {
            PartialOperation::Set => target,
            PartialOperation::Distance => target.wrapping_sub(here),
            PartialOperation::Add => field.wrapping_add(target),
            PartialOperation::Subtract => field.wrapping_sub(target),
        };
        let written = match field {
            PartialField::Uleb128 => set_uleb128(contents.bytes.to_mut(), offset, changed),
            PartialField::Bits(bits) => {
                let (size, order) = (usize::from(bits).div_ceil(8), self.byte_order());
                let mask = u64::MAX >> 64u32.saturating_sub(bits.into());
                integer(&contents.bytes, offset, size, order).and_then(|old| {
                    let new = old & !mask | changed(old & mask) & mask;
                    set_integer(contents.bytes.to_mut(), offset, size, order, new)
                })
            }
        };
        written.ok_or(RelocationProblem::PastEnd)
    }

    fn target(
        &self,
        bytes: &[u8],
        offset: u64,
        relocation: &object::Relocation,
    ) -> Result<RelocationTarget, RelocationProblem> {
        match relocation.target() {
            object::RelocationTarget::Symbol(index) if index.0 != 0 => {
                self.pointee(bytes, offset, relocation, size(relocation, &[RelocationKind::Absolute])?)
            }
            _ => Ok(RelocationTarget::Nowhere),
        }
    }

    /// The target of a relocation of `size` bytes, computed from its symbol and addend.
    pub(super) fn pointee(
        &self,
        bytes: &[u8],
        offset: u64,
        relocation: &object::Relocation,
        size: usize,
    ) -> Result<RelocationTarget, RelocationProblem> {
        let object::RelocationTarget::Symbol(index) = relocation.target() else { return Ok(RelocationTarget::Nowhere) };
        if index.0 == 0 {
            return Ok(RelocationTarget::Nowhere);
        }
        let symbol = self.elf.symbol_by_index(index);
        let symbol = symbol.map_err(|_| RelocationProblem::NoSymbol { symbol: index.0 })?;
        let section = match symbol.section() {
            SymbolSection::Section(section) => section,
            SymbolSection::Undefined => return Ok(RelocationTarget::Nowhere),
            _ => return Err(RelocationProblem::NoSection { symbol: index.0 }),
        };
        let implicit = match relocation.has_implicit_addend() {
            true => integer(bytes, offset, size, self.byte_order()).ok_or(RelocationProblem::PastEnd)?,
            false => 0,
        };
        let value = symbol.address().wrapping_add(implicit).wrapping_add_signed(relocation.addend());
        let value = if size == 4 { value & u64::from(u32::MAX) } else { value };
        Ok(RelocationTarget::Section(section, value))
    }
}

/// The size in bytes of a relocation whose kind is one of `kinds`.
fn size(relocation: &object::Relocation, kinds: &[RelocationKind]) -> Result<usize, RelocationProblem> {
    match relocation.size() {
        bits @ (32 | 64) if kinds.contains(&relocation.kind()) => Ok(usize::from(bits / 8)),
        _ => Err(RelocationProblem::Kind {
            number: match relocation.flags() {
                RelocationFlags::Elf { r_type } => Some(r_type),
                _ => None,
            },
        }),
    }
}

/// Writes the low `size` bytes of an integer at `offset`. `None` if they do not fit in `bytes`.
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

/// Changes a number in LEB128 that keeps its size. `None` if it does not end in `bytes`.
fn set_uleb128(bytes: &mut [u8], offset: u64, change: impl FnOnce(u64) -> u64) -> Option<()> {
    let rest = bytes.get_mut(usize::try_from(offset).ok()?..)?;
    let last = rest.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    let field = rest.get_mut(..=last)?;
    let mut value = change(field.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f)));
    for byte in field {
        *byte = *byte & 0x80 | (value & 0x7f) as u8;
        value >>= 7;
    }
    Some(())
}

/// Reads an unsigned integer of `size` bytes at `offset`. `None` if it extends past the end of
/// `bytes`.
fn integer(bytes: &[u8], offset: u64, size: usize, order: ByteOrder) -> Option<u64> {
    let start = usize::try_from(offset).ok()?;
    let bytes = bytes.get(start..start.checked_add(size)?)?;
    let shift = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
    Some(match order {
        ByteOrder::Little => bytes.iter().rev().fold(0, shift),
        ByteOrder::Big => bytes.iter().fold(0, shift),
    })
}
