//! The section formats of simple markers and the printf grammar of their formats, each written and read in one place.
//!
//! A marked image carries three sections, none of them loaded (`docs/section-format.md`):
//!
//! - [`DECLARATIONS`] (`__simple_marker.1`): what was written in the source, read by [`declaration`];
//! - [`SITES`] (`.debug.simple_marker.2`): where it ended up in the machine code, read by [`site`];
//! - [`STRINGS`] (`.debug.simple_marker.str`): the text that site records point at, read by [`strings`].
//!
//! The formats that markers carry are those of `printf`: [`printf`] reads them, and [`conversion`] is the one table of
//! what each conversion accepts. [`operand`] reads the places of kept arguments, and [`args`] the argument list.
//!
//! The macro that writes the sections and the resolver that reads them both depend on this crate and on nothing else for
//! the formats, so that they cannot disagree. Nothing here panics, whatever the bytes.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod args;
pub mod assembler;
pub mod conversion;
pub mod declaration;
mod error;
pub mod operand;
pub mod printf;
pub mod site;
pub mod strings;

pub use error::{Error, ErrorKind};

/// Name of the section of declarations, version 1: PROGBITS, no flags, alignment 1, no relocations.
pub const DECLARATIONS: &str = "__simple_marker.1";

/// Name of the section of site records, version 2: PROGBITS, no flags, alignment 1.
///
/// It starts with `.debug` because linkers keep such a section under `--gc-sections` without keeping what it points at,
/// and with `.debug.` because dwz refuses a `.debug_*` section that it does not know.
pub const SITES: &str = ".debug.simple_marker.2";

/// Name of the string table of [`SITES`]: flags `MS`, entry size 1, so that linkers merge equal strings.
pub const STRINGS: &str = ".debug.simple_marker.str";

/// The byte order of an image, as `EI_DATA` of its ELF header has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first (`ELFDATA2LSB`).
    Little,
    /// Most significant byte first (`ELFDATA2MSB`).
    Big,
}
