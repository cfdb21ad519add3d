//! The contents of a section: as stored in the file, or decompressed (`SHF_COMPRESSED`, gABI
//! "Section Compression").

use std::borrow::Cow;

use object::{CompressionFormat, Object as _, ObjectSection as _, SectionIndex};

use super::Image;
use super::expansion::bound;
use crate::Error;
use crate::address::FileOffset;
use crate::error::parser_says;

/// The contents of one section.
#[derive(Debug)]
pub(crate) struct Contents<'data> {
    /// The section's index in the section header table.
    pub section: SectionIndex,
    /// The decompressed contents. Relocations are not applied.
    pub bytes: Cow<'data, [u8]>,
}

impl<'data> Image<'data> {
    /// The contents of each section with this name, in the order of the section headers. Objects
    /// with section groups can have several sections with the same name.
    pub(crate) fn contents(&self, name: &str) -> impl Iterator<Item = Result<Contents<'data>, Error>> {
        self.sections(name).map(move |section| {
            let error = |error| Error::Section {
                section: crate::text::from_bytes(self.names.name(section)),
                what: parser_says(error),
            };
            let header = self.elf.section_by_index(section).map_err(error)?;
            if let Some((start, size)) = header.file_range() {
                if start.checked_add(size).is_none_or(|end| end > self.size) {
                    let section = self.section_name(section);
                    return Err(Error::Outside { section, file_offset: FileOffset(start), size });
                }
            }
            let data = header.compressed_data().map_err(error)?;
            if data.format == CompressionFormat::None {
                return Ok(Contents { section, bytes: Cow::Borrowed(data.data) });
            }
            let compressed = data.data.len() as u64;
            let bound = bound(compressed);
            if data.uncompressed_size > bound {
                let section = self.section_name(section);
                return Err(Error::TooLarge { section, compressed, uncompressed: data.uncompressed_size, bound });
            }
            Ok(Contents { section, bytes: data.decompress().map_err(error)? })
        })
    }
}
