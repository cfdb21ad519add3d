//! A file as an image: its kind, its marker sections, its symbols, and the file offsets of its
//! addresses.
//!
//! This module handles everything that is specific to ELF (gABI) or `ar`. It knows only the section
//! names of markers. It copies only contents that are compressed or relocated, and reads everything
//! on demand.

mod architecture;
pub(crate) mod archive;
mod branches;
mod bytes;
mod contents;
mod elf_file;
mod expansion;
mod imports;
mod kind;
mod layout;
mod mini_debug_info;
mod named_symbols;
mod relocation;
mod sdt_note;
mod section_names;
mod symbol_table;
pub(crate) mod symbols;
mod thread_locals;

pub use architecture::Architecture;
pub(crate) use bytes::Constants;
pub(crate) use contents::Contents;
pub(crate) use elf_file::Image;
pub use kind::ImageKind;
pub(crate) use layout::Layout;
pub use mini_debug_info::{MINI_DEBUG_INFO, unpack_mini_debug_info};
pub(crate) use named_symbols::NamedSymbols;
pub(crate) use relocation::{RelocationTarget, RelocationTargets};
pub(crate) use sdt_note::{SDT_BASE, SDT_NOTES, SdtNote, SdtNotes};
pub(crate) use thread_locals::{ThreadLocalSymbol, ThreadLocalSymbols};
