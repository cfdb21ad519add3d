//! What differs between the processors that programs are watched on: the counter, numbers of the
//! kernel, and two functions of a few instructions.

/// The counter of the processor; `None` where it has none that programs may read.
#[cfg(target_arch = "x86_64")]
pub(super) fn counter() -> Option<u64> {
    // SAFETY: every such processor has the instruction.
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

/// As the recorder reads it (`markers/recorder/src/arch/aarch64.rs`).
#[cfg(target_arch = "aarch64")]
pub(super) fn counter() -> Option<u64> {
    let counter;
    // SAFETY: every such processor has it.
    unsafe { core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) counter, options(nostack, preserves_flags)) };
    Some(counter)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn counter() -> Option<u64> {
    None
}

/// The architecture of a system call (`AUDIT_ARCH_..`); 0 if it is not known.
pub(super) const ARCHITECTURE: u32 = if cfg!(target_arch = "x86_64") {
    0xc000_003e
} else if cfg!(target_arch = "aarch64") {
    0xc000_00b7
} else {
    0
};

/// The system calls by which loaders map libraries and prepare the first thread.
#[rustfmt::skip]
#[cfg(target_arch = "x86_64")]
pub(super) const LOADING: [libc::c_long; 27] = [
    libc::SYS_open, libc::SYS_openat, libc::SYS_read, libc::SYS_pread64, libc::SYS_close, libc::SYS_stat,
    libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_lseek, libc::SYS_mmap, libc::SYS_mprotect,
    libc::SYS_munmap, libc::SYS_brk, libc::SYS_access, libc::SYS_arch_prctl, libc::SYS_set_tid_address,
    libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_prlimit64, libc::SYS_readlink, libc::SYS_uname,
    libc::SYS_getrandom, libc::SYS_fcntl, libc::SYS_writev, libc::SYS_getcwd, libc::SYS_readlinkat,
];
#[rustfmt::skip]
#[cfg(not(target_arch = "x86_64"))]
pub(super) const LOADING: [libc::c_long; 22] = [
    libc::SYS_openat, libc::SYS_read, libc::SYS_pread64, libc::SYS_close, libc::SYS_fstat, libc::SYS_newfstatat,
    libc::SYS_statx, libc::SYS_lseek, libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_munmap, libc::SYS_brk,
    libc::SYS_faccessat, libc::SYS_set_tid_address, libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_prlimit64,
    libc::SYS_uname, libc::SYS_getrandom, libc::SYS_fcntl, libc::SYS_getcwd, libc::SYS_readlinkat,
];

/// The addresses of a kernel that chose no random ones (`Documentation/arch/x86/x86_64/mm.rst`). `None`
/// if they are not known.
pub(super) const NOT_RANDOM: Option<KernelAddresses> = if cfg!(target_arch = "x86_64") {
    Some(KernelAddresses { text: "ffffffff81000000", pages: [0xffff_ea00_0000_0000, 0xffd4_0000_0000_0000] })
} else {
    None
};

/// Addresses of a kernel.
#[derive(Clone, Copy)]
pub(super) struct KernelAddresses {
    /// Where its code starts, as `/proc/kallsyms` writes it.
    pub(super) text: &'static str,
    /// Where the array of pages starts, with 4 and with 5 levels of page tables.
    pub(super) pages: [u64; 2],
}

/// Two functions of two instructions, which change no register that a callee must keep, and the size
/// of the first instruction in bytes. The kernel emulates this instruction of the one function, and
/// steps that of the other. `None` if there are none.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn probed() -> Option<[(unsafe extern "C" fn(), u64); 2]> {
    let [emulated, stepped] = if cfg!(target_arch = "x86_64") { [1, 2] } else { [4, 4] };
    Some([(simple_markers_floor_emulated, emulated), (simple_markers_floor_stepped, stepped)])
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn probed() -> Option<[(unsafe extern "C" fn(), u64); 2]> {
    None
}

/// Two functions of a no-operation, of five bytes and of ten, and a return. Ten bytes of each can be
/// read. `None` where no kernel rewrites one.
#[cfg(target_arch = "x86_64")]
pub(super) fn no_operations() -> Option<[unsafe extern "C" fn(); 2]> {
    Some([simple_markers_five_byte_nop, simple_markers_ten_byte_nop])
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn no_operations() -> Option<[unsafe extern "C" fn(); 2]> {
    None
}

// Not local: what calls them may be compiled into another object.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl simple_markers_floor_emulated, simple_markers_floor_stepped",
    ".hidden simple_markers_floor_emulated, simple_markers_floor_stepped",
    ".globl simple_markers_five_byte_nop, simple_markers_ten_byte_nop",
    ".hidden simple_markers_five_byte_nop, simple_markers_ten_byte_nop",
    ".pushsection .text.simple_markers_floor,\"ax\",@progbits",
    "simple_markers_floor_emulated:",
    "nop",
    "nop",
    "ret",
    "simple_markers_floor_stepped:",
    "mov eax, eax",
    "nop",
    "ret",
    "simple_markers_five_byte_nop:",
    ".byte 0x0f, 0x1f, 0x44, 0, 0",
    "ret",
    ".skip 8, 0xcc",
    "simple_markers_ten_byte_nop:",
    ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0",
    "ret",
    ".popsection",
);

// Older kernels step a `nop`, so that a jump is what all of them emulate.
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".globl simple_markers_floor_emulated, simple_markers_floor_stepped",
    ".hidden simple_markers_floor_emulated, simple_markers_floor_stepped",
    ".pushsection .text.simple_markers_floor,\"ax\",@progbits",
    ".balign 4",
    "simple_markers_floor_emulated:",
    "b 1f",
    "1: nop",
    "ret",
    "simple_markers_floor_stepped:",
    "mov w0, w0",
    "nop",
    "ret",
    ".popsection",
);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" {
    fn simple_markers_floor_emulated();
    fn simple_markers_floor_stepped();
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn simple_markers_five_byte_nop();
    fn simple_markers_ten_byte_nop();
}
