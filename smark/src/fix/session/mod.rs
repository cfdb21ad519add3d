//! The changes that are tried: the original markers, the edits of each, and their results.
//!
//! `work` has the edits of a marker, `sources` makes new files of them.
//!
//! `blame` finds the changes that a compiler complains about, `report` says what became of each.

mod sources;
mod work;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use simple_markers_resolver::check::Finding;
use simple_markers_resolver::check::fix::{self, Correction, FixRefusal, Keep, Replacement, SourceFile};
use simple_markers_resolver::resolve::{Marker, Survival};
use simple_markers_resolver::verdicts::{Code, Group};

use super::files::{self, FileRefusal, Folders};
use super::options::Probes;
use crate::check::CheckResult;
use work::Subject;
pub(super) use work::{Change, Edit, Extent, MarkerKey, Reason, Work, set, unset};

/// The name of a marker's file, and its path if the name does not say it.
type MarkerName = (String, Option<Arc<str>>);

pub(super) struct Session {
    pub(super) folders: Folders,
    probes: Probes,
    /// The files as they were at the start.
    pub(super) files: HashMap<PathBuf, SourceFile>,
    /// The bytes last written to each file.
    written: HashMap<PathBuf, Vec<u8>>,
    pub(super) work: BTreeMap<MarkerKey, Work>,
    /// The real file, if there is one, of each name and path of a file.
    real: RefCell<HashMap<MarkerName, String>>,
    /// The edits since the last build that succeeded.
    pub(super) new: Vec<Change>,
    /// Whether edits were taken back since that build.
    has_taken_back: bool,
}

impl Session {
    pub(super) fn new(root: &Path, probes: Probes) -> io::Result<Self> {
        Ok(Self {
            folders: Folders::new(root)?,
            probes,
            files: HashMap::new(),
            written: HashMap::new(),
            work: BTreeMap::new(),
            real: RefCell::default(),
            new: Vec::new(),
            has_taken_back: false,
        })
    }

    /// Records the markers before any change.
    pub(super) fn begin(&mut self, result: &CheckResult) {
        for image in &result.selected.resolution.images {
            for marker in &image.markers {
                let known = self.work.entry(self.key(marker)).or_insert_with(|| Work::new(marker));
                // Only a marker with a site has a column.
                if known.marker.column.is_none() && marker.column.is_some() {
                    known.marker = marker.clone();
                }
            }
        }
    }

    /// The key of a marker of a program. Several paths of one header are one file.
    fn key(&self, marker: &Marker) -> MarkerKey {
        let mut real = self.real.borrow_mut();
        let file = real.entry((marker.file.to_string(), marker.path.clone())).or_insert_with(|| {
            let found = self.candidates(marker).into_iter().next();
            found.map_or_else(|| marker.file.to_string(), |path| path.to_string_lossy().into_owned())
        });
        (file.clone(), marker.line, marker.name.to_string())
    }

    /// The existing files that may be that of a marker. A name that starts in a folder above means
    /// something only where the compiler ran, so the path from there comes first.
    fn candidates(&self, marker: &Marker) -> Vec<PathBuf> {
        let mut found = marker.path.as_deref().map(|path| self.folders.candidates(path)).unwrap_or_default();
        let by_name = self.folders.candidates(&marker.file);
        let new: Vec<PathBuf> = by_name.into_iter().filter(|path| !found.contains(path)).collect();
        found.extend(new);
        found
    }

