//! Descriptors that one thread makes readable for another one (`man 2 eventfd`), and the wait for them.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

/// A descriptor that is readable after [`EventFd::set`], until [`EventFd::clear`].
#[derive(Debug)]
pub(super) struct EventFd(OwnedFd);

impl EventFd {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: it opens a descriptor.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it, and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub(super) fn set(&self) {
        let one = 1u64;
        // SAFETY: the kernel reads 8 bytes. It fails only if the descriptor is readable already.
        unsafe { libc::write(self.descriptor(), (&raw const one).cast(), 8) };
    }

    pub(super) fn clear(&self) {
        clear(self.descriptor());
    }
}

/// Makes an eventfd wait for the next event.
pub(super) fn clear(descriptor: RawFd) {
    let mut count = 0u64;
    // SAFETY: the kernel writes 8 bytes there.
    unsafe { libc::read(descriptor, (&raw mut count).cast(), 8) };
}

/// Waits until one of some descriptors is readable, a signal comes, or the time is over. `None` waits
/// without end. Negative descriptors are none.
pub(super) fn wait(descriptors: &[RawFd], time: Option<Duration>) {
    poll(descriptors, time);
}

/// Whether a descriptor is readable now, or will never be again.
pub(super) fn is_readable(descriptor: RawFd) -> bool {
    poll(&[descriptor], Some(Duration::ZERO)).iter().any(|state| *state != 0)
}

/// For each of some descriptors, whether nobody will write to it any more.
pub(super) fn are_over(descriptors: &[RawFd]) -> Vec<bool> {
    poll(descriptors, Some(Duration::ZERO)).iter().map(|state| state & libc::POLLHUP != 0).collect()
}

/// Waits as [`wait`] does, and returns what `poll(2)` says of each descriptor.
fn poll(descriptors: &[RawFd], time: Option<Duration>) -> Vec<libc::c_short> {
    let entry = |fd: &RawFd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<libc::pollfd> = descriptors.iter().map(entry).collect();
    let time = time.map(|time| libc::timespec {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: time.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), |time| &raw const *time);
    // SAFETY: the array has so many elements, and the time is valid until the call returns.
    unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, time, std::ptr::null()) };
    polled.iter().map(|entry| entry.revents).collect()
}

/// A descriptor that is readable when a process has ended; `None` if the kernel has none, or there is no
/// such process.
pub(super) fn of_process(pid: u32) -> Option<OwnedFd> {
    // SAFETY: it opens a descriptor, which is closed at `execve`.
    let result = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    match libc::c_int::try_from(result) {
        // SAFETY: the kernel has just opened it, and nobody else knows it.
        Ok(descriptor @ 0..) => Some(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => None,
    }
}
