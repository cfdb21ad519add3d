//! The search for separate debug files. It uses the folders from gdb's manual ("Separate Debug
//! Files") and the names that gcc, clang, dwz and rustc write. The library checks whether a file
//! belongs to the image.
//!
//! A hostile image can name any path. Only regular files are opened, and nothing of them is shown
//! except debug information.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use simple_markers_resolver::debug_files::{DebugFile, DebugFileRequest, DebugFiles, DebugSourceKind};

use crate::files;

/// The folders in which the separate debug files of an image are searched.
#[derive(Debug)]
pub(crate) struct DebugFolders<'a> {
    image: &'a Path,
    /// The folders of debug information (`--debug-dir`).
    folders: &'a [PathBuf],
    /// The root folder of the process that has mapped the image, if it is not ours.
    root: Option<&'a Path>,
    /// The files that were tried, each with what became of it.
    tried: Mutex<Vec<(DebugSourceKind, PathBuf, CandidateOutcome)>>,
}

/// What became of a file that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CandidateOutcome {
    NotFound,
    Unreadable,
    Refused,
    Taken,
}

impl CandidateOutcome {
    fn words(self) -> &'static str {
        match self {
            Self::NotFound => "no such file",
            Self::Unreadable => "skipped, it is no file that can be read",
            Self::Refused => "skipped, it does not belong here",
            Self::Taken => "taken",
        }
    }
}

/// Paths to try, each with how it was found.
type Candidates = Vec<(DebugSourceKind, PathBuf)>;

impl<'a> DebugFolders<'a> {
    pub(crate) fn new(image: &'a Path, folders: &'a [PathBuf]) -> Self {
        Self { image, folders, root: None, tried: Mutex::default() }
    }

    /// The same for an image below the root folder of a process. Each path is tried here, and below
    /// that folder.
    pub(crate) fn inside(image: &'a Path, folders: &'a [PathBuf], root: &'a Path) -> Self {
        Self { image, folders, root: Some(root), tried: Mutex::default() }
    }

    /// The files that were tried, in their order, as lines of text.
    pub(crate) fn tried(&self) -> Vec<String> {
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |(source, path, outcome): &(DebugSourceKind, PathBuf, CandidateOutcome)| {
            format!("debug information in {} ({}): {}", path.display(), source.as_str(), outcome.words())
        };
        tried.iter().map(line).collect()
    }

    /// Notes a file that was tried, unless it was before with the same result.
    fn note(&self, source: DebugSourceKind, path: &Path, outcome: CandidateOutcome) {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if !tried.iter().any(|(_, known, before)| known == path && *before == outcome) {
            tried.push((source, path.to_owned(), outcome));
        }
    }

    /// `.build-id/xx/yyyy.debug` in each folder of debug information.
    fn by_build_id(&self, build_id: &str, source: DebugSourceKind) -> Candidates {
        // The first byte names a folder and the rest names a file, so a one-byte build ID names no
        // file.
        let Some((start, rest)) = build_id.split_at_checked(2).filter(|(_, rest)| !rest.is_empty()) else {
            return Vec::new();
        };
        let file = format!("{start}/{rest}.debug");
        self.folders.iter().map(|folder| (source, folder.join(".build-id").join(&file))).collect()
    }

    /// In the image's folder, in `.debug` there, and below each folder of debug information in the
    /// folder with the image's path.
    fn by_link(&self, name: &[u8]) -> Candidates {
        let name = path(name);
        let near = folder(self.image);
        // If the image is a symbolic link, also search beside the file that it points to.
        let whole = self.image.canonicalize().ok();
        let real = whole.as_deref().map_or(near, folder);
        let mut candidates = vec![near.join(name), near.join(".debug").join(name)];
        candidates.extend([real.join(name), real.join(".debug").join(name)]);
        // What is below the root folder of a process is searched under the path that the process knows.
        let below = self.root.and_then(|root| near.strip_prefix(root).ok());
        let below = below.unwrap_or_else(|| real.strip_prefix("/").unwrap_or(real));
        candidates.extend(self.folders.iter().map(|folder| folder.join(below).join(name)));
        candidates.into_iter().map(|path| (DebugSourceKind::DebugLink, path)).collect()
    }

    fn candidates(&self, request: &DebugFileRequest<'_>) -> Candidates {
        let mut candidates = self.candidates_here(request);
        if let Some(root) = self.root {
            let inside = |(source, path): &(DebugSourceKind, PathBuf)| {
                let path = path.strip_prefix("/").ok().filter(|_| !path.starts_with(root))?;
                Some((*source, root.join(path)))
            };
            candidates.extend(candidates.iter().filter_map(inside).collect::<Vec<_>>());
        }
        candidates
    }

