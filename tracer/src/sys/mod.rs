//! The system calls: BPF maps, programs and links, the ring buffer, and processes. All of the
//! `unsafe` code is here.

mod bpf;
mod clock;
mod error;
pub mod mapped;
mod process;
mod processes;
mod ring;
mod session;
pub mod signals;

pub use clock::now;
pub use error::{Error, Step};
pub use process::{Child, Ended};
pub use session::{Kernel, Mode, Scope, Session, SessionError};
