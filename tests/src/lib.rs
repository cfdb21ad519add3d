//! What the tests of simple markers share: [`tools`] that they run, and [`fixture`] crates that
//! they build; the markers of Rust [`source`], the code of an [`image`] and the compiler's
//! [`listing`] of it, each read without the reader that is tested; [`differential`], which holds
//! programs against [`gdb`], on this or another [`computer`].
//!
//! The tests themselves are in `rust/`; `ui/` has what the macro refuses, `c/` the sources for the
//! header.

pub mod computer;
pub mod counted;
pub mod differential;
pub mod dwarfdump;
pub mod exactness;
pub mod fixture;
pub mod gdb;
pub mod generator;
pub mod header;
pub mod image;
pub mod listing;
pub mod matrix;
pub mod second_opinion;
pub mod source;
pub mod uprobes;

pub use tools;

/// The Rust code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The Rust code of the page on markers, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../docs/markers.md")]
struct Markers;
