//! Collects the causes of findings from the evidence in a
//! [`Resolution`](crate::resolve::Resolution). Unknown facts are not mentioned.

use std::path::Path;
use std::sync::Arc;

use super::problem::{Cause, NoteAbsence};
use crate::resolve::{
    Argument, Exactness, LocationEnd, Marker, NoteSections, Reason, ResolvedImage, Site, SitePlace, Survival, Verdict,
};

/// The highest number of items listed.
const MOST: usize = 4;

/// Why a marker is not in the image, or why that is unknown.
pub(super) fn survival(marker: &Marker, file: &Arc<str>) -> Vec<Cause> {
    match (&marker.absence, marker.survival) {
        (Some(absence), _) => vec![Cause::Absence { absence: absence.clone(), file: Arc::clone(file) }],
        (None, Some(Survival::Discarded)) => vec![Cause::DroppedFunctions],
        (None, _) => Vec::new(),
    }
}

/// Why a marker of the lock file is gone, if its language explains it.
pub(super) fn gone(file: &str) -> Vec<Cause> {
    let extension = Path::new(file).extension().and_then(|extension| extension.to_str());
    if matches!(extension, Some("c" | "h")) { vec![Cause::RemovedEarly] } else { Vec::new() }
}

/// Why an image has no note that is in the lock file.
pub(super) fn note_gone(image: &ResolvedImage) -> Cause {
    let NoteSections { notes, base, semaphores, any } = image.note_sections;
    let absence = match () {
        () if notes => NoteAbsence::Others,
        () if base || semaphores => NoteAbsence::Removed,
        () if any => NoteAbsence::NotBuilt,
        () => NoteAbsence::NoSections,
    };
    Cause::Notes { image: image.path.as_str().into(), absence }
}

/// Why a site is not exact, or why that is unknown.
pub(super) fn exactness(site: &Site) -> Vec<Cause> {
    let mut causes: Vec<Cause> = site.exactness_reason.iter().cloned().map(Cause::Exactness).collect();
    if site.exactness == Some(Exactness::Shared) {
        causes.extend(site.predecessors.iter().take(MOST).cloned().map(Cause::Predecessor));
        let more = site.predecessors.len().saturating_sub(MOST);
        causes.extend((more > 0).then_some(Cause::MorePredecessors { count: more }));
    }
    causes.extend(site.scope_ended.then_some(Cause::ScopeEnded));
    causes.extend(site.exactness.is_none().then_some(Cause::UnknownInstructions));
    causes
}

/// Why no probe can be put at a site.
pub(super) fn probe(site: &Site) -> Vec<Cause> {
    let reason = site.probe.as_ref().and_then(|probe| probe.reason);
    vec![Cause::Probe { instruction: site.instruction.clone(), reason }]
}

/// Why an argument cannot be read at a site.
pub(super) fn argument(site: &Site, argument: &Argument) -> Vec<Cause> {
    let mut causes = Vec::new();
    match &argument.reason {
        // The cause about what ended the nearest range follows, and gives the distance.
        Some(Reason::NotDescribedHere { .. }) if argument.ended.is_some() => {
            causes.push(Cause::Argument(Reason::NotDescribedHere { nearest: None }));
        }
        Some(reason) => causes.push(Cause::Argument(reason.clone())),
        None => {}
    }
    if let Some(ended) = &argument.ended {
        causes.push(Cause::RangeEnded(LocationEnd { shared: None, ..ended.clone() }));
        let shared = ended.shared.as_ref();
        causes.extend(shared.map(|variable| Cause::SharedRegister { variable: Arc::clone(variable) }));
    }
    if argument.verdict == Some(Verdict::Lost) && argument.ranges.is_empty() && argument.ended.is_none() {
        let inlined = site.inlined.first();
        causes.extend(inlined.map(|it| Cause::InlinedWithoutPlace { function: Arc::clone(&it.function) }));
    }
    causes
}

/// Why the marker has several copies. The chains of inlined calls are given only if some copies do
/// not have the finding.
pub(super) fn copies(marker: &Marker, affected: &[&Site]) -> Vec<Cause> {
    let live: Vec<&Site> = marker.live_sites().collect();
    if live.len() < 2 {
        return Vec::new();
    }
    // A fact about all copies does not depend on how one of them was inlined.
    let some = if affected.len() < live.len() { affected } else { &[] };
    let through =
        |site: &&Site| Cause::InlinedThrough { function: site.function.clone(), inlined: site.inlined.clone() };
    let mut causes: Vec<Cause> = some.iter().take(MOST).filter(|site| !site.inlined.is_empty()).map(through).collect();
    let is_same = |one: &&Site, other: &&Site| {
        one.inlined == other.inlined && start(one).is_some_and(|start_of_one| start(other) == Some(start_of_one))
    };
    let twins = |site: &&Site| live.iter().filter(|other| is_same(site, other)).count();
    if let Some((count, site)) = affected.iter().map(|site| (twins(site), site)).find(|(count, _)| *count > 1) {
        let function = site.function.clone();
        // Different calls have different lines.
        causes.push(match site.inlined.is_empty() {
            true => Cause::Duplicated { function, count },
            false => Cause::InlinedTwice { function, count },
        });
    }
    causes.dedup();
    causes
}

/// Where the function of a site starts, by its symbol. Several files may have functions of the same
/// name, such as those from a header.
fn start(site: &Site) -> Option<(Option<&str>, u64)> {
    match site.place.as_ref()? {
        SitePlace::Address(address) => Some((None, address.0.checked_sub(site.symbol_offset?)?)),
        SitePlace::Section { section, offset } => Some((Some(&**section), offset.0.checked_sub(site.symbol_offset?)?)),
    }
}
