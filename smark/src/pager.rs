//! The pager: what a command prints for people goes through it if stdout is a terminal, as with git.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stderr, dup2_stdout};
use simple_markers_tracer::sys::signals;

use crate::console::Console;

/// The pager if the user has chosen none. It ends at once if all fits on the screen.
const DEFAULT: &str = "less -FRX";

/// A pager that gets stdout, and stderr if that is a terminal. When dropped, it waits until the user quits it.
pub(crate) struct Pager {
    child: Child,
    stdout: OwnedFd,
    stderr: Option<OwnedFd>,
}

impl Pager {
    /// Starts the pager. `None` if nothing is to be paged or it cannot be started: then the text is
    /// printed directly.
    pub(crate) fn start(console: &Console) -> Option<Self> {
        let is_dumb = env::var("TERM").map_or(true, |term| term.is_empty() || term == "dumb");
        let name = ["SMARK_PAGER", "PAGER"].iter().find_map(|name| env::var(name).ok());
        let name = name.as_deref().unwrap_or(DEFAULT).trim();
        if !console.pager || is_dumb || name.is_empty() || name == "cat" {
            return None;
        }
        let mut command = command(name);
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        let stdout = fcntl_dupfd_cloexec(io::stdout(), 3).ok()?;
        let stderr = io::stderr().is_terminal().then(|| fcntl_dupfd_cloexec(io::stderr(), 3).ok()).flatten();
        let mut pager = Self { child: command.stdin(Stdio::piped()).spawn().ok()?, stdout, stderr };
        let pipe = pager.child.stdin.take()?;
        // The pager decides what an interrupt means.
        signals::catch();
        dup2_stdout(&pipe).ok()?;
        if pager.stderr.is_some() {
            dup2_stderr(&pipe).ok()?;
        }
        Some(pager)
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // The text ends when no descriptor of the pipe is left.
        let _ = io::stdout().flush();
        let _ = dup2_stdout(&self.stdout);
        let _ = self.stderr.as_ref().map(dup2_stderr);
        let _ = self.child.wait();
    }
}

/// The command of a pager: its words, or a line of the shell if it has characters of the shell.
fn command(line: &str) -> Command {
    if line.contains(|c| "|&;<>()$`\\\"'*?[#~=%".contains(c)) {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(line);
        return shell;
    }
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}
