//! Which patterns match something in any of the files that were met.

use simple_markers_resolver::select::UnmatchedPattern;

use crate::marks::UnplacedMarks;

/// What the patterns match in the files so far.
#[derive(Debug, Default)]
pub(super) struct Matching {
    /// The patterns that match nothing; `None` before the first file.
    pub(super) unmatched: Option<Vec<UnmatchedPattern>>,
    /// Whether a marker is selected.
    pub(super) is_selected: bool,
    /// The places that the user named and no file has; `None` before the first file.
    pub(super) unplaced: Option<UnplacedMarks>,
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

    /// Whether every pattern matches something.
    pub(super) fn is_complete(&self) -> bool {
        self.is_selected && self.unmatched.as_ref().is_none_or(Vec::is_empty)
    }
}
