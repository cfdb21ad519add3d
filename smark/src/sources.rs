//! Lines of source files, if those exist.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use simple_markers_resolver::check::fix::{self, SourceFile};
use simple_markers_resolver::report::show::SourceLine;
use simple_markers_resolver::resolve::{Marker, ResolvedImage};
use simple_markers_resolver::text;

/// The largest source file that is read, in bytes. A hostile image can name any file, of any size.
const LARGEST: u64 = 4 << 20;
/// The longest line that is shown, in bytes.
const LONGEST: usize = 4096;

/// Reads lines of source files. Keeps the last file: markers are mostly ordered by file.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    last: Option<(String, Option<SourceText>)>,
    /// The last file that was asked for as a whole.
    file: Option<(String, Option<Arc<SourceFile>>)>,
}

/// A line of a source file with its number, from 1.
#[cfg(feature = "view")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberedLine {
    pub(crate) number: u32,
    pub(crate) line: SourceLine,
}

#[derive(Debug)]
struct SourceText {
    bytes: Vec<u8>,
    modified: Option<SystemTime>,
}

impl Sources {
    /// The source line of a marker; `None` if its file cannot be read or has no such line.
    pub(crate) fn line(&mut self, image: &ResolvedImage, marker: &Marker) -> Option<SourceLine> {
        self.line_of(&marker.file, marker.line, &image.path)
    }

    /// The same of a file, by its path and the number of the line from 1. `image` is the path of the program.
    pub(crate) fn line_of(&mut self, file: &str, number: u32, image: &str) -> Option<SourceLine> {
        let source = self.read(file)?;
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let line = source.bytes.split(|byte| *byte == b'\n').nth(index)?;
        if line.len() > LONGEST {
            return None;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Some(SourceLine { text: text::from_bytes(line), is_newer: is_newer(source, image) })
    }

    /// The lines of a file from `around` before a line to `around` after it, with their numbers from 1. Empty if it has
    /// no such line, or cannot be read. `image` is the path of the program.
    #[cfg(feature = "view")]
    pub(crate) fn around(&mut self, file: &str, number: u32, around: u32, image: &str) -> Vec<NumberedLine> {
        let Some(source) = self.read(file) else { return Vec::new() };
        let is_newer = is_newer(source, image);
        let (first, last) = (number.saturating_sub(around).max(1), number.saturating_add(around));
        let lines = (1..=last).zip(source.bytes.split(|byte| *byte == b'\n'));
        let line = |(number, line): (u32, &[u8])| {
            let line = line.get(..LONGEST).unwrap_or(line);
            let text = text::from_bytes(line.strip_suffix(b"\r").unwrap_or(line));
            NumberedLine { number, line: SourceLine { text, is_newer } }
        };
        let lines: Vec<NumberedLine> = lines.filter(|(number, _)| *number >= first).map(line).collect();
        if lines.iter().any(|line| line.number == number) { lines } else { Vec::new() }
    }

    /// The source file of a marker; `None` if it cannot be read.
    pub(crate) fn file(&mut self, image: &ResolvedImage, marker: &Marker) -> Option<fix::FixInput> {
        let source = self.read(&marker.file)?;
        let is_newer = is_newer(source, &image.path);
        if self.file.as_ref().is_none_or(|(path, _)| **path != *marker.file) {
            let file =
                self.read(&marker.file).map(|source| Arc::new(SourceFile::read(&marker.file, source.bytes.as_slice())));
            self.file = Some((marker.file.to_string(), file));
        }
        let (_, file) = self.file.as_ref()?;
        Some(fix::FixInput { file: Arc::clone(file.as_ref()?), is_newer })
    }

    fn read(&mut self, file: &str) -> Option<&SourceText> {
        if self.last.as_ref().is_none_or(|(path, _)| path != file) {
            self.last = Some((file.to_owned(), read(Path::new(file))));
        }
        self.last.as_ref()?.1.as_ref()
    }
}

/// Reads lines of source files that are below the current folder. The names of the files come from a recording, and the
/// lines go into a page that people may hand on, so other files are none of its business.
#[derive(Debug, Default)]
pub(crate) struct LocalSources {
    sources: Sources,
}

impl LocalSources {
    /// A line, by its number from 1. `image` is the program, if it is known. `None` if the file cannot be read, is not
    /// below the current folder, or has no such line.
    pub(crate) fn line(&mut self, file: &str, number: u32, image: Option<&str>) -> Option<SourceLine> {
        let folder = fs::canonicalize(".").ok()?;
        if !fs::canonicalize(file).ok()?.starts_with(folder) {
            return None;
        }
        self.sources.line_of(file, number, image?)
    }
}

fn is_newer(source: &SourceText, image: &str) -> bool {
    source.modified.zip(built(image)).is_some_and(|(source, image)| source > image)
}

fn read(path: &Path) -> Option<SourceText> {
    // Checked before opening: opening a named pipe blocks.
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(SourceText { bytes, modified: metadata.modified().ok() })
}

/// The modification time of an image; for `archive(member)` that of the archive.
fn built(image: &str) -> Option<SystemTime> {
    let archive = || fs::metadata(image.strip_suffix(')')?.rsplit_once('(')?.0).ok();
    fs::metadata(image).ok().or_else(archive)?.modified().ok()
}
