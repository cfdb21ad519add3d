//! The files that a rule names, by path or by build id.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use simple_markers_tracer::elf;
use simple_markers_tracer::sys::mapped::{FileId, MappedFile};

use crate::files;

/// The most files of a pattern.
const MOST: usize = 256;

/// A path, in which each part may be a glob.
#[derive(Clone, Debug)]
pub(super) struct ImagePattern {
    text: String,
    parts: Vec<PathPart>,
}

impl PartialEq for ImagePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[derive(Clone, Debug)]
enum PathPart {
    Name(String),
    Glob(GlobMatcher),
}

impl ImagePattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix('/') else {
            return Err(format!("`{text}` is no whole path: it must begin with `/`"));
        };
        let part = |part: &str| match part.contains(['*', '?', '[']) {
            false => Ok(PathPart::Name(part.to_owned())),
            true => {
                let glob = GlobBuilder::new(part).literal_separator(true).build();
                glob.map(|glob| PathPart::Glob(glob.compile_matcher()))
                    .map_err(|why| format!("`{text}`: {}", why.kind()))
            }
        };
        let parts = rest.split('/').filter(|part| !part.is_empty()).map(part).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), parts })
    }

    /// The files that are there now.
    fn files(&self) -> Vec<PathBuf> {
        let mut found = vec![PathBuf::from("/")];
        for part in &self.parts {
            found = found.iter().flat_map(|folder| part.inside(folder)).take(MOST).collect();
        }
        found.retain(|path| path.is_file());
        found
    }
}

impl PathPart {
    /// What is in a folder.
    fn inside(&self, folder: &Path) -> Vec<PathBuf> {
        match self {
            Self::Name(name) => vec![folder.join(name)],
            Self::Glob(glob) => {
                let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                let mut names: Vec<_> =
                    entries.map(|entry| entry.file_name()).filter(|name| glob.is_match(Path::new(name))).collect();
                names.sort();
                names.into_iter().map(|name| folder.join(name)).collect()
            }
        }
    }
}

/// A file that a rule watches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RuleImage {
    pub(super) path: PathBuf,
    /// `None` if it has none, or was not asked for.
    pub(super) build_id: Option<String>,
}

/// Finds files, and remembers their build ids.
#[derive(Debug, Default)]
pub(super) struct ImageFinder {
    /// `None`: the file has none.
    build_ids: HashMap<FileId, Option<String>>,
    /// A process of each program that runs, by build id; `None` if this was not looked at since
    /// [`Self::begin_look`].
    running: Option<HashMap<String, PathBuf>>,
    /// Where a program of a build id was last seen to run. It is watched there before it runs again.
    seen: HashMap<String, PathBuf>,
}

impl ImageFinder {
    /// The files of a rule. The build ids of files that are named by path are read if `with_ids`.
    pub(super) fn find(
        &mut self,
        patterns: &[ImagePattern],
        build_ids: &[String],
        with_ids: bool,
    ) -> BTreeSet<RuleImage> {
        let named = patterns.iter().flat_map(ImagePattern::files);
        let mut found: BTreeSet<RuleImage> = named
            .map(|path| {
                let build_id = if with_ids { self.build_id(&path) } else { None };
                RuleImage { path, build_id }
            })
            .collect();
        if !build_ids.is_empty() {
            let running = self.running.take().unwrap_or_else(|| self.running());
            for id in build_ids {
                // Its path, if that leads to the same file from here.
                let path = running.get(id).and_then(|link| Some(MappedFile::named(link).ok()?.path));
                self.seen.extend(path.map(|path| (id.clone(), path)));
                let Some(path) = self.seen.get(id).cloned() else { continue };
                if self.build_id(&path).as_ref() == Some(id) {
                    found.insert(RuleImage { path, build_id: Some(id.clone()) });
                }
            }
            self.running = Some(running);
        }
        found
    }

    /// Looks anew at what runs.
    pub(super) fn begin_look(&mut self) {
        self.running = None;
    }

    /// A process of each program that runs, by build id.
    fn running(&mut self) -> HashMap<String, PathBuf> {
        let mut found = HashMap::new();
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let is_process =
                process.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
            let link = process.path().join("exe");
            if let Some(build_id) = is_process.then(|| self.build_id(&link)).flatten() {
                found.entry(build_id).or_insert(link);
            }
        }
        found
    }

    fn build_id(&mut self, path: &Path) -> Option<String> {
        let file = FileId::at(path)?;
        // Files that are gone are forgotten all at once.
        if self.build_ids.len() > 10_000 {
            self.build_ids.clear();
        }
        let read = || files::map_regular(path).and_then(|bytes| elf::build_id(&bytes));
        self.build_ids.entry(file).or_insert_with(read).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_path_may_be_a_glob() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in ["a/bin/server", "b/bin/server", "b/bin/server2", "c/lib/server"] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "").expect("a file");
        }
        let files = |pattern: &str| {
            let pattern = ImagePattern::parse(&format!("{}/{pattern}", folder.path().display())).expect("a pattern");
            let files = pattern.files().into_iter();
            let inside = |path: PathBuf| path.strip_prefix(folder.path()).expect("below").display().to_string();
            files.map(inside).collect::<Vec<_>>()
        };
        assert_eq!(files("*/bin/server"), ["a/bin/server", "b/bin/server"]);
        assert_eq!(files("b/bin/server?"), ["b/bin/server2"]);
        assert_eq!(files("[ac]/*/server"), ["a/bin/server", "c/lib/server"]);
        // A folder is no image, and a star is a part of a path.
        assert_eq!(files("*"), [""; 0]);
        assert_eq!(files("a*server"), [""; 0]);
        assert!(ImagePattern::parse("/a/[").is_err());
    }

    #[test]
    fn a_running_program_is_found_by_its_build_id() {
        let mut finder = ImageFinder::default();
        let own = std::env::current_exe().expect("a path");
        let Some(id) = finder.build_id(&own) else { return };
        let found = finder.find(&[], std::slice::from_ref(&id), true);
        assert!(found.iter().any(|image| image.build_id.as_ref() == Some(&id)), "{found:?}");
        assert!(finder.find(&[], &["00000000".to_owned()], true).is_empty());
    }
}