    /// Finds the source file of a marker.
    fn locate(&mut self, key: &MarkerKey) {
        let Some(work) = self.work.get(key) else { return };
        let marker = work.marker.clone();
        let mut found = Err(Reason::File(FileRefusal::NotFound));
        for path in self.candidates(&marker) {
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
            work.is_located = true;
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
    fn wanted(&self, result: &CheckResult) -> Vec<(MarkerKey, fix::Remedy)> {
        let denied = result.report.findings.iter().filter(|finding| finding.is_denied());
        let lines = self.lines();
        let wanted = fix::wanted(&result.selected.resolution, denied);
        let with_key = |((image, marker), wanted)| {
            let (image, marker): (usize, usize) = (image, marker);
            let marker = result.selected.resolution.images.get(image)?.markers.get(marker)?;
            Some((lines.get(&self.key(marker))?.clone(), wanted))
        };
        wanted.into_iter().filter_map(with_key).collect()
    }

    /// Maps each marker on its current line to the original marker.
    fn lines(&self) -> HashMap<MarkerKey, MarkerKey> {
        let count = |bytes: &[u8]| i64::try_from(bytes.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(0);
        let mut added: HashMap<&Path, Vec<(u32, i64)>> = HashMap::new();
        for (path, replacements) in self.replacements() {
            let bytes = self.files.get(path).map(SourceFile::bytes).unwrap_or_default();
            for Replacement { range, text } in &replacements {
                let line = count(bytes.get(..range.start).unwrap_or_default()).saturating_add(1);
                let removed = count(bytes.get(range.clone()).unwrap_or_default());
                let line = u32::try_from(line).unwrap_or(u32::MAX);
                added.entry(path).or_default().push((line, count(text.as_bytes()).saturating_sub(removed)));
            }
        }
        // A marker that needs no change has no path.
        let located = self.work.iter().filter_map(|(key, work)| Some((key.0.as_str(), work.path.as_deref().ok()?)));
        let paths: HashMap<&str, &Path> = located.collect();
        let now = |key: &MarkerKey| {
            let of_file = paths.get(key.0.as_str()).and_then(|path| added.get(path));
            let above = of_file.into_iter().flatten().filter(|(line, _)| *line < key.1);
            let line = above.fold(i64::from(key.1), |line, (_, count)| line.saturating_add(*count));
            ((key.0.clone(), u32::try_from(line).unwrap_or(key.1), key.2.clone()), key.clone())
        };
        self.work.keys().map(now).collect()
    }

    pub(super) fn correction(&self, work: &Work) -> Option<(&SourceFile, Correction)> {
        let source = self.files.get(work.path.as_ref().ok()?)?;
        let edits = Some(&work.edits).filter(|edits| !edits.is_empty())?;
        Some((source, source.correct(&work.marker, edits).ok()?))
    }

    /// Adds the needed edits that were not tried yet.
    pub(super) fn propose(&mut self, result: &CheckResult) {
        let extents = self.extents(result);
        for (key, wanted) in self.wanted(result) {
            if self.propose_probe(&key, &wanted) {
                continue;
            }
            if self.work.get(&key).is_some_and(|work| work.edits.probe) {
                continue;
            }
            let edits = wanted.edits.keep.iter().map(|(index, keep)| (Edit::Keep(*index), *keep));
            let others = [(wanted.edits.plain, Edit::Plain), (wanted.edits.anchor, Edit::Anchor)];
            let others = others.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, edit)| (edit, Keep::Value));
            let edits: Vec<(Edit, Keep)> = edits.chain(others).collect();
            self.locate_once(&key);
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
                let before = work.subject(edit).and_then(|subject| extents.get(&(key.clone(), subject)));
                work.before.extend(before.map(|extent| (edit, *extent)));
                self.try_change(&Change { marker: key.clone(), edit, keep });
            }
        }
    }

    /// Makes a probe of a marker if it may become one, and `keep` cannot settle an argument or failed to.
    /// Returns whether it is one now.
    fn propose_probe(&mut self, key: &MarkerKey, wanted: &fix::Remedy) -> bool {
        let may = match self.probes {
            Probes::Never => false,
            Probes::Async => wanted.is_async,
            Probes::Always => true,
        };
        let cannot_keep = wanted.refused.iter().any(|refusal| matches!(refusal, FixRefusal::CannotKeep { .. }));
        let Some(work) = self.work.get_mut(key).filter(|_| may) else { return false };
        if !(cannot_keep || work.has_failed_keep()) || !work.tried.insert(Edit::Probe) {
            return false;
        }
        if let Some(refusal) = wanted.no_probe.clone() {
            work.failed.push((None, Reason::Source(refusal)));
            return false;
        }
        self.locate_once(key);
        self.try_change(&Change { marker: key.clone(), edit: Edit::Probe, keep: Keep::Value })
    }

    /// Makes a change if the source allows it, and records the reason if it does not. Returns whether it
    /// is made.
    fn try_change(&mut self, change: &Change) -> bool {
        let Some(work) = self.work.get_mut(&change.marker) else { return false };
        let refused = match &work.path {
            Err(reason) => Some(reason.clone()),
            Ok(path) => {
                let mut with = work.edits.clone();
                set(&mut with, change);
                let corrected = self.files.get(path).map(|source| source.correct(&work.marker, &with));
                corrected.and_then(Result::err).map(Reason::Source)
            }
        };
        match refused {
            // One reason is enough for a file.
            Some(reason) if work.failed.iter().any(|(_, known)| *known == reason) => false,
            Some(reason) => {
                work.failed.push((None, reason));
                false
            }
            None => {
                self.add(std::slice::from_ref(change));
                true
            }
        }
    }

    fn locate_once(&mut self, key: &MarkerKey) {
        let is_located = self.work.get(key).is_some_and(|work| work.is_located);
        if !is_located {
            self.locate(key);
        }
    }

