//! The text of an export while it is written: its lines, and its comments in English.

use std::sync::Arc;

use super::omission::{ArgumentOmission, SiteOmission};
use super::plan::{PlanEntry, Point};
use crate::address::Vaddr;
use crate::english;
use crate::resolve::ResolvedImage;
use crate::text::shown;

/// An export in text form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportText {
    /// The text.
    pub text: String,
    /// How many probes are in it.
    pub probes: usize,
    /// How many sites were left out; comments in the text say why.
    pub left_out: usize,
    /// The breakpoints of a gdb script. Empty for other tools.
    pub breakpoints: Vec<Breakpoint>,
    /// The command of a gdb script that sets the breakpoints of a library once it is loaded; `None` if
    /// the script sets them itself.
    pub place: Option<String>,
}

/// A breakpoint of a gdb script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// Its number in a gdb without other breakpoints.
    pub number: usize,
    /// The name of the marker.
    pub marker: Arc<str>,
    /// Its link-time address.
    pub address: Vaddr,
}

/// The text being written.
pub(super) struct Writer<'r> {
    pub(super) image: &'r ResolvedImage,
    pub(super) path: &'r str,
    pub(super) exported: ExportText,
}

/// The longest comment, in characters. The kernel reads lines of less than 4096 bytes.
const COMMENT: usize = 900;

impl Writer<'_> {
    /// Writes a line.
    pub(super) fn line(&mut self, line: &str) {
        self.exported.text.push_str(line);
        self.exported.text.push('\n');
    }

    /// Writes a comment of one line, escaping line feeds.
    pub(super) fn comment(&mut self, mark: &str, text: &str) {
        let text = shown(text);
        let cut: String = text.chars().take(COMMENT).collect();
        let dots = if cut.len() < text.len() { ".." } else { "" };
        self.line(&format!("{mark} {cut}{dots}"));
    }

    /// Writes the first lines of an export.
    pub(super) fn heading(&mut self, mark: &str, use_it: &[&str]) {
        let build = self.image.build_id.as_deref().map(|id| format!(", build id {id}")).unwrap_or_default();
        self.comment(mark, &format!("Markers of {}{build}, by smark {}", self.path, env!("CARGO_PKG_VERSION")));
        for line in use_it {
            self.comment(mark, line);
        }
    }

    /// Writes each planned site with `probe`, and a comment for each site that is left out.
    pub(super) fn each(
        &mut self,
        mark: &str,
        planned: &[PlanEntry<'_>],
        probe: &mut dyn FnMut(&mut Self, &Point<'_>) -> Result<(), SiteOmission>,
    ) {
        for planned in planned {
            self.line("");
            let (name, place, why) = match planned {
                PlanEntry::Point(point) => {
                    self.comment(mark, &point.heading());
                    for argument in point.doubtful() {
                        self.comment(mark, &english::export::doubtful(argument));
                    }
                    match probe(self, point) {
                        Ok(()) => {
                            self.exported.probes += 1;
                            continue;
                        }
                        Err(why) => (&point.marker.name, point.address.to_string(), why),
                    }
                }
                PlanEntry::LeftOut { marker, place, why } => (&marker.name, place.clone(), why.clone()),
            };
            self.exported.left_out += 1;
            self.comment(mark, &format!("left out: {name} at {place}: {}", english::export::site(&why)));
        }
    }

    /// Comments that an argument is left out.
    pub(super) fn without(&mut self, mark: &str, argument: &str, why: &ArgumentOmission) {
        self.comment(mark, &format!("without {argument}: {}", english::export::argument(why)));
    }

    /// Comments that an argument is left out, and that the text has a `?` for it.
    pub(super) fn printed_as_question_mark(&mut self, mark: &str, argument: &str, why: &ArgumentOmission) {
        self.comment(mark, &format!("without {argument}: {}; printed as `?`", english::export::argument(why)));
    }
}
