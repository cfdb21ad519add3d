//! What can go wrong while an image is read, with the section and the offset, as data.
//! `english/diagnostics.rs` writes the text for people.

use std::sync::Arc;

use crate::address::{FileOffset, SectionOffset};

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
    /// A note of a static probe is damaged.
    SdtNote {
        /// The section of the note.
        section: &'static str,
        /// Offset of the note.
        offset: SectionOffset,
        /// What is wrong with it.
        problem: SdtNoteProblem,
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

/// What data is that is not ELF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtherFormat {
    /// There is no byte.
    Empty,
    /// A file compressed by xz.
    Xz,
    /// A file compressed by zstd.
    Zstd,
    /// A file compressed by gzip.
    Gzip,
    /// LLVM bitcode.
    LlvmBitcode,
    /// An image of Windows.
    Pe,
    /// An image of macOS.
    MachO,
    /// A script.
    Script,
}

/// Why a relocation cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelocationProblem {
    /// It changes bytes past the end of the section.
    PastEnd,
    /// Its symbol does not exist.
    NoSymbol {
        /// Index of the symbol.
        symbol: usize,
    },
    /// Its symbol is in no section.
    NoSection {
        /// Index of the symbol.
        symbol: usize,
    },
    /// Its kind is not supported.
    Kind {
        /// The kind (`R_*`); `None` if that is not known.
        number: Option<u32>,
    },
    /// It points a record at a section that holds no strings.
    NoStrings,
    /// It points a record at a string whose offset does not fit in 32 bits.
    WideString,
    /// It gives the string of a record no target.
    NoTarget,
}

/// What is wrong with the note of a static probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SdtNoteProblem {
    /// The section ends in it.
    Truncated {
        /// Bytes of the note, without what pads it at its end; of its header, if that is cut.
        needed: u64,
        /// Bytes from its start to the end of the section.
        available: u64,
    },
    /// Its description is too short for three addresses.
    NoAddresses {
        /// Bytes of the description.
        size: u64,
    },
    /// Its provider, name or arguments have no end.
    Unterminated,
    /// Its name is empty.
    NoName,
}

/// Why debug information, or a part of it, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DwarfProblem {
    /// The DWARF parser refuses it.
    Parser {
        /// What the parser says.
        parser: String,
    },
    /// Reading takes more steps than debug information of this size needs.
    WorkLimit,
    /// A unit has a number that no unit has.
    NoSuchUnit,
    /// A file is asked for that was not among those that were searched.
    FileNotSearched,
    /// A unit of the image cannot be read.
    Unit {
        /// Number of the unit.
        unit: usize,
        /// What is wrong with it.
        problem: Box<DwarfProblem>,
    },
    /// A unit cannot be read, so it describes no address.
    UnitNotRead(Box<Error>),
    /// The header of a unit is malformed, so no unit after it is read (DWARF 5, 7.5.1).
    UnitHeader {
        /// Offset of the header in `.debug_info`.
        offset: u64,
        /// What the parser says.
        parser: String,
    },
    /// The line program of a unit is malformed (DWARF 5, 6.2).
    LineProgram {
        /// Number of the unit.
        unit: usize,
        /// What the parser says.
        parser: String,
    },
    /// A table of abbreviations is malformed (DWARF 5, 7.5.3).
    Abbreviations {
        /// Offset of the table in `.debug_abbrev`.
        offset: usize,
        /// What the parser says.
        parser: String,
    },
    /// An abbreviation has too many attributes.
    ManyAttributes {
        /// Offset of its table in `.debug_abbrev`.
        offset: usize,
        /// The most attributes that are accepted.
        most: usize,
    },
    /// A chain of `DW_AT_abstract_origin` and `DW_AT_specification` is too long.
    EndlessOrigins,
    /// A reference leads to no unit.
    Reference,
    /// A type is defined by itself.
    EndlessType,
    /// A type is nested too deeply.
    DeepType,
    /// A structure is nested too deeply.
    DeepStructure,
    /// A unit has more than 2^32 ranges or variables.
    ManyRanges,
    /// The discriminant of a variant is not a constant (`DW_AT_discr_value`).
    Discriminant,
    /// The list of discriminants of a variant has an unknown form (`DW_AT_discr_list`).
    DiscriminantList,
    /// The offset of a location list is not known.
    LocationListOffset,
    /// A location list is malformed (DWARF 5, 7.29).
    LocationList {
        /// Offset of the list in its section.
        offset: usize,
        /// Name of the section.
        section: &'static str,
        /// What the parser says.
        parser: String,
    },
    /// The problem is in a split file.
    InSplitFile {
        /// Path of the file.
        path: Arc<str>,
        /// Offset of the entry in that file's `.debug_info`.
        offset: u64,
        /// What is wrong there.
        problem: Box<DwarfProblem>,
    },
    /// The problem is in the supplementary file.
    InSupplementaryFile {
        /// Offset of the entry in that file's `.debug_info`.
        offset: u64,
        /// What is wrong there.
        problem: Box<DwarfProblem>,
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
            | Self::SdtNote { section, .. }
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
            | Self::SdtNote { offset, .. }
            | Self::TooMuchText { offset, .. } => Some(*offset),
            Self::Record(error) => Some(SectionOffset(error.offset as u64)),
            Self::Dwarf { offset, .. } => *offset,
            _ => None,
        }
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
