//! Runs a program with BPF programs at its markers that do nothing: `empty PROGRAM ARGS..`. The time
//! that it takes is what probes cost by themselves (`benches/live`).

mod shared;

use std::ffi::OsString;
use std::time::Duration;

use simple_markers_tracer::bpf::KernelOffsets;
use simple_markers_tracer::sys::{Child, Kernel, Mode, Scope, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let command: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some(program) = command.first().and_then(|program| Child::find(program)) else {
        return Err("usage: empty PROGRAM ARGS..".into());
    };
    let plan = shared::plan(&program, KernelOffsets::default())?;
    let mut child = Child::start(&program, &command, false)?;
    let _session = Session::start(&plan, &Scope::All, Mode::Nothing, Kernel::new())?;
    child.release()?;
    // The program measures itself. On a machine with one CPU each look at it costs time.
    while child.ended().is_none() {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
