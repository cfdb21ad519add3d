//! Runs the tools that tests use: compilers, linkers, and independent readers of images.
//!
//! If a tool is missing, the test is ignored, also if the rest of it can run; in CI (where the
//! variable `CI` is set) it fails. CI runs every combination of a slow test, and other machines run a
//! [`slice()`] of them.

mod choices;
mod command;
pub mod trial;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

pub use choices::Choices;
pub use command::{Ended, ended, output, run};

/// The path of `tool`; `None` if it is not installed, and then the test is [`skipped`].
///
/// # Panics
///
/// It is not installed, and this is CI, which must run every test.
#[must_use]
pub fn find(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(tool)).find(|file| file.is_file());
    if found.is_none() {
        skipped(&format!("{tool} is not installed"));
    }
    found
}

/// Whether every combination is run, as in CI.
#[must_use]
pub fn tries_everything() -> bool {
    std::env::var_os("CI").is_some()
}

/// The part of `all` that a test runs: everything in CI, and otherwise those at the indices in
/// `picked`, with a line on standard error. Each compiler, level, linker and kind must be in a slice
/// of some test.
///
/// # Panics
///
/// There is no such index.
#[must_use]
pub fn slice<T: Clone>(what: &str, all: &[T], picked: &[usize]) -> Vec<T> {
    if tries_everything() {
        return all.to_vec();
    }
    let _ = writeln!(std::io::stderr(), "SLICE: {what}: {picked:?} of {}; CI=1 tries all", all.len());
    picked.iter().map(|index| all[*index].clone()).collect()
}

/// Says why a test, or a part of it, does not run. The test is ignored; without a harness that
/// ignores tests, a line is printed on the real standard error.
///
/// # Panics
///
/// This is CI.
pub fn skipped(why: &str) {
    assert!(!tries_everything(), "{why}, and CI skips nothing");
    say_skipped(why);
}

fn say_skipped(why: &str) {
    if !trial::lacks(why) {
        // Ignores the error if standard error is closed.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
    }
}

/// The compiler whose messages and optimisations are recorded in `tests/errors/ui` and in the
/// README.
const RECORDED_COMPILER: &str = "rustc 1.95.";

/// The compiler's name for this machine: `x86_64-unknown-linux-gnu`.
///
/// # Panics
///
/// The compiler cannot be started, or does not name its host.
#[must_use]
pub fn host() -> String {
    let version = run(Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV"));
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc -vV names the host").to_owned()
}

/// Whether the compiler is the recorded one. Nothing is compared with what another one prints, in CI
/// neither: so everything holds with the next version.
#[must_use]
pub fn is_recorded_compiler() -> bool {
    let version = run(Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("--version"));
    let recorded = version.starts_with(RECORDED_COMPILER);
    if !recorded {
        say_skipped(&format!("what is written down is of {RECORDED_COMPILER}x, this is {}", version.trim_end()));
    }
    recorded
}
