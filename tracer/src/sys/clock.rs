//! The clock of the records.

/// The time in ns (`CLOCK_MONOTONIC`), which is what `bpf_ktime_get_ns` returns.
#[must_use]
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// The time in ns (`CLOCK_BOOTTIME`), which is what the kernel notes when a thread starts.
pub(super) fn boot_time() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// Makes the kernel update its clock of this CPU.
pub(super) fn update_cpu_clock() {
    read(libc::CLOCK_THREAD_CPUTIME_ID);
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it fills the structure. It cannot fail for these clocks.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
