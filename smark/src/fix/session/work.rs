//! The edits of a marker: what is tried, what it settles, and why it is not made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use simple_markers_resolver::check::fix::{Edits, FixRefusal, Keep};
use simple_markers_resolver::resolve::Marker;

use crate::fix::files::FileRefusal;

/// A marker before any change: its file, which is the real one if it is found, its line and its name.
pub(in crate::fix) type MarkerKey = (String, u32, String);

/// One edit of one marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::fix) enum Edit {
    Keep(usize),
    /// The ghost becomes a plain marker.
    Plain,
    Anchor,
    /// The marker becomes a probe.
    Probe,
}

/// One edit to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fix) struct Change {
    pub(in crate::fix) marker: MarkerKey,
    pub(in crate::fix) edit: Edit,
    pub(in crate::fix) keep: Keep,
}

/// How many copies of a marker are bad, and of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::fix) struct Extent {
    pub(in crate::fix) affected: usize,
    pub(in crate::fix) total: usize,
}

impl Extent {
    /// Whether a smaller part of the copies is bad than before.
    pub(in crate::fix) fn improves(self, before: Self) -> bool {
        self.affected.saturating_mul(before.total) < before.affected.saturating_mul(self.total)
    }
}

/// What denied findings are about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::fix) enum Subject {
    Exactness,
    Argument(String),
}

/// Why an edit is not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fix) enum Reason {
    Source(FixRefusal),
    File(FileRefusal),
    DidNotHelp,
    /// With what the compiler says, if it was understood.
    DoesNotBuild(Option<String>),
}

/// The edits of one marker.
#[derive(Debug)]
pub(in crate::fix) struct Work {
    pub(in crate::fix) marker: Marker,
    /// Its source file, or the reason why it could not be found.
    pub(in crate::fix) path: Result<PathBuf, Reason>,
    pub(super) is_located: bool,
    /// The edits that are in the source.
    pub(in crate::fix) edits: Edits,
    /// The edits that were tried or refused.
    pub(super) tried: BTreeSet<Edit>,
    /// The bad copies before each edit.
    pub(in crate::fix) before: BTreeMap<Edit, Extent>,
    /// The edits that failed, and why.
    pub(in crate::fix) failed: Vec<(Option<Edit>, Reason)>,
    /// The edits that helped some copies and not all: the bad ones before, and now.
    pub(in crate::fix) left: BTreeMap<Edit, (Extent, Extent)>,
}

impl Work {
    pub(super) fn new(marker: &Marker) -> Self {
        Self {
            marker: marker.clone(),
            path: Err(Reason::File(FileRefusal::NotFound)),
            is_located: false,
            edits: Edits::default(),
            tried: BTreeSet::new(),
            before: BTreeMap::new(),
            failed: Vec::new(),
            left: BTreeMap::new(),
        }
    }

    /// What an edit is to settle. A probe settles all.
    pub(super) fn subject(&self, edit: Edit) -> Option<Subject> {
        match edit {
            Edit::Keep(index) => {
                Some(Subject::Argument(self.marker.args.get(index).map_or_else(String::new, |it| it.text.to_string())))
            }
            Edit::Anchor | Edit::Plain => Some(Subject::Exactness),
            Edit::Probe => None,
        }
    }

    /// Whether `keep` of an argument was tried, and failed.
    pub(super) fn has_failed_keep(&self) -> bool {
        self.failed.iter().any(|(edit, _)| matches!(edit, Some(Edit::Keep(_))))
    }
}

pub(in crate::fix) fn set(edits: &mut Edits, change: &Change) {
    match change.edit {
        Edit::Keep(index) => drop(edits.keep.insert(index, change.keep)),
        Edit::Anchor => edits.anchor = true,
        Edit::Plain => edits.plain = true,
        Edit::Probe => edits.probe = true,
    }
}

pub(in crate::fix) fn unset(edits: &mut Edits, edit: Edit) {
    match edit {
        Edit::Keep(index) => drop(edits.keep.remove(&index)),
        Edit::Anchor => edits.anchor = false,
        Edit::Plain => edits.plain = false,
        Edit::Probe => edits.probe = false,
    }
}
