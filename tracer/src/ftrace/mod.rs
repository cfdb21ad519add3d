//! Sites that the kernel's tracing files watch, as plain data: what is to be fetched at a site, and
//! the records that are made of it.
//!
//! `sys::tracefs` reads and writes the files.

pub mod fetch;
pub mod hit_record;
pub mod machine;
pub mod probes;
pub mod tasks;
mod whole;
