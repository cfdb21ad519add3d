//! `check`: what is wrong with the markers of a [`resolve::Resolution`]: what was expected, what was found,
//! why, and how to fix it.
//!
//! `findings` checks each image, and `causes` collects why. `baseline` compares with a lock file,
//! which `lock` reads and `update` writes. `policy` sets the severity of each code. `fix` corrects
//! the source. `settings` reads what a project sets for it. A [`Report`] is a plain value, and `problem` has what its findings say;
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
mod least;
pub mod lock;
mod policy;
mod problem;
mod profile_settings;
mod report;
mod request;
pub mod sarif;
mod settings;
mod undescribed;
mod update;

use std::sync::Arc;

use crate::english;
use crate::resolve;
pub use least::Least;
pub use lock::{Lock, LockError, LockedNote, Section};
pub use policy::{Codes, Policy, Severity, groups};
pub use problem::{CanKeep, Cause, Exception, NoteAbsence, Problem, Remark};
pub use profile_settings::{DebugSetting, ProfileSettings, StripSetting};
pub use report::{CheckedMarker, Finding, Report, Summary};
use request::relative;
pub use request::{Check, Profile};
pub use settings::{Level, Setting, Settings};

/// Checks the markers, and compares them with the lock file if there is one.
#[must_use]
pub fn check(check: &Check<'_>) -> Report {
    let mut report = Report::default();
    let failed = check.resolution.failures.iter().map(|failure| format!("{}: {}", failure.path, failure.error));
    report.failures.extend(failed);
    for image in &check.resolution.images {
        let errors =
            image.diagnostics.iter().filter(|diagnostic| diagnostic.severity == resolve::DiagnosticSeverity::Error);
        report
            .failures
            .extend(errors.map(|error| format!("{}: {}", image.path, english::diagnostics::diagnostic(error))));
    }
    for (of, image) in check.resolution.images.iter().enumerate() {
        let path: Arc<str> = image.path.as_str().into();
        for (index, marker) in image.markers.iter().enumerate().filter(|(_, marker)| (check.keep)(marker)) {
            report.markers.push(CheckedMarker {
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
