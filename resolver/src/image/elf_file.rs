//! One ELF file: its headers, its sections by name, and the file offsets of its addresses.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::OnceLock;

use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::FileHeader;
use object::{Endianness, Object as _, ObjectSection as _, ObjectSegment as _, SectionIndex};
use simple_markers_record::ByteOrder;

use super::architecture::Architecture;
use super::archive;
use super::kind::ImageKind;
use super::section_names::SectionNames;
use super::symbol_table::SymbolTable;
use crate::Error;
use crate::address::{FileOffset, SectionOffset, Vaddr};
use crate::arch::Processor;
use crate::error::parser_says;
use crate::ranges::RangeMap;
use crate::text::hexadecimal;

/// The size of a page in bytes.
const PAGE: u64 = 4096;

/// One ELF file.
#[derive(Debug)]
pub(crate) struct Image<'data> {
    pub(super) data: &'data [u8],
    /// The size of the file in bytes.
    pub(super) size: u64,
    pub(super) elf: object::File<'data>,
    kind: ImageKind,
    pub(super) names: SectionNames<'data>,
    pub(super) segments: RangeMap<Segment>,
    pub(super) symbols: OnceLock<SymbolTable>,
}

/// The error for an ELF file whose section header table extends past the end of the file. `None` if
/// it does not.
fn truncated(data: &[u8]) -> Option<Error> {
    fn of<Elf: FileHeader<Endian = Endianness>>(data: &[u8]) -> Option<Error> {
        let header = Elf::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let offset: u64 = header.e_shoff(endian).into();
        let size = u64::from(header.e_shnum(endian)).saturating_mul(header.e_shentsize(endian).into());
        let file = data.len() as u64;
        (offset.saturating_add(size) > file).then_some(Error::Truncated { offset: FileOffset(offset), size, file })
    }
    of::<FileHeader64<Endianness>>(data).or_else(|| of::<FileHeader32<Endianness>>(data))
}

/// The part of the file that a segment loads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    vaddr: Vaddr,
    file_start: u64,
    pub(super) file_end: u64,
    is_writable: bool,
}

impl<'data> Image<'data> {
    /// The flags in the header of the file (`e_flags`), whose meaning depends on the processor.
    pub(crate) fn elf_flags(&self) -> u32 {
        match self.elf.flags() {
            object::FileFlags::Elf { e_flags, .. } => e_flags,
            _ => 0,
        }
    }

    /// Reads the headers of the ELF file `data`.
    ///
    /// # Errors
    ///
    /// `data` is not ELF, or its headers are malformed.
    pub(crate) fn parse(data: &'data [u8]) -> Result<Self, Error> {
        if !data.starts_with(&object::elf::ELFMAG) {
            return Err(Error::NotElf { format: archive::other_format(data) });
        }
        let elf = object::File::parse(data)
            .map_err(|error| truncated(data).unwrap_or_else(|| Error::Elf { what: parser_says(error) }))?;
        let names = SectionNames::of(&elf);
        let kind = ImageKind::of(&elf, &names);
        let segments = RangeMap::new(&segments(&elf));
        Ok(Self { data, size: data.len() as u64, elf, kind, names, segments, symbols: OnceLock::new() })
    }

    /// The kind of the file.
    #[must_use]
    pub(crate) fn kind(&self) -> ImageKind {
        self.kind
    }

    /// The byte order of the image (`EI_DATA`).
    #[must_use]
    pub(crate) fn byte_order(&self) -> ByteOrder {
        if self.elf.is_little_endian() { ByteOrder::Little } else { ByteOrder::Big }
    }

    /// Whether the image is a relocatable object (`ET_REL`). Its addresses are section offsets, and
    /// its relocations are not yet applied.
    #[must_use]
    pub(crate) fn is_relocatable(&self) -> bool {
        self.elf.kind() == object::ObjectKind::Relocatable
    }

    #[must_use]
    pub(crate) fn architecture(&self) -> Architecture {
        Architecture::of(self.elf.architecture())
    }

    /// The architecture, which determines registers and operands.
    #[must_use]
    pub(crate) fn processor(&self) -> Processor {
        Processor::of(self.architecture())
    }

    /// The build ID (`NT_GNU_BUILD_ID`) in hexadecimal. `None` if the image has none.
    #[must_use]
    pub(crate) fn build_id(&self) -> Option<String> {
        let id = self.elf.build_id().ok()??;
        Some(hexadecimal(id))
    }

    /// The name and the CRC-32 of the separate debug file (`.gnu_debuglink`). `None` if the image
    /// names none.
    #[must_use]
    pub(crate) fn debug_link(&self) -> Option<(&'data [u8], u32)> {
        self.elf.gnu_debuglink().ok()?
    }

