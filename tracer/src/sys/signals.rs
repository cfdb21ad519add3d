//! The signals that end a session.

use std::sync::atomic::{AtomicBool, Ordering};

static STOPPED: AtomicBool = AtomicBool::new(false);
static DUMP: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: libc::c_int) {
    STOPPED.store(true, Ordering::Relaxed);
}

/// From now on `SIGINT`, `SIGTERM` and `SIGHUP` do not end the process: [`is_stopped`] tells of them.
pub fn catch() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler stores to an atomic, which is allowed in a handler.
        unsafe { libc::signal(signal, stop as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    }
}

/// Whether such a signal came since [`catch`].
#[must_use]
pub fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

extern "C" fn dump(_: libc::c_int) {
    DUMP.store(true, Ordering::Relaxed);
}

/// From now on `SIGUSR1` does not end the process: [`take_dump`] tells of it.
pub fn catch_dump() {
    // SAFETY: the handler stores to an atomic, which is allowed in a handler.
    unsafe { libc::signal(libc::SIGUSR1, dump as extern "C" fn(libc::c_int) as libc::sighandler_t) };
}

/// Whether `SIGUSR1` came since [`catch_dump`] or the last call.
pub fn take_dump() -> bool {
    DUMP.swap(false, Ordering::Relaxed)
}
