//! Records the probes of a program while they are on, inside the program.
//!
//! Each thread writes into a file of its own that is mapped into memory. A hit takes no lock, makes
//! no system call and allocates nothing. It may be in a signal handler, also in one that interrupts
//! another hit. `docs/probes.md`, "The recorder", says what is recorded and what it costs.
//!
//! Probes are armed by a tool, by the variable `SIMPLE_MARKERS_RECORD`, or by [`arm`]. Functions of the
//! program can get the values of hits too, see [`handle`].
//!
//! On Linux on x86-64. On other targets there are no probes, and arming is an error.
#![no_std]

#[cfg(test)]
extern crate std;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere;
mod errors;
mod values;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod arming;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod clock;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod control;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod entry;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod file;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod glob;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod handled;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod handler;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod hit;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod image;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod metadata;
#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod model;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod packet;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod probe;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod process;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod rseq;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod saved;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod slot;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod start;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sys;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod text;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod thread;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use arming::{arm, arm_keeping, disarm};
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use elsewhere::{Probe, Probes, arm, arm_keeping, disarm, handle, probes, unhandle};
pub use errors::{ArmError, HandleError};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use handler::{handle, unhandle};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use probe::{Probe, Probes, probes};
pub use values::{Argument, Arguments, Hit, Value, Values};