    /// The name of the file that dwz moved debug information to, and its build ID in hexadecimal
    /// (`.gnu_debugaltlink`). `None` if the image names none.
    #[must_use]
    pub(crate) fn alternate_link(&self) -> Option<(&'data [u8], String)> {
        let (name, id) = self.elf.gnu_debugaltlink().ok()??;
        Some((name, hexadecimal(id)))
    }

    /// Whether the image has a section with this name: one of the names in [`crate::record`], or a
    /// DWARF section.
    #[must_use]
    pub(crate) fn has_section(&self, name: &str) -> bool {
        self.sections(name).next().is_some()
    }

    /// The sections with this name, in the order of the section headers. Sections in the GNU
    /// compression format that preceded `SHF_COMPRESSED` have another name and are not found.
    pub(super) fn sections(&self, name: &str) -> impl Iterator<Item = SectionIndex> {
        let compressed = name.strip_prefix(".debug_").map(|rest| format!(".zdebug_{rest}"));
        let compressed: Vec<SectionIndex> = compressed.iter().flat_map(|name| self.names.find(name)).collect();
        self.names.find(name).chain(compressed)
    }

    /// The name of a section, for display. It is cut to 255 bytes, and empty if the section has no
    /// name.
    #[must_use]
    pub(crate) fn section_name(&self, section: SectionIndex) -> String {
        crate::text::from_bytes(self.names.name(section))
    }

    /// The size of an address in bytes (`EI_CLASS`).
    #[must_use]
    pub(crate) fn address_size(&self) -> u8 {
        if self.elf.is_64() { 8 } else { 4 }
    }

    /// The file offset of the byte that is loaded at `address`. `None` if no segment loads it from
    /// the file.
    #[must_use]
    pub(crate) fn file_offset(&self, address: Vaddr) -> Option<FileOffset> {
        // A separate debug file has the segments of its program, but not their contents: its
        // sections are SHT_NOBITS.
        if self.names.is_absent(address) {
            return None;
        }
        let segment = self.segments.get(address.0)?;
        address.to_file_offset(segment.vaddr, &(segment.file_start..segment.file_end))
    }

    /// Whether a segment that processes may write loads `size` bytes at `address` from the file.
    #[must_use]
    pub(crate) fn is_writable(&self, address: Vaddr, size: u64) -> bool {
        let Some(segment) = self.segments.get(address.0) else { return false };
        let loaded = segment.file_end.saturating_sub(segment.file_start);
        let end = address.0.checked_sub(segment.vaddr.0).and_then(|start| start.checked_add(size));
        segment.is_writable && end.is_some_and(|end| end <= loaded)
    }

    /// Whether another writable segment is mapped from the same page of the file as `address`.
    #[must_use]
    pub(crate) fn shares_page(&self, address: Vaddr) -> bool {
        let Some((own, offset)) = self.segments.get(address.0).zip(self.file_offset(address)) else { return false };
        let page = offset.0 / PAGE;
        let covers = |start: u64, end: u64| start < end && start / PAGE <= page && page <= (end - 1) / PAGE;
        self.elf.segments().any(|segment| {
            let (start, size) = segment.file_range();
            let is_other = segment.address() != own.vaddr.0;
            is_other && segment.permissions().writable() && covers(start, start.saturating_add(size))
        })
    }

    /// The file offset of the byte at `offset` in a section. `None` if the section has no such
    /// byte.
    #[must_use]
    pub(crate) fn section_file_offset(&self, section: SectionIndex, offset: SectionOffset) -> Option<FileOffset> {
        let (start, size) = self.elf.section_by_index(section).ok()?.file_range()?;
        offset.to_file_offset(&file_range(start, size)?)
    }
}

/// The parts of the loaded segments (`PT_LOAD`) that are in the file. If two segments contain the
/// same address, the first one wins.
fn segments(elf: &object::File<'_>) -> Vec<(Range<u64>, Reverse<usize>, Segment)> {
    let segment = |(index, segment): (usize, object::Segment<'_, '_>)| {
        let (offset, size) = segment.file_range();
        let file = file_range(offset, size)?;
        let vaddr = segment.address();
        let loaded = vaddr..vaddr.checked_add(size)?;
        let is_writable = segment.permissions().writable();
        let (file_start, file_end) = (file.start, file.end);
        Some((loaded, Reverse(index), Segment { vaddr: Vaddr(vaddr), file_start, file_end, is_writable }))
    };
    elf.segments().enumerate().filter_map(segment).collect()
}

fn file_range(offset: u64, size: u64) -> Option<Range<u64>> {
    Some(offset..offset.checked_add(size)?)
}
