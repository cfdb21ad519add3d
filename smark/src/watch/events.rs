//! `-e GLOB`: the events of the kernel that are watched beside markers.

use simple_markers_events::{Names, NoNames};
use simple_markers_resolver::select::{Field, Selection, UnmatchedPattern};
use simple_markers_tracer::Plan;
use simple_markers_tracer::plan::KernelEvent;
use simple_markers_tracer::sys::KernelEvents;

use super::errors::without_events;
use crate::console::{Console, Status};
use crate::inputs::suggested;

/// The kernel needs about two seconds to let go of so many events.
const MANY: usize = 50;

/// Adds the events that globs match to a plan. Says which globs match nothing.
pub(super) fn add(console: &Console, plan: &mut Plan, globs: &[String]) -> anyhow::Result<Status> {
    if globs.is_empty() {
        return Ok(Status::Done);
    }
    let mut selection = Selection::default();
    for glob in globs {
        selection.add(Field::Name, glob)?;
    }
    let kernel = KernelEvents::open().map_err(|why| without_events(&why))?;
    let known = kernel.names().map_err(|why| without_events(&why))?;
    let names: Vec<String> = known.iter().map(|(group, name)| format!("{group}:{name}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut status = Status::Done;
    for unmatched in selection.unmatched_names(&all) {
        let UnmatchedPattern { pattern, closest, .. } = unmatched;
        console.error(&format!("no event of the kernel matches `{pattern}`{}", suggested(&closest)));
        status = Status::NoMatch;
    }
    let (mut count, kernel_names) = (0, kernel.kernel_names());
    for ((group, event), name) in known.iter().zip(&names).filter(|(_, name)| selection.matches_name(name)) {
        count += 1;
        match kernel.format(group, event) {
            Ok(format) => {
                if !plan.add_event(KernelEvent::new(format, &kernel_names)) {
                    console.error(&format!("{name}: its records are too large to be watched"));
                    status = status.max(Status::Unreadable);
                }
            }
            Err(why) => {
                console.error(&format!("{name}: {why}"));
                status = status.max(Status::Unreadable);
            }
        }
    }
    if count > MANY {
        console
            .note(&format!("{count} events of the kernel: it takes the kernel a while to let go of them at the end"));
    }
    Ok(status)
}

/// The names of the running kernel that the texts of the events of a plan use.
pub(crate) fn names(plan: &Plan) -> Box<dyn Names> {
    let has_events = plan.markers.iter().any(|marker| marker.event.is_some());
    match has_events.then(KernelEvents::open) {
        Some(Ok(kernel)) => Box::new(kernel.kernel_names()),
        Some(Err(_)) | None => Box::new(NoNames),
    }
}
