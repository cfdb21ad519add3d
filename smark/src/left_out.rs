//! Says which sites of a plan are left out.

use simple_markers_tracer::Plan;
use simple_markers_tracer::plan::{LeftOut, PlannedMarker, UnwatchedKind};

use crate::Console;

/// Says which sites are left out, from the number `first` on: a line for each marker that `is_wanted`
/// accepts by its name.
pub(crate) fn tell(console: &Console, plan: &Plan, first: usize, is_wanted: &dyn Fn(&str) -> bool) {
    let mut lines: Vec<(usize, &str, Vec<String>)> = Vec::new();
    let left_out = || plan.left_out.iter().skip(first).filter(|it| is_wanted(&it.marker));
    for LeftOut { image, marker, place, why } in left_out() {
        let what = match why.kind() {
            UnwatchedKind::NoSite => why.to_string(),
            UnwatchedKind::NotExact(exactness) => format!("{place} is {}", exactness.as_str()),
            UnwatchedKind::Other => format!("{place}: {why}"),
        };
        match lines.last_mut().filter(|(of, name, _)| of == image && *name == &**marker) {
            Some((.., whats)) => whats.push(what),
            None => lines.push((*image, marker, vec![what])),
        }
    }
    for (image, name, whats) in lines {
        let is_it = |it: &PlannedMarker| it.image == image && *it.name == *name;
        let number = plan.markers.iter().position(is_it);
        let watched = plan.sites.iter().filter(|site| Some(site.marker) == number).count();
        let share = match number.and_then(|number| plan.markers.get(number)) {
            Some(marker) => format!("{watched} of {} sites are watched", marker.sites),
            None => "not watched".to_owned(),
        };
        console.note(&format!("{name}: {share}: {}", whats.join(", ")));
    }
    let is_inexact = |it: &LeftOut| matches!(it.why.kind(), UnwatchedKind::NotExact(_));
    if left_out().any(is_inexact) {
        console.note(
            "the hits at a site that is not exact may not be the passes of the marker; `smark show` says why, --include adds them",
        );
    }
}
