//! What became of what was to be sent.

use serde_json::{Map, Value as Json, json};

use crate::otlp::settings::Signal;

/// Why something was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::otlp) enum DropReason {
    /// There was no space in the queue.
    QueueFull,
    /// The receiver could not be reached, or was busy, for too long.
    Unreachable,
    /// The receiver refused the request.
    Refused,
    /// The receiver took the rest of the request.
    Rejected,
    /// Newer numbers took its place.
    Superseded,
}

impl DropReason {
    pub(in crate::otlp) const ALL: [Self; 5] =
        [Self::QueueFull, Self::Unreachable, Self::Refused, Self::Rejected, Self::Superseded];

    /// The name in JSON.
    fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Rejected => "rejected",
            Self::Superseded => "superseded",
        }
    }

    /// What is said of it.
    pub(in crate::otlp) fn text(self) -> &'static str {
        match self {
            Self::QueueFull => "the queue was full",
            Self::Unreachable => "the receiver could not be reached in time",
            Self::Refused => "the receiver refused the request",
            Self::Rejected => "the receiver rejected them",
            Self::Superseded => "newer numbers took their place",
        }
    }
}

/// What became of a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::otlp) struct SignalTally {
    /// What a receiver has accepted.
    pub(in crate::otlp) sent: u64,
    /// By the reason.
    dropped: [u64; DropReason::ALL.len()],
}

impl SignalTally {
    pub(super) fn discard(&mut self, reason: DropReason, count: u64) {
        self.dropped.get_mut(reason as usize).into_iter().for_each(|dropped| *dropped += count);
    }

    /// How many were not sent, for a reason.
    pub(in crate::otlp) fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped.get(reason as usize).copied().unwrap_or(0)
    }

    /// All, sent or not.
    pub(in crate::otlp) fn all(&self) -> u64 {
        self.sent + self.dropped.iter().sum::<u64>()
    }

    pub(in crate::otlp) fn json(&self) -> Json {
        let dropped: Map<String, Json> =
            DropReason::ALL.into_iter().map(|reason| (reason.name().to_owned(), self.dropped(reason).into())).collect();
        json!({ "sent": self.sent, "dropped": dropped })
    }
}

/// What became of all signals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::otlp) struct SendTally {
    /// By the number of the signal.
    signals: [SignalTally; Signal::ALL.len()],
}

impl SendTally {
    pub(in crate::otlp) fn of(&self, signal: Signal) -> &SignalTally {
        let [traces, logs, metrics] = &self.signals;
        match signal {
            Signal::Traces => traces,
            Signal::Logs => logs,
            Signal::Metrics => metrics,
        }
    }

    pub(super) fn of_mut(&mut self, signal: Signal) -> &mut SignalTally {
        let [traces, logs, metrics] = &mut self.signals;
        match signal {
            Signal::Traces => traces,
            Signal::Logs => logs,
            Signal::Metrics => metrics,
        }
    }
}
