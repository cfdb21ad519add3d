//! The files that the user named, by their paths, and what has happened to them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use simple_markers_tracer::sys::mapped::{FileId, MappedFile};
use simple_markers_tracer::sys::paths::Paths;

use crate::console::Console;

/// The files that the user named, by their paths.
#[derive(Debug, Default)]
pub(super) struct NamedFiles {
    /// Tells when a path leads to another file; `None` if there is no path, or the kernel refuses it.
    pub(super) paths: Option<Paths>,
    pub(super) files: Vec<NamedFile>,
}

/// A path, and the file to which it led when it was looked at.
#[derive(Debug)]
pub(super) struct NamedFile {
    pub(super) path: PathBuf,
    /// The same without symbolic links, when it was looked at.
    pub(super) canonical: PathBuf,
    pub(super) file: Option<FileId>,
    /// When it is said that there is no file; `None` if there is one, or it was said.
    pub(super) gone: Option<Instant>,
    pub(super) is_overwritten: bool,
    /// When it is looked at again, because somebody had it open for writing.
    pub(super) written: Option<Instant>,
}

/// What has happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    /// Its path leads to another one.
    Replaced {
        /// Whether a process still runs an old one.
        is_in_use: bool,
    },
    /// It has other contents.
    Overwritten,
}

impl NamedFiles {
    /// Watches the paths. Says so if they cannot be.
    pub(super) fn new(console: &Console, paths: &[PathBuf]) -> Self {
        let of = |path: &PathBuf| {
            let file = MappedFile::named(path).ok();
            let canonical = file.as_ref().map_or(path, |file| &file.path).clone();
            NamedFile {
                path: path.clone(),
                canonical,
                file: file.map(|file| file.id),
                gone: None,
                is_overwritten: false,
                written: None,
            }
        };
        let files: Vec<NamedFile> = paths.iter().map(of).collect();
        if files.is_empty() {
            return Self::default();
        }
        match Paths::new(paths) {
            Ok(paths) => Self { paths: Some(paths), files },
            Err(why) => {
                console.note(&format!("if a FILE is built again, the new one is not watched: {why}"));
                Self::default()
            }
        }
    }

    /// Tells when a path leads to another file.
    pub(super) fn paths(&self) -> Option<&Paths> {
        self.paths.as_ref()
    }

    /// How long until something is to be said.
    pub(super) fn due(&self) -> Option<Duration> {
        let times = self.files.iter().flat_map(|named| [named.gone, named.written]).flatten();
        times.map(|when| when.saturating_duration_since(Instant::now())).min()
    }
}
