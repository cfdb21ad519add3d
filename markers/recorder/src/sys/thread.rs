//! The thread: its id, CPU, signals and `errno`.

use super::call::{Errno, call, plain};

/// The id of the thread.
pub(crate) fn gettid() -> u32 {
    plain(libc::SYS_gettid, [0; 6]).unwrap_or(0) as u32
}

/// The CPU that the thread runs on; `None` where the kernel does not say.
pub(crate) fn cpu() -> Option<u32> {
    let mut cpu = 0u32;
    plain(libc::SYS_getcpu, [&raw mut cpu as usize, 0, 0, 0, 0, 0]).ok().map(|_| cpu)
}

/// Blocks all signals while it exists.
pub(crate) struct SignalGuard {
    before: u64,
}

impl SignalGuard {
    pub(crate) fn new() -> Self {
        let (all, mut before) = (u64::MAX, 0u64);
        let arguments = [libc::SIG_SETMASK as usize, &raw const all as usize, &raw mut before as usize, 8, 0, 0];
        // It fails for no arguments like these.
        let _ = plain(libc::SYS_rt_sigprocmask, arguments);
        Self { before }
    }
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        let arguments = [libc::SIG_SETMASK as usize, &raw const self.before as usize, 0, 8, 0, 0];
        let _ = plain(libc::SYS_rt_sigprocmask, arguments);
    }
}

/// Registers memory for restartable sequences, of which the kernel then knows for this thread.
///
/// # Safety
///
/// `area` has 32 bytes, aligned to 32, and lives as long as the thread.
pub(crate) unsafe fn register_rseq(area: *mut u8, signature: u32) -> Result<(), Errno> {
    // SAFETY: as the caller says.
    unsafe { call(libc::SYS_rseq, [area as usize, 32, 0, signature as usize, 0, 0]) }.map(drop)
}

/// The `errno` of this thread.
pub(crate) fn errno() -> Errno {
    // SAFETY: it is a variable of the thread.
    unsafe { *libc::__errno_location() }
}

/// Sets the `errno` of this thread.
pub(crate) fn set_errno(errno: Errno) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}
