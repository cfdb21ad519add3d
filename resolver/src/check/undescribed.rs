//! Images whose debug information has no variables: one finding for the image instead of one for
//! each argument.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::{Cause, Check, Finding, Problem, Report};
use crate::resolve::Reason;

/// Replaces the findings about the arguments of an image without variables with one finding.
pub(super) fn merge(check: &Check<'_>, report: &mut Report) {
    let mut by_image: BTreeMap<usize, Vec<Finding>> = BTreeMap::new();
    let mut rest = Vec::with_capacity(report.findings.len());
    for finding in report.findings.drain(..) {
        match finding.index.filter(|_| is_about_image(check, &finding)) {
            Some((image, _)) => by_image.entry(image).or_default().push(finding),
            None => rest.push(finding),
        }
    }
    let one = |findings: Vec<Finding>| {
        let markers: HashSet<_> = findings.iter().filter_map(|finding| finding.index).collect();
        let is_rust = |finding: &Finding| finding.file.ends_with(".rs");
        let problem = Problem::NoVariables {
            markers: markers.len(),
            arguments: findings.len(),
            has_lines: findings.iter().any(|finding| finding.causes.contains(&LINES_ONLY)),
            rust: findings.iter().any(is_rust),
            c: !findings.iter().all(is_rust),
            setting: check.debug_setting.clone(),
        };
        let first = findings.into_iter().min_by_key(|finding| (Arc::clone(&finding.file), finding.line))?;
        Some(Finding { problem, argument: None, sites: None, functions: Vec::new(), causes: Vec::new(), ..first })
    };
    report.findings.extend(by_image.into_values().filter_map(one));
    report.findings.append(&mut rest);
}

const LINES_ONLY: Cause = Cause::Argument(Reason::LinesOnly);

/// Whether a finding is due to the debug information of the whole image.
fn is_about_image(check: &Check<'_>, finding: &Finding) -> bool {
    let image = || finding.index.and_then(|(image, _)| check.resolution.images.get(image));
    finding.problem == Problem::Argument(None)
        && finding.exception.is_none()
        && (finding.causes.contains(&LINES_ONLY) || image().is_some_and(|image| image.debug.is_none()))
}
