//! Compares a program with a lock file: markers that are gone, new or renamed, arguments that got
//! worse or better, and missing copies. Applies what the lock file accepts and excepts.
//!
//! The lock file has no line numbers, so it does not change when code moves. A marker counts as
//! renamed if one marker is gone and one is new in the same file, both have the same format and
//! arguments, and no third marker does.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use strum::VariantArray as _;

use super::findings::finding;
use super::least::Least;
use super::lock::{LockedMarker, Section};
use super::{
    CanKeep, Cause, Check, CheckedMarker, Exception, Finding, Lock, Problem, Profile, Remark, Report, Severity, causes,
    relative,
};
use crate::resolve::{Argument, Encoding, Marker, ResolvedImage, Site, Verdict};
use crate::verdicts::Code;

/// A marker, combined over all images of a target that have it.
#[derive(Clone, Debug)]
pub(super) struct TargetMarker {
    pub(super) name: Arc<str>,
    pub(super) file: Arc<str>,
    pub(super) format: Arc<str>,
    /// The lowest number of live sites in one image.
    pub(super) sites: u64,
    /// The worst verdict on each argument, with the marker that has it. A marker without a live
    /// site has only the texts of its arguments.
    pub(super) args: Vec<ObservedArgument>,
    /// Of a static probe with notes: what these have; `None` for other markers.
    pub(super) note: Option<ObservedNote>,
    /// The image and marker with the fewest sites.
    index: (usize, usize),
}

/// The notes of a static probe.
#[derive(Clone, Debug)]
pub(super) struct ObservedNote {
    /// The sizes of the arguments, each once.
    arguments: BTreeSet<String>,
    /// Whether all of them have a semaphore.
    pub(super) semaphore: bool,
}

impl ObservedNote {
    fn new(marker: &Marker) -> Self {
        let size = |argument: &Argument| {
            let size = argument.size.map_or("?".to_owned(), |size| size.to_string());
            match argument.encoding {
                Some(Encoding::Signed) => format!("-{size}"),
                Some(Encoding::Float) => format!("{size}f"),
                _ => size,
            }
        };
        let sizes = |site: &Site| site.args.iter().map(size).collect::<Vec<_>>().join(", ");
        Self {
            arguments: marker.live_sites().map(sizes).collect(),
            semaphore: marker.live_sites().all(|site| site.switch.is_some()),
        }
    }

    /// The sizes of the arguments, as notes write them.
    pub(super) fn sizes(&self) -> String {
        self.arguments.iter().cloned().collect::<Vec<_>>().join(" or ")
    }
}

/// The text of an argument, the worst verdict on it, and the image and marker with that verdict.
pub(super) type ObservedArgument = (Arc<str>, Option<Least>, (usize, usize));
/// The observed markers by name and file.
type ByName = BTreeMap<(Arc<str>, Arc<str>), TargetMarker>;

/// The observed markers of each target.
pub(super) fn observe(check: &Check<'_>, profile: &Profile) -> BTreeMap<String, Vec<TargetMarker>> {
    let mut by_target: BTreeMap<String, ByName> = BTreeMap::new();
    // An image that lost its notes may have nothing.
    let has_notes = |image: &ResolvedImage| {
        let section = check.lock.and_then(|(lock, _)| lock.section(&profile.name, profile.target(image)));
        section.is_some_and(Section::has_notes)
    };
    let images = check.resolution.images.iter().enumerate();
    for (of, image) in images.filter(|(_, image)| !image.markers.is_empty() || has_notes(image)) {
        let observed = by_target.entry(profile.target(image).to_owned()).or_default();
        for (index, marker) in image.markers.iter().enumerate() {
            let new = observe_marker(marker, (of, index), check.root);
            match observed.entry((Arc::clone(&new.name), Arc::clone(&new.file))) {
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(new);
                }
                std::collections::btree_map::Entry::Occupied(mut entry) => entry.get_mut().merge(new),
            }
        }
    }
    by_target.into_iter().map(|(target, observed)| (target, observed.into_values().collect())).collect()
}

