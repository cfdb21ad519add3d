//! What the kernel's tracing files say, as plain data: the pages of a buffer, the formats of its
//! events, what is to be fetched at a site, and the records that are made of it.
//!
//! `sys::tracefs` reads and writes the files.

pub mod fetch;
pub mod format;
pub mod machine;
pub mod names;
pub mod pages;
pub mod print;
pub mod probes;
pub mod symbols;
pub mod tasks;
