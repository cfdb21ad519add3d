//! Shared parts of the tests: [`tools`] to run, [`fixture`] crates to build, the markers of Rust
//! [`source`], the code of an [`image`] and the compiler's [`listing`] of it. None of these use the
//! reader under test. [`asleep`] follows what a function executes while its probes are off. [`differential`] compares programs with [`gdb`], on this or another
//! [`computer`]. [`ghosts`] counts the hits of ghosts.
//!
//! The tests are in `rust/`. `ui/` has the macro invocations that must be refused, `c/` has the
//! sources for the header.

pub mod arguments;
pub mod asleep;
pub mod computer;
pub mod counted;
pub mod differential;
pub mod dwarfdump;
pub mod exactness;
pub mod field;
pub mod file_server;
pub mod fixture;
pub mod gdb;
pub mod generator;
pub mod ghosts;
pub mod header;
pub mod image;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod kernel_text;
pub mod listing;
pub mod marks;
pub mod matrix;
pub mod metrics_page;
pub mod notes;
pub mod oracle;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod own_views;
pub mod page;
pub mod second_opinion;
pub mod source;
pub mod text_format;
pub mod unwound;
pub mod uprobes;
pub mod views;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod watched;
pub mod whole_values;

pub use tools;

/// Compiles the Rust code of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// Compiles the Rust code of the page on markers.
#[cfg(doctest)]
#[doc = include_str!("../../docs/markers.md")]
struct Markers;
