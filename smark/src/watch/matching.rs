//! Which patterns match something in any of the files that were met.

use std::collections::BTreeMap;

use simple_markers_resolver::select::UnmatchedPattern;

/// What the patterns match in the files so far.
#[derive(Debug, Default)]
pub(super) struct Matching {
    /// The patterns that match nothing; `None` before the first file.
    pub(super) unmatched: Option<Vec<UnmatchedPattern>>,
    /// Whether a marker is selected.
    pub(super) is_selected: bool,
    /// What is said of the places that the user named and no file has, by their number; `None` before the first
    /// file.
    pub(super) unplaced: Option<BTreeMap<usize, String>>,
}

impl Matching {
    /// Adds what is so in some files. What a file without markers does not match says nothing.
    pub(super) fn add(&mut self, unmatched: Vec<UnmatchedPattern>, is_empty: bool, has_no_markers: bool) {
        self.is_selected |= !is_empty;
        self.unmatched = match self.unmatched.take() {
            None => Some(unmatched),
            Some(before) if has_no_markers => Some(before),
            Some(before) => {
                let both = |it: &UnmatchedPattern| {
                    let now = unmatched.iter().find(|now| (now.field, &now.pattern) == (it.field, &it.pattern))?;
                    Some(if it.closest.is_empty() { now.clone() } else { it.clone() })
                };
                Some(before.iter().filter_map(both).collect())
            }
        };
    }

    /// Notes which places some files do not have.
    pub(super) fn add_marks(&mut self, unplaced: BTreeMap<usize, String>) {
        match &mut self.unplaced {
            Some(known) => known.retain(|number, _| unplaced.contains_key(number)),
            None => self.unplaced = Some(unplaced),
        }
    }

    /// What is said of the places that no file has.
    pub(super) fn marks(&self) -> impl Iterator<Item = &String> {
        self.unplaced.iter().flatten().map(|(_, message)| message)
    }

    /// Whether every pattern matches something.
    pub(super) fn is_complete(&self) -> bool {
        self.is_selected && self.unmatched.as_ref().is_none_or(Vec::is_empty)
    }
}
