//! Runs a test in a process of its own: there is one recorder in a process.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const NAME: &str = "RECORDER_TEST";
const FOLDER: &str = "RECORDER_TEST_FOLDER";

/// Whether this is the process of the test, and its folder.
pub fn inside(test: &str) -> Option<PathBuf> {
    let is_inside = std::env::var_os(NAME).is_some_and(|name| name == test);
    is_inside.then(|| PathBuf::from(std::env::var_os(FOLDER).unwrap()))
}

/// The process of a test, not started yet.
pub fn command(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads", "1"]);
    command.env(NAME, test).env(FOLDER, folder).stdin(Stdio::null());
    command
}

/// Runs `test` in a process of its own with an empty folder, and afterwards `check` on the folder.
pub fn run(test: &str, inner: impl FnOnce(&Path), check: impl FnOnce(&Path)) {
    if let Some(folder) = inside(test) {
        return inner(&folder);
    }
    let folder = Folder::new(test);
    let output = command(test, folder.path()).output().unwrap();
    succeeded(&output);
    // What the inner test lacks, this one lacks.
    let printed = String::from_utf8_lossy(&output.stdout);
    let ignored = printed.lines().filter_map(|line| line.split_once(" ... ignored (")?.1.strip_suffix(')'));
    ignored.for_each(tools::skipped);
    check(folder.path());
}

/// Runs `test` in a process in which the C library has registered no restartable sequences.
pub fn run_without_registration(test: &str) {
    let folder = Folder::new(test);
    succeeded(&command(test, folder.path()).env("GLIBC_TUNABLES", "glibc.pthread.rseq=0").output().unwrap());
}

pub fn succeeded(output: &Output) {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}\n{}", output.status, text(&output.stdout), text(&output.stderr));
}

/// A temporary folder.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("recorder-{test}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A process that is killed when the test fails.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
