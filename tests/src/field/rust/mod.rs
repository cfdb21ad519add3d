//! Programs in Rust: `programs` says which and with what load, `build` how they are built and
//! what a run passes, `messages` which markers the compiler refuses, `statements` where a marker may
//! stand and `types` what it may name.

mod build;
mod messages;
mod programs;
mod statements;
mod types;

pub use programs::{PROGRAMS, Packages};
