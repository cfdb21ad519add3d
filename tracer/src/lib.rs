//! Watches simple markers in running programs.
//!
//! The first half is plain data without system calls: a [`plan`] of what to watch, made of a
//! resolution; the [`bpf`] programs that run at the sites; the layout of a [`record`] and its
//! [`value`]s; their [`order`]; their [`text`]; the [`frames`] of their stacks; recordings of them ([`ctf`]); and CPU time ([`top`]). The second half, [`sys`], makes the system calls
//! and has all of the `unsafe` code.

#![deny(unsafe_code)]

pub mod aggregate;
pub mod arch;
pub mod bpf;
mod bytes;
pub mod ctf;
pub mod elf;
pub mod event;
pub mod filter;
pub mod frames;
pub mod ftrace;
pub mod function_names;
pub mod histogram;
pub mod hit;
pub mod open_polls;
pub mod order;
pub mod pairs;
pub mod perfetto;
pub mod plan;
pub mod planning;
pub mod record;
pub mod recorded_members;
pub mod recorder;
pub mod shown;
#[allow(unsafe_code, reason = "system calls")]
pub mod sys;
pub mod text;
pub mod thread_local;
pub mod top;
pub mod tree_shape;
pub mod value;
pub mod whole;

pub use hit::Hit;
pub use plan::Plan;
pub use value::{Missing, Value};
