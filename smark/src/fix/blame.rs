//! Which changes a compiler complains about: those of the marker at the place of an error, and among
//! them those of the argument there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use simple_markers_resolver::check::fix::{Keep, Replacement, SourceFile, keep_of_type};

use super::messages::{Complaint, SourcePlace};
use super::session::{Change, Edit, MarkerKey, Reason, Session, unset};

/// A line and a column of a text, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    line: u32,
    column: u32,
}

/// A part of a text. Both ends are included.
struct Span {
    start: Place,
    end: Place,
}

impl Span {
    /// Where a range of a file is after replacements.
    fn new(bytes: &[u8], replaced: &[Replacement], range: Range<usize>) -> Self {
        Self { start: place(bytes, replaced, range.start, false), end: place(bytes, replaced, range.end, true) }
    }

    fn has(&self, place: &SourcePlace) -> bool {
        match place.column {
            Some(column) => (self.start..=self.end).contains(&Place { line: place.line, column }),
            None => (self.start.line..=self.end.line).contains(&place.line),
        }
    }
}

impl Session {
    /// Takes back the new changes that the errors of a build are about. A place behind references, or
    /// of another type than was thought, is kept in another way if the errors name its type. Returns
    /// whether any change is taken back or made in another way.
    pub(super) fn correct(&mut self, complaints: &[Complaint]) -> bool {
        let blamed = self.blamed(complaints);
        for (change, complaints) in &blamed {
            let Some(work) = self.work.get_mut(&change.marker) else { continue };
            self.new.retain(|new| new != change);
            unset(&mut work.edits, change.edit);
            let argument = match change.edit {
                Edit::Keep(index) => work.marker.args.get(index),
                Edit::Anchor | Edit::Plain | Edit::Probe => None,
            };
            // The type is that of the value: of what is behind the references that were taken away.
            let taken = match change.keep {
                Keep::Value => Some(0),
                Keep::Pointee(references) => Some(usize::from(references)),
                _ => None,
            };
            let given = complaints.iter().find_map(|complaint| complaint.given_type());
            let given = given.zip(taken).map(|(given, taken)| "&".repeat(taken) + given);
            let other = argument.zip(given).map(|(argument, given)| keep_of_type(argument, &given));
            match other {
                // Each attempt takes more references away, or something else behind them.
                Some(Ok(keep)) if keep != change.keep && keep != Keep::Value => {
                    self.add(&[Change { keep, ..change.clone() }]);
                }
                Some(Err(refusal)) => self.failed(change, Reason::Source(refusal)),
                _ => self.does_not_build(change, complaints.first().map(|first| first.message.clone())),
            }
        }
        !blamed.is_empty()
    }

