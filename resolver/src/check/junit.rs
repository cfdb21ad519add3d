//! Writes a report as JUnit XML: a suite for each image and a test case for each marker, which
//! fails if a finding is denied.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::sync::Arc;

use quick_junit::{NonSuccessKind, Report as Document, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::{Finding, Report};
use crate::english;
use crate::text::shown;

/// The suite of the markers that are in a lock file but in no image.
const LOCK: &str = "lock file";

/// The suite of the files that could not be checked.
const FILES: &str = "files";

/// Writes the report as JUnit XML.
///
/// # Errors
///
/// Those of `out`.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let mut of_marker: HashMap<(usize, usize), Vec<&Finding>> = HashMap::new();
    let mut of_lock: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in &report.findings {
        match finding.index {
            Some(index) => of_marker.entry(index).or_default().push(finding),
            None => of_lock.entry(&finding.marker).or_default().push(finding),
        }
    }
    let mut document = Document::new("smark check");
    for markers in report.markers.chunk_by(|one, other| one.index.0 == other.index.0) {
        let Some(first) = markers.first() else { continue };
        let mut suite = TestSuite::new(&*shown(&first.image));
        for marker in markers {
            let findings = of_marker.get(&marker.index).map_or(&[][..], Vec::as_slice);
            let place = match marker.line {
                0 => marker.file.to_string(),
                line => format!("{}:{line}", marker.file),
            };
            suite.add_test_case(case(&marker.name, &marker.module, &place, findings));
        }
        document.add_test_suite(suite);
    }
    if !report.failures.is_empty() {
        let mut suite = TestSuite::new(FILES);
        for failure in &report.failures {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(&*shown(failure));
            let mut case = TestCase::new(&*shown(failure), status);
            case.set_classname(FILES);
            suite.add_test_case(case);
        }
        document.add_test_suite(suite);
    }
    if !of_lock.is_empty() {
        let mut suite = TestSuite::new(LOCK);
        for (name, findings) in of_lock {
            let place: Option<&Arc<str>> = findings.first().map(|finding| &finding.file);
            suite.add_test_case(case(name, LOCK, place.map_or("", |file| &**file), &findings));
        }
        document.add_test_suite(suite);
    }
    document.serialize(&mut *out).map_err(|error: SerializeError| io::Error::other(error))
}

fn case(name: &str, module: &str, place: &str, findings: &[&Finding]) -> TestCase {
    let denied: Vec<&Finding> = findings.iter().copied().filter(|finding| finding.is_denied()).collect();
    let status = match denied.first() {
        None => TestCaseStatus::success(),
        Some(first) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(format!("{}: {}", first.code, shown(&english::check::message(first))));
            status.set_type(first.code.as_str());
            status.set_description(denied.iter().map(|finding| text(finding)).collect::<Vec<_>>().join("\n"));
            status
        }
    };
    let mut case = TestCase::new(&*shown(name), status);
    case.set_classname(&*shown(module));
    let others: Vec<String> =
        findings.iter().filter(|finding| !finding.is_denied()).map(|finding| text(finding)).collect();
    let place = format!("{}\n", shown(place));
    case.set_system_out(std::iter::once(place).chain(others).collect::<Vec<_>>().join("\n"));
    case
}

fn text(finding: &Finding) -> String {
    let (severity, kept) = match &finding.exception {
        Some(exception) => ("excepted", format!("reason: {}\n", shown(&english::check::exception(exception)))),
        None => (finding.severity.as_str(), String::new()),
    };
    let mut text = format!("{severity}[{}]: {}\n", finding.code, shown(&english::check::message(finding)));
    text.push_str(&format!(
        "expected: {}\nfound: {}\n",
        shown(&english::check::expected(finding)),
        shown(&english::check::found(finding))
    ));
    for cause in &finding.causes {
        text.push_str(&format!("cause: {}\n", shown(&english::check::cause(cause))));
    }
    text.push_str(&format!("help: {}\n{kept}", shown(&english::help::help(finding))));
    text
}
