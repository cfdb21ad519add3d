//! Finds simple markers in built programs: where each one is, and which variables can be read there.
//!
//! A marker is one `simple_mark!` in the source. It costs no instruction. It leaves records in sections
//! of the image that are not loaded, and [`record`] reads and writes them. This crate joins these
//! records with ELF, DWARF and the machine code.
//!
//! | step | module | from | to |
//! | --- | --- | --- | --- |
//! | resolve | [`resolve`] | the bytes of a file | a [`resolve::Resolution`], a plain value |
//! | select | [`select`] | patterns | rows of a resolution |
//! | report | [`report`] | a resolution | text or JSON |
//! | check | [`mod@check`] | a resolution, a policy, a lock file | findings, in five formats |
//! | export | [`export`] | a resolution | probes for other tools |
//! | read | [`location`], [`types`] | registers and memory at a site | values, and their text |
//! | explain | [`verdicts`] | a code | its meaning, an example, the fix |
//!
//! The library does no I/O. The caller reads files, and can offer separate debug files through
//! [`debug_files`]. Images are untrusted: no input makes the library panic.
//!
//! # Example
//!
//! Print the address of each marker in a program, and the variables that can be read there:
//!
//! ```no_run
//! use simple_markers_resolver::english;
//! use simple_markers_resolver::resolve::{SitePlace, resolve};
//!
//! let path = "target/release/server";
//! let resolution = resolve(path, &std::fs::read(path)?);
//! for failure in &resolution.failures {
//!     eprintln!("{}: {}", failure.path, failure.error);
//! }
//! for marker in resolution.images.iter().flat_map(|image| &image.markers) {
//!     for site in &marker.sites {
//!         // A site in a section is in a relocatable object; a site without a place was discarded.
//!         let Some(SitePlace::Address(address)) = site.place else { continue };
//!         println!("{} at {address}", marker.name);
//!         for argument in &site.args {
//!             match (&argument.location_text, &argument.reason) {
//!                 (Some(location), _) => println!("    {} in {location}", argument.text),
//!                 (None, Some(reason)) => println!("    {}: {}", argument.text, english::arguments::reason(reason)),
//!                 (None, None) => println!("    {}: there is no debug information", argument.text),
//!             }
//!         }
//!     }
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! `examples/probe_addresses.rs` is a whole program.

#![forbid(unsafe_code)]

pub mod address;
mod arch;
pub mod check;
mod code;
mod codes;
pub mod debug_files;
mod demangle;
#[allow(unreachable_pub, reason = "the fuzz targets call items that nothing else needs")]
mod dwarf;
pub mod english;
mod error;
pub mod export;
mod glob;
mod image;
pub mod json;
pub mod location;
pub mod marks;
pub mod notes;
mod ranges;
pub mod rates;
pub mod report;
pub mod resolve;
pub mod select;
pub mod text;
pub mod types;
pub mod uprobe_rules;
pub mod verdicts;
pub mod views;

pub use error::{DwarfProblem, Error, OtherFormat, RelocationProblem};
pub use simple_markers_record as record;

/// What the fuzz targets call directly. It is not part of the interface.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::dwarf::{DebugInfo, Die, Frame, Lookup, Moment, Scope, Sections, Step, TypeRef, VariableLocation};
}
