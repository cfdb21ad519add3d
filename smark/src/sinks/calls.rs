//! System calls whose entry and return are one line (`-e syscalls:openat`).

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use simple_markers_tracer::Hit;
use simple_markers_tracer::plan::{CallEvent, CallSide, PlannedSite};
use simple_markers_tracer::value::Value;

use crate::console::Console;

/// The errors that a system call returns, as negative numbers.
const ERRORS: std::ops::RangeInclusive<i64> = -4095..=-1;

/// The calls that have not returned, each with what is kept of its entry.
#[derive(Debug)]
pub(super) struct OpenCalls<T> {
    /// By the thread.
    open: HashMap<u32, OpenCall<T>>,
}

#[derive(Debug)]
struct OpenCall<T> {
    /// Its name, as `syscalls:openat`,
    name: Arc<str>,
    /// and that of the event of its entry.
    event: Arc<str>,
    time: u64,
    kept: T,
}

/// A call that has returned.
#[derive(Debug)]
pub(super) struct ReturnedCall<T> {
    /// Its name, as `syscalls:openat`.
    pub(super) name: Arc<str>,
    /// How long it took in ns, and what was kept of its entry; `None` if that was not seen.
    pub(super) entry: Option<(u64, T)>,
    /// What it returned; `None` if that could not be read.
    pub(super) result: Option<i64>,
}

impl<T> Default for OpenCalls<T> {
    fn default() -> Self {
        Self { open: HashMap::new() }
    }
}

impl<T> OpenCalls<T> {
    /// Notes the entry of a call.
    pub(super) fn enter(&mut self, hit: &Hit<'_>, call: &CallEvent, kept: T) {
        let (name, event) = (Arc::clone(&call.name), Arc::clone(&hit.marker.name));
        self.open.insert(hit.thread, OpenCall { name, event, time: hit.time, kept });
    }

    /// The call that returns. `None` if its entry was not wanted.
    pub(super) fn leave(&mut self, hit: &Hit<'_>, call: &CallEvent) -> Option<ReturnedCall<T>> {
        let open = self.open.remove(&hit.thread).filter(|open| open.name == call.name);
        let is_entry = |of: &CallEvent| of.side == CallSide::Entry && of.name == call.name;
        let is_chosen = |site: &PlannedSite| {
            site.filter.is_some() && hit.plan.event_of(site).and_then(|event| event.call.as_ref()).is_some_and(is_entry)
        };
        if open.is_none() && hit.plan.sites.iter().any(is_chosen) {
            return None;
        }
        let result =
            hit.arguments().find(|(argument, _)| *argument.text == *"ret").and_then(|(_, value)| match value {
                Ok(Value::Number { bits, .. }) => Some(bits as i64),
                _ => None,
            });
        let entry = open.map(|open| (hit.time.saturating_sub(open.time), open.kept));
        Some(ReturnedCall { name: Arc::clone(&call.name), entry, result })
    }

    /// Says which calls have not returned.
    pub(super) fn tell(&self, console: &Console) {
        let mut open: Vec<(&str, u32)> = self.open.iter().map(|(thread, call)| (&*call.event, *thread)).collect();
        open.sort_unstable();
        for (name, thread) in open {
            console.note(&format!("{name} had not returned in the thread {thread}"));
        }
    }
}

/// What a call returned, with the name of an error.
pub(super) fn result_text(result: Option<i64>) -> String {
    match result {
        None => "<unreadable>".to_owned(),
        Some(error) if ERRORS.contains(&error) => {
            let text = io::Error::from_raw_os_error(i32::try_from(-error).unwrap_or_default()).to_string();
            let text = text.split_once(" (os error").map_or(&*text, |(text, _)| text);
            format!("{error} ({text})")
        }
        // An address.
        Some(value) if i32::try_from(value).is_err() => format!("{value:#x}"),
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_numbers_errors_and_addresses() {
        let texts = [Some(3), Some(-2), Some(0x7f12_3456_7000), Some(-4096), None].map(result_text);
        assert_eq!(texts[..3], ["3", "-2 (No such file or directory)", "0x7f1234567000"]);
        assert_eq!(texts[3..], ["-4096", "<unreadable>"]);
    }
}
