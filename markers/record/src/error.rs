//! What can be wrong with a record, and where it is in its section.

use core::fmt;

/// A defect of one record. Reading continues after it if the format allows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// The section of the record.
    pub section: &'static str,
    /// Offset of the record (or, for a string, of the string) in its section, in bytes.
    pub offset: usize,
    /// What is wrong.
    pub kind: ErrorKind,
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The section ends inside the record's strings: only `found` of the five are terminated.
    TruncatedDeclaration {
        /// How many of the five strings end in a NUL.
        found: usize,
    },
    /// The third string is not a decimal line number that fits 32 bits.
    LineNotANumber,
    /// The bytes from here to `end` are not records: no five strings have a line number in third
    /// place.
    NotDeclarations {
        /// Offset of the next record, or the end of the section.
        end: usize,
    },
    /// The name is empty.
    EmptyName,
    /// The section ends inside the record: `needed` bytes, `available` there.
    TruncatedSite {
        /// Bytes of the record according to its length field, without that field.
        needed: usize,
        /// Bytes that are left in the section.
        available: usize,
    },
    /// The record is shorter than its fields.
    SiteTooShort {
        /// The record's length field, in bytes.
        length: usize,
    },
    /// The size of an address is neither 4 nor 8.
    AddressSize {
        /// The value in the record.
        size: u8,
    },
    /// Zero bytes up to `end`, where a record should start.
    ZeroPadding {
        /// Offset of the first byte that is not zero, or the end of the section.
        end: usize,
    },
    /// The offset lies outside the string table, which has `size` bytes.
    StringOutside {
        /// Size of the string table, in bytes.
        size: usize,
    },
    /// The string has no NUL before the end of the string table.
    StringUnterminated,
}

impl Error {
    pub(crate) fn new(section: &'static str, offset: usize, kind: ErrorKind) -> Self {
        Self { section, offset, kind }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}: {}", self.section, self.offset, self.kind)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TruncatedDeclaration { found } => {
                write!(f, "truncated record: {found} of its 5 strings end before the section does")
            }
            Self::LineNotANumber => f.write_str("line is not a number"),
            Self::NotDeclarations { end } => write!(f, "no marker records up to {end:#x}"),
            Self::EmptyName => f.write_str("empty name"),
            Self::TruncatedSite { needed, available } => {
                write!(f, "truncated record: {needed:#x} bytes needed, {available:#x} left")
            }
            Self::SiteTooShort { length } => write!(f, "record of {length:#x} bytes is too short for its fields"),
            Self::AddressSize { size } => write!(f, "address size {size} is neither 4 nor 8"),
            Self::ZeroPadding { end } => write!(f, "zero bytes up to {end:#x} instead of a record"),
            Self::StringOutside { size } => write!(f, "offset is outside the string table of {size:#x} bytes"),
            Self::StringUnterminated => f.write_str("string without a terminating NUL"),
        }
    }
}

impl core::error::Error for Error {}
