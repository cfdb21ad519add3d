//! System calls whose entry and return are one line (`-e syscalls:openat`).

use std::collections::HashMap;
use std::io;

use simple_markers_tracer::Hit;
use simple_markers_tracer::plan::CallSide;
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
    /// The name of the event of its entry.
    name: String,
    time: u64,
    kept: T,
}

/// A call that has returned.
#[derive(Debug)]
pub(super) struct ReturnedCall<T> {
    /// Its name, as `syscalls:openat`.
    pub(super) name: String,
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
    /// The side of a call that a hit is; `None` if it is none, or is shown as it is.
    pub(super) fn side(hit: &Hit<'_>) -> Option<CallSide> {
        hit.marker.event.as_ref()?.call
    }

    /// Notes an entry.
    pub(super) fn enter(&mut self, hit: &Hit<'_>, kept: T) {
        let call = OpenCall { name: hit.marker.name.to_string(), time: hit.time, kept };
        self.open.insert(hit.thread, call);
    }

    /// The call that returns. `None` if its entry was not wanted.
    pub(super) fn leave(&mut self, hit: &Hit<'_>) -> Option<ReturnedCall<T>> {
        let event = hit.marker.event.as_ref()?;
        let entry = event.entry_name();
        let open = self.open.remove(&hit.thread).filter(|open| entry.as_deref() == Some(&open.name));
        let is_chosen = hit.plan.sites.iter().any(|site| {
            let marker = hit.plan.markers.get(site.marker);
            site.filter.is_some() && marker.is_some_and(|marker| entry.as_deref() == Some(&marker.name))
        });
        if open.is_none() && is_chosen {
            return None;
        }
        let result =
            hit.arguments().find(|(argument, _)| *argument.text == *"ret").and_then(|(_, value)| match value {
                Ok(Value::Number { bits, .. }) => Some(bits as i64),
                _ => None,
            });
        let entry = open.map(|open| (hit.time.saturating_sub(open.time), open.kept));
        Some(ReturnedCall { name: event.call_name().unwrap_or_else(|| event.name()), entry, result })
    }

    /// Says which calls have not returned.
    pub(super) fn tell(&self, console: &Console) {
        let mut open: Vec<(&str, u32)> = self.open.iter().map(|(thread, call)| (&*call.name, *thread)).collect();
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
