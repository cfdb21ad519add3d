//! The changes that are tried: the original markers, the edits of each, and their results.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use simple_markers_resolver::check::fix::{self, Correction, Edits, Keep, Refusal, Replacement, SourceFile, apply};
use simple_markers_resolver::resolve::Marker;
use simple_markers_resolver::text::shown;

use super::files::{self, FileRefusal, Folders};
use crate::check::Looked;

/// A marker: the file and line recorded before any change, and its name.
type Key = (String, u32, String);

/// One edit of one marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Edit {
    Keep(usize),
    /// The ghost becomes a plain marker.
    Plain,
    Anchor,
}

/// One edit to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    marker: Key,
    edit: Edit,
    keep: Keep,
}

/// Why an edit is not made.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    Source(Refusal),
    File(FileRefusal),
    DidNotHelp,
    DoesNotBuild,
}

/// The edits of one marker.
#[derive(Debug)]
struct Work {
    marker: Marker,
    /// Its source file, or the reason why it could not be found.
    path: Result<PathBuf, Reason>,
    /// The edits that are in the source.
    edits: Edits,
    /// The edits that were tried or refused.
    tried: BTreeSet<Edit>,
    /// The edits that failed, and why.
    failed: Vec<(Option<Edit>, Reason)>,
}

pub(super) struct Session {
    folders: Folders,
    /// The files as they were at the start.
    files: HashMap<PathBuf, SourceFile>,
    /// The bytes last written to each file.
    written: HashMap<PathBuf, Vec<u8>>,
    work: BTreeMap<Key, Work>,
    /// The edits since the last build that succeeded.
    new: Vec<Change>,
    /// Whether edits were taken back since that build.
    has_taken_back: bool,
}

impl Session {
    pub(super) fn new(root: &Path) -> io::Result<Self> {
        Ok(Self {
            folders: Folders::new(root)?,
            files: HashMap::new(),
            written: HashMap::new(),
            work: BTreeMap::new(),
            new: Vec::new(),
            has_taken_back: false,
        })
    }

    /// Records the markers before any change.
    pub(super) fn begin(&mut self, looked: &Looked) {
        for image in &looked.selected.resolution.images {
            for marker in &image.markers {
                let key = (marker.file.to_string(), marker.line, marker.name.to_string());
                let work = || Work {
                    marker: marker.clone(),
                    path: Err(Reason::File(FileRefusal::NotFound)),
                    edits: Edits::default(),
                    tried: BTreeSet::new(),
                    failed: Vec::new(),
                };
                let known = self.work.entry(key).or_insert_with(work);
                // Only a marker with a site has a column.
                if known.marker.column.is_none() && marker.column.is_some() {
                    known.marker = marker.clone();
                }
            }
        }
    }

    /// Finds the source file of a marker, once.
    fn locate(&mut self, key: &Key) {
        let Some(work) = self.work.get(key) else { return };
        let marker = work.marker.clone();
        let mut found = Err(Reason::File(FileRefusal::NotFound));
        for path in self.folders.candidates(&marker.file) {
            found = match self.folders.may_change(&path) {
                Err(refusal) => Err(Reason::File(refusal)),
                Ok(()) => match self.read(&path).map(|source| source.invocation(&marker)) {
                    Err(refusal) => Err(Reason::File(refusal)),
                    Ok(Err(refusal)) => Err(Reason::Source(refusal)),
                    Ok(Ok(_)) => Ok(path),
                },
            };
            if found.is_ok() {
                break;
            }
        }
        if let Some(work) = self.work.get_mut(key) {
            work.path = found;
        }
    }

    fn read(&mut self, path: &Path) -> Result<&SourceFile, FileRefusal> {
        if !self.files.contains_key(path) {
            let bytes = files::read(path)?;
            self.written.insert(path.to_owned(), bytes.clone());
            self.files.insert(path.to_owned(), SourceFile::read(&path.to_string_lossy(), bytes));
        }
        self.files.get(path).ok_or(FileRefusal::Unreadable)
    }

