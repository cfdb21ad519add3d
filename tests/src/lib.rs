//! What the tests of simple markers share: [`tools`] that they run, and [`fixture`] crates that they build.
//!
//! The tests themselves are beside this folder: `rust/` for the macro, `c/` for the header, `list/` for the command.

pub mod fixture;
pub mod tools;
