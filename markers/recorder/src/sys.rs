//! The system calls of the recorder. They leave `errno` alone, so a hit does not disturb the code
//! around it. All but [`now`] are safe in signal handlers, before and after anything else.

mod call;
mod clock;
mod file;
mod mapping;
mod process;
mod thread;

pub(crate) use call::Errno;
pub(crate) use clock::{PerfPage, now, sleep};
pub(crate) use file::{
    File, complain, current_folder, largest_file, make_folder, make_hole, make_present, remove, rename,
};
pub(crate) use mapping::{NOWHERE, memory, on_own_stack, private_memory, unmap};
#[cfg(target_arch = "aarch64")]
pub(crate) use process::hardware;
pub(crate) use process::{
    getpid, has_thread, is_privileged, program_headers, shares_memory_with_parent, start_time, variable,
};
pub(crate) use thread::{SignalGuard, cpu, errno, gettid, register_rseq, set_errno};
