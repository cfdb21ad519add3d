//! Code and tables of a linked image by address: the bytes of its segments, with what the loader is still to write (`R_*_RELATIVE`).
//! `branches` has what waits for the linker.

use std::collections::BTreeMap;
use std::ops::Range;

use object::read::elf::{ElfFile, FileHeader, ProgramHeader as _};
use object::{
    Architecture, Endianness, Object as _, ObjectSection as _, RelocationFlags, SectionFlags, SectionIndex, elf,
};

use super::{Image, Layout};
use crate::address::{SectionOffset, Vaddr};
use crate::code::Memory;
use crate::ranges::RangeMap;

impl<'data> Image<'data> {
    /// Bytes of the file.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The bytes that the file has from a link-time address to the end of its segment; `None` where no segment loads it from the file.
    #[must_use]
    pub(crate) fn bytes_from(&self, address: Vaddr) -> Option<&'data [u8]> {
        let start = usize::try_from(self.file_offset(address)?.0).ok()?;
        let end = usize::try_from(self.segments.get(address.0)?.file_end).ok()?;
        self.data.get(start..end.min(self.data.len()))
    }

    /// `size` bytes at a link-time address, as they stand in the file; `None` where they are not all in it.
    #[must_use]
    pub(crate) fn bytes(&self, address: Vaddr, size: usize) -> Option<&'data [u8]> {
        self.bytes_from(address)?.get(..size)
    }

    /// Where each section of a relocatable object is laid out, and its size.
    pub(crate) fn laid_out<'l>(&'l self, layout: &'l Layout) -> impl Iterator<Item = (SectionIndex, Range<u64>)> + 'l {
        self.elf.sections().filter_map(|section| {
            let start = layout.address(section.index(), SectionOffset(0))?;
            Some((section.index(), start.0..start.0.saturating_add(section.size())))
        })
    }
}

/// What the memory of a linked image holds that the program does not change: tables are read from it.
#[derive(Debug)]
pub(crate) struct Constants<'i, 'data> {
    image: &'i Image<'data>,
    constant: RangeMap<()>,
    /// What the loader writes, by address; `None` where that is not known.
    written: BTreeMap<u64, Option<[u8; 8]>>,
}

impl<'i, 'data> Constants<'i, 'data> {
    pub(crate) fn of(image: &'i Image<'data>) -> Self {
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
        let mut written = BTreeMap::new();
        for (address, relocation) in image.elf.dynamic_relocations().into_iter().flatten() {
            // Without an addend of its own it stands in the file (i386).
            if relocation.has_implicit_addend() {
                continue;
            }
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let is_relative = match image.elf.architecture() {
                Architecture::X86_64 => r_type == elf::R_X86_64_RELATIVE,
                Architecture::Aarch64 => r_type == elf::R_AARCH64_RELATIVE,
                _ => false,
            };
            written.insert(address, is_relative.then(|| relocation.addend().to_le_bytes()));
        }
        Self { image, constant: RangeMap::new(&constant), written }
    }
}

impl Memory for Constants<'_, '_> {
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

/// The segments that are not written to, at the latest when the loader is done (`PT_GNU_RELRO`).
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
