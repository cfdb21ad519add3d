//! Collects what there is to say about an image: at most so much that a hostile file cannot flood a terminal.

use super::{Diagnostic, Severity};
use crate::Error;

/// The most diagnostics of one image.
const MOST: usize = 100;

/// The diagnostics of an image while it is read.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    kept: Vec<Diagnostic>,
    dropped: usize,
    errors: usize,
}

impl Diagnostics {
    pub(super) fn error(&mut self, error: &Error) {
        self.errors += 1;
        self.push(error.into());
    }

    pub(super) fn note(&mut self, section: &str, message: impl Into<String>) {
        let section = Some(section.to_owned());
        self.push(Diagnostic { severity: Severity::Note, section, offset: None, message: message.into() });
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        match self.kept.len() < MOST {
            true => self.kept.push(diagnostic),
            false => self.dropped += 1,
        }
    }

    /// How many errors there were so far, kept or not.
    pub(super) fn errors(&self) -> usize {
        self.errors
    }

    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        if self.dropped > 0 {
            let message = format!("{} more like these", self.dropped);
            let severity = if self.errors > 0 { Severity::Error } else { Severity::Note };
            self.kept.push(Diagnostic { severity, section: None, offset: None, message });
        }
        self.kept
    }
}
