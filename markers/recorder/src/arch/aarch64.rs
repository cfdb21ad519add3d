//! AArch64.

use core::arch::asm;

/// What the kernel expects before the address at which a sequence starts again. The C library
/// registers its threads with the same one. It is an instruction that ends the program.
pub(crate) const RSEQ_SIGNATURE: u32 = 0xd428_bc00;

/// The counter of the processor.
pub(crate) fn counter() -> u64 {
    let counter;
    // SAFETY: all processors have it. A kernel that forbids it reads it for the program. Without the
    // barrier two reads may be in either order, and so the times of two hits.
    unsafe { asm!("isb", "mrs {}, cntvct_el0", out(reg) counter, options(nostack, preserves_flags)) };
    counter
}

/// Whether the counter runs at one rate, also while the processor sleeps: the architecture says so.
pub(crate) fn counter_is_invariant() -> bool {
    true
}

/// The rate of the counter in Hz, if the firmware says it.
pub(crate) fn counter_rate() -> Option<u64> {
    let rate: u64;
    // SAFETY: as for the counter.
    unsafe { asm!("mrs {}, cntfrq_el0", out(reg) rate, options(nomem, nostack, preserves_flags)) };
    Some(rate).filter(|&rate| rate != 0)
}

/// The thread pointer.
pub(crate) fn thread_pointer() -> *mut u8 {
    let pointer;
    // SAFETY: the ABI of thread-local storage has the pointer there.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// A system call, and what the kernel returns.
///
/// # Safety
///
/// As the system call says.
pub(crate) unsafe fn system_call(number: i64, arguments: [usize; 6]) -> isize {
    let result: isize;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the kernel keeps all registers but x0, and of vectors the first 16 bytes.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    result
}

/// Calls a function on a stack that ends at an address.
///
/// # Safety
///
/// The function may be called with `argument`. The stack has room for it and is used by nothing
/// else, and its end is aligned to 16 bytes.
pub(crate) unsafe fn call_on_stack<T>(function: unsafe extern "C" fn(*mut T), argument: *mut T, end: usize) {
    // SAFETY: as the caller says. The function keeps x21 and returns.
    unsafe {
        asm!(
            "mov x21, sp",
            "mov sp, {end}",
            "blr {function}",
            "mov sp, x21",
            end = in(reg) end,
            function = in(reg) function,
            out("x21") _,
            in("x0") argument,
            clobber_abi("C"),
        );
    }
}
