//! Checks one image by itself: survival, place, exactness, arguments, formats, names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Check, Checked, Finding, Report, Severity, relative};
use crate::english::{causes, help};
use crate::resolve::{
    Absence, Argument, Exactness, Marker, NO_FUNCTION, Origin, ResolvedImage, Site, Survival, Verdict,
};
use crate::verdicts::Code;

/// Adds the findings about all markers of a report.
pub(super) fn find(check: &Check<'_>, report: &mut Report) {
    let mut findings = Vec::new();
    let mut by_name: HashMap<usize, HashMap<&str, Vec<&Marker>>> = HashMap::new();
    for (index, image) in check.resolution.images.iter().enumerate() {
        let names = by_name.entry(index).or_default();
        for marker in &image.markers {
            names.entry(&marker.name).or_default().push(marker);
        }
    }
    for checked in &report.markers {
        let Some(image) = check.resolution.images.get(checked.index.0) else { continue };
        let Some(marker) = image.markers.get(checked.index.1) else { continue };
        let of = Of { checked, image, marker };
        of.survival(&mut findings);
        of.place(&mut findings);
        of.exactness(&mut findings);
        of.arguments(&mut findings);
        let same = by_name.get(&checked.index.0).and_then(|names| names.get(&*marker.name));
        of.names(same.map_or(&[], Vec::as_slice), check.root, &mut findings);
    }
    report.findings.append(&mut findings);
}

/// A finding about a marker, with its sentences still empty.
pub(super) fn finding(checked: &Checked, column: Option<u32>, code: Code) -> Finding {
    Finding {
        code,
        severity: Severity::Warn,
        marker: Arc::clone(&checked.name),
        file: Arc::clone(&checked.file),
        line: Some(checked.line),
        column,
        image: Some(Arc::clone(&checked.image)),
        index: Some(checked.index),
        argument: None,
        sites: None,
        functions: Vec::new(),
        message: String::new(),
        expected: String::new(),
        found: String::new(),
        causes: Vec::new(),
        help: help::help(code, &checked.file, None),
        exception: None,
    }
}

/// The code of the verdict on an argument, or of a missing verdict.
pub(super) fn code_of(verdict: Option<Verdict>) -> Code {
    verdict.map_or(Code::Undescribed, Verdict::code)
}

/// The sites of a marker that are in the image.
pub(super) fn live(marker: &Marker) -> impl Iterator<Item = &Site> {
    marker.sites.iter().filter(|site| site.place.is_some())
}

struct Of<'a> {
    checked: &'a Checked,
    image: &'a ResolvedImage,
    marker: &'a Marker,
}

