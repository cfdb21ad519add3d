//! The clock of records: the counter of the processor if that runs at one rate always, or
//! `CLOCK_MONOTONIC`.

use core::sync::atomic::Ordering;

use simple_markers_record::buffer::{CLOCK_COUNTER, CLOCK_MONOTONIC, CLOCK_UNKNOWN};

use crate::arch;
use crate::control::control;
use crate::sys::{self, PerfPage};

const SECOND: u64 = 1_000_000_000;

// The clocks that the recorder knows.
const _: () = assert!(CLOCK_MONOTONIC == 0 && CLOCK_COUNTER == 1);

/// The clock for a new buffer.
pub(crate) fn choose(is_monotonic: bool) -> u32 {
    if is_monotonic {
        return CLOCK_MONOTONIC;
    }
    let known = control().clock.load(Ordering::Relaxed);
    if known != CLOCK_UNKNOWN {
        return known;
    }
    let clock = if arch::counter_is_invariant() { CLOCK_COUNTER } else { CLOCK_MONOTONIC };
    control().clock.store(clock, Ordering::Relaxed);
    clock
}

/// The time of a clock.
pub(crate) fn now(clock: u32) -> u64 {
    if clock == CLOCK_COUNTER { arch::counter() } else { sys::now(libc::CLOCK_MONOTONIC) }
}

/// The same moment by several clocks.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) counter: u64,
    /// ns of `CLOCK_MONOTONIC`.
    pub(crate) monotonic: u64,
    /// ns since 1970.
    pub(crate) real: u64,
}

impl Moment {
    /// This moment, to about 50 ns.
    pub(crate) fn now() -> Self {
        let mut best = (u64::MAX, Self { counter: 0, monotonic: 0, real: 0 });
        // An interruption between two clocks makes them differ.
        for _ in 0..16 {
            let before = now(CLOCK_COUNTER);
            let monotonic = sys::now(libc::CLOCK_MONOTONIC);
            let after = now(CLOCK_COUNTER);
            let real = sys::now(libc::CLOCK_REALTIME);
            let gap = now(CLOCK_COUNTER).wrapping_sub(before);
            if gap < best.0 {
                let counter = before.wrapping_add(after.wrapping_sub(before) / 2);
                best = (gap, Self { counter, monotonic, real });
            }
        }
        best.1
    }

    /// The rate of the counter in Hz between two moments.
    pub(crate) fn rate_to(self, later: Self) -> Option<u64> {
        let ns = later.monotonic.checked_sub(self.monotonic).filter(|&ns| ns != 0)?;
        let counted = later.counter.checked_sub(self.counter)?;
        let rate = (u128::from(counted) * u128::from(SECOND) + u128::from(ns) / 2) / u128::from(ns);
        u64::try_from(rate).ok().filter(|&rate| rate != 0)
    }
}

/// The rate of the counter in Hz: what the processor says, or the kernel computes with, or else
/// measured for 10 ms.
pub(crate) fn rate() -> u64 {
    arch::counter_rate().or_else(rate_of_kernel).unwrap_or_else(|| {
        let before = Moment::now();
        sys::sleep(10_000_000);
        before.rate_to(Moment::now()).unwrap_or(SECOND)
    })
}

/// The rate with which perf turns the counter into ns: ns = counter * `mult` >> `shift`.
fn rate_of_kernel() -> Option<u64> {
    // struct perf_event_mmap_page of perf_event_open(2).
    const CAPABILITIES: usize = 40;
    const CAP_USER_TIME: u64 = 1 << 3;
    const SHIFT_AND_MULT: usize = 48;
    let page = PerfPage::open().ok()?;
    if page.word(CAPABILITIES) & CAP_USER_TIME == 0 {
        return None;
    }
    let word = page.word(SHIFT_AND_MULT);
    let (shift, mult) = (word >> 16 & 0xffff, u128::from(word >> 32));
    let scaled = u128::from(SECOND).checked_shl(shift as u32).filter(|_| mult != 0 && shift < 64)?;
    u64::try_from((scaled + mult / 2) / mult).ok().filter(|&rate| rate != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_and_a_measurement_agree() {
        let before = Moment::now();
        sys::sleep(50_000_000);
        let measured = before.rate_to(Moment::now()).unwrap();
        let rate = rate();
        assert!(rate.abs_diff(measured) < rate / 1000, "{rate} {measured}");
    }
}