    /// The edits that the denied findings need, by original marker.
    fn wanted(&self, looked: &Looked) -> Vec<(Key, fix::Wanted)> {
        let denied = looked.report.findings.iter().filter(|finding| finding.is_denied());
        let lines = self.lines();
        let wanted = fix::wanted(&looked.selected.resolution, denied);
        let with_key = |((image, marker), wanted)| {
            let (image, marker): (usize, usize) = (image, marker);
            let marker = looked.selected.resolution.images.get(image)?.markers.get(marker)?;
            let now = (marker.file.to_string(), marker.line, marker.name.to_string());
            Some((lines.get(&now)?.clone(), wanted))
        };
        wanted.into_iter().filter_map(with_key).collect()
    }

    /// Maps each marker on its current line to the original marker.
    fn lines(&self) -> HashMap<Key, Key> {
        let mut inserted: HashMap<&str, Vec<(u32, u32)>> = HashMap::new();
        for work in self.work.values() {
            let Some((source, correction)) = self.correction(work) else { continue };
            for Replacement { range, text } in &correction.replacements {
                let count = |bytes: &[u8]| {
                    u32::try_from(bytes.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX)
                };
                let line = count(source.bytes().get(..range.start).unwrap_or_default()).saturating_add(1);
                inserted.entry(&work.marker.file).or_default().push((line, count(text.as_bytes())));
            }
        }
        let now = |key: &Key| {
            let above = inserted.get(key.0.as_str()).into_iter().flatten().filter(|(line, _)| *line < key.1);
            let added: u32 = above.map(|(_, count)| count).sum();
            ((key.0.clone(), key.1.saturating_add(added), key.2.clone()), key.clone())
        };
        self.work.keys().map(now).collect()
    }

    fn correction(&self, work: &Work) -> Option<(&SourceFile, Correction)> {
        let source = self.files.get(work.path.as_ref().ok()?)?;
        let edits = Some(&work.edits).filter(|edits| !edits.is_empty())?;
        Some((source, source.correct(&work.marker, edits).ok()?))
    }

