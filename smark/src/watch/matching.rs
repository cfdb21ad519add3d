//! Which patterns match something in any of the files that were met.

use simple_markers_resolver::select::Unmatched;

use super::Watching;
use crate::console::{Console, Status};
use crate::inputs::report_selection;

/// What the patterns match in the files so far.
#[derive(Debug, Default)]
pub(super) struct Matching {
    /// The patterns that match nothing; `None` before the first file.
    unmatched: Option<Vec<Unmatched>>,
    /// Whether a marker is selected.
    is_selected: bool,
}

impl Matching {
    /// Adds what is so in some files. What a file without markers does not match says nothing.
    pub(super) fn add(&mut self, unmatched: Vec<Unmatched>, is_empty: bool, has_no_markers: bool) {
        self.is_selected |= !is_empty;
        self.unmatched = match self.unmatched.take() {
            None => Some(unmatched),
            Some(before) if has_no_markers => Some(before),
            Some(before) => {
                let both = |it: &Unmatched| {
                    let now = unmatched.iter().find(|now| (now.field, &now.pattern) == (it.field, &it.pattern))?;
                    Some(if it.closest.is_empty() { now.clone() } else { it.clone() })
                };
                Some(before.iter().filter_map(both).collect())
            }
        };
    }

    /// Whether every pattern matches something.
    fn is_complete(&self) -> bool {
        self.is_selected && self.unmatched.as_ref().is_none_or(Vec::is_empty)
    }
}

impl Watching {
    /// Whether patterns may match in files that are met later: those of the programs that are executed.
    pub(super) fn may_match_later(&self) -> bool {
        !self.watch.command.is_empty() && !self.watch.no_children && self.file.is_none()
    }

    /// Reports the patterns that match nothing.
    pub(super) fn report_patterns(&mut self, console: &Console) -> anyhow::Result<Status> {
        let selection = self.watch.filters.selection(&self.patterns)?;
        if self.file.is_some() || selection.is_empty() || self.matching.is_complete() {
            return Ok(Status::Done);
        }
        let unmatched = self.matching.unmatched.as_deref().unwrap_or_default();
        Ok(report_selection(console, &selection, &self.patterns, unmatched, !self.matching.is_selected))
    }

    /// Says which patterns match nothing yet.
    pub(super) fn note_patterns(&self, console: &Console) {
        for Unmatched { field, pattern, closest } in self.matching.unmatched.iter().flatten() {
            let closest = crate::inputs::suggested(closest);
            console.note(&format!(
                "no {} matches `{pattern}` in the program and its libraries{closest}; what it executes is looked at too",
                field.as_str()
            ));
        }
    }
}
