//! Checks one image by itself: survival, place, exactness, arguments, formats, names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::least::code_of;
use super::{CanKeep, Cause, Check, CheckedMarker, Finding, Problem, Report, Severity, causes, relative};
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
        of.exactness(&mut findings);
        // Nobody can change a note in the source of the program: only what differs from a lock file counts.
        if marker.is_note {
            continue;
        }
        of.survival(&mut findings);
        of.place(&mut findings);
        of.arguments(&mut findings);
        let same = by_name.get(&checked.index.0).and_then(|names| names.get(&*marker.name));
        of.names(same.map_or(&[], Vec::as_slice), check.root, &mut findings);
    }
    report.findings.append(&mut findings);
}

/// A finding about a marker, still without arguments, sites and causes.
pub(super) fn finding(checked: &CheckedMarker, column: Option<u32>, problem: Problem) -> Finding {
    Finding {
        code: problem.code(),
        severity: Severity::Warn,
        marker: Arc::clone(&checked.name),
        file: Arc::clone(&checked.file),
        line: Some(checked.line).filter(|line| *line > 0),
        column,
        image: Some(Arc::clone(&checked.image)),
        index: Some(checked.index),
        argument: None,
        reasons: Vec::new(),
        sites: None,
        functions: Vec::new(),
        problem,
        causes: Vec::new(),
        can_keep: CanKeep::default(),
        is_async: false,
        is_anchored: false,
        is_mark: false,
        exception: None,
    }
}

struct Of<'a> {
    checked: &'a CheckedMarker,
    image: &'a ResolvedImage,
    marker: &'a Marker,
}

