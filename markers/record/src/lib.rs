//! The sections of simple markers and the grammar of their printf formats: the code that reads and
//! writes them.
//!
//! A marked image has three sections, none of them loaded (`docs/section-format.md`):
//!
//! - [`DECLARATIONS`] (`__simple_marker.1`): markers as written in the source, read by
//!   [`declaration`];
//! - [`SITES`] (`.debug.simple_marker.2`): where each marker is in the machine code, read by
//!   [`site`];
//! - [`STRINGS`] (`.debug.simple_marker.str`): the strings of the site records, read by
//!   [`strings`].
//!
//! [`printf`] parses the format of a marker with the words of [`names`] and the forms of whole values
//! of [`value_form`], and [`rust_format`] a format in the notation of `format!`. [`conversion`] is the
//! table of types that each conversion accepts. [`operand`] reads the locations of kept arguments, and
//! [`args`] the argument list. [`c_string`] reads the formats that users write. [`buffer`] is what a
//! program writes while its probes are on, [`span`] has the names of the two probes of a span, and [`tsdl`] what the metadata of recordings share.
//!
//! The macro writes the sections and the resolver reads them. Both use this crate for the formats,
//! so they cannot disagree. Nothing here panics on any input.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod args;
pub mod assembler;
pub mod buffer;
pub mod c_string;
pub mod conversion;
pub mod declaration;
mod error;
pub mod ghost;
pub mod identifier;
pub mod integer;
pub mod names;
pub mod operand;
pub mod placeholders;
pub mod printf;
pub mod rust_format;
pub mod site;
pub mod span;
pub mod specifier;
pub mod strings;
pub mod tsdl;
pub mod value_form;

pub use error::{Error, ErrorKind};

/// Name of the section of declarations, version 1: PROGBITS, no flags, alignment 1, no relocations.
pub const DECLARATIONS: &str = "__simple_marker.1";

/// Name of the section of site records, version 2: PROGBITS, no flags, alignment 1.
///
/// It starts with `.debug` because linkers then keep it under `--gc-sections` without keeping the
/// functions that it points at. It starts with `.debug.` because dwz refuses an unknown `.debug_*`
/// section.
pub const SITES: &str = ".debug.simple_marker.2";

/// Name of the string table of [`SITES`]: flags `MS`, entry size 1, so that linkers merge equal
/// strings.
pub const STRINGS: &str = ".debug.simple_marker.str";

/// The byte order of an image, as in `EI_DATA` of its ELF header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first (`ELFDATA2LSB`).
    Little,
    /// Most significant byte first (`ELFDATA2MSB`).
    Big,
}
