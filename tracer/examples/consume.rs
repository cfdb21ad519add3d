//! Prints what a hit costs the reader, in ns, with each engine: `consume PROGRAM ARGS..`. All hits are
//! recorded before the first is read (`benches/live`).

mod shared;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use simple_markers_tracer::bpf::KernelOffsets;
use simple_markers_tracer::record::stack::StackSettings;
use simple_markers_tracer::sys::{Child, Engine, Kernel, Mode, Scope, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let command: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some(program) = command.first().and_then(|program| Child::find(program)) else {
        return Err("usage: consume PROGRAM ARGS..".into());
    };
    let plan = shared::plan(&program, KernelOffsets::default())?;
    for (engine, name) in [(Engine::Bpf, "bpf"), (Engine::Tracefs, "tracefs")] {
        let mut child = Child::start(&program, &command, false)?;
        let mode = Mode::Trace { ring: 1 << 28, stacks: StackSettings::NONE };
        let mut session = Session::start_with(engine, &plan, &Scope::All, mode, Kernel::new())?;
        child.release()?;
        while child.ended().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        session.detach();
        let start = Instant::now();
        let mut count = 0u128;
        while session.read(&plan, true, &mut |_| count += 1) > 0 {}
        let lost = session.lost()?;
        println!("{name} {} ({count} hits, {lost} lost)", start.elapsed().as_nanos() / count.max(1));
    }
    Ok(())
}
