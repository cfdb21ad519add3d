//! Limits of this process that are in the way of its own work (`man 2 setrlimit`).

use std::sync::OnceLock;

/// Lifts the limit for locked memory, the first time. Returns whether there is none any more.
///
/// Before Linux 5.11 the memory of maps and programs counts against it, and what exceeds it is refused like a
/// call without the right.
pub(super) fn unlimit_memory() -> bool {
    static RESULT: OnceLock<bool> = OnceLock::new();
    let unlimited = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is valid until the call returns.
    *RESULT.get_or_init(|| unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const unlimited) == 0 })
}

/// Raises the limit for open files as far as it can be, the first time. Returns whether it is higher now.
pub(super) fn raise_files() -> bool {
    static RESULT: OnceLock<bool> = OnceLock::new();
    *RESULT.get_or_init(|| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the kernel fills the structure, which is valid until the call returns.
        let is_known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
        let before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: as above.
        is_known && before < limit.rlim_max && unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } == 0
    })
}
