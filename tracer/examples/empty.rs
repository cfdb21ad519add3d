//! Runs a program with BPF programs at its markers that do nothing: `empty PROGRAM ARGS..`. The time
//! that it takes is what probes cost by themselves (`benches/live`).

use std::ffi::OsString;
use std::time::Duration;

use simple_markers_resolver::resolve::resolve;
use simple_markers_tracer::plan::{Plan, Settings};
use simple_markers_tracer::sys::{Child, Kernel, Mode, Scope, Session};
use simple_markers_tracer::thread_local::ThreadLocals;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let command: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some(program) = command.first().and_then(|program| Child::find(program)) else {
        return Err("usage: empty PROGRAM ARGS..".into());
    };
    let path = std::fs::canonicalize(&program)?.display().to_string();
    let resolution = resolve(&path, &std::fs::read(&path)?);
    let settings = Settings { export: Default::default(), text: 64, thread_pointer: None, is_sleepable: true };
    let mut plan = Plan::default();
    for image in &resolution.images {
        plan.add(image, &path, &ThreadLocals::Unknown, &|_| true, &settings)?;
    }
    let mut child = Child::start(&program, &command)?;
    let _session = Session::start(&plan, &Scope::All, Mode::Nothing, Kernel::new())?;
    child.release()?;
    while child.ended().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
