//! The call itself, and what programs and links name by the same numbers.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

use crate::sys::{limits, signals};

pub(super) const TRACE_ITER: u32 = 28;
pub(super) const TRACE_UPROBE_MULTI: u32 = 48;

/// Calls the kernel with the attributes of a command.
pub(in crate::sys) fn bpf<A>(command: libc::c_int, attributes: &mut A) -> io::Result<libc::c_int> {
    let attributes: *mut A = attributes;
    signals::undisturbed(|| {
        // SAFETY: the attributes are a C structure without padding, of the size that is given. Their
        // pointers are valid until the call returns.
        unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<A>()) }
    })
}

/// Whether a call was refused because of a limit that is lifted now.
fn is_limit(why: &io::Error) -> bool {
    match why.raw_os_error() {
        Some(libc::EPERM) => limits::unlimit_memory(),
        Some(libc::EMFILE) => limits::raise_files(),
        _ => false,
    }
}

/// Calls the kernel with a command that returns a file descriptor.
pub(in crate::sys) fn open<A>(command: libc::c_int, attributes: &mut A) -> io::Result<OwnedFd> {
    let descriptor = match bpf(command, attributes) {
        Err(why) if is_limit(&why) => bpf(command, attributes)?,
        result => result?,
    };
    // SAFETY: the kernel has just opened it, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
