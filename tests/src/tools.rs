//! The tools that tests run: compilers, linkers, and the readers of images that we did not write.
//!
//! A tool that is missing is a visible skip at a desk, and a failure in CI (where the variable `CI` is set).

use std::path::PathBuf;
use std::process::{Command, Output};

/// The path of `tool`; `None`, with a line on standard error, where it is not installed.
///
/// # Panics
///
/// It is not installed and this is CI: what CI does not run, nobody does.
#[must_use]
pub fn find(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(tool)).find(|file| file.is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{tool} is not installed, and CI skips nothing");
        eprintln!("SKIPPED: {tool} is not installed");
    }
    found
}

/// Runs a command that must succeed and gives what it printed to standard output.
///
/// # Panics
///
/// It cannot be started or fails; the message has its standard error.
pub fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        status.success(),
        "{command:?}: {status}\n{}{}",
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr)
    );
    String::from_utf8_lossy(&stdout).into_owned()
}