fn observe_marker(marker: &Marker, index: (usize, usize), root: Option<&str>) -> TargetMarker {
    let mut args: Vec<ObservedArgument> = Vec::new();
    for (number, declared) in marker.args.iter().enumerate() {
        let verdicts = marker.live_sites().filter_map(|site| site.args.get(number)).map(|argument| argument.verdict);
        let worst = verdicts.map(Least::new).max_by_key(|least| least.rank());
        add_argument(&mut args, (Arc::clone(&declared.text), worst, index));
    }
    TargetMarker {
        name: Arc::clone(&marker.name),
        file: relative(&marker.file, root),
        format: Arc::clone(&marker.format),
        sites: marker.live_sites().count() as u64,
        args,
        note: marker.is_note.then(|| ObservedNote::new(marker)),
        index,
    }
}

/// Adds a verdict on an argument. The worse of two verdicts on one argument wins.
fn add_argument(args: &mut Vec<ObservedArgument>, new: ObservedArgument) {
    let rank = |least: Option<Least>| least.map(Least::rank);
    match args.iter_mut().find(|(text, _, _)| *text == new.0) {
        Some(known) if rank(new.1) > rank(known.1) => *known = new,
        Some(_) => {}
        None => args.push(new),
    }
}

impl TargetMarker {
    fn merge(&mut self, other: Self) {
        if other.sites < self.sites {
            (self.sites, self.index) = (other.sites, other.index);
        }
        for argument in other.args {
            add_argument(&mut self.args, argument);
        }
        if let (Some(note), Some(other)) = (&mut self.note, other.note) {
            note.arguments.extend(other.arguments);
            note.semaphore &= other.semaphore;
        }
    }

    fn has_same_text(&self, locked: &LockedMarker) -> bool {
        let args = locked.args.as_deref().unwrap_or_default();
        locked.file.as_deref() == Some(&*self.file)
            && locked.format.as_deref() == Some(&*self.format)
            && args.len() == self.args.len()
            && self.args.iter().all(|(text, _, _)| args.iter().any(|(locked, _)| **locked == **text))
    }
}

/// Pairs observed markers with those of a lock file. Returns for each observed marker the index of
/// its locked one, and whether it was renamed.
pub(super) fn pair(observed: &[TargetMarker], locked: &[LockedMarker]) -> Vec<Option<(usize, bool)>> {
    let mut pairs: Vec<Option<(usize, bool)>> = vec![None; observed.len()];
    let mut taken: HashSet<usize> = HashSet::new();
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, locked) in locked.iter().enumerate() {
        by_name.entry(&locked.name).or_default().push(index);
    }
    // First by name and file, then by name alone, because the file may have moved.
    for needs_file in [true, false] {
        for (observed, pair) in observed.iter().zip(&mut pairs).filter(|(_, pair)| pair.is_none()) {
            let candidates = by_name.get(&*observed.name).map_or(&[][..], Vec::as_slice);
            let is_it = |index: &&usize| {
                !taken.contains(*index)
                    && locked.get(**index).is_some_and(|locked| {
                        !needs_file || locked.file.as_deref().is_none_or(|file| *file == *observed.file)
                    })
            };
            if let Some(&index) = candidates.iter().find(is_it) {
                taken.insert(index);
                *pair = Some((index, false));
            }
        }
    }
    type Text<'a> = (&'a str, &'a str, Vec<&'a str>);
    let mut gone: BTreeMap<Text<'_>, Vec<usize>> = BTreeMap::new();
    for (index, locked) in locked.iter().enumerate().filter(|(index, locked)| !taken.contains(index) && !locked.gone) {
        if let (Some(file), Some(format)) = (&locked.file, &locked.format) {
            let mut args: Vec<&str> = locked.args.iter().flatten().map(|(text, _)| &**text).collect();
            args.sort_unstable();
            gone.entry((file, format, args)).or_default().push(index);
        }
    }
    let mut new: BTreeMap<Text<'_>, Vec<usize>> = BTreeMap::new();
    for (index, observed) in observed.iter().enumerate().filter(|(index, _)| matches!(pairs.get(*index), Some(None))) {
        let mut args: Vec<&str> = observed.args.iter().map(|(text, _, _)| &**text).collect();
        args.sort_unstable();
        new.entry((&observed.file, &observed.format, args)).or_default().push(index);
    }
    for (text, new) in new {
        if let (&[new], Some(&[gone])) = (new.as_slice(), gone.get(&text).map(Vec::as_slice)) {
            let has_same_text =
                observed.get(new).zip(locked.get(gone)).is_some_and(|(new, gone)| new.has_same_text(gone));
            if let (Some(pair), true) = (pairs.get_mut(new), has_same_text) {
                *pair = Some((gone, true));
            }
        }
    }
    pairs
}

