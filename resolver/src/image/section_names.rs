//! The section header table: the section names, and the addresses that have no bytes in the file.
//!
//! Names are compared within a window instead of being searched for their end. Otherwise a small
//! file could take hours: a million section headers can all refer to one long string.

use object::read::elf::{ElfFile, FileHeader, SectionHeader as _};
use object::{Endianness, SectionIndex, elf};

use crate::address::Vaddr;
use crate::ranges::RangeMap;

/// The longest section name that is read, in bytes.
const WINDOW: usize = 255;

/// The names of the sections of an image.
#[derive(Debug)]
pub(super) struct SectionNames<'data> {
    /// The contents of the section name string table.
    strings: &'data [u8],
    /// The offset in `strings` of each section's name, in the order of the section headers.
    offsets: Vec<u32>,
    /// The link-time addresses of loaded sections that have no bytes in the file.
    absent: RangeMap<()>,
}

impl<'data> SectionNames<'data> {
    pub(super) fn of(file: &object::File<'data>) -> Self {
        match file {
            object::File::Elf32(elf) => Self::of_elf(elf),
            object::File::Elf64(elf) => Self::of_elf(elf),
            _ => Self { strings: &[], offsets: Vec::new(), absent: RangeMap::new::<()>(&[]) },
        }
    }

    fn of_elf<Elf: FileHeader<Endian = Endianness>>(file: &ElfFile<'data, Elf>) -> Self {
        let endian = file.endian();
        let table = file.elf_section_table();
        let strings = file
            .elf_header()
            .shstrndx(endian, file.data())
            .and_then(|index| table.section(SectionIndex(index as usize)))
            .and_then(|section| section.data(endian, file.data()))
            .unwrap_or_default();
        let offsets = table.iter().map(|section| section.sh_name(endian)).collect();
        let absent: Vec<_> = table
            .iter()
            .filter(|section| {
                section.sh_type(endian) == elf::SHT_NOBITS && has_flag::<Elf>(endian, section, elf::SHF_ALLOC)
            })
            .filter(|section| !has_flag::<Elf>(endian, section, elf::SHF_TLS))
            .filter_map(|section| {
                let start: u64 = section.sh_addr(endian).into();
                Some((start..start.checked_add(section.sh_size(endian).into())?, (), ()))
            })
            .collect();
        Self { strings, offsets, absent: RangeMap::new(&absent) }
    }

    /// The sections with this name, in the order of the section headers. `name` has at most 254
    /// bytes.
    pub(super) fn find(&self, name: &str) -> impl Iterator<Item = SectionIndex> {
        let matches = move |&offset: &u32| {
            self.at(offset).strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
        };
        self.offsets.iter().enumerate().filter(move |(_, offset)| matches(offset)).map(|(index, _)| SectionIndex(index))
    }

    /// The name of a section, cut to the window. Empty if there is no such section.
    pub(super) fn name(&self, section: SectionIndex) -> &'data [u8] {
        let window = self.offsets.get(section.0).map_or(&[][..], |&offset| self.at(offset));
        window.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// Whether the address is in a section that has no bytes in the file.
    pub(super) fn is_absent(&self, address: Vaddr) -> bool {
        self.absent.get(address.0).is_some()
    }

    fn at(&self, offset: u32) -> &'data [u8] {
        let rest = self.strings.get(offset as usize..).unwrap_or_default();
        rest.get(..WINDOW).unwrap_or(rest)
    }
}

fn has_flag<Elf: FileHeader<Endian = Endianness>>(endian: Endianness, section: &Elf::SectionHeader, flag: u32) -> bool {
    Into::<u64>::into(section.sh_flags(endian)) & u64::from(flag) != 0
}