    /// The new changes that errors are about, with these errors: the changes of the arguments at their
    /// places, or else of the markers there.
    fn blamed<'c>(&self, complaints: &'c [Complaint]) -> Vec<(Change, Vec<&'c Complaint>)> {
        let replaced = self.replacements();
        let imports = self.imports();
        let mut blamed: Vec<(Change, Vec<&Complaint>)> = Vec::new();
        for complaint in complaints {
            let (mut of_arguments, mut of_markers): (Vec<&Change>, Vec<&Change>) = Default::default();
            for (key, changes) in self.new_by_marker() {
                let Some(path) = self.work.get(key).and_then(|work| work.path.as_ref().ok()) else { continue };
                let Some(of_file) = replaced.get(path.as_path()) else { continue };
                let Some(invocation) = self.invocation(key, of_file) else { continue };
                let is_file = |place: &&SourcePlace| self.is_file(&place.file, path);
                // A `use` item that was changed for the probes of the file.
                let bytes = self.files.get(path).map(SourceFile::bytes).unwrap_or_default();
                let of_imports = imports.get(path.as_path()).into_iter().flatten();
                let imported: Vec<Span> =
                    of_imports.map(|import| Span::new(bytes, of_file, import.range.clone())).collect();
                let is_imported = |place: &&SourcePlace| imported.iter().any(|span| span.has(place));
                for _ in complaint.places.iter().filter(is_imported).filter(is_file) {
                    of_markers.extend(changes.iter().copied().filter(|change| change.edit == Edit::Probe));
                }
                for place in complaint.places.iter().filter(|place| invocation.has(place)).filter(is_file) {
                    of_markers.extend(changes.iter().copied());
                    let has = |change: &&Change| {
                        place.column.is_some()
                            && self.argument(change, of_file).is_some_and(|argument| argument.has(place))
                    };
                    of_arguments.extend(changes.iter().copied().filter(has));
                }
            }
            for change in if of_arguments.is_empty() { of_markers } else { of_arguments } {
                match blamed.iter_mut().find(|(known, _)| known == change) {
                    Some((_, why)) => why.push(complaint),
                    None => blamed.push((change.clone(), vec![complaint])),
                }
            }
        }
        blamed
    }

    fn new_by_marker(&self) -> BTreeMap<&MarkerKey, Vec<&Change>> {
        let mut by_marker: BTreeMap<&MarkerKey, Vec<&Change>> = BTreeMap::new();
        for change in &self.new {
            by_marker.entry(&change.marker).or_default().push(change);
        }
        by_marker
    }

    /// Whether a compiler that was started somewhere may name a file so.
    fn is_file(&self, named: &str, path: &Path) -> bool {
        let without_start: PathBuf =
            Path::new(named).components().filter(|part| matches!(part, Component::Normal(_))).collect();
        self.folders.candidates(named).iter().any(|found| found == path)
            || (!Path::new(named).is_absolute() && path.ends_with(without_start))
    }

    /// Where the invocation of a marker is in the changed file.
    fn invocation(&self, key: &MarkerKey, replaced: &[Replacement]) -> Option<Span> {
        let work = self.work.get(key)?;
        let source = self.files.get(work.path.as_ref().ok()?)?;
        let range = source.invocation(&work.marker).ok()?;
        Some(Span::new(source.bytes(), replaced, range))
    }

    /// Where the argument of a `keep` is in the changed file.
    fn argument(&self, change: &Change, replaced: &[Replacement]) -> Option<Span> {
        let Edit::Keep(index) = change.edit else { return None };
        let work = self.work.get(&change.marker)?;
        let source = self.files.get(work.path.as_ref().ok()?)?;
        let range = source.argument(&work.marker, index)?;
        Some(Span::new(source.bytes(), replaced, range))
    }
}

/// Where the byte at `at` of a file is after replacements, which are ascending. `is_behind` says that
/// what is inserted there comes before it.
fn place(bytes: &[u8], replaced: &[Replacement], at: usize, is_behind: bool) -> Place {
    let is_before = |it: &&Replacement| it.range.end < at || (it.range.end == at && (is_behind || it.range.start < at));
    let before: Vec<Replacement> = replaced.iter().filter(is_before).cloned().collect();
    let text = simple_markers_resolver::check::fix::apply(bytes.get(..at).unwrap_or(bytes), &before);
    let line = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    Place { line: count(lines), column: count(String::from_utf8_lossy(line).chars().count()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_move_with_what_is_inserted_before_them() {
        let bytes = b"one\n  mark(a, bb);\n";
        let insert = |at: usize, text: &str| Replacement { range: at..at, text: text.to_owned() };
        let replaced = [insert(11, "keep "), insert(14, "keep "), insert(16, ",\n  x")];
        let at = |at, is_behind| place(bytes, &replaced, at, is_behind);
        assert_eq!(at(11, false), Place { line: 2, column: 8 });
        assert_eq!(at(12, true), Place { line: 2, column: 14 });
        assert_eq!(at(14, false), Place { line: 2, column: 16 });
        assert_eq!(at(16, true), Place { line: 3, column: 4 });
    }
}
