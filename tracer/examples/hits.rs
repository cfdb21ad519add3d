//! Prints the hits of the markers of a program, in whatever process it runs: `hits FILE SECONDS`.

use std::time::{Duration, Instant};

use simple_markers_resolver::resolve::resolve;
use simple_markers_tracer::plan::Plan;
use simple_markers_tracer::planning::PlanSettings;
use simple_markers_tracer::record::stack::StackSettings;
use simple_markers_tracer::sys::{Kernel, Mode, Scope, Session};
use simple_markers_tracer::thread_local::ThreadLocals;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(seconds)) = (arguments.next(), arguments.next()) else {
        return Err("usage: hits FILE SECONDS".into());
    };
    let path = std::fs::canonicalize(file)?.display().to_string();
    let resolution = resolve(&path, &std::fs::read(&path)?);
    let kernel = Kernel::new();
    let settings = PlanSettings { kernel: kernel.offsets, ..PlanSettings::default() };
    let mut plan = Plan::default();
    for image in &resolution.images {
        plan.add(image, &path, &ThreadLocals::Unknown, &|_| true, &settings)?;
    }
    let mut session =
        Session::start(&plan, &Scope::All, Mode::Trace { ring: 1 << 20, stacks: StackSettings::NONE }, kernel)?;
    let end = Instant::now() + Duration::from_secs(seconds.parse()?);
    while Instant::now() < end {
        session.read(&plan, false, &mut |hit| {
            println!("{} in thread {}", hit.marker.name, hit.thread);
            for (argument, value) in hit.site.arguments.iter().zip(hit.values()) {
                println!("    {} = {value:?}", argument.text);
            }
        });
        std::thread::sleep(Duration::from_millis(10));
    }
    println!("{} hits, {} lost", session.received(), session.lost()?);
    Ok(())
}