    fn candidates_here(&self, request: &DebugFileRequest<'_>) -> Candidates {
        match *request {
            DebugFileRequest::Debug { build_id, link } => {
                let mut candidates =
                    build_id.map(|id| self.by_build_id(id, DebugSourceKind::BuildId)).unwrap_or_default();
                candidates.extend(link.map(|name| self.by_link(name)).unwrap_or_default());
                // The image itself is not its separate debug file.
                let image = self.image.canonicalize().ok();
                candidates.retain(|(_, path)| image.is_none() || path.canonicalize().ok() != image);
                candidates
            }
            DebugFileRequest::Alternate { of, name, build_id } => {
                let mut candidates = vec![(DebugSourceKind::Supplementary, folder(Path::new(of)).join(path(name)))];
                candidates.extend(self.by_build_id(build_id, DebugSourceKind::Supplementary));
                let last = path(name).file_name().unwrap_or_default();
                candidates.extend(
                    self.folders.iter().map(|folder| (DebugSourceKind::Supplementary, folder.join(".dwz").join(last))),
                );
                candidates
            }
            DebugFileRequest::Package { of } => [Path::new(of), self.image]
                .map(|path| (DebugSourceKind::Package, with_suffix(path, ".dwp")))
                .into_iter()
                .collect(),
            DebugFileRequest::Split { of, name, comp_dir } => {
                let name = path(name);
                let last = Path::new(name.file_name().unwrap_or_default());
                let near = [folder(self.image), folder(Path::new(of))];
                let mut candidates = vec![comp_dir.map_or(Path::new(""), path).join(name)];
                candidates.extend(near.iter().flat_map(|folder| [folder.join(name), folder.join(last)]));
                candidates.into_iter().map(|path| (DebugSourceKind::Split, path)).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl DebugFiles for DebugFolders<'_> {
    fn open(&self, request: &DebugFileRequest<'_>, take: &mut dyn FnMut(&DebugFile) -> bool) -> Option<DebugFile> {
        let mut seen: Vec<PathBuf> = Vec::new();
        for (source, path) in self.candidates(request).into_iter().chain(fetched(request)) {
            // Most candidates do not exist. A file that cannot be read is treated the same.
            let Some(bytes) = files::map_regular(&path) else {
                let is_there = path.symlink_metadata().is_ok();
                self.note(
                    source,
                    &path,
                    if is_there { CandidateOutcome::Unreadable } else { CandidateOutcome::NotFound },
                );
                continue;
            };
            if seen.contains(&path) {
                continue;
            }
            let opened = DebugFile { bytes: Box::new(bytes), path: path.display().to_string(), source };
            if take(&opened) {
                self.note(source, &path, CandidateOutcome::Taken);
                return Some(opened);
            }
            self.note(source, &path, CandidateOutcome::Refused);
            seen.push(path);
        }
        None
    }
}

/// Files from debuginfod servers. They are asked after every local file was rejected.
#[cfg(feature = "debuginfod")]
fn fetched(request: &DebugFileRequest<'_>) -> impl Iterator<Item = (DebugSourceKind, PathBuf)> {
    let build_id = match *request {
        DebugFileRequest::Debug { build_id, .. } => build_id,
        DebugFileRequest::Alternate { build_id, .. } => Some(build_id),
        _ => None,
    };
    let build_id = build_id.map(str::to_owned);
    std::iter::once_with(move || Some((DebugSourceKind::Debuginfod, crate::debuginfod::fetch(&build_id?)?))).flatten()
}

#[cfg(not(feature = "debuginfod"))]
fn fetched(_: &DebugFileRequest<'_>) -> std::iter::Empty<(DebugSourceKind, PathBuf)> {
    std::iter::empty()
}

fn path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

/// The folder of a file; `.` if the path has none.
fn folder(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn paths(request: &DebugFileRequest<'_>) -> Vec<String> {
        let folders = ["/dbg".into(), "more".into()];
        let candidates = DebugFolders::new(Path::new("/no/such/prog"), &folders).candidates(request);
        candidates.iter().map(|(source, path)| format!("{} {}", source.as_str(), path.display())).collect()
    }

    #[test]
    fn what_became_of_each_file_is_known() {
        let folder = std::env::temp_dir().join(format!("smark-{}-tried", std::process::id()));
        fs::create_dir_all(folder.join("prog.debug")).unwrap();
        for file in ["other", "right"] {
            fs::create_dir_all(folder.join(file).join(".build-id/ab")).unwrap();
            fs::write(folder.join(file).join(".build-id/ab/cd.debug"), file).unwrap();
        }
        let folders = ["none", "other", "right", "later"].map(|name| folder.join(name));
        let image = folder.join("prog");
        let files = DebugFolders::new(&image, &folders);
        let by_link = DebugFileRequest::Debug { build_id: None, link: Some(b"prog.debug") };
        assert!(files.open(&by_link, &mut |_| panic!("it is a folder")).is_none());
        let by_id = DebugFileRequest::Debug { build_id: Some("abcd"), link: None };
        let is_right = |opened: &DebugFile| (*opened.bytes).as_ref() == b"right";
        for _ in 0..2 {
            assert!(files.open(&by_id, &mut |opened| is_right(opened)).is_some());
        }
        let place = format!("debug information in {}/", folder.display());
        let tried = files.tried();
        let lines: Vec<&str> = tried.iter().map(|line| line.strip_prefix(&place).unwrap_or(line)).collect();
        assert_eq!(lines[0], "prog.debug (debuglink): skipped, it is no file that can be read");
        assert_eq!(lines[1], ".debug/prog.debug (debuglink): no such file");
        let last = &lines[lines.len() - 3..];
        let expected = [
            "none/.build-id/ab/cd.debug (build-id): no such file",
            "other/.build-id/ab/cd.debug (build-id): skipped, it does not belong here",
            "right/.build-id/ab/cd.debug (build-id): taken",
        ];
        assert_eq!(last, expected, "{lines:?}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_are_looked_for_as_gdb_does() {
        let request = DebugFileRequest::Debug { build_id: Some("ab12cd"), link: Some(b"prog.debug") };
        let expected = [
            "build-id /dbg/.build-id/ab/12cd.debug",
            "build-id more/.build-id/ab/12cd.debug",
            "debuglink /no/such/prog.debug",
            "debuglink /no/such/.debug/prog.debug",
            "debuglink /no/such/prog.debug",
            "debuglink /no/such/.debug/prog.debug",
            "debuglink /dbg/no/such/prog.debug",
            "debuglink more/no/such/prog.debug",
        ];
        assert_eq!(paths(&request), expected);
        assert_eq!(paths(&DebugFileRequest::Debug { build_id: Some("ab"), link: None }), Vec::<String>::new());
        let request =
            DebugFileRequest::Alternate { of: "/dbg/x/prog.debug", name: b"../.dwz/common", build_id: "ab12cd" };
        assert_eq!(
            paths(&request),
            [
                "altlink /dbg/x/../.dwz/common",
                "altlink /dbg/.build-id/ab/12cd.debug",
                "altlink more/.build-id/ab/12cd.debug",
                "altlink /dbg/.dwz/common",
                "altlink more/.dwz/common",
            ]
        );
        let request = DebugFileRequest::Split { of: "/no/such/prog", name: b"o/a.dwo", comp_dir: Some(b"/src") };
        assert_eq!(paths(&request)[..3], ["dwo /src/o/a.dwo", "dwo /no/such/o/a.dwo", "dwo /no/such/a.dwo"]);
        let folders = ["/dbg".into()];
        let inside = DebugFolders::inside(Path::new("/proc/7/root/no/such/prog"), &folders, Path::new("/proc/7/root"));
        let request = DebugFileRequest::Debug { build_id: Some("ab12cd"), link: Some(b"prog.debug") };
        let found: Vec<_> =
            inside.candidates(&request).into_iter().map(|(_, path)| path.display().to_string()).collect();
        assert_eq!(
            found,
            [
                "/dbg/.build-id/ab/12cd.debug",
                "/proc/7/root/no/such/prog.debug",
                "/proc/7/root/no/such/.debug/prog.debug",
                "/proc/7/root/no/such/prog.debug",
                "/proc/7/root/no/such/.debug/prog.debug",
                "/dbg/no/such/prog.debug",
                "/proc/7/root/dbg/.build-id/ab/12cd.debug",
                "/proc/7/root/dbg/no/such/prog.debug",
            ]
        );
        let request = DebugFileRequest::Package { of: "/dbg/prog.debug" };
        assert_eq!(paths(&request), ["dwp /dbg/prog.debug.dwp", "dwp /no/such/prog.dwp"]);
    }
}