    /// Takes back the edits since the last check that did not help. One that leaves a smaller part of
    /// the copies bad stays.
    pub(super) fn take_back(&mut self, result: &CheckResult) {
        let denied = self.denied(result);
        let is_denied =
            |key: &MarkerKey, group| denied.iter().any(|(of, finding)| of == key && finding.code.group() == group);
        let extents = self.extents(result);
        let probes = self.live_probes(result);
        for (key, work) in &mut self.work {
            if work.edits.probe {
                let is_settled =
                    !denied.iter().any(|(of, finding)| of == key && finding.code.group() == Group::Arguments);
                if !is_settled || !probes.contains(key) {
                    work.edits.probe = false;
                    work.failed.push((Some(Edit::Probe), Reason::DidNotHelp));
                    self.has_taken_back = true;
                }
                continue;
            }
            let keeps = work.edits.keep.keys().copied().map(Edit::Keep);
            let edits: Vec<Edit> = keeps.chain(work.edits.anchor.then_some(Edit::Anchor)).collect();
            let mut useless = Vec::new();
            work.left.clear();
            for edit in edits {
                let now = work.subject(edit).and_then(|subject| extents.get(&(key.clone(), subject)));
                let Some(now) = now else { continue };
                match work.before.get(&edit).filter(|before| now.improves(**before)) {
                    Some(before) => drop(work.left.insert(edit, (*before, *now))),
                    None => useless.push(edit),
                }
            }
            // The plain marker may need an anchor, too: that is tried next.
            let is_plain_useless = is_denied(key, Group::Survival)
                || (is_denied(key, Group::Exactness) && work.tried.contains(&Edit::Anchor));
            useless.extend((work.edits.plain && is_plain_useless).then_some(Edit::Plain));
            for edit in useless {
                unset(&mut work.edits, edit);
                work.failed.push((Some(edit), Reason::DidNotHelp));
                self.has_taken_back = true;
            }
        }
    }

    /// The markers that are probes with a live site now.
    fn live_probes(&self, result: &CheckResult) -> BTreeSet<MarkerKey> {
        let lines = self.lines();
        let markers = result.selected.resolution.images.iter().flat_map(|image| &image.markers);
        let live = markers.filter(|marker| marker.is_probe && marker.survival == Some(Survival::Live));
        live.filter_map(|marker| lines.get(&self.key(marker)).cloned()).collect()
    }

    /// The denied findings by original marker.
    pub(super) fn denied<'l>(&self, result: &'l CheckResult) -> Vec<(MarkerKey, &'l Finding)> {
        let lines = self.lines();
        let of = |finding: &'l Finding| {
            let (image, marker) = finding.index?;
            let marker = result.selected.resolution.images.get(image)?.markers.get(marker)?;
            Some((lines.get(&self.key(marker))?.clone(), finding))
        };
        result.report.findings.iter().filter(|finding| finding.is_denied()).filter_map(of).collect()
    }

    /// The bad copies of each marker, over all images, by what is bad.
    fn extents(&self, result: &CheckResult) -> BTreeMap<(MarkerKey, Subject), Extent> {
        type OfImage = (MarkerKey, Subject, Option<(usize, usize)>);
        let mut by_image: BTreeMap<OfImage, Extent> = BTreeMap::new();
        for (key, finding) in self.denied(result) {
            let subject = match (finding.code, finding.argument.as_deref()) {
                (code, Some(text)) if code.group() == Group::Arguments || code == Code::Worse => {
                    Subject::Argument(text.to_owned())
                }
                (code, None) if code.group() == Group::Exactness => Subject::Exactness,
                _ => continue,
            };
            let (affected, total) = finding.sites.unwrap_or((1, 1));
            let extent = by_image.entry((key, subject, finding.index)).or_default();
            // A site has one verdict, and SM063 repeats another finding.
            extent.total = extent.total.max(total);
            extent.affected = extent.affected.saturating_add(affected).min(extent.total);
        }
        let mut extents: BTreeMap<(MarkerKey, Subject), Extent> = BTreeMap::new();
        for ((key, subject, _), of_image) in by_image {
            let extent = extents.entry((key, subject)).or_default();
            extent.total = extent.total.saturating_add(of_image.total);
            extent.affected = extent.affected.saturating_add(of_image.affected);
        }
        extents
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

    /// Two halves of at least two changes. Those that may need `unsafe` are in the second one, unless
    /// all are alike; only the compiler knows for certain.
    pub(super) fn halves(&self, changes: Vec<Change>) -> [Vec<Change>; 2] {
        let is_risky = |change: &Change| {
            let Edit::Keep(index) = change.edit else { return false };
            let argument = self.work.get(&change.marker).and_then(|work| work.marker.args.get(index));
            // A dereference of a raw pointer, or a static.
            argument.is_some_and(|argument| argument.text.contains(|it: char| it == '*' || it.is_uppercase()))
        };
        let (risky, mut others): (Vec<Change>, Vec<Change>) = changes.into_iter().partition(is_risky);
        if !risky.is_empty() && !others.is_empty() {
            return [others, risky];
        }
        others.extend(risky);
        let rest = others.split_off(others.len().div_ceil(2));
        [others, rest]
    }

    pub(super) fn does_not_build(&mut self, change: &Change, message: Option<String>) {
        self.failed(change, Reason::DoesNotBuild(message));
    }

    pub(super) fn failed(&mut self, change: &Change, reason: Reason) {
        if let Some(work) = self.work.get_mut(&change.marker) {
            work.failed.push((Some(change.edit), reason));
        }
    }
}
