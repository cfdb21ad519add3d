//! The system calls: BPF maps, programs and links, the ring buffer, tracefs, and processes. All of the
//! `unsafe` code is here.

mod bpf;
mod clock;
mod engine;
mod error;
mod eventfd;
mod events;
mod floor;
pub mod groups;
mod interval_stacks;
pub mod lease;
mod limits;
pub mod mapped;
mod mapping;
mod mmaps;
mod notices;
mod numbers;
mod off_cpu;
pub mod paths;
mod process;
mod processes;
mod processor;
mod programs;
mod recorded;
mod recorder;
mod request;
mod rewriting;
mod ring;
pub mod signals;
pub mod top;
mod tracefs;
mod tree;
mod uprobes;
mod wakes;

pub use clock::now;
pub use engine::{Engine, Kernel, Session};
pub use error::{Error, Step};
pub use floor::Floor;
pub use process::{Child, ExitStatus};
pub use recorder::{ArmError, Failure, Why};
pub use request::{Mode, Scope, SessionError};
pub use rewriting::RunningKernel;
pub use tracefs::{EventName, KernelEvents};
pub use tree::TreeEvent;
pub use wakes::Wakes;
