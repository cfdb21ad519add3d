//! `check`: what is wrong with the markers of a [`Resolution`]: what was expected, what was found, why, and
//! what helps.
//!
//! `findings` checks each image, `baseline` compares with a lock file (`lock`, which `update` writes),
//! `policy` says how severe each code is, `fix` corrects the source. A [`Report`] is a plain value; `human`,
//! `json`, `github`, `sarif` and `junit` write it. `english/causes.rs` has the sentences of the causes.
//! Specification: `docs/check.md`. No file is opened here.

mod baseline;
mod findings;
pub mod fix;
pub mod github;
pub mod human;
pub mod json;
pub mod junit;
pub mod lock;
mod policy;
pub mod sarif;
mod update;

use std::sync::Arc;

use crate::resolve::{self, Marker, Resolution, ResolvedImage};
pub use lock::{Lock, LockError, Section};
pub use policy::{Codes, Policy, Severity, groups};

/// Something that is wrong with a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The code (`docs/verdicts.md`).
    pub code: crate::verdicts::Code,
    /// How bad it is. Never [`Severity::Allow`].
    pub severity: Severity,
    /// The name of the marker.
    pub marker: Arc<str>,
    /// The source file as people name it: without the folder that the check runs in. Of a marker that is gone as the lock file has it.
    pub file: Arc<str>,
    /// The source line, from 1; `None` of a marker that is gone.
    pub line: Option<u32>,
    /// The source column, from 1; `None` where no site says.
    pub column: Option<u32>,
    /// The image, as it was named; `None` of a marker that is gone.
    pub image: Option<Arc<str>>,
    /// Which one that is in [`Resolution::images`], and its marker.
    pub index: Option<(usize, usize)>,
    /// The argument that it is about, as written; `None` where it is about the marker.
    pub argument: Option<Arc<str>>,
    /// How many live sites it is about, and of how many; `None` where it is about none.
    pub sites: Option<(usize, usize)>,
    /// The functions of these sites.
    pub functions: Vec<Arc<str>>,
    /// What is wrong, in a sentence without its place.
    pub message: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// Why, as far as it is known.
    pub causes: Vec<String>,
    /// What to do about it.
    pub help: String,
    /// Why it does not count; `None` where it does.
    pub exception: Option<Exception>,
}

/// Why a finding does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The reason that the lock file gives; where it accepts the verdict itself, that.
    pub reason: String,
}

impl Finding {
    /// Whether the check does not hold because of it.
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

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// By file and line; those of markers that are gone last.
    pub findings: Vec<Finding>,
    /// What is worth knowing and no finding: exceptions that apply to nothing.
    pub notes: Vec<String>,
    /// What could not be checked: files that could not be read, malformed records.
    pub failures: Vec<String>,
    /// The markers that were looked at: image, name, file, line, and the index in [`Resolution::images`] and of the marker there.
    pub markers: Vec<Checked>,
}

/// A marker that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Which image, and which of its markers.
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

/// How many there are of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Markers that were looked at.
    pub markers: usize,
    /// Findings that are denied.
    pub errors: usize,
    /// Findings that warn.
    pub warnings: usize,
    /// Findings that do not count.
    pub excepted: usize,
}

impl Report {
    /// Whether everything could be checked and nothing is denied.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failures.is_empty() && !self.findings.iter().any(Finding::is_denied)
    }

    /// How many findings of each kind.
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

/// What is checked, and against what.
pub struct Check<'a> {
    /// What was resolved, in [`crate::resolve::Detail::Places`] at least.
    pub resolution: &'a Resolution,
    /// Which markers are meant.
    pub keep: &'a dyn Fn(&Marker) -> bool,
    /// Which names are meant, of markers that are not there any more.
    pub keep_name: &'a dyn Fn(&str) -> bool,
    /// The folder that names of files are told from, absolute: the one that the check runs in. `None`: names as recorded.
    pub root: Option<&'a str>,
    /// How bad each code is.
    pub policy: &'a Policy,
    /// What to compare with: of each image the section for its target.
    pub lock: Option<(&'a Lock, &'a Profile)>,
}

/// Which sections of a lock file are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name of the profile.
    pub name: String,
    /// The target; `None` for the architecture of each image.
    pub target: Option<String>,
}

impl Profile {
    /// The target of an image: the one that was named, else its architecture.
    #[must_use]
    pub fn target<'p>(&'p self, image: &'p ResolvedImage) -> &'p str {
        self.target.as_deref().unwrap_or(image.arch)
    }
}

/// Checks.
#[must_use]
pub fn check(check: &Check<'_>) -> Report {
    let mut report = Report::default();
    let failed = check.resolution.failures.iter().map(|failure| format!("{}: {}", failure.path, failure.error));
    report.failures.extend(failed);
    for image in &check.resolution.images {
        let errors = image.diagnostics.iter().filter(|diagnostic| diagnostic.severity == resolve::Severity::Error);
        report.failures.extend(errors.map(|error| format!("{}: {error}", image.path)));
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
    let inside = check.root.map(|root| format!("{}/", root.trim_end_matches('/'))).filter(|inside| inside.len() > 1);
    for finding in &mut report.findings {
        if let Some(inside) = &inside {
            finding.causes.iter_mut().for_each(|cause| *cause = cause.replace(&**inside, ""));
        }
        finding.severity = check.policy.severity(finding.code);
    }
    report.findings.retain(|finding| finding.severity != Severity::Allow);
    let key = |finding: &Finding| {
        let place = (finding.line.is_none(), Arc::clone(&finding.file), finding.line, Arc::clone(&finding.marker));
        (place, finding.index, finding.code, finding.argument.clone())
    };
    report.findings.sort_by_cached_key(key);
    report
}

/// A source file as people name it: without the folder `root`, and without `./`.
fn relative(file: &Arc<str>, root: Option<&str>) -> Arc<str> {
    let root = root.map(|root| root.trim_end_matches('/')).filter(|root| !root.is_empty());
    let inside = root.and_then(|root| file.strip_prefix(root)?.strip_prefix('/'));
    match inside.or_else(|| file.strip_prefix("./")) {
        Some(inside) => inside.trim_start_matches('/').into(),
        None => Arc::clone(file),
    }
}