/// Adds the differences from a lock file, and marks findings that it accepts or excepts.
pub(super) fn compare(check: &Check<'_>, lock: &Lock, profile: &Profile, report: &mut Report) {
    for (target, observed) in observe(check, profile) {
        let Some(section) = lock.section(&profile.name, &target) else { continue };
        let pairs = pair(&observed, &section.markers);
        let of = Comparison { check, profile, target: &target, section };
        of.compare(&observed, &pairs, report);
        of.except(&observed, &pairs, report);
    }
}

/// How many images a cause names.
const MOST_IMAGES: usize = 3;

struct Comparison<'a> {
    check: &'a Check<'a>,
    profile: &'a Profile,
    target: &'a str,
    section: &'a Section,
}

impl Comparison<'_> {
    fn checked<'r>(&self, report: &'r Report, index: (usize, usize)) -> Option<(&'r CheckedMarker, Option<u32>)> {
        // The markers are sorted by index.
        let at = report.markers.binary_search_by_key(&index, |checked| checked.index).ok()?;
        let column = self.check.resolution.images.get(index.0)?.markers.get(index.1)?.column;
        Some((report.markers.get(at)?, column))
    }

    fn compare(&self, observed: &[TargetMarker], pairs: &[Option<(usize, bool)>], report: &mut Report) {
        let mut findings = Vec::new();
        for (observed, pair) in observed.iter().zip(pairs) {
            let Some((checked, column)) = self.checked(report, observed.index) else { continue };
            let of = |problem| finding(checked, column, problem);
            let locked = pair.and_then(|(index, renamed)| Some((self.section.markers.get(index)?, renamed)));
            let (locked, renamed) = match locked {
                Some((locked, renamed)) if !locked.gone => (locked, renamed),
                _ => {
                    findings.push(of(Problem::New));
                    continue;
                }
            };
            if let (Some(note), Some(accepted)) = (&observed.note, &locked.note) {
                if observed.sites == 0 && locked.sites != Some(0) {
                    findings.push(Finding { causes: vec![Cause::DroppedFunctions], ..of(Problem::NoteGone) });
                    continue;
                }
                let found = note.sizes();
                if found != accepted.arguments {
                    let (found, accepted) = (found.into(), accepted.arguments.as_str().into());
                    findings.push(of(Problem::NoteArguments { found, accepted }));
                }
                if accepted.semaphore && !note.semaphore {
                    findings.push(of(Problem::NoSemaphore));
                }
            }
            if renamed {
                findings.push(of(Problem::Renamed { before: locked.name.as_str().into() }));
            }
            if let Some(accepted) = locked.sites.filter(|least| observed.sites < *least) {
                findings.push(Finding {
                    causes: self.functions(observed.index),
                    ..of(Problem::FewerCopies { found: observed.sites, accepted })
                });
            }
            self.compare_arguments(observed, locked, report, &mut findings);
        }
        let paired: HashSet<usize> = pairs.iter().flatten().map(|(index, _)| *index).collect();
        for (index, locked) in self.section.markers.iter().enumerate() {
            if paired.contains(&index) || locked.gone || !(self.check.keep_name)(&locked.name) {
                continue;
            }
            let file = locked.file.as_deref().unwrap_or_default();
            let (problem, causes) = match locked.note {
                Some(_) => (Problem::NoteGone, self.images().map(causes::note_gone).take(MOST_IMAGES).collect()),
                None => (Problem::Gone, causes::gone(file)),
            };
            findings.push(Finding {
                code: problem.code(),
                severity: Severity::Warn,
                marker: locked.name.as_str().into(),
                file: file.into(),
                line: None,
                column: None,
                image: None,
                index: None,
                argument: None,
                reasons: Vec::new(),
                sites: None,
                functions: Vec::new(),
                problem,
                causes,
                can_keep: CanKeep::default(),
                is_async: false,
                is_anchored: false,
                is_mark: false,
                exception: None,
            });
        }
        report.findings.append(&mut findings);
    }

    fn compare_arguments(
        &self,
        observed: &TargetMarker,
        locked: &LockedMarker,
        report: &Report,
        findings: &mut Vec<Finding>,
    ) {
        let Some(args) = &locked.args else { return };
        for (text, found, index) in &observed.args {
            let Some((checked, column)) = self.checked(report, *index) else { continue };
            let accepted = args.iter().find(|(locked, _)| **locked == **text).map(|(_, least)| *least);
            let problem = match (accepted, *found) {
                // The sizes of its arguments say so.
                (None, _) if observed.note.is_some() => continue,
                (None, _) => Problem::NewArgument,
                (Some(accepted), Some(found)) if found.rank() > accepted.rank() => Problem::Worse { found, accepted },
                (Some(accepted), Some(found)) if found.rank() < accepted.rank() => Problem::Better { found, accepted },
                _ => continue,
            };
            findings.push(Finding { argument: Some(Arc::clone(text)), ..finding(checked, column, problem) });
        }
        let Some((checked, column)) = self.checked(report, observed.index).filter(|_| observed.note.is_none()) else {
            return;
        };
        for (text, _) in args.iter().filter(|(locked, _)| !observed.args.iter().any(|(text, _, _)| **text == **locked))
        {
            let gone = finding(checked, column, Problem::GoneArgument);
            findings.push(Finding { argument: Some(text.as_str().into()), ..gone });
        }
    }

    /// The images of the target.
    fn images(&self) -> impl Iterator<Item = &ResolvedImage> {
        self.check.resolution.images.iter().filter(|image| self.profile.target(image) == self.target)
    }

    /// The functions that contain the sites of a marker.
    fn functions(&self, index: (usize, usize)) -> Vec<Cause> {
        let marker = self.check.resolution.images.get(index.0).and_then(|image| image.markers.get(index.1));
        let mut by_function: BTreeMap<Option<&Arc<str>>, u64> = BTreeMap::new();
        for site in marker.into_iter().flat_map(Marker::live_sites) {
            *by_function.entry(site.function.as_ref()).or_default() += 1;
        }
        let copies = |(function, count): (Option<&Arc<str>>, u64)| Cause::Copies { function: function.cloned(), count };
        by_function.into_iter().take(6).map(copies).collect()
    }

    /// Marks what the section accepts and excepts, and notes exceptions that no longer apply.
    fn except(&self, observed: &[TargetMarker], pairs: &[Option<(usize, bool)>], report: &mut Report) {
        let mut by_name: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (observed, pair) in observed.iter().zip(pairs) {
            by_name.extend(pair.map(|(index, _)| ((&*observed.name, &*observed.file), index)));
        }
        let mut used: HashSet<usize> = HashSet::new();
        for finding in &mut report.findings {
            let images = &self.check.resolution.images;
            let target = finding.index.and_then(|(image, _)| Some(self.profile.target(images.get(image)?)));
            if target.is_some_and(|target| target != self.target) {
                continue;
            }
            let index = match finding.index {
                Some(_) => by_name.get(&(&*finding.marker, &*finding.file)).copied(),
                None => self.section.markers.iter().position(|locked| *locked.name == *finding.marker),
            };
            let Some(locked) = index.and_then(|index| self.section.markers.get(index)) else { continue };
            if finding.group() == "arguments" && !locked.gone {
                let args = locked.args.iter().flatten();
                let accepted = args.filter(|(text, _)| Some(&**text) == finding.argument.as_deref());
                let least = accepted.map(|(_, least)| least).find(|least| rank(finding.code) <= Some(least.rank()));
                if let Some(least) = least {
                    finding.exception = Some(Exception::Accepted(*least));
                }
            }
            for excepted in &locked.exceptions {
                let is_for = excepted.argument.as_deref().is_none_or(|of| finding.argument.as_deref() == Some(of));
                if is_for && excepted.codes.contains(finding.code, &finding.reasons) {
                    finding.exception = Some(Exception::Written { reason: excepted.reason.as_str().into() });
                    used.insert(excepted.line);
                }
            }
        }
        for locked in self.section.markers.iter().filter(|locked| (self.check.keep_name)(&locked.name)) {
            for excepted in locked.exceptions.iter().filter(|excepted| !used.contains(&excepted.line)) {
                report.notes.push(Remark::StaleException {
                    line: excepted.line,
                    marker: locked.name.as_str().into(),
                    argument: excepted.argument.as_deref().map(Arc::from),
                    code: excepted.code.as_str().into(),
                });
            }
        }
    }
}

/// The rank of the verdict with this code.
fn rank(code: Code) -> Option<u8> {
    let all = Verdict::VARIANTS.iter().copied().map(Some).chain([None]);
    all.map(Least::new).find(|least| least.code() == code).map(Least::rank)
}
