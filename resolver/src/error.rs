//! What can go wrong while an image is read, with the section and the offset.

use std::fmt;

use crate::address::{FileOffset, SectionOffset};
use crate::dwarf::DwarfProblem;
use crate::english;
use crate::image::{OtherFormat, RelocationProblem};

/// An error of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are neither an ELF file nor an archive.
    NotElf {
        /// What they are instead; `None` if that is not known.
        format: Option<OtherFormat>,
    },
    /// The ELF header or one of the tables that it points at is malformed.
    Elf {
        /// What the ELF parser says.
        what: String,
    },
    /// The file ends before the end of its section headers (gABI "ELF Header", `e_shoff`).
    Truncated {
        /// Where in the file the section headers start.
        offset: FileOffset,
        /// The size of the section headers in bytes.
        size: u64,
        /// The size of the file in bytes.
        file: u64,
    },
    /// The archive is malformed.
    Archive {
        /// What the archive parser says.
        what: String,
    },
    /// The archive is thin: its members are separate files, and this library opens no files.
    ThinArchive,
    /// The contents of a section cannot be read.
    Section {
        /// The section's name.
        section: String,
        /// What the ELF parser or the decompressor says.
        what: String,
    },
    /// A section header points outside of the file.
    Outside {
        /// The section's name.
        section: String,
        /// Where the contents start, according to the header.
        file_offset: FileOffset,
        /// The size of the contents in bytes, according to the header.
        size: u64,
    },
    /// The header of a compressed section gives a larger size than its bytes can have.
    TooLarge {
        /// The section's name.
        section: String,
        /// Bytes of compressed data.
        compressed: u64,
        /// Bytes of uncompressed data, according to the header.
        uncompressed: u64,
        /// The most that is accepted for this number of compressed bytes.
        bound: u64,
    },
    /// A relocation of a relocatable object cannot be applied.
    Relocation {
        /// The section that the relocation changes.
        section: &'static str,
        /// Where in the section.
        offset: SectionOffset,
        /// What is wrong with it.
        problem: RelocationProblem,
    },
    /// The address field of a record in a relocatable object has no relocation, and is not 0.
    NotRelocated {
        /// The section of the record.
        section: &'static str,
        /// Offset of the record.
        offset: SectionOffset,
        /// The value of the field.
        pc: u64,
    },
    /// A record is malformed.
    Record(simple_markers_record::Error),
    /// An entry of an operands string is malformed.
    Operand {
        /// The section of the record.
        section: &'static str,
        /// Offset of the record.
        offset: SectionOffset,
        /// The entry.
        entry: String,
    },
    /// The records refer to more text than an image of this size can need: they point at the same
    /// long strings again and again.
    TooMuchText {
        /// The section of the record.
        section: &'static str,
        /// Offset of the record at which reading stopped.
        offset: SectionOffset,
        /// The most that is accepted, in bytes.
        bound: u64,
    },
    /// The debug information cannot be read.
    Dwarf {
        /// Offset in `.debug_info` of the malformed entry or unit; `None` if it is about no single
        /// one.
        offset: Option<SectionOffset>,
        /// What is wrong.
        problem: DwarfProblem,
    },
    /// A file could not be opened or read by the caller of the library.
    Unread {
        /// What the operating system or the decompressor says.
        what: String,
    },
    /// A pattern is not a glob.
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        what: String,
    },
}

impl Error {
    /// An error in the debug information at an offset in `.debug_info`.
    pub(crate) fn dwarf(offset: Option<u64>, problem: impl Into<DwarfProblem>) -> Self {
        Self::Dwarf { offset: offset.map(SectionOffset), problem: problem.into() }
    }

    /// The section that the error is in; `None` if it is about the file as a whole.
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

    /// The offset in [`Error::section`]; `None` if it is about the section as a whole.
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

impl fmt::Display for Error {
    /// The section and offset, if there are any, then what is wrong.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        english::diagnostics::place(f, self.section(), self.offset())?;
        f.write_str(&english::diagnostics::error(self))
    }
}

impl std::error::Error for Error {}

impl From<simple_markers_record::Error> for Error {
    fn from(error: simple_markers_record::Error) -> Self {
        Self::Record(error)
    }
}

/// The message of `object`, in lower case so that it can end a sentence.
pub(crate) fn parser_says(error: object::Error) -> String {
    let text = error.to_string();
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).collect()
}
