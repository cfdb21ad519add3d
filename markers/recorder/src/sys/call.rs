//! System calls in general.

use core::arch::asm;

/// The number of an error, as in `errno`.
pub(crate) type Errno = i32;

/// A system call.
///
/// # Safety
///
/// As the system call says.
pub(super) unsafe fn call(number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    let result: isize;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the kernel keeps all registers but rax, rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
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
