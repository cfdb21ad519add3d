//! Records the probes of a program while they are on, inside the program.
//!
//! Each thread writes into a file of its own that is mapped into memory. A hit takes no lock, makes
//! no system call and allocates nothing. It may be in a signal handler, also in one that interrupts
//! another hit. `docs/probes.md`, "The recorder", says what is recorded and what it costs.
//!
//! Probes are armed by a tool, by the variable `SIMPLE_MARKERS_RECORD`, or by [`arm`]. Functions of the
//! program can get the values of hits too, see [`handle`].
//!
//! On Linux on x86-64 and AArch64. On other targets there are no probes, and arming is an error.
#![no_std]

#[cfg(test)]
extern crate std;

#[cfg(not(recorder))]
mod elsewhere;
mod errors;
mod values;

#[cfg(recorder)]
mod arch;
#[cfg(recorder)]
mod arming;
#[cfg(recorder)]
mod clock;
#[cfg(recorder)]
mod control;
#[cfg(recorder)]
mod entry;
#[cfg(recorder)]
mod file;
#[cfg(recorder)]
mod glob;
#[cfg(recorder)]
mod handled;
#[cfg(recorder)]
mod handler;
#[cfg(recorder)]
mod hit;
#[cfg(recorder)]
mod image;
#[cfg(recorder)]
mod metadata;
#[cfg(all(test, recorder))]
mod model;
#[cfg(recorder)]
mod packet;
#[cfg(recorder)]
mod probe;
#[cfg(recorder)]
mod process;
#[cfg(recorder)]
mod rseq;
#[cfg(recorder)]
mod saved;
#[cfg(recorder)]
mod slot;
#[cfg(recorder)]
mod start;
#[cfg(recorder)]
mod sys;
#[cfg(recorder)]
mod text;
#[cfg(recorder)]
mod thread;

#[cfg(recorder)]
pub use arming::{arm, arm_keeping, disarm};
#[cfg(not(recorder))]
pub use elsewhere::{Probe, Probes, arm, arm_keeping, disarm, handle, probes, unhandle};
pub use errors::{ArmError, HandleError};
#[cfg(recorder)]
pub use handler::{handle, unhandle};
#[cfg(recorder)]
pub use probe::{Probe, Probes, probes};
pub use values::{Argument, Arguments, Hit, Value, Values, WholeValue};
