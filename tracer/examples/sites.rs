//! Measures how long it takes to set and to remove the probes of a program, medians of 9 rounds:
//! `sites PROGRAM` (`benches/live`).

mod shared;

use std::time::{Duration, Instant};

use simple_markers_tracer::record::stack::StackSettings;
use simple_markers_tracer::sys::{Kernel, Mode, Scope, Session};

const ROUNDS: usize = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = std::env::args().nth(1).ok_or("usage: sites PROGRAM")?;
    let kernel = Kernel::new();
    let plan = shared::plan(&program, kernel.offsets)?;
    for (name, mode) in [
        ("trace", Mode::Trace { ring: 1 << 23, stacks: StackSettings::NONE }),
        ("count", Mode::Count { most_values: 1 << 16, ring: 1 << 23 }),
    ] {
        let mut times: [Vec<Duration>; 2] = Default::default();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let mut session = Session::start(&plan, &Scope::All, mode, kernel)?;
            let on = start.elapsed();
            session.detach();
            times[0].push(on);
            times[1].push(start.elapsed() - on);
        }
        times.iter_mut().for_each(|times| times.sort_unstable());
        let [on, off] = times.map(|times| times.get(ROUNDS / 2).map_or(0, Duration::as_millis));
        println!("| {name}, {} sites | {on} ms | {off} ms |", plan.sites.len());
    }
    Ok(())
}
