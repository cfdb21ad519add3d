//! Reads what the unoptimised twin of a program prints.

use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// Name, file and line of a marker.
pub type Key = (String, String, u32);

/// One argument at one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// The bytes of the place.
    pub bytes: Vec<u8>,
    /// The bytes behind it, if it is a reference to a scalar, or a text.
    pub behind: Option<Vec<u8>>,
}

/// The passes of each marker, for each thread in order.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    /// The passes of the whole program, in the order of each thread.
    pub of: HashMap<Key, Vec<Vec<Truth>>>,
    /// The threads that passed a marker.
    pub threads: usize,
    /// What the program writes to its standard output.
    pub stdout: Vec<u8>,
}

/// The most seconds of a processor that a small program takes. A generated one may never end.
pub const SMALL: u64 = 10;
/// The most that a real program takes.
pub const REAL: u64 = 600;
/// The most bytes that a twin prints.
const PRINTED: u64 = 1 << 30;

/// Runs a twin and returns the passes of its markers.
///
/// # Errors
///
/// It cannot be run, takes more `seconds` of a processor, or prints something else. It may fail like
/// the program that it is a twin of.
pub fn passes(image: &Path, arguments: &[String], stdin: Option<&Path>, seconds: u64) -> Result<Passes, String> {
    let mut command = Command::new(image);
    command.args(arguments).stdin(input(stdin)?);
    let (passes, stdout) = run(command, seconds)?;
    Ok(Passes { stdout, ..by_marker(passes) })
}

/// One pass of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The marker.
    pub marker: Key,
    /// The number of the thread.
    pub thread: u64,
    /// The arguments.
    pub values: Vec<Truth>,
}

/// Runs the command of a twin and returns the passes of all threads in their order, and the standard
/// output.
///
/// # Errors
///
/// It cannot be run, takes more `seconds` of a processor, or prints something else. It may fail like
/// the program that it is a twin of.
pub fn run(mut command: Command, seconds: u64) -> Result<(Vec<Pass>, Vec<u8>), String> {
    let output = tempfile::NamedTempFile::new().map_err(|why| why.to_string())?;
    command.env("SIMPLE_MARKER_TWIN", output.path()).stderr(Stdio::null());
    let child = command.stdout(Stdio::piped()).spawn().map_err(|why| format!("{command:?}: {why}"))?;
    limit(child.id(), seconds);
    let result = child.wait_with_output().map_err(|why| format!("{command:?}: {why}"))?;
    if matches!(result.status.signal().map(Signal::try_from), Some(Ok(Signal::SIGKILL | Signal::SIGXFSZ))) {
        return Err(format!("{command:?}: it does not end"));
    }
    let stdout = result.stdout;
    let text = std::fs::read_to_string(output.path()).map_err(|why| why.to_string())?;
    let passes = parse(&text).ok_or_else(|| format!("{command:?}: it does not print passes"))?;
    Ok((passes, stdout))
}

/// Lets the kernel kill a process that takes more seconds of a processor, or prints without end.
pub(super) fn limit(process: u32, seconds: u64) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    for (resource, most) in [(Resource::Cpu, seconds), (Resource::Fsize, PRINTED)] {
        // A process that has ended needs no limit.
        let _ = prlimit(pid, resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
}

/// The standard input of both programs.
pub(super) fn input(path: Option<&Path>) -> Result<Stdio, String> {
    match path {
        None => Ok(Stdio::null()),
        Some(path) => Ok(std::fs::File::open(path).map_err(|why| format!("{}: {why}", path.display()))?.into()),
    }
}

fn parse(text: &str) -> Option<Vec<Pass>> {
    text.lines().map(pass).collect()
}

fn pass(line: &str) -> Option<Pass> {
    let mut fields = line.split('\t');
    let (name, file, line, thread) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let marker = (unescape(name), file.to_owned(), line.parse().ok()?);
    Some(Pass { marker, thread: thread.parse().ok()?, values: fields.map(value).collect::<Option<_>>()? })
}

/// The text whose backslashes, tabs and newlines are written as `\\`, `\t` and `\n`.
fn unescape(text: &str) -> String {
    let mut characters = text.chars();
    let next = || match characters.next()? {
        '\\' => Some(match characters.next()? {
            't' => '\t',
            'n' => '\n',
            other => other,
        }),
        other => Some(other),
    };
    std::iter::from_fn(next).collect()
}

/// The passes of a run, by marker.
#[must_use]
pub fn by_marker(all: Vec<Pass>) -> Passes {
    let mut passes = Passes::default();
    let mut threads = std::collections::HashSet::new();
    for Pass { marker, thread, values } in all {
        threads.insert(thread);
        passes.of.entry(marker).or_default().push(values);
    }
    passes.threads = threads.len();
    passes
}

fn value(text: &str) -> Option<Truth> {
    let (bytes, behind) = match text.split_once('*') {
        Some((bytes, behind)) => (bytes, Some(behind)),
        None => (text, None),
    };
    Some(Truth { bytes: unhex(bytes)?, behind: behind.map_or(Some(None), |behind| unhex(behind).map(Some))? })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    text.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_read_as_they_are_printed() {
        let text = "a:b\tf.c\t7\t1\t0a00\t01*6869\na:b\tf.c\t7\t2\t0b00\t02*\n";
        let passes = by_marker(parse(text).expect("two passes"));
        let value =
            |bytes: &[u8], behind: Option<&[u8]>| Truth { bytes: bytes.to_vec(), behind: behind.map(<[u8]>::to_vec) };
        let expected = [
            vec![value(&[10, 0], None), value(&[1], Some(b"hi"))],
            vec![value(&[11, 0], None), value(&[2], Some(b""))],
        ];
        assert_eq!(passes.of[&("a:b".to_owned(), "f.c".to_owned(), 7)], expected);
        assert_eq!(passes.threads, 2);
        assert!(parse("a:b\tf.c\tx\t1\n").is_none());
        let passes = parse("a\\t\\n\\\\n\tf.c\t7\t1\n").expect("a pass");
        assert_eq!(passes[0].marker.0, "a\t\n\\n");
    }
}
