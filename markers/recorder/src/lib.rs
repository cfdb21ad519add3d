//! Records the probes of a program while they are on, inside the program.
//!
//! Each thread writes into a file of its own that is mapped into memory. A hit takes no lock, makes
//! no system call and allocates nothing. It may be in a signal handler, also in one that interrupts
//! another hit. `docs/probes.md`, "The recorder", says what is recorded and what it costs.
//!
//! Probes are armed by a tool, by the variable `SIMPLE_MARKERS_RECORD`, or by [`arm`]. Functions of the
//! program can get the values of hits too, see [`handle`].
//!
//! On Linux on x86-64. On other targets the crate is empty.
#![no_std]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[cfg(test)]
extern crate std;

mod arming;
mod clock;
mod control;
mod entry;
mod file;
mod glob;
mod handled;
mod handler;
mod hit;
mod image;
mod metadata;
#[cfg(test)]
mod model;
mod packet;
mod probe;
mod process;
mod saved;
mod start;
mod sys;
mod thread;
mod values;

pub use arming::{ArmError, arm, arm_keeping, disarm};
pub use handler::{HandleError, handle, unhandle};
pub use probe::{Probe, Probes, probes};
pub use values::{Argument, Arguments, Hit, Value, Values};
