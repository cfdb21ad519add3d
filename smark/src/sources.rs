//! Lines of source files, if those exist.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::time::SystemTime;

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
    last: Option<(String, Option<Source>)>,
}

#[derive(Debug)]
struct Source {
    bytes: Vec<u8>,
    modified: Option<SystemTime>,
}

impl Sources {
    /// The source line of a marker; `None` if its file cannot be read or has no such line.
    pub(crate) fn line(&mut self, image: &ResolvedImage, marker: &Marker) -> Option<SourceLine> {
        self.line_below(image, marker, 0)
    }

    /// The line `below` lines further down; `None` as for [`Sources::line`].
    pub(crate) fn line_below(&mut self, image: &ResolvedImage, marker: &Marker, below: u32) -> Option<SourceLine> {
        if self.last.as_ref().is_none_or(|(path, _)| **path != *marker.file) {
            self.last = Some((marker.file.to_string(), read(Path::new(&*marker.file))));
        }
        let (_, source) = self.last.as_ref()?;
        let source = source.as_ref()?;
        let index = usize::try_from(marker.line.checked_sub(1)?.checked_add(below)?).ok()?;
        let line = source.bytes.split(|byte| *byte == b'\n').nth(index)?;
        if line.len() > LONGEST {
            return None;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let is_newer = source.modified.zip(built(&image.path)).is_some_and(|(source, image)| source > image);
        Some(SourceLine { text: text::from_bytes(line), is_newer })
    }
}

fn read(path: &Path) -> Option<Source> {
    // Checked before opening: opening a named pipe blocks.
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(Source { bytes, modified: metadata.modified().ok() })
}

/// The modification time of an image; for `archive(member)` that of the archive.
fn built(image: &str) -> Option<SystemTime> {
    let archive = || fs::metadata(image.strip_suffix(')')?.rsplit_once('(')?.0).ok();
    fs::metadata(image).ok().or_else(archive)?.modified().ok()
}
