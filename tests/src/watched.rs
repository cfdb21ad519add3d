//! Programs in C that are watched, and whether this machine lets us.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{io, thread};

use simple_markers_tracer::Plan;
use simple_markers_tracer::record::stack::StackSettings;
use simple_markers_tracer::sys::{Engine, Kernel, Mode, Scope, Session};

use crate::fixture;
use crate::tools;

/// Whether BPF programs can be loaded and attached. If not, the reason is printed; in CI that is a
/// failure.
pub fn can_watch() -> bool {
    can_watch_with(Engine::Bpf)
}

/// The same for probes in tracefs, which is mounted if it is not.
pub fn can_watch_with_tracefs() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if !mounts.contains(" - tracefs ") {
        // If it fails, the session says so.
        let _ = Command::new("mount").args(["-t", "tracefs", "tracefs", TRACEFS]).output();
    }
    can_watch_with(Engine::Tracefs)
}

/// Where the kernel's tracing files are.
pub const TRACEFS: &str = "/sys/kernel/tracing";

/// Removes an instance of tracefs. A program that another test is starting has the open files of this
/// process until it runs, and an instance with open files is in use.
///
/// # Panics
///
/// It is still there after ten seconds.
pub fn remove_instance(at: &Path) {
    let since = Instant::now();
    while let Err(why) = std::fs::remove_dir(at) {
        let goes_on = why.kind() == io::ErrorKind::ResourceBusy && since.elapsed() < Duration::from_secs(10);
        assert!(goes_on || thread::panicking(), "{}: {why}", at.display());
        if !goes_on {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn can_watch_with(engine: Engine) -> bool {
    let mode = Mode::Trace { ring: 1 << 16, stacks: StackSettings::NONE };
    match Session::start_with(engine, &Plan::default(), &Scope::All, mode, Kernel::new()) {
        Ok(_) => true,
        Err(why) => {
            tools::skipped(&why.to_string());
            false
        }
    }
}

/// Compiles a program with markers, and returns its path.
///
/// # Panics
///
/// It does not compile.
pub fn compile(folder: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let (file, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&file, source).expect("the source is written");
    let include = fixture::workspace().join("markers/include");
    let mut gcc = Command::new("gcc");
    gcc.arg("-I").arg(include).args(["-g", "-O2", "-Wall", "-pthread"]).args(flags);
    tools::run(gcc.arg(&file).arg("-o").arg(&program));
    program
}
