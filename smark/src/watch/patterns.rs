//! Says which patterns match nothing.

use simple_markers_resolver::select::UnmatchedPattern;

use super::watching::Watching;
use crate::console::{Console, Status};
use crate::inputs::report_selection;

impl Watching {
    /// Whether patterns may match in files that are met later: those of the programs that are executed,
    /// or that come to the control group.
    pub(super) fn may_match_later(&self) -> bool {
        let has_programs = !self.watch.command.is_empty() && self.watch.with_children;
        (has_programs || self.watch.group.is_some()) && self.file.is_none()
    }

    /// Reports the patterns that match nothing.
    pub(super) fn report_patterns(&mut self, console: &Console) -> anyhow::Result<Status> {
        let selection = self.watch.filters.selection(&self.watch.patterns)?;
        if self.file.is_some() || selection.is_empty() {
            return Ok(Status::Done);
        }
        let unplaced = self.unplaced()?;
        unplaced.iter().for_each(|message| console.error(message));
        let of_marks = if unplaced.is_empty() { Status::Done } else { Status::NoMatch };
        if self.matching.is_complete() || (of_marks != Status::Done && self.watch.patterns.is_empty()) {
            return Ok(of_marks);
        }
        let unmatched = self.matching.unmatched.as_deref().unwrap_or_default();
        Ok(report_selection(console, &selection, &self.watch.patterns, unmatched, !self.matching.is_selected))
    }

    /// What is said of the places that no file has.
    fn unplaced(&self) -> anyhow::Result<Vec<String>> {
        let marks = self.watch.filters.marks()?;
        Ok(self.matching.unplaced.as_ref().map(|unplaced| unplaced.messages(marks)).unwrap_or_default())
    }

    /// Says which patterns match nothing yet.
    pub(super) fn note_patterns(&self, console: &Console) -> anyhow::Result<()> {
        for message in self.unplaced()? {
            console.note(&format!("{message}; files that are executed or mapped later are looked at too"));
        }
        for UnmatchedPattern { field, pattern, closest } in self.matching.unmatched.iter().flatten() {
            let closest = crate::inputs::suggested(closest);
            let (place, later) = match self.watch.group {
                Some(_) => ("what the control group runs", "what it runs later is looked at too"),
                None => ("the program and its libraries", "what it executes is looked at too"),
            };
            console.note(&format!("no {} matches `{pattern}` in {place}{closest}; {later}", field.as_str()));
        }
        Ok(())
    }
}
