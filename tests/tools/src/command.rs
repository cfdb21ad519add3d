//! Runs commands. A test that fails shows what they said on standard error.

use std::process::{Command, Output};

use crate::trial;

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: i32,
    /// What it printed.
    pub stdout: String,
    /// What it said on standard error.
    pub stderr: String,
}

impl Ended {
    /// Its standard output.
    ///
    /// # Panics
    ///
    /// It failed.
    #[track_caller]
    pub fn success(self) -> String {
        assert_eq!(self.status, 0, "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// Its standard error.
    ///
    /// # Panics
    ///
    /// It has another exit status.
    #[track_caller]
    pub fn fails(self, status: i32) -> String {
        assert_eq!(self.status, status, "{}{}", self.stdout, self.stderr);
        self.stderr
    }

    /// The lines of its standard output.
    pub fn lines(&self) -> Vec<String> {
        self.stdout.lines().map(str::to_owned).collect()
    }
}

/// Runs a command to its end.
///
/// # Panics
///
/// It cannot be started.
#[track_caller]
pub fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    if !output.status.success() || !output.stderr.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        trial::note(format_args!("{command:?}: {}\n{}", output.status, said.trim_end()));
    }
    output
}

/// Runs a command that prints text and ends with an exit status.
///
/// # Panics
///
/// It cannot be started, prints something else, or is ended by a signal.
#[track_caller]
pub fn ended(command: &mut Command) -> Ended {
    let Output { status, stdout, stderr } = output(command);
    let text = |bytes| String::from_utf8(bytes).unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let status = status.code().unwrap_or_else(|| panic!("{command:?}: {status}"));
    Ended { status, stdout: text(stdout), stderr: text(stderr) }
}

/// Runs a command that must succeed, and returns its standard output.
///
/// # Panics
///
/// It cannot be started or fails; the message has its standard error.
#[track_caller]
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
