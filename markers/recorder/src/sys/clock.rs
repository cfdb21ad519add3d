//! Times, and how the kernel computes them.

use super::call::{Errno, call, plain};
use super::file::File;
use super::mapping::unmap;

/// A time of a clock of the system in ns.
pub(crate) fn now(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the time. It has a fast way without a system call; its clocks exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Sleeps.
pub(crate) fn sleep(ns: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: ns };
    let _ = plain(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0, 0, 0]);
}

/// The first page of a new event of perf that counts nothing; it says how times are computed.
pub(crate) struct PerfPage {
    at: *mut u8,
}

impl PerfPage {
    const SIZE: usize = 4096;

    /// Opens the event; an error where perf is not allowed.
    pub(crate) fn open() -> Result<Self, Errno> {
        const PERF_TYPE_SOFTWARE: u32 = 1;
        const PERF_COUNT_SW_DUMMY: u64 = 9;
        const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;
        const PERF_FLAG_FD_CLOEXEC: usize = 8;
        // struct perf_event_attr: type and size, config, .., flags at 40.
        let mut attributes = [0u64; 14];
        attributes[0] = u64::from(PERF_TYPE_SOFTWARE) | 112 << 32;
        attributes[1] = PERF_COUNT_SW_DUMMY;
        attributes[5] = EXCLUDE_KERNEL_AND_HYPERVISOR;
        let none = usize::MAX;
        let arguments = [attributes.as_ptr() as usize, 0, none, none, PERF_FLAG_FD_CLOEXEC, 0];
        let file = File::new(plain(libc::SYS_perf_event_open, arguments)?);
        let arguments = [0, Self::SIZE, libc::PROT_READ as usize, libc::MAP_SHARED as usize, file.number(), 0];
        // SAFETY: the kernel chooses a free place.
        let at = unsafe { call(libc::SYS_mmap, arguments) }?;
        Ok(Self { at: at as *mut u8 })
    }

    /// A word of the page.
    pub(crate) fn word(&self, offset: usize) -> u64 {
        // SAFETY: the page has all offsets that are used, and the kernel may change it.
        unsafe { self.at.add(offset & (Self::SIZE - 8)).cast::<u64>().read_volatile() }
    }
}

impl Drop for PerfPage {
    fn drop(&mut self) {
        // SAFETY: nothing else uses it.
        unsafe { unmap(self.at, Self::SIZE) };
    }
}
