//! `-e GLOB`: the events of the kernel that are watched beside markers.

use simple_markers_events::{Names, NoNames};
use simple_markers_resolver::select::{Field, Selection, UnmatchedPattern};
use simple_markers_tracer::Plan;
use simple_markers_tracer::plan::{CallSide, KernelEvent};
use simple_markers_tracer::sys::KernelEvents;

use super::errors::without_events;
use crate::console::{Console, Status};
use crate::inputs::suggested;

/// The kernel needs about two seconds to let go of so many events.
const MANY: usize = 50;

/// The system calls that are chosen by their own names, as `syscalls:openat`.
#[derive(Default)]
struct SystemCalls(Vec<Selection>);

impl SystemCalls {
    /// Those of a glob; `None` if it is one for events.
    fn of(glob: &str) -> anyhow::Result<Option<Self>> {
        let name = glob.strip_prefix("syscalls:").filter(|name| !name.starts_with("sys_"));
        let Some(name) = name else { return Ok(None) };
        let mut selection = Selection::default();
        selection.add(Field::Name, name)?;
        Ok(Some(Self(vec![selection])))
    }

    /// Whether an event is the entry or the return of one of them.
    fn matches(&self, group: &str, event: &str) -> bool {
        let call = CallSide::of(group, event).map(|(_, name)| name);
        call.is_some_and(|name| self.0.iter().any(|selection| selection.matches_name(name)))
    }
}

/// Adds the events that globs match to a plan. Says which globs match nothing.
pub(super) fn add(console: &Console, plan: &mut Plan, globs: &[String]) -> anyhow::Result<Status> {
    if globs.is_empty() {
        return Ok(Status::Done);
    }
    let kernel = KernelEvents::open().map_err(|why| without_events(&why))?;
    let known = kernel.names().map_err(|why| without_events(&why))?;
    let names: Vec<String> = known.iter().map(|(group, name)| format!("{group}:{name}")).collect();
    let (mut selection, mut calls) = (Selection::default(), SystemCalls::default());
    for glob in globs {
        let of_call = SystemCalls::of(glob)?;
        match of_call.filter(|of_call| known.iter().any(|(group, event)| of_call.matches(group, event))) {
            Some(of_call) => calls.0.extend(of_call.0),
            None => selection.add(Field::Name, glob)?,
        }
    }
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut status = Status::Done;
    for unmatched in selection.unmatched_names(&all) {
        let UnmatchedPattern { pattern, closest, .. } = unmatched;
        console.error(&format!("no event of the kernel matches `{pattern}`{}", suggested(&closest)));
        status = Status::NoMatch;
    }
    let (mut count, kernel_names) = (0, kernel.kernel_names());
    for ((group, event), name) in known.iter().zip(&names) {
        // Without a glob it matches all.
        let is_event = !selection.is_empty() && selection.matches_name(name);
        let is_side = calls.matches(group, event);
        if !is_event && !is_side {
            continue;
        }
        count += 1;
        match kernel.format(group, event) {
            Ok(format) => {
                let event = KernelEvent::new(format, &kernel_names);
                if !plan.add_event(if is_side { event.as_side() } else { event }) {
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