    /// Adds the needed edits that were not tried yet.
    pub(super) fn propose(&mut self, looked: &Looked) {
        for (key, wanted) in self.wanted(looked) {
            let edits = wanted.edits.keep.iter().map(|(index, keep)| (Edit::Keep(*index), *keep));
            let others = [(wanted.edits.plain, Edit::Plain), (wanted.edits.anchor, Edit::Anchor)];
            let others = others.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, edit)| (edit, Keep::Value));
            let edits: Vec<(Edit, Keep)> = edits.chain(others).collect();
            let is_first = self.work.get(&key).is_some_and(|work| work.tried.is_empty() && work.failed.is_empty());
            if is_first {
                self.locate(&key);
            }
            let Some(work) = self.work.get_mut(&key) else { continue };
            for refusal in wanted.refused {
                let reason = (None, Reason::Source(refusal));
                if !work.failed.contains(&reason) {
                    work.failed.push(reason);
                }
            }
            for (edit, keep) in edits {
                let Some(work) = self.work.get_mut(&key) else { continue };
                if !work.tried.insert(edit) {
                    continue;
                }
                let change = Change { marker: key.clone(), edit, keep };
                let refused = match &work.path {
                    Err(reason) => Some(reason.clone()),
                    Ok(path) => {
                        let mut with = work.edits.clone();
                        set(&mut with, &change);
                        let corrected = self.files.get(path).map(|source| source.correct(&work.marker, &with));
                        corrected.and_then(Result::err).map(Reason::Source)
                    }
                };
                match refused {
                    // One reason is enough for a file.
                    Some(reason) if work.failed.iter().any(|(_, known)| *known == reason) => {}
                    Some(reason) => work.failed.push((None, reason)),
                    None => self.add(std::slice::from_ref(&change)),
                }
            }
        }
    }

    /// Takes back the edits since the last check that did not help.
    pub(super) fn take_back(&mut self, looked: &Looked) {
        let wanted: HashMap<Key, fix::Wanted> = self.wanted(looked).into_iter().collect();
        let denied: Vec<(Key, &str, Option<&str>)> = self.denied(looked);
        for (key, work) in &mut self.work {
            let asked = wanted.get(key);
            let mut useless = Vec::new();
            for index in work.edits.keep.keys().copied() {
                let text = work.marker.args.get(index).map(|argument| &*argument.text);
                let is_lost = asked.is_some_and(|asked| asked.edits.keep.contains_key(&index))
                    || denied
                        .iter()
                        .any(|(of, group, argument)| of == key && *group == "arguments" && *argument == text);
                useless.extend(is_lost.then_some(Edit::Keep(index)));
            }
            let is_denied = |group: &str| denied.iter().any(|(of, denied, _)| of == key && *denied == group);
            useless.extend((work.edits.anchor && is_denied("exactness")).then_some(Edit::Anchor));
            // The plain marker may need an anchor, too: that is tried next.
            let is_plain_useless =
                is_denied("survival") || (is_denied("exactness") && work.tried.contains(&Edit::Anchor));
            useless.extend((work.edits.plain && is_plain_useless).then_some(Edit::Plain));
            for edit in useless {
                unset(&mut work.edits, edit);
                work.failed.push((Some(edit), Reason::DidNotHelp));
                self.has_taken_back = true;
            }
        }
    }

    /// The denied findings by original marker, with their groups and arguments.
    fn denied<'l>(&self, looked: &'l Looked) -> Vec<(Key, &'static str, Option<&'l str>)> {
        let lines = self.lines();
        let of = |finding: &'l simple_markers_resolver::check::Finding| {
            let (image, marker) = finding.index?;
            let marker = looked.selected.resolution.images.get(image)?.markers.get(marker)?;
            let key = lines.get(&(marker.file.to_string(), marker.line, marker.name.to_string()))?;
            Some((key.clone(), finding.group(), finding.argument.as_deref()))
        };
        looked.report.findings.iter().filter(|finding| finding.is_denied()).filter_map(of).collect()
    }

    /// Whether the sources differ from those of the last build.
    pub(super) fn is_changed(&self) -> bool {
        !self.new.is_empty() || self.has_taken_back
    }

    /// Whether the sources differ from those at the start.
    pub(super) fn has_changes(&self) -> bool {
        self.work.values().any(|work| !work.edits.is_empty())
    }

    pub(super) fn add(&mut self, changes: &[Change]) {
        for change in changes {
            if let Some(work) = self.work.get_mut(&change.marker) {
                set(&mut work.edits, change);
                self.new.push(change.clone());
            }
        }
    }

    /// Accepts all new edits after a successful build.
    pub(super) fn accept(&mut self) {
        self.new.clear();
        self.has_taken_back = false;
    }

    /// Removes the edits since the last successful build, and returns them.
    pub(super) fn withdraw_new(&mut self) -> Vec<Change> {
        let new = std::mem::take(&mut self.new);
        for change in &new {
            if let Some(work) = self.work.get_mut(&change.marker) {
                unset(&mut work.edits, change.edit);
            }
        }
        new
    }

    /// Separates changes that may need `unsafe` from the others. Only the compiler knows for
    /// certain.
    pub(super) fn by_risk(&self, changes: Vec<Change>) -> [Vec<Change>; 2] {
        let is_risky = |change: &Change| {
            let Edit::Keep(index) = change.edit else { return false };
            let argument = self.work.get(&change.marker).and_then(|work| work.marker.args.get(index));
            // A dereference of a raw pointer, or a static.
            argument.is_some_and(|argument| argument.text.contains(|it: char| it == '*' || it.is_uppercase()))
        };
        let (risky, others) = changes.into_iter().partition(is_risky);
        [risky, others]
    }

    pub(super) fn does_not_build(&mut self, change: &Change) {
        if let Some(work) = self.work.get_mut(&change.marker) {
            work.failed.push((Some(change.edit), Reason::DoesNotBuild));
        }
    }

    /// The text of each file with all edits applied.
    fn texts(&self) -> BTreeMap<&Path, Vec<u8>> {
        let mut replacements: BTreeMap<&Path, Vec<Replacement>> = BTreeMap::new();
        for path in self.files.keys() {
            replacements.entry(path).or_default();
        }
        for work in self.work.values() {
            let (Ok(path), Some((_, correction))) = (&work.path, self.correction(work)) else { continue };
            replacements.entry(path).or_default().extend(correction.replacements);
        }
        let with = |(path, mut replacements): (_, Vec<Replacement>)| {
            replacements.sort_by_key(|replacement| replacement.range.start);
            // A file with several paths has each marker several times.
            replacements.dedup();
            let source = self.files.get(path)?;
            Some((path, apply(source.bytes(), &replacements)))
        };
        replacements.into_iter().filter_map(with).collect()
    }

    /// Writes the files that changed.
    ///
    /// # Errors
    ///
    /// A file cannot be written, or somebody else changed it meanwhile.
    pub(super) fn write(&mut self) -> anyhow::Result<()> {
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
    pub(super) fn diff(&self) -> String {
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

    /// Lists the changes to each marker, and the failed edits.
    pub(super) fn report(&self, out: &mut dyn Write, needs_build: bool) -> io::Result<()> {
        for work in self.work.values() {
            let marker = &work.marker;
            let place = match &work.path {
                Ok(path) => self.folders.shown(path),
                Err(_) => marker.file.to_string(),
            };
            let head = shown(&format!("{} ({place}:{})", marker.name, marker.line)).into_owned();
            let texts: Vec<String> = work.edits.keep.keys().map(|index| self.name(work, Edit::Keep(*index))).collect();
            let mut done = Vec::new();
            if !texts.is_empty() {
                done.push(format!("kept {}", texts.join(", ")));
            }
            if marker.is_ghost && !work.edits.is_empty() {
                done.push("a marker and no ghost, so the compiler may make other code around it".to_owned());
            }
            if work.edits.anchor {
                done.push("anchored".to_owned());
            }
            if !done.is_empty() {
                writeln!(out, "fixed {head}: {}", shown(&done.join("; ")))?;
            }
            for (edit, reason) in &work.failed {
                let edit = edit.map(|edit| match edit {
                    Edit::Keep(_) => format!("`keep` of {}", self.name(work, edit)),
                    Edit::Anchor | Edit::Plain => self.name(work, edit),
                });
                writeln!(out, "not fixed {head}: {}", shown(&why(edit.as_deref(), reason)))?;
            }
        }
        if needs_build {
            writeln!(out, "The sources were changed: build the program, and check it again.")?;
        }
        Ok(())
    }

    fn name(&self, work: &Work, edit: Edit) -> String {
        match edit {
            Edit::Keep(index) => {
                work.marker.args.get(index).map_or_else(String::new, |argument| format!("`{}`", argument.text))
            }
            Edit::Anchor => "an anchor".to_owned(),
            Edit::Plain => "a plain marker".to_owned(),
        }
    }
}

fn set(edits: &mut Edits, change: &Change) {
    match change.edit {
        Edit::Keep(index) => drop(edits.keep.insert(index, change.keep)),
        Edit::Anchor => edits.anchor = true,
        Edit::Plain => edits.plain = true,
    }
}

fn unset(edits: &mut Edits, edit: Edit) {
    match edit {
        Edit::Keep(index) => drop(edits.keep.remove(&index)),
        Edit::Anchor => edits.anchor = false,
        Edit::Plain => edits.plain = false,
    }
}

fn why(edit: Option<&str>, reason: &Reason) -> String {
    let edit = edit.unwrap_or("the change");
    match reason {
        Reason::Source(refusal) => refusal.to_string(),
        Reason::File(refusal) => file_refusal(*refusal).to_owned(),
        Reason::DidNotHelp => format!("{edit} did not help and was taken back"),
        Reason::DoesNotBuild => format!("the program does not compile with {edit}; it was taken back"),
    }
}

fn file_refusal(refusal: FileRefusal) -> &'static str {
    match refusal {
        FileRefusal::NotFound => "its source file is not found: it was moved, or the build wrote another path for it",
        FileRefusal::Unreadable => "its source file cannot be read",
        FileRefusal::Outside => "its source file is outside of the folder that may be changed",
        FileRefusal::Dependency => "its source file belongs to a dependency",
        FileRefusal::Generated => "its source file was made by a build",
        FileRefusal::ReadOnly => "its source file is read-only",
    }
}
