//! The result of a check, as a plain value.

use std::sync::Arc;

use super::policy::Severity;
use super::problem::{CanKeep, Cause, Exception, Problem, Remark};

/// A problem with a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The code (`docs/verdicts.md`).
    pub code: crate::verdicts::Code,
    /// The severity. Never [`Severity::Allow`].
    pub severity: Severity,
    /// The name of the marker.
    pub marker: Arc<str>,
    /// The source file, relative to the folder that the check runs in. For a marker that is gone,
    /// the file in the lock file.
    pub file: Arc<str>,
    /// The source line, from 1; `None` for a marker that is gone.
    pub line: Option<u32>,
    /// The source column, from 1; `None` if no site gives it.
    pub column: Option<u32>,
    /// The image, as it was named; `None` for a marker that is gone.
    pub image: Option<Arc<str>>,
    /// The index of the image in [`crate::resolve::Resolution::images`], and of the marker in it.
    pub index: Option<(usize, usize)>,
    /// The argument as written; `None` if the finding is about the marker itself.
    pub argument: Option<Arc<str>>,
    /// Why the argument is doubtful at the affected sites, each reason once, by name
    /// ([`crate::resolve::Reason::name`]); empty for another code.
    pub reasons: Vec<&'static str>,
    /// The number of affected live sites and of all live sites; `None` if the finding is not about
    /// sites.
    pub sites: Option<(usize, usize)>,
    /// The functions of these sites.
    pub functions: Vec<Arc<str>>,
    /// What is wrong, with its data.
    pub problem: Problem,
    /// The known causes.
    pub causes: Vec<Cause>,
    /// Whether `keep` helps the argument.
    pub can_keep: CanKeep,
    /// Whether all live sites of the marker are in async functions, blocks or closures of Rust.
    pub is_async: bool,
    /// Whether the marker has its own instruction at all sites that the finding is about.
    pub is_anchored: bool,
    /// Whether the user named the place of the marker, which has no source of its own.
    pub is_mark: bool,
    /// Why the finding is excepted; `None` if it is not.
    pub exception: Option<Exception>,
}

impl Finding {
    /// Whether the finding makes the check fail.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.severity == Severity::Deny && self.exception.is_none()
    }

    /// The word for the code.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.code.name()
    }

    /// The group of the code.
    #[must_use]
    pub fn group(&self) -> &'static str {
        self.code.group().as_str()
    }
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Sorted by file and line. Findings about images come first, markers that are gone last.
    pub findings: Vec<Finding>,
    /// Remarks that are not findings: exceptions that no longer apply.
    pub notes: Vec<Remark>,
    /// Files that could not be read, and malformed records.
    pub failures: Vec<String>,
    /// The markers that were checked.
    pub markers: Vec<CheckedMarker>,
}

/// A marker that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedMarker {
    /// The index of the image in [`crate::resolve::Resolution::images`], and of the marker in it.
    pub index: (usize, usize),
    /// The image, as it was named.
    pub image: Arc<str>,
    /// Its module.
    pub module: Arc<str>,
    /// The marker's name.
    pub name: Arc<str>,
    /// Its source file, as in [`Finding::file`].
    pub file: Arc<str>,
    /// Its source line.
    pub line: u32,
}

/// The totals of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Markers that were checked.
    pub markers: usize,
    /// Findings that are denied.
    pub errors: usize,
    /// Findings that warn.
    pub warnings: usize,
    /// Findings that are excepted.
    pub excepted: usize,
}

impl Report {
    /// Whether everything could be checked and no finding is denied.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failures.is_empty() && !self.findings.iter().any(Finding::is_denied)
    }

    /// Counts the markers and the findings of each severity.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary { markers: self.markers.len(), ..Summary::default() };
        for finding in &self.findings {
            match (&finding.exception, finding.severity) {
                (Some(_), _) => summary.excepted += 1,
                (None, Severity::Deny) => summary.errors += 1,
                (None, _) => summary.warnings += 1,
            }
        }
        summary
    }
}
