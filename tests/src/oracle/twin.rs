//! Reads what the unoptimised twin of a program prints.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

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

/// Runs a twin and returns the passes of its markers.
///
/// # Errors
///
/// It cannot be run, or prints something else. It may fail like the program that it is a twin of.
pub fn passes(image: &Path, arguments: &[String], stdin: Option<&Path>) -> Result<Passes, String> {
    let output = tempfile::NamedTempFile::new().map_err(|why| why.to_string())?;
    let mut command = Command::new(image);
    command.args(arguments).env("SIMPLE_MARKER_TWIN", output.path());
    command.stdin(input(stdin)?).stderr(Stdio::null());
    let stdout = command.output().map_err(|why| format!("{}: {why}", image.display()))?.stdout;
    let text = std::fs::read_to_string(output.path()).map_err(|why| why.to_string())?;
    let passes = parse(&text).ok_or_else(|| format!("{}: it does not print passes", image.display()))?;
    Ok(Passes { stdout, ..passes })
}

/// The standard input of both programs.
pub(super) fn input(path: Option<&Path>) -> Result<Stdio, String> {
    match path {
        None => Ok(Stdio::null()),
        Some(path) => Ok(std::fs::File::open(path).map_err(|why| format!("{}: {why}", path.display()))?.into()),
    }
}

fn parse(text: &str) -> Option<Passes> {
    let mut passes = Passes::default();
    let mut threads = std::collections::HashSet::new();
    for line in text.lines() {
        let mut fields = line.split('\t');
        let (name, file, line, thread) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        threads.insert(thread);
        let key = (name.to_owned(), file.to_owned(), line.parse().ok()?);
        passes.of.entry(key).or_default().push(fields.map(value).collect::<Option<_>>()?);
    }
    passes.threads = threads.len();
    Some(passes)
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
        let passes = parse("a:b\tf.c\t7\t1\t0a00\t01*6869\na:b\tf.c\t7\t2\t0b00\t02*\n").expect("two passes");
        let value =
            |bytes: &[u8], behind: Option<&[u8]>| Truth { bytes: bytes.to_vec(), behind: behind.map(<[u8]>::to_vec) };
        let expected = [
            vec![value(&[10, 0], None), value(&[1], Some(b"hi"))],
            vec![value(&[11, 0], None), value(&[2], Some(b""))],
        ];
        assert_eq!(passes.of[&("a:b".to_owned(), "f.c".to_owned(), 7)], expected);
        assert_eq!(passes.threads, 2);
        assert!(parse("a:b\tf.c\tx\t1\n").is_none());
    }
}
