//! The signals that end a session, waits that they end, and calls that they must not end.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use super::eventfd;

static STOPPED: AtomicBool = AtomicBool::new(false);
static DUMP: AtomicBool = AtomicBool::new(false);
static RELOAD: AtomicBool = AtomicBool::new(false);
static LEASE: AtomicBool = AtomicBool::new(false);
/// A bit for each signal that another process sent, by its number.
static SENT: AtomicU64 = AtomicU64::new(0);
/// The eventfd that each signal makes readable; -1 if there is none.
static WAKE: AtomicI32 = AtomicI32::new(-1);

/// What a handler gets of a signal that the kernel sent itself (`man 2 sigaction`).
const SI_KERNEL: libc::c_int = 0x80;

/// Makes the eventfd readable. It is allowed in a handler.
fn wake() {
    let (descriptor, one) = (WAKE.load(Ordering::Relaxed), 1u64);
    if descriptor >= 0 {
        // SAFETY: the kernel reads 8 bytes. The error number is that of the interrupted code.
        unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            libc::write(descriptor, (&raw const one).cast(), 8);
            *errno = before;
        }
    }
}

extern "C" fn stop(signal: libc::c_int, info: *const libc::siginfo_t, _: *mut libc::c_void) {
    STOPPED.store(true, Ordering::Relaxed);
    // SAFETY: the kernel hands a valid structure to the handler.
    let is_of_terminal = !info.is_null() && unsafe { (*info).si_code } == SI_KERNEL;
    if let (false, Ok(number)) = (is_of_terminal, u32::try_from(signal)) {
        SENT.fetch_or(1u64.checked_shl(number).unwrap_or(0), Ordering::Relaxed);
    }
    wake();
}

/// From now on `SIGINT`, `SIGTERM` and `SIGHUP` do not end the process: [`is_stopped`] tells of them.
pub fn catch() {
    let _ = descriptor();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let handler: extern "C" fn(libc::c_int, *const libc::siginfo_t, *mut libc::c_void) = stop;
        // SAFETY: zeros are a valid value, and the handler does what is allowed in a handler.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Whether such a signal came since [`catch`].
#[must_use]
pub fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// The signals that another process sent since the last call. Those that the terminal sent went to the
/// programs in its foreground too, and are not among them.
pub fn take_sent() -> impl Iterator<Item = i32> {
    let sent = SENT.swap(0, Ordering::Relaxed);
    (1..64).filter(move |signal| sent >> signal & 1 != 0)
}

extern "C" fn dump(_: libc::c_int) {
    DUMP.store(true, Ordering::Relaxed);
    wake();
}

/// From now on `SIGUSR1` does not end the process: [`take_dump`] tells of it.
pub fn catch_dump() {
    handle(libc::SIGUSR1, dump);
}

extern "C" fn reload(_: libc::c_int) {
    RELOAD.store(true, Ordering::Relaxed);
    wake();
}

/// From now on `SIGHUP` does not end the process: [`take_reload`] tells of it.
pub fn catch_reload() {
    handle(libc::SIGHUP, reload);
}

/// Whether `SIGHUP` came since [`catch_reload`] or the last call.
pub fn take_reload() -> bool {
    RELOAD.swap(false, Ordering::Relaxed)
}

/// Sets a handler that does what is allowed in one. Interrupted system calls go on behind it.
fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    let _ = descriptor();
    // SAFETY: the handlers here store a flag and write to an eventfd.
    unsafe { libc::signal(signal, handler as libc::sighandler_t) };
}

extern "C" fn lease(_: libc::c_int) {
    LEASE.store(true, Ordering::Relaxed);
    wake();
}

/// From now on `SIGIO` does not end the process: [`take_lease`] tells of it.
pub(super) fn catch_lease() {
    handle(libc::SIGIO, lease);
}

/// Whether `SIGIO` came since the last call.
pub(super) fn take_lease() -> bool {
    LEASE.swap(false, Ordering::Relaxed)
}

/// Whether `SIGUSR1` came since [`catch_dump`] or the last call.
pub fn take_dump() -> bool {
    DUMP.swap(false, Ordering::Relaxed)
}

extern "C" fn resized(_: libc::c_int) {
    wake();
}

/// From now on [`wait`] ends when the terminal gets another size.
pub fn catch_resize() {
    handle(libc::SIGWINCH, resized);
}

/// Waits for a signal, or until there is something to read, at most for this time. Returns whether there is.
pub fn wait(input: Option<BorrowedFd<'_>>, time: Duration) -> bool {
    let input = input.map_or(-1, |input| input.as_raw_fd());
    eventfd::wait(&[descriptor(), input], Some(time));
    forget();
    eventfd::is_readable(input)
}

/// A descriptor that can be read after a signal came; -1 if there is none. [`forget`] makes it wait for
/// the next one.
pub(super) fn descriptor() -> RawFd {
    let known = WAKE.load(Ordering::Relaxed);
    if known >= 0 {
        return known;
    }
    // SAFETY: it opens a descriptor, which lives as long as the process.
    let new = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    match WAKE.compare_exchange(-1, new, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => new,
        Err(known) => {
            // SAFETY: it was opened above, and nobody else knows it.
            unsafe { libc::close(new) };
            known
        }
    }
}

/// Forgets the signals that made [`descriptor`] readable.
pub(super) fn forget() {
    eventfd::clear(descriptor());
}

/// How often a system call is tried that the kernel gives up.
const TRIES: u32 = 5;

/// Makes a system call that the kernel gives up when a signal comes, as it does with the check of a BPF
/// program. The signals are handled behind it.
pub(super) fn undisturbed(call: impl Fn() -> libc::c_long) -> io::Result<libc::c_int> {
    let mut tries = 1;
    loop {
        let result = without_signals(&call);
        match result {
            // What stops or freezes a thread comes all the same.
            Err(why) if tries < TRIES && matches!(why.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => tries += 1,
            result => return result,
        }
    }
}

/// Makes a system call with all signals blocked.
fn without_signals(call: &impl Fn() -> libc::c_long) -> io::Result<libc::c_int> {
    // SAFETY: zeros are a valid set. The signals of this thread are afterwards those from before.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let result = match libc::c_int::try_from(call()) {
            Ok(result @ 0..) => Ok(result),
            _ => Err(io::Error::last_os_error()),
        };
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}
