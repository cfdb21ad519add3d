//! What can go wrong while an image is read, each with the section and the offset where it did.

use crate::address::{FileOffset, SectionOffset};

/// An error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are neither an ELF file nor an archive.
    #[error("not an ELF file{hint}")]
    NotElf {
        /// What they are instead, where that is known; starts with punctuation, or is empty.
        hint: &'static str,
    },
    /// The ELF header or one of the tables that it points at is malformed.
    #[error("malformed ELF file: {}", lower(source))]
    Elf {
        /// What the ELF parser says.
        source: object::Error,
    },
    /// The file ends before its section headers do (gABI "ELF Header", `e_shoff`): it is cut off.
    #[error("truncated ELF file: its section headers, {size:#x} bytes at {offset}, lie outside of its {file:#x} bytes")]
    Truncated {
        /// Where in the file the section headers start.
        offset: FileOffset,
        /// How many bytes they are.
        size: u64,
        /// Bytes of the file.
        file: u64,
    },
    /// The archive is malformed.
    #[error("malformed archive: {}", lower(source))]
    Archive {
        /// What the archive parser says.
        source: object::Error,
    },
    /// The archive is thin: its members are files of their own, and a library that does no I/O cannot open them.
    #[error("thin archive: its members are files of their own, give those instead")]
    ThinArchive,
    /// The contents of a section cannot be read.
    #[error("{section}: cannot be read: {}", lower(source))]
    Section {
        /// The section's name.
        section: String,
        /// What the ELF parser or the decompressor says.
        source: object::Error,
    },
    /// The section header points outside of the file.
    #[error("{section}: its {size:#x} bytes at {file_offset} of the file lie outside of it")]
    Outside {
        /// The section's name.
        section: String,
        /// Where in the file the header says that the contents start.
        file_offset: FileOffset,
        /// How many bytes it says there are.
        size: u64,
    },
    /// A compressed section says that it is larger than its bytes can be.
    #[error(
        "{section}: {uncompressed:#x} bytes uncompressed from {compressed:#x} is refused: above {bound:#x}, \
         which is 1032 times as much (the most that deflate reaches) and 64 KiB, or 4 GiB"
    )]
    TooLarge {
        /// The section's name.
        section: String,
        /// Bytes of compressed data.
        compressed: u64,
        /// Bytes that the compression header says they make.
        uncompressed: u64,
        /// The most that is accepted for so many compressed bytes.
        bound: u64,
    },
    /// A relocation of a relocatable object cannot be applied.
    #[error("{section} at {offset}: relocation {what}")]
    Relocation {
        /// The section that the relocation changes.
        section: &'static str,
        /// Where in the section.
        offset: SectionOffset,
        /// What is wrong with it.
        what: String,
    },
    /// A field of a record in a relocatable object has no relocation, and is no null address either.
    #[error("{section} at {offset}: pc {pc:#x} without a relocation")]
    NotRelocated {
        /// The section of the record.
        section: &'static str,
        /// Offset of the record.
        offset: SectionOffset,
        /// The value of the field.
        pc: u64,
    },
    /// A record is malformed.
    #[error("{0}")]
    Record(#[from] simple_markers_record::Error),
    /// An entry of an operands string is no operand.
    #[error("{section} at {offset}: operand `{entry}` is not [-]SIZE[f]@OPERAND")]
    Operand {
        /// The section of the record.
        section: &'static str,
        /// Offset of the record.
        offset: SectionOffset,
        /// The entry.
        entry: String,
    },
    /// The records point at so much text again and again that showing it would need more memory than the image warrants.
    #[error(
        "{section} at {offset}: text of the records is above the bound of {bound:#x} bytes for this image, the rest is not read"
    )]
    TooMuchText {
        /// The section of the record.
        section: &'static str,
        /// Offset of the record at which reading stopped.
        offset: SectionOffset,
        /// The most that is accepted, in bytes.
        bound: u64,
    },
    /// The debug information cannot be read.
    #[error("{}{what}", at_entry(*.offset))]
    Dwarf {
        /// Offset in `.debug_info` of the entry or unit that it is about; `None` where it is about no one of them.
        offset: Option<SectionOffset>,
        /// What the DWARF parser says, or what is wrong.
        what: String,
    },
    /// A pattern is not a glob.
    #[error("pattern `{pattern}`: {what}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        what: String,
    },
}

/// The start of a message about debug information.
fn at_entry(offset: Option<SectionOffset>) -> String {
    offset.map_or_else(|| "debug information: ".to_owned(), |offset| format!(".debug_info at {offset}: "))
}

impl Error {
    /// An error in the debug information at an offset in `.debug_info`.
    pub(crate) fn dwarf(offset: Option<u64>, what: &str) -> Self {
        Self::Dwarf { offset: offset.map(SectionOffset), what: what.to_owned() }
    }

    /// The section that the error is in; `None` where it is of the file as a whole.
    #[must_use]
    pub fn section(&self) -> Option<&str> {
        match self {
            Self::Section { section, .. } | Self::Outside { section, .. } | Self::TooLarge { section, .. } => {
                Some(section)
            }
            Self::Relocation { section, .. }
            | Self::NotRelocated { section, .. }
            | Self::Operand { section, .. }
            | Self::TooMuchText { section, .. } => Some(section),
            Self::Record(error) => Some(error.section),
            Self::Dwarf { offset: Some(_), .. } => Some(".debug_info"),
            _ => None,
        }
    }

    /// The offset in [`Error::section`]; `None` where the error is of the section as a whole.
    #[must_use]
    pub fn offset(&self) -> Option<SectionOffset> {
        match self {
            Self::Relocation { offset, .. }
            | Self::NotRelocated { offset, .. }
            | Self::Operand { offset, .. }
            | Self::TooMuchText { offset, .. } => Some(*offset),
            Self::Record(error) => Some(SectionOffset(error.offset as u64)),
            Self::Dwarf { offset, .. } => *offset,
            _ => None,
        }
    }
}

/// What `object` says, as the end of one of our sentences.
fn lower(error: &object::Error) -> String {
    let text = error.to_string();
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).collect()
}
