//! Says which sites of a plan are left out.

use std::collections::HashSet;

use simple_markers_tracer::Plan;
use simple_markers_tracer::plan::{LeftOut, PlannedMarker, UnwatchedKind};

use crate::console::Console;

/// The most names of markers in a line.
const LISTED: usize = 8;

/// A marker with sites that are left out.
struct LeftOutLine<'p> {
    image: usize,
    name: &'p str,
    reasons: Vec<LeftOutReason>,
}

/// Why some sites are left out.
struct LeftOutReason {
    kind: UnwatchedKind,
    words: String,
    /// Where the first one is.
    place: String,
    count: usize,
}

/// Says which sites are left out, from the number `first` on, of the markers that `is_wanted` accepts by
/// their names: each reason once, with the number of its sites, and one line for markers of which the
/// same is to be said.
/// Nothing but their number is said of those of the `stripped` images.
pub(crate) fn tell(
    console: &Console,
    plan: &Plan,
    first: usize,
    stripped: &HashSet<usize>,
    is_wanted: &dyn Fn(&str) -> bool,
) {
    let left_out = || plan.left_out.iter().skip(first).filter(|it| is_wanted(&it.marker));
    let mut lines: Vec<LeftOutLine<'_>> = Vec::new();
    for LeftOut { image, marker, place, why } in left_out().filter(|it| !stripped.contains(&it.image)) {
        let (kind, words) = match why.kind() {
            kind @ UnwatchedKind::NotExact(exactness) => (kind, exactness.as_str().to_owned()),
            kind => (kind, why.to_string()),
        };
        if lines.last().is_none_or(|line| (line.image, line.name) != (*image, &**marker)) {
            lines.push(LeftOutLine { image: *image, name: marker, reasons: Vec::new() });
        }
        let Some(line) = lines.last_mut() else { continue };
        match line.reasons.iter_mut().find(|reason| (reason.kind, &reason.words) == (kind, &words)) {
            Some(reason) => reason.count += 1,
            None => line.reasons.push(LeftOutReason { kind, words, place: place.clone(), count: 1 }),
        }
    }
    for (image, path) in plan.images.iter().enumerate().map(|(number, image)| (number, &image.path)) {
        let names: HashSet<&str> = left_out().filter(|it| it.image == image).map(|it| &*it.marker).collect();
        if names.is_empty() || !stripped.contains(&image) {
            continue;
        }
        let markers = if names.len() == 1 { "marker is".to_owned() } else { format!("{} markers are", names.len()) };
        console.note(&format!(
            "{path}: its {markers} not watched: it was stripped of where they are; --plan takes a plan of the whole program, \
             --debug-dir a folder with its debug file"
        ));
    }
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for line in lines {
        let words = words(plan, &line);
        match said.iter_mut().find(|(of, _)| *of == words) {
            Some((_, names)) => names.push(line.name),
            None => said.push((words, vec![line.name])),
        }
    }
    for (words, names) in said {
        let more = names.len().saturating_sub(LISTED);
        let names = names.get(..LISTED).unwrap_or(&names).join(", ");
        match more {
            0 => console.note(&format!("{names}: {words}")),
            _ => console.note(&format!("{names} and {more} more: {words}")),
        }
    }
    let is_inexact = |it: &LeftOut| matches!(it.why.kind(), UnwatchedKind::NotExact(_));
    if left_out().any(is_inexact) {
        console.note(
            "the hits at a site that is not exact may not be the passes of the marker; `smark show` says why, --include adds them",
        );
    }
}

/// What is said of a marker.
fn words(plan: &Plan, line: &LeftOutLine<'_>) -> String {
    let is_it = |it: &PlannedMarker| it.image == line.image && *it.name == *line.name;
    let number = plan.markers.iter().position(is_it);
    let watched = plan.sites.iter().filter(|site| Some(site.marker) == number).count();
    let share = match number.and_then(|number| plan.markers.get(number)) {
        Some(marker) => format!("{watched} of {} sites are watched", marker.sites),
        None => "not watched".to_owned(),
    };
    let reasons = line.reasons.iter().map(|LeftOutReason { kind, words, place, count }| match (kind, count) {
        (UnwatchedKind::NoSite, _) => words.clone(),
        (UnwatchedKind::NotExact(_), 1) => format!("{place} is {words}"),
        (UnwatchedKind::NotExact(_), count) => format!("{count} are {words}"),
        (UnwatchedKind::Other, 1) => format!("{place}: {words}"),
        (UnwatchedKind::Other, count) => format!("{count} times: {words}"),
    });
    format!("{share}: {}", reasons.collect::<Vec<_>>().join(", "))
}