impl Of<'_> {
    fn finding(&self, problem: Problem) -> Finding {
        Finding { is_mark: self.marker.is_mark, ..finding(self.checked, self.marker.column, problem) }
    }

    /// A finding about some of the live sites.
    fn of_sites(&self, problem: Problem, affected: &[&Site]) -> Finding {
        let mut functions: Vec<Arc<str>> = affected
            .iter()
            .filter_map(|site| site.function.clone())
            .filter(|function| &**function != NO_FUNCTION)
            .collect();
        functions.sort();
        functions.dedup();
        Finding {
            sites: Some((affected.len(), self.marker.live_sites().count())),
            functions,
            is_anchored: !affected.is_empty() && affected.iter().all(|site| site.anchored),
            column: affected.first().and_then(|site| site.column).or(self.marker.column),
            ..self.finding(problem)
        }
    }

    fn survival(&self, findings: &mut Vec<Finding>) {
        let problem = match (self.marker.survival, &self.marker.absence) {
            (Some(Survival::Live), _) => return,
            (Some(Survival::Eliminated), _) => Problem::Eliminated,
            (Some(Survival::Discarded), _) => Problem::Discarded,
            (None, Some(Absence::Unresolved { .. })) => Problem::Unresolved,
            (None, Some(Absence::Ambiguous { .. })) => Problem::Ambiguous,
            (None, _) => Problem::UnknownSurvival,
        };
        let mut causes = causes::survival(self.marker, &self.checked.file);
        if problem == Problem::UnknownSurvival {
            let section = Some(simple_markers_record::SITES);
            let notes = self.image.diagnostics.iter().filter(|note| note.section.as_deref() == section);
            causes.extend(notes.cloned().map(Cause::Image));
        }
        findings.push(Finding { causes, ..self.finding(problem) });
    }

    fn place(&self, findings: &mut Vec<Finding>) {
        let is_nearest = |site: &&Site| matches!(site.origin, Origin::Nearest { .. });
        let affected: Vec<&Site> = self.marker.live_sites().filter(is_nearest).collect();
        let Some(Origin::Nearest { line }) = affected.first().map(|site| site.origin) else { return };
        let declared = self.marker.line;
        findings.push(Finding {
            causes: vec![Cause::NoRow { declared, line }],
            ..self.of_sites(Problem::Nearest { declared, line }, &affected)
        });
    }

    fn exactness(&self, findings: &mut Vec<Finding>) {
        let mut by_verdict: BTreeMap<Exactness, Vec<&Site>> = BTreeMap::new();
        // A line that the user named is never better than likely in optimised code.
        let is_best = |exactness: Option<Exactness>| match exactness {
            Some(Exactness::Exact) => true,
            Some(Exactness::Likely) => self.marker.is_mark,
            _ => false,
        };
        for site in self.marker.live_sites().filter(|site| !is_best(site.exactness)) {
            by_verdict.entry(site.exactness.unwrap_or(Exactness::Unproven)).or_default().push(site);
        }
        for (verdict, affected) in by_verdict {
            let Some(first) = affected.first() else { continue };
            let mut causes = causes::exactness(first);
            causes.extend(causes::copies(self.marker, &affected));
            findings.push(Finding { causes, ..self.of_sites(Problem::Exactness(verdict), &affected) });
        }
        let is_refused = |site: &&Site| {
            site.exactness == Some(Exactness::Exact) && site.probe.as_ref().is_some_and(|probe| !probe.can_be_put())
        };
        let refused: Vec<&Site> = self.marker.live_sites().filter(is_refused).collect();
        if let Some(first) = refused.first() {
            let mut causes = causes::probe(first);
            causes.extend(causes::copies(self.marker, &refused));
            findings.push(Finding { causes, ..self.of_sites(Problem::Refused, &refused) });
        }
    }

    fn arguments(&self, findings: &mut Vec<Finding>) {
        for (index, declared) in self.marker.args.iter().enumerate() {
            let at = |site| -> Option<(&Site, &Argument)> {
                let site: &Site = site;
                Some((site, site.args.get(index)?))
            };
            let mut by_code: BTreeMap<Code, Vec<(&Site, &Argument)>> = BTreeMap::new();
            for (site, argument) in self.marker.live_sites().filter_map(at) {
                if !matches!(argument.verdict, Some(Verdict::Live | Verdict::Constant)) {
                    by_code.entry(code_of(argument.verdict)).or_default().push((site, argument));
                }
            }
            for affected in by_code.into_values() {
                let Some((_, first)) = affected.first() else { continue };
                let sites: Vec<&Site> = affected.iter().map(|(site, _)| *site).collect();
                let mut causes: Vec<Cause> = Vec::new();
                for (site, argument) in &affected {
                    let new = causes::argument(site, argument);
                    causes.extend(new.into_iter().filter(|cause| !causes.contains(cause)).collect::<Vec<_>>());
                }
                causes.truncate(MOST_CAUSES);
                let is_doubtful = |argument: &&Argument| argument.verdict == Some(Verdict::Doubtful);
                let doubtful = affected.iter().map(|(_, argument)| *argument).filter(is_doubtful);
                let mut reasons: Vec<&str> = doubtful.filter_map(|it| Some(it.reason.as_ref()?.name())).collect();
                reasons.sort_unstable();
                reasons.dedup();
                causes.extend(causes::copies(self.marker, &sites));
                findings.push(Finding {
                    argument: Some(Arc::clone(&declared.text)),
                    causes,
                    reasons,
                    ..self.of_sites(Problem::Argument(first.verdict), &sites)
                });
            }
            let in_vectors: Vec<(&Site, &Arc<str>)> = self
                .marker
                .live_sites()
                .filter_map(at)
                .filter_map(|(site, argument)| Some((site, argument.vector_register.as_ref()?)))
                .collect();
            if let Some((_, register)) = in_vectors.first() {
                let sites: Vec<&Site> = in_vectors.iter().map(|(site, _)| *site).collect();
                findings.push(Finding {
                    argument: Some(Arc::clone(&declared.text)),
                    causes: causes::copies(self.marker, &sites),
                    ..self.of_sites(Problem::InVectorRegister { register: Arc::clone(register) }, &sites)
                });
            }
            let mismatched =
                self.marker.live_sites().filter_map(at).filter(|(_, argument)| argument.mismatch.is_some());
            let mismatched: Vec<(&Site, &Argument)> = mismatched.collect();
            let Some((_, first)) = mismatched.first() else { continue };
            let sites: Vec<&Site> = mismatched.iter().map(|(site, _)| *site).collect();
            let problem =
                Problem::Format { conversion: declared.conversion.clone(), type_name: first.type_name.clone() };
            findings.push(Finding {
                argument: Some(Arc::clone(&declared.text)),
                causes: first.mismatch.iter().cloned().map(Cause::Mismatch).collect(),
                ..self.of_sites(problem, &sites)
            });
        }
    }

    /// Reports a marker whose name is already declared before it.
    fn names(&self, same: &[&Marker], root: Option<&str>, findings: &mut Vec<Finding>) {
        if same.len() < 2 {
            return;
        }
        let mut places: Vec<(Arc<str>, u32)> =
            same.iter().map(|marker| (relative(&marker.file, root), marker.line)).collect();
        places.sort_unstable();
        places.dedup();
        let own = (&self.checked.file, self.checked.line);
        let Some((file, line)) = places.first().filter(|(file, line)| (file, *line) != own) else { return };
        let problem = Problem::Duplicate { file: Arc::clone(file), line: *line, declarations: places.len() };
        let declared = |(file, line): &(Arc<str>, u32)| Cause::Declared { file: Arc::clone(file), line: *line };
        findings
            .push(Finding { causes: places.iter().take(MOST_CAUSES).map(declared).collect(), ..self.finding(problem) });
    }
}

/// The highest number of causes in a finding.
const MOST_CAUSES: usize = 6;
