//! Says what was sent, and what was not.

use serde_json::{Map, Value as Json};

use super::sender::{DropReason, SendTally, SignalTally};
use super::settings::Signal;
use crate::console::Console;

/// What a signal is called, in texts and in JSON.
fn names(signal: Signal) -> (&'static str, &'static str) {
    match signal {
        Signal::Traces => ("spans", "spans"),
        Signal::Logs => ("hits", "logs"),
        Signal::Metrics => ("data points", "metrics"),
    }
}

/// The signals that something was to be sent of.
fn used(tally: &SendTally) -> impl Iterator<Item = (Signal, &SignalTally)> {
    Signal::ALL.into_iter().map(|signal| (signal, tally.of(signal))).filter(|(_, of)| of.all() > 0)
}

/// Says what was sent, and for each reason how much was not.
pub(super) fn tell(console: &Console, tally: &SendTally) {
    if used(tally).next().is_none() {
        console.note("--otlp: there was nothing to send");
    }
    for (signal, of) in used(tally) {
        let (what, _) = names(signal);
        console.note(&format!("--otlp: {} of {} {what} were sent", of.sent, of.all()));
        for reason in DropReason::ALL {
            let (count, why) = (of.dropped(reason), reason.text());
            match reason {
                _ if count == 0 => {}
                // Nothing is missing in what follows.
                DropReason::Superseded => console.detail(&format!("--otlp: {count} {what} were not sent: {why}")),
                _ => console.error(&format!("--otlp: {count} {what} were not sent: {why}")),
            }
        }
    }
}

/// The same as JSON: an object for each signal of which something was to be sent.
pub(super) fn json(tally: &SendTally) -> Json {
    let object: Map<String, Json> = used(tally).map(|(signal, of)| (names(signal).1.to_owned(), of.json())).collect();
    object.into()
}
