//! Sorts arrays on a thread for each algorithm. The innermost loops have probes, which are passed
//! millions of times a second: too often for markers that somebody watches, and free while nobody
//! does.
//!
//! `sorter [ARRAYS [VALUES [SEED]]]` prints the comparisons and swaps of each algorithm.

mod algorithm;

use std::process::ExitCode;
use std::thread;

use simple_markers::{simple_mark, simple_probe};

use crate::algorithm::{Algorithm, Work};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u32>());
    let mut argument = |otherwise| arguments.next().unwrap_or(Ok(otherwise));
    let (Ok(arrays), Ok(values), Ok(seed)) = (argument(20), argument(1000), argument(1)) else {
        eprintln!("usage: sorter [ARRAYS [VALUES [SEED]]]");
        return ExitCode::from(2);
    };
    let threads =
        Algorithm::ALL.map(|algorithm| (algorithm, thread::spawn(move || sort(algorithm, arrays, values, seed))));
    for (algorithm, thread) in threads {
        let Ok(work) = thread.join() else { return ExitCode::FAILURE };
        println!("{:<9} {:>10} comparisons {:>9} swaps", algorithm.name(), work.comparisons, work.swaps);
    }
    ExitCode::SUCCESS
}

/// Sorts `arrays` generated arrays of `values` numbers.
fn sort(algorithm: Algorithm, arrays: u32, values: u32, seed: u32) -> Work {
    let mut generator = Generator(seed.into());
    let mut work = Work::default();
    for number in 0..arrays {
        let mut array: Vec<u32> = (0..values).map(|_| generator.next()).collect();
        simple_probe!(sort:begin, "%s: array %u of %zu values", algorithm.name(), number, array.len());
        let before = work;
        algorithm.sort(&mut array, &mut work);
        assert!(array.is_sorted(), "{} sorts", algorithm.name());
        let swaps = work.swaps - before.swaps;
        simple_probe!(
            sort:end, "%s: array %u, %lu swaps, %.2f for each value",
            algorithm.name(), number, swaps, each = swaps as f64 / f64::from(values)
        );
    }
    simple_mark!(sort:done, "%lu comparisons, %lu swaps", work.comparisons, work.swaps, options(keep));
    work
}

/// Numbers that look random: a linear congruential generator.
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as u32
    }
}
