//! Runs the build, passes on what it writes, and reads the places of its errors.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use super::messages::{self, Complaint};

/// The most text of a build that is searched for errors, in bytes.
const MOST: usize = 8 << 20;

/// How long the output of a build that has ended is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The command that builds the files.
#[derive(Debug)]
pub(super) enum Build<'o> {
    /// A command of the shell.
    Shell(&'o str),
    /// Cargo, with its arguments. It writes its messages as JSON to standard output.
    Cargo(&'o OsString, &'o [OsString]),
}

/// The result of a build.
#[derive(Debug)]
pub(super) struct BuildResult {
    pub(super) succeeds: bool,
    /// The places of its errors, as far as they were understood.
    pub(super) complaints: Vec<Complaint>,
}

impl Build<'_> {
    /// Builds. Standard output belongs to the report, so everything goes to standard error.
    ///
    /// # Errors
    ///
    /// The command cannot be started.
    pub(super) fn run(&self) -> anyhow::Result<BuildResult> {
        let mut command = match self {
            Self::Shell(line) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(line).stderr(Stdio::piped());
                shell
            }
            // The terminal stays cargo's, which shows its progress there.
            Self::Cargo(program, arguments) => {
                let mut cargo = Command::new(program);
                cargo.args(*arguments);
                cargo
            }
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().with_context(|| format!("{name} cannot be started"))?;
        // Ninja writes the messages of the compiler to standard output.
        let streams = [child.stdout.take().map(in_background), child.stderr.take().map(in_background)];
        let status = child.wait().context(name)?;
        // A server that the build leaves behind may keep its ends open.
        let complaints =
            streams.into_iter().flatten().flat_map(|found| found.recv_timeout(PATIENCE).unwrap_or_default());
        Ok(BuildResult { succeeds: status.success(), complaints: complaints.collect() })
    }
}

/// Passes on a stream in a thread of its own. The errors in it are sent when it ends.
fn in_background(stream: impl Read + Send + 'static) -> Receiver<Vec<Complaint>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(passed_on(stream)));
    receiver
}

/// Writes what a stream has to standard error, with JSON as its text, and returns the errors in it.
fn passed_on(stream: impl Read) -> Vec<Complaint> {
    let (mut stream, mut line) = (BufReader::new(stream), Vec::new());
    let (mut text, mut complaints) = (String::new(), Vec::new());
    while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let utf8 = String::from_utf8_lossy(&line);
        let parsed = utf8.starts_with('{').then(|| messages::of_json(&utf8)).flatten();
        // If standard error is closed, there is nobody to tell.
        match parsed {
            Some((found, rendered)) => {
                complaints.extend(found);
                let _ = io::stderr().lock().write_all(rendered.as_bytes());
            }
            None => {
                let _ = io::stderr().lock().write_all(&line);
                if text.len() < MOST {
                    text.push_str(&utf8);
                }
            }
        }
        line.clear();
    }
    complaints.extend(messages::of_text(&text));
    complaints
}
