//! What is wrong with an image or its records, and why an answer is missing.
//! `english/diagnostics.rs` renders it.
//!
//! The number of diagnostics is limited, so that a hostile file cannot flood a terminal.

use std::sync::Arc;

use strum::IntoStaticStr;

use super::note_facts::NoteProblem;
use super::{LineProblem, SwitchProblem, WordsMistake};
use crate::Error;
use crate::address::SectionOffset;

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiagnosticSeverity {
    /// The image or a record is malformed: something could not be read.
    Error,
    /// Nothing is wrong, but an answer is missing.
    Note,
}

/// A problem of an image. `Display` gives its place and its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: DiagnosticSeverity,
    /// The section that it is about; `None` for the image as a whole.
    pub section: Option<String>,
    /// The offset in the section; `None` for the section as a whole.
    pub offset: Option<SectionOffset>,
    /// What is wrong or missing.
    pub kind: DiagnosticKind,
}

/// What is wrong or missing.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// Something could not be read.
    Error(Error),
    /// There are more diagnostics than are listed.
    More {
        /// How many.
        count: usize,
    },
    /// It is unknown whether markers without a site are in the program.
    #[strum(transparent)]
    SurvivalUnknown(SurvivalUnknown),
    /// A marker has no site record, and its line has no site.
    NoSite {
        /// The marker's name.
        name: Arc<str>,
        /// Its file.
        file: Arc<str>,
        /// Its line, from 1.
        line: u32,
        /// Why its line has no site.
        problem: LineProblem,
    },
    /// A site is where one function ends and the next one starts. It is assigned to the latter.
    BetweenFunctions {
        /// Where the site is.
        address: u64,
        /// The function that ends, demangled.
        before: Arc<str>,
        /// The function that starts, demangled.
        after: Arc<str>,
        /// How many other sites are also between two functions.
        more: usize,
    },
    /// The kernel cannot arm a probe.
    Switch {
        /// The probe's name.
        name: Arc<str>,
        /// Its source file.
        file: Arc<str>,
        /// Its source line, from 1.
        line: u32,
        /// Why not.
        problem: SwitchProblem,
    },
    /// The kernel does not arm a probe in processes that start later.
    SwitchSharesPage {
        /// The probe's name.
        name: Arc<str>,
        /// Its source file.
        file: Arc<str>,
        /// Its source line, from 1.
        line: u32,
    },
    /// The braces behind a conversion look like words, and cannot be read.
    Words {
        /// The marker's name.
        name: Arc<str>,
        /// Its source file.
        file: Arc<str>,
        /// Its source line, from 1.
        line: u32,
        /// What is wrong.
        mistake: WordsMistake,
    },
    /// Something that the user said of a note is not used.
    Note {
        /// The name of the note.
        name: Arc<str>,
        /// Why not.
        problem: NoteProblem,
    },
    /// Functions without symbols are not named, because the debug information cannot be read.
    UnnamedFunctions {
        /// Why not.
        error: Error,
    },
    /// A file with debug information is missing, or is not used.
    #[strum(transparent)]
    DebugFile(DebugFileProblem),
}

/// Why it is unknown whether markers without a site are in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case", prefix = "survival_unknown_")]
#[non_exhaustive]
pub enum SurvivalUnknown {
    /// Not all records could be read.
    UnreadRecords,
    /// There is no section of sites: `strip` removed it, or the macro records none.
    NoSites,
    /// In a relocatable object: the site may be in another object of the program.
    OtherObjects,
}

/// Why the debug information of a separate file is not used.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case", prefix = "debug_file_")]
#[non_exhaustive]
pub enum DebugFileProblem {
    /// The debug link contains a path, not the name of a file.
    LinkIsPath {
        /// The name.
        name: String,
    },
    /// The separate debug file was not found.
    NotFound {
        /// Its name.
        name: String,
    },
    /// The supplementary file of dwz was not found, so no debug information is read.
    SupplementaryNotFound {
        /// Its name.
        name: String,
    },
    /// The file of a split unit was not found.
    SplitNotFound {
        /// Its name.
        name: String,
    },
    /// A file was found that does not belong to the image.
    Refused {
        /// Its path.
        path: String,
        /// Why not.
        refusal: DebugFileRefusal,
    },
    /// A section of a file cannot be read.
    Unreadable {
        /// Its path.
        path: String,
        /// What is wrong.
        error: Error,
    },
}

/// Why a file is not the one with the debug information of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebugFileRefusal {
    /// It cannot be read.
    Unreadable(Error),
    /// It has another build id.
    BuildId {
        /// The build id of the file, in hexadecimal.
        theirs: String,
        /// The build id that is wanted.
        wanted: String,
        /// The file that wants it; `None` for the image itself.
        by: Option<String>,
    },
    /// It has no build id.
    NoBuildId,
    /// It has another checksum.
    Checksum {
        /// The CRC of the file.
        theirs: u32,
        /// The CRC that the image expects.
        wanted: u32,
    },
    /// It is of another architecture.
    Architecture,
    /// It has no debug information.
    NoDebugInfo,
    /// The image is a relocatable object, and the file has other sections.
    Sections,
    /// It is a package without an index of units.
    NoIndex,
    /// It has no split unit.
    NoSplitUnit,
    /// It has another split unit.
    SplitUnit {
        /// The identity of the file's unit.
        theirs: u64,
        /// The identity that the image wants.
        wanted: u64,
    },
}

impl DiagnosticKind {
    /// The name of the kind, stable over versions.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

impl From<&Error> for Diagnostic {
    fn from(error: &Error) -> Self {
        let section = error.section().map(str::to_owned);
        let kind = DiagnosticKind::Error(error.clone());
        Self { severity: DiagnosticSeverity::Error, section, offset: error.offset(), kind }
    }
}

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

    pub(super) fn note(&mut self, section: &str, kind: DiagnosticKind) {
        let section = Some(section.to_owned());
        self.push(Diagnostic { severity: DiagnosticSeverity::Note, section, offset: None, kind });
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
            let kind = DiagnosticKind::More { count: self.dropped };
            let severity = if self.errors > 0 { DiagnosticSeverity::Error } else { DiagnosticSeverity::Note };
            self.kept.push(Diagnostic { severity, section: None, offset: None, kind });
        }
        self.kept
    }
}
