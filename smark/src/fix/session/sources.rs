//! What the edits make of the source files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use simple_markers_resolver::check::fix::{Replacement, apply};
use simple_markers_resolver::resolve::Marker;

use super::Session;
use crate::fix::files;

impl Session {
    /// The text of each file with all edits applied.
    fn texts(&self) -> BTreeMap<&Path, Vec<u8>> {
        let with = |(path, replacements): (_, Vec<Replacement>)| {
            Some((path, apply(self.files.get(path)?.bytes(), &replacements)))
        };
        self.replacements().into_iter().filter_map(with).collect()
    }

    /// The replacements in each file, ascending.
    pub(in crate::fix) fn replacements(&self) -> BTreeMap<&Path, Vec<Replacement>> {
        let mut replacements: BTreeMap<&Path, Vec<Replacement>> = BTreeMap::new();
        for path in self.files.keys() {
            replacements.entry(path).or_default();
        }
        for work in self.work.values() {
            let (Ok(path), Some((_, correction))) = (&work.path, self.correction(work)) else { continue };
            replacements.entry(path).or_default().extend(correction.replacements);
        }
        for (path, imports) in self.imports() {
            replacements.entry(path).or_default().extend(imports);
        }
        for replacements in replacements.values_mut() {
            replacements.sort_by_key(|replacement| replacement.range.start);
        }
        replacements
    }

    /// The replacements outside of markers that probes need, by file.
    pub(in crate::fix) fn imports(&self) -> BTreeMap<&Path, Vec<Replacement>> {
        let mut probes: BTreeMap<&Path, Vec<&Marker>> = BTreeMap::new();
        for work in self.work.values().filter(|work| work.edits.probe) {
            let Ok(path) = &work.path else { continue };
            probes.entry(path).or_default().push(&work.marker);
        }
        let imports = |(path, probes): (_, Vec<_>)| Some((path, self.files.get(path)?.imports(&probes)));
        probes.into_iter().filter_map(imports).collect()
    }

    /// Writes the files that changed.
    ///
    /// # Errors
    ///
    /// A file cannot be written, or somebody else changed it meanwhile.
    pub(in crate::fix) fn write(&mut self) -> anyhow::Result<()> {
        let texts: Vec<(PathBuf, Vec<u8>)> =
            self.texts().into_iter().map(|(path, text)| (path.to_owned(), text)).collect();
        for (path, text) in texts {
            let known = self.written.get(&path);
            if known == Some(&text) {
                continue;
            }
            let there = std::fs::read(&path).with_context(|| path.display().to_string())?;
            if known != Some(&there) {
                anyhow::bail!("{}: somebody else changed it meanwhile", path.display());
            }
            files::replace(&path, &text).with_context(|| path.display().to_string())?;
            self.written.insert(path, text);
        }
        Ok(())
    }

    /// The changes as a diff for `git apply` or `patch -p1`.
    pub(in crate::fix) fn diff(&self) -> String {
        let mut diff = String::new();
        for (path, text) in self.texts() {
            let Some(source) = self.files.get(path) else { continue };
            let name = self.folders.shown(path);
            let (old, new) = (String::from_utf8_lossy(source.bytes()), String::from_utf8_lossy(&text));
            let changed = similar::TextDiff::from_lines(old.as_ref(), new.as_ref());
            if source.bytes() != text {
                let (before, after) = (format!("a/{name}"), format!("b/{name}"));
                diff.push_str(&changed.unified_diff().header(&before, &after).to_string());
            }
        }
        diff
    }
}
