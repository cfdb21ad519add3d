//! The library of `examples/constructs`, in a file whose name is that of the crate.
#[path = "../../../examples/constructs/src/library.rs"]
mod library;

pub use library::*;
