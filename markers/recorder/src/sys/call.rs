//! System calls in general.

use crate::arch;

/// The number of an error, as in `errno`.
pub(crate) type Errno = i32;

/// A system call.
///
/// # Safety
///
/// As the system call says.
pub(super) unsafe fn call(number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: as the caller says.
    let result = unsafe { arch::system_call(number, arguments) };
    if (-4095..0).contains(&result) { Err(-result as Errno) } else { Ok(result as usize) }
}

/// The same for a call that only takes numbers, or whose pointers are checked by the kernel.
pub(super) fn plain(number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: callers pass numbers, and pointers to memory that they borrow.
    unsafe { call(number, arguments) }
}

/// Repeats a call that a signal interrupted.
pub(super) fn retried(mut call: impl FnMut() -> Result<usize, Errno>) -> Result<usize, Errno> {
    loop {
        match call() {
            Err(libc::EINTR) => {}
            result => return result,
        }
    }
}
