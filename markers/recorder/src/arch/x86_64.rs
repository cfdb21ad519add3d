//! x86-64.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, _rdtsc};

/// What the kernel expects before the address at which a sequence starts again. The C library
/// registers its threads with the same one.
pub(crate) const RSEQ_SIGNATURE: u32 = 0x5305_3053;

/// The counter of the processor.
pub(crate) fn counter() -> u64 {
    // SAFETY: all processors of x86-64 have it. Where the system forbids it, the C library does not
    // start.
    unsafe { _rdtsc() }
}

/// Whether the counter runs at one rate, also while the processor sleeps: leaf 0x80000007 of CPUID,
/// bit 8 of edx.
#[allow(unused_unsafe)] // Newer compilers have these functions safe.
pub(crate) fn counter_is_invariant() -> bool {
    const ADVANCED_POWER: u32 = 0x8000_0007;
    // SAFETY: all processors of x86-64 have CPUID.
    unsafe { __cpuid(0x8000_0000).eax >= ADVANCED_POWER && __cpuid(ADVANCED_POWER).edx & 1 << 8 != 0 }
}

/// The rate of the counter in Hz, if the processor says it: not exactly enough here.
pub(crate) fn counter_rate() -> Option<u64> {
    None
}

/// The thread pointer.
pub(crate) fn thread_pointer() -> *mut u8 {
    let pointer;
    // SAFETY: the ABI of thread-local storage has the pointer there.
    unsafe { asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
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
    result
}

/// Calls a function on a stack that ends at an address.
///
/// # Safety
///
/// The function may be called with `argument`. The stack has room for it and is used by nothing
/// else, and its end is aligned to 16 bytes.
pub(crate) unsafe fn call_on_stack<T>(function: unsafe extern "C" fn(*mut T), argument: *mut T, end: usize) {
    // SAFETY: as the caller says. The function keeps r12 and returns.
    unsafe {
        asm!(
            "xchg rsp, r12",
            "call {function}",
            "mov rsp, r12",
            function = in(reg) function,
            inout("r12") end => _,
            in("rdi") argument,
            clobber_abi("C"),
        );
    }
}
