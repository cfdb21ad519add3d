//! Reads the code and tables of a linked image by address. The bytes come from its segments,
//! together with the values that the loader writes later (`R_*_RELATIVE`). The module `branches`
//! handles relocations that the linker applies.

use std::collections::BTreeMap;
use std::ops::Range;

use object::read::elf::{ElfFile, FileHeader, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSection as _, RelocationFlags, SectionFlags, SectionIndex, elf};

use super::{Image, Layout};
use crate::address::{SectionOffset, Vaddr};
use crate::code::Memory;
use crate::ranges::RangeMap;

impl<'data> Image<'data> {
    /// The size of the file in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The bytes in the file from a link-time address to the end of its segment. `None` if no
    /// segment loads the address from the file.
    #[must_use]
    pub(crate) fn bytes_from(&self, address: Vaddr) -> Option<&'data [u8]> {
        let start = usize::try_from(self.file_offset(address)?.0).ok()?;
        let end = usize::try_from(self.segments.get(address.0)?.file_end).ok()?;
        self.data.get(start..end.min(self.data.len()))
    }

    /// `size` bytes at a link-time address, as stored in the file. `None` if the file does not
    /// contain all of them.
    #[must_use]
    pub(crate) fn bytes(&self, address: Vaddr, size: usize) -> Option<&'data [u8]> {
        self.bytes_from(address)?.get(..size)
    }

    /// The index and the address range in `layout` of each loaded section of a relocatable object.
    pub(crate) fn laid_out<'l>(&'l self, layout: &'l Layout) -> impl Iterator<Item = (SectionIndex, Range<u64>)> + 'l {
        self.elf.sections().filter_map(|section| {
            let start = layout.address(section.index(), SectionOffset(0))?;
            Some((section.index(), start.0..start.0.saturating_add(section.size())))
        })
    }
}

/// The memory of a linked image that the program does not change. Tables are read from it.
#[derive(Debug)]
pub(crate) struct Constants<'a> {
    image: &'a Image<'a>,
    constant: RangeMap<()>,
    /// The values that the loader writes, by address. `None` if the value is unknown.
    written: BTreeMap<u64, Option<[u8; 8]>>,
}

impl<'a> Constants<'a> {
    pub(crate) fn of(image: &'a Image<'a>) -> Self {
        let mut constant = match &image.elf {
            object::File::Elf32(elf) => constant_segments(elf),
            object::File::Elf64(elf) => constant_segments(elf),
            _ => Vec::new(),
        };
        for section in image.elf.sections() {
            let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
            if sh_flags & u64::from(elf::SHF_ALLOC) != 0 && sh_flags & u64::from(elf::SHF_WRITE) == 0 {
                constant.push(section.address()..section.address().saturating_add(section.size()));
            }
        }
        let constant: Vec<_> = constant.into_iter().map(|range| (range, (), ())).collect();
        let (mut written, set) = (BTreeMap::new(), image.processor().set());
        for (address, relocation) in image.elf.dynamic_relocations().into_iter().flatten() {
            // The addend is stored in the relocated field (`SHT_REL`).
            if relocation.has_implicit_addend() {
                continue;
            }
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let is_relative = set.is_some_and(|set| set.relative_relocation() == r_type);
            written.insert(address, is_relative.then(|| relocation.addend().to_le_bytes()));
        }
        Self { image, constant: RangeMap::new(&constant), written }
    }
}

impl Memory for Constants<'_> {
    fn read(&self, at: Vaddr, size: usize) -> Option<&[u8]> {
        let end = at.0.checked_add(size as u64)?;
        if self.constant.get(at.0).is_none() || self.constant.get(end.checked_sub(1)?).is_none() {
            return None;
        }
        let mut written = self.written.range(at.0.saturating_sub(7)..end);
        match (written.next(), written.next()) {
            (None, _) => self.image.bytes(at, size),
            (Some((address, Some(bytes))), None) if *address == at.0 => bytes.get(..size),
            _ => None,
        }
    }
}

/// The address ranges of segments that are read-only, at the latest after the loader has applied
/// the relocations (`PT_GNU_RELRO`).
fn constant_segments<Elf: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, Elf>) -> Vec<Range<u64>> {
    let endian = file.endian();
    let is_constant = |kind, flags| match kind {
        elf::PT_LOAD => flags & elf::PF_W == 0,
        elf::PT_GNU_RELRO => true,
        _ => false,
    };
    let headers = file.elf_program_headers().iter();
    let constant = headers.filter(|header| is_constant(header.p_type(endian), header.p_flags(endian)));
    let range = |header: &Elf::ProgramHeader| {
        let start: u64 = header.p_vaddr(endian).into();
        start..start.saturating_add(header.p_memsz(endian).into())
    };
    constant.map(range).collect()
}
