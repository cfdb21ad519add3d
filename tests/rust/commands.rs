//! The commands as users call them, with the tools that their output is for, and what the documents say that they print.

mod cargo_smark;
mod check;
#[cfg(feature = "debuginfod")]
mod debuginfod;
mod export;
mod fix;
mod guide;
mod readme;
