//! `check`: what is wrong with the markers of a [`Resolution`]: what was expected, what was found,
//! why, and how to fix it.
//!
//! `findings` checks each image, and `causes` collects why. `baseline` compares with a lock file,
//! which `lock` reads and `update` writes. `policy` sets the severity of each code. `fix` corrects
//! the source. A [`Report`] is a plain value, and `problem` has what its findings say;
//! `english/check.rs` renders that. `human`, `json`, `github`, `sarif` and `junit` write a report.
//! This module opens no file. Specification: `docs/check.md`.

mod baseline;
mod causes;
mod findings;
pub mod fix;
pub mod github;
pub mod human;
pub mod json;
pub mod junit;
pub mod lock;
mod policy;
mod problem;
pub mod sarif;
mod undescribed;
mod update;

use std::sync::Arc;

use crate::dwarf::files::SourcePath;
use crate::english;
use crate::resolve::{self, Marker, Resolution, ResolvedImage};
pub use lock::{Lock, LockError, Section};
pub use policy::{Codes, Policy, Severity, groups};
pub use problem::{CanKeep, Cause, Exception, Problem, Remark};
pub use undescribed::{DebugSetting, ProfileSettings, StripSetting};

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
    /// The index of the image in [`Resolution::images`], and of the marker in it.
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
    pub markers: Vec<Checked>,
}

/// A marker that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The index of the image in [`Resolution::images`], and of the marker in it.
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

/// What to check, and what to compare it with.
pub struct Check<'a> {
    /// The resolved images, with [`crate::resolve::Detail::Places`] or more.
    pub resolution: &'a Resolution,
    /// Selects the markers to check.
    pub keep: &'a dyn Fn(&Marker) -> bool,
    /// Selects, by name, the markers to report as gone.
    pub keep_name: &'a dyn Fn(&str) -> bool,
    /// The absolute path of the folder that the check runs in. File names are relative to it.
    /// `None` leaves them as recorded.
    pub root: Option<&'a str>,
    /// The severity of each code.
    pub policy: &'a Policy,
    /// The lock file to compare with, and how to choose its sections.
    pub lock: Option<(&'a Lock, &'a Profile)>,
    /// What sets the debug information of the program; `None` if that is not known.
    pub debug_setting: Option<ProfileSettings>,
}

/// Which sections of a lock file to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name of the profile.
    pub name: String,
    /// The target; `None` for the architecture of each image.
    pub target: Option<String>,
}

impl Profile {
    /// The target of an image: the one given, or else its architecture.
    #[must_use]
    pub fn target<'p>(&'p self, image: &'p ResolvedImage) -> &'p str {
        self.target.as_deref().unwrap_or(image.arch.as_str())
    }
}

/// Checks the markers, and compares them with the lock file if there is one.
#[must_use]
pub fn check(check: &Check<'_>) -> Report {
    let mut report = Report::default();
    let failed = check.resolution.failures.iter().map(|failure| format!("{}: {}", failure.path, failure.error));
    report.failures.extend(failed);
    for image in &check.resolution.images {
        let errors = image.diagnostics.iter().filter(|diagnostic| diagnostic.severity == resolve::Severity::Error);
        report
            .failures
            .extend(errors.map(|error| format!("{}: {}", image.path, english::diagnostics::diagnostic(error))));
    }
    for (of, image) in check.resolution.images.iter().enumerate() {
        let path: Arc<str> = image.path.as_str().into();
        for (index, marker) in image.markers.iter().enumerate().filter(|(_, marker)| (check.keep)(marker)) {
            report.markers.push(Checked {
                index: (of, index),
                image: Arc::clone(&path),
                module: Arc::clone(&image.module),
                name: Arc::clone(&marker.name),
                file: relative(&marker.file, check.root),
                line: marker.line,
            });
        }
    }
    findings::find(check, &mut report);
    if let Some((lock, profile)) = check.lock {
        baseline::compare(check, lock, profile, &mut report);
    }
    undescribed::merge(check, &mut report);
    let root = check.root.map(|root| root.trim_end_matches('/')).filter(|root| !root.is_empty());
    for finding in &mut report.findings {
        if let Some(root) = root {
            finding.causes.iter_mut().for_each(|cause| cause.make_relative(root));
        }
        finding.severity = check.policy.severity_of(finding.code, &finding.reasons);
        finding.can_keep = fix::can_keep(check.resolution, finding);
        finding.is_async = fix::is_async(check.resolution, finding);
    }
    report.findings.retain(|finding| finding.severity != Severity::Allow);
    let key = |finding: &Finding| {
        // What is wrong with a whole image comes first.
        let is_about_marker = !matches!(finding.problem, Problem::NoVariables { .. });
        let place = (
            is_about_marker,
            finding.line.is_none(),
            Arc::clone(&finding.file),
            finding.line,
            Arc::clone(&finding.marker),
        );
        (place, finding.index, finding.code, finding.argument.clone())
    };
    report.findings.sort_by_cached_key(key);
    report
}

/// A source file name without the folder `root` and without `.` and `..`. Two names of one file
/// have one relative name, unless symbolic links are in them.
fn relative(file: &Arc<str>, root: Option<&str>) -> Arc<str> {
    let path = SourcePath::new(file);
    let root = root.map(|root| root.trim_end_matches('/')).filter(|root| !root.is_empty());
    match root.and_then(|root| path.as_str().strip_prefix(root)?.strip_prefix('/')) {
        Some(inside) => inside.into(),
        None => Arc::clone(path.as_str()),
    }
}