impl Of<'_> {
    fn finding(&self, code: Code) -> Finding {
        finding(self.checked, self.marker.column, code)
    }

    /// A finding about some of the live sites.
    fn of_sites(&self, code: Code, affected: &[&Site]) -> Finding {
        let mut functions: Vec<Arc<str>> = affected
            .iter()
            .filter_map(|site| site.function.clone())
            .filter(|function| &**function != NO_FUNCTION)
            .collect();
        functions.sort();
        functions.dedup();
        Finding {
            sites: Some((affected.len(), live(self.marker).count())),
            functions,
            column: affected.first().and_then(|site| site.column).or(self.marker.column),
            ..self.finding(code)
        }
    }

    fn survival(&self, findings: &mut Vec<Finding>) {
        let name = &self.marker.name;
        let (code, message, found) = match (self.marker.survival, &self.marker.absence) {
            (Some(Survival::Live), _) => return,
            (Some(Survival::Eliminated), _) => (
                Code::Eliminated,
                format!("{name} was eliminated: it was compiled, and no copy of it is in the image"),
                "eliminated",
            ),
            (Some(Survival::Discarded), _) => (
                Code::Discarded,
                format!("{name} was discarded: the linker dropped all code that holds it"),
                "discarded",
            ),
            (None, Some(Absence::Unresolved { .. })) => (
                Code::Unresolved,
                format!("{name} has no site record, and the line table has no place for it"),
                "unresolved",
            ),
            (None, Some(Absence::Ambiguous { .. })) => (
                Code::Ambiguous,
                format!("{name} has no site record, and its line could be one of several files"),
                "ambiguous",
            ),
            (None, _) => (
                Code::UnknownSurvival,
                format!("whether {name} is in the program is unknown: the image does not say"),
                "unknown survival",
            ),
        };
        let mut causes = causes::survival(self.marker, &self.checked.file);
        if code == Code::UnknownSurvival {
            let section = Some(simple_markers_record::SITES);
            let notes = self.image.diagnostics.iter().filter(|note| note.section.as_deref() == section);
            causes.extend(notes.map(ToString::to_string));
        }
        let expected = "live: a site in a function that is in the image".to_owned();
        findings.push(Finding { message, expected, found: found.to_owned(), causes, ..self.finding(code) });
    }

    fn place(&self, findings: &mut Vec<Finding>) {
        let is_nearest = |site: &&Site| matches!(site.origin, Origin::Nearest { .. });
        let affected: Vec<&Site> = live(self.marker).filter(is_nearest).collect();
        let Some(Origin::Nearest { line }) = affected.first().map(|site| site.origin) else { return };
        let (name, declared) = (&self.marker.name, self.marker.line);
        findings.push(Finding {
            message: format!("{name} is not on its line: the site is that of line {line}"),
            expected: format!("a site record, or code on line {declared}"),
            found: format!("code on line {line}"),
            causes: vec![format!(
                "it has no site record, line {declared} has no row in the line table, and line {line} is the next of its \
                 function that has one"
            )],
            ..self.of_sites(Code::Nearest, &affected)
        });
    }

    fn exactness(&self, findings: &mut Vec<Finding>) {
        let mut by_verdict: BTreeMap<Option<Exactness>, Vec<&Site>> = BTreeMap::new();
        for site in live(self.marker).filter(|site| site.exactness != Some(Exactness::Exact)) {
            let verdict = site.exactness.unwrap_or(Exactness::Unproven);
            by_verdict.entry(Some(verdict)).or_default().push(site);
        }
        for (verdict, affected) in by_verdict {
            let (Some(verdict), Some(first)) = (verdict, affected.first()) else { continue };
            let of = self.of_sites(verdict.code(), &affected);
            let name = &self.marker.name;
            let copies = in_copies(&of);
            let message = match verdict {
                Exactness::Exact => continue,
                Exactness::Shared => {
                    format!("a probe at {name} may fire where the marker is not passed{copies}")
                }
                Exactness::Folded => format!("a probe at {name} also fires for markers of other functions{copies}"),
                Exactness::Outside => format!("{name} is in no code of its function{copies}"),
                Exactness::Unproven => format!("whether a probe at {name} is exact is unknown{copies}"),
            };
            let mut causes = causes::exactness(first);
            if first.exactness.is_none() {
                causes.push("its instructions are not understood, or not in the file".to_owned());
            }
            causes.extend(causes::copies(self.marker, &affected));
            let expected = "exact: a probe fires when, and only when, the marker is passed".to_owned();
            findings.push(Finding { message, expected, found: verdict.as_str().to_owned(), causes, ..of });
        }
    }

    fn arguments(&self, findings: &mut Vec<Finding>) {
        for (index, declared) in self.marker.args.iter().enumerate() {
            let at = |site| -> Option<(&Site, &Argument)> {
                let site: &Site = site;
                Some((site, site.args.get(index)?))
            };
            let mut by_code: BTreeMap<Code, Vec<(&Site, &Argument)>> = BTreeMap::new();
            for (site, argument) in live(self.marker).filter_map(at) {
                if !matches!(argument.verdict, Some(Verdict::Live | Verdict::Constant)) {
                    by_code.entry(code_of(argument.verdict)).or_default().push((site, argument));
                }
            }
            let (text, name) = (&declared.text, &self.marker.name);
            for (code, affected) in by_code {
                let sites: Vec<&Site> = affected.iter().map(|(site, _)| *site).collect();
                let of = self.of_sites(code, &sites);
                let word = of.name();
                let mut causes: Vec<String> = Vec::new();
                for (site, argument) in &affected {
                    let new = causes::argument(site, argument);
                    causes.extend(new.into_iter().filter(|cause| !causes.contains(cause)).collect::<Vec<_>>());
                }
                causes.truncate(MOST_CAUSES);
                causes.extend(causes::copies(self.marker, &sites));
                let copies = in_copies(&of);
                let message = match code {
                    Code::Partial => format!("parts of `{text}` of {name} are gone{copies}"),
                    Code::Entry => format!("`{text}` of {name} is only known as an entry value{copies}"),
                    Code::Lost => format!("`{text}` of {name} is lost{copies}"),
                    Code::Absent => format!("`{text}` of {name} names nothing that is in scope{copies}"),
                    Code::Unsupported => format!("`{text}` of {name} has an unsupported location{copies}"),
                    _ => format!("whether `{text}` of {name} can be read is not known{copies}"),
                };
                findings.push(Finding {
                    argument: Some(Arc::clone(text)),
                    message,
                    expected: "live or constant: readable wherever the marker is passed".to_owned(),
                    found: word.to_owned(),
                    causes,
                    help: help::help(code, &self.checked.file, Some(text)),
                    ..of
                });
            }
            let mismatched = live(self.marker).filter_map(at).filter(|(_, argument)| argument.mismatch.is_some());
            let mismatched: Vec<(&Site, &Argument)> = mismatched.collect();
            let Some((_, first)) = mismatched.first() else { continue };
            let sites: Vec<&Site> = mismatched.iter().map(|(site, _)| *site).collect();
            let conversion = declared.conversion.as_deref().unwrap_or("no conversion");
            let why = first.mismatch.as_ref().map(ToString::to_string);
            let type_name = first.type_name.as_deref().unwrap_or("another type");
            findings.push(Finding {
                argument: Some(Arc::clone(text)),
                message: format!("`{text}` of {name} is not what `{conversion}` prints"),
                expected: format!("what `{conversion}` prints"),
                found: format!("`{type_name}`"),
                causes: why.into_iter().collect(),
                ..self.of_sites(Code::FormatMismatch, &sites)
            });
        }
    }

    /// Reports a marker whose name is already declared before it.
    fn names(&self, same: &[&Marker], root: Option<&str>, findings: &mut Vec<Finding>) {
        let mut places: Vec<(&str, u32)> = same.iter().map(|marker| (&*marker.file, marker.line)).collect();
        places.sort_unstable();
        places.dedup();
        let Some(&(file, line)) = places.first().filter(|first| **first != (&*self.marker.file, self.marker.line))
        else {
            return;
        };
        let first = relative(&file.into(), root);
        findings.push(Finding {
            message: format!("the name {} is declared at {first}:{line} too", self.marker.name),
            expected: "one declaration of the name in the image".to_owned(),
            found: format!("{} declarations", places.len()),
            causes: places
                .iter()
                .take(MOST_CAUSES)
                .map(|(file, line)| format!("declared at {}:{line}", relative(&(*file).into(), root)))
                .collect(),
            ..self.finding(Code::Duplicate)
        });
    }
}

/// The highest number of causes in a finding.
const MOST_CAUSES: usize = 6;

/// The number of affected copies, unless all are affected.
fn in_copies(finding: &Finding) -> String {
    match finding.sites {
        Some((affected, total)) if total > 1 && affected < total => format!(" in {affected} of {total} copies"),
        Some((_, total)) if total > 1 => format!(" in all {total} copies"),
        _ => String::new(),
    }
}
