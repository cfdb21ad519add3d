//! Programs in C: `programs` says which, `build` how they are built and what a run passes,
//! `statements` where a marker may stand and `members` what it may name.

mod build;
mod members;
mod programs;
mod statements;
mod types;

pub use programs::{PROGRAMS, Source};
