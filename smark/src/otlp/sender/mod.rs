//! Sends requests in a thread of its own, from a queue of limited size.
//!
//! Who has something to send never waits for the network, unless it is [patient](Pace::Patient). What cannot be sent is
//! dropped, and counted by the reason: all that was handed over was sent, or dropped, once [`OtlpSender::finish`] returns.

mod client;
mod tally;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::Context as _;

use self::client::{Client, SendFault, SendOutcome};
use super::settings::{OtlpSettings, Signal};
use crate::console::Console;

pub(super) use self::tally::{DropReason, SendTally, SignalTally};

/// The most bytes of all requests in the queue.
const MOST_BYTES: usize = 64 << 20;
/// The most spans, records and metrics in the queue.
const MOST_ITEMS: u64 = 1 << 16;

/// How long is waited before a request is sent again: at first, and at most.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// For how long a request is sent again and again, for a source that does not wait,
const STUBBORN: Duration = Duration::from_secs(300);
/// and for one that waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// What becomes of a request if the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// It is dropped: hits go on arriving.
    Live,
    /// The caller waits, until the receiver cannot be reached for too long: a recording does not run away.
    Patient,
}

/// A request.
#[derive(Debug)]
pub(super) struct OtlpRequest {
    pub(super) signal: Signal,
    /// How many spans, records or metrics it has.
    pub(super) items: u64,
    /// It, encoded for its destination.
    pub(super) body: Vec<u8>,
}

/// What the thread and its owner share.
#[derive(Default)]
struct SendState {
    queue: VecDeque<OtlpRequest>,
    /// How many bytes and items the queue has.
    bytes: usize,
    items: u64,
    /// What is being sent.
    in_flight: Option<(Signal, u64)>,
    tally: SendTally,
    /// When there is no more time to send; `None` until nothing more is handed over.
    deadline: Option<Instant>,
    /// Whether a patient source waits no more.
    is_gone: bool,
    /// Whether it was said why a request failed.
    is_told: bool,
    /// Whether nobody waits for the thread any more, and what it has is counted.
    is_abandoned: bool,
}

impl SendState {
    fn push(&mut self, request: OtlpRequest) {
        self.bytes += request.body.len();
        self.items += request.items;
        self.queue.push_back(request);
    }

    fn pop(&mut self) -> Option<OtlpRequest> {
        let request = self.queue.pop_front()?;
        self.forget(&request);
        self.in_flight = Some((request.signal, request.items));
        Some(request)
    }

    fn forget(&mut self, request: &OtlpRequest) {
        self.bytes = self.bytes.saturating_sub(request.body.len());
        self.items = self.items.saturating_sub(request.items);
    }

    fn has_room(&self, request: &OtlpRequest) -> bool {
        self.queue.is_empty()
            || self.bytes + request.body.len() <= MOST_BYTES && self.items + request.items <= MOST_ITEMS
    }

    fn discard(&mut self, signal: Signal, reason: DropReason, items: u64) {
        self.tally.of_mut(signal).discard(reason, items);
    }

    /// Drops what is in the queue.
    fn discard_all(&mut self, reason: DropReason) {
        while let Some(request) = self.queue.pop_front() {
            self.forget(&request);
            self.discard(request.signal, reason, request.items);
        }
    }
}

struct SendQueue {
    state: Mutex<SendState>,
    /// Something has changed.
    changed: Condvar,
    pace: Pace,
    /// How long is waited at the end.
    grace: Duration,
}

impl SendQueue {
    fn lock(&self) -> MutexGuard<'_, SendState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change, at most until then.
    fn wait<'s>(&self, state: MutexGuard<'s, SendState>, until: Option<Instant>) -> MutexGuard<'s, SendState> {
        match until {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(until) => {
                let time = until.saturating_duration_since(Instant::now());
                self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }
}

impl OtlpSettings {
    /// Whether there can be a sender, before anything is started.
    ///
    /// # Errors
    ///
    /// A file with certificates cannot be read.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        Client::new(self).map(|_| ())
    }
}

/// Hands requests to the thread.
pub(super) struct OtlpSender {
    shared: Arc<SendQueue>,
}

impl OtlpSender {
    /// Starts the thread. It tells the console of the first request that fails.
    ///
    /// # Errors
    ///
    /// A file with certificates cannot be read, or there can be no thread.
    pub(super) fn start(settings: &OtlpSettings, pace: Pace, console: Console) -> anyhow::Result<Self> {
        let state = SendState::default();
        let shared =
            Arc::new(SendQueue { state: Mutex::new(state), changed: Condvar::new(), pace, grace: settings.timeout() });
        let delivery = Delivery {
            client: Client::new(settings)?,
            settings: settings.clone(),
            shared: Arc::clone(&shared),
            console,
        };
        let started: io::Result<_> = thread::Builder::new().name("smark-otlp".to_owned()).spawn(move || delivery.run());
        started.context("a thread cannot be started")?;
        Ok(Self { shared })
    }

    /// Hands over a request.
    pub(super) fn push(&self, request: OtlpRequest) {
        let mut state = self.shared.lock();
        while self.shared.pace == Pace::Patient && !state.has_room(&request) && !state.is_gone {
            state = self.shared.wait(state, None);
        }
        if state.is_gone {
            state.discard(request.signal, DropReason::Unreachable, request.items);
        } else if state.has_room(&request) {
            state.push(request);
        } else {
            state.discard(request.signal, DropReason::QueueFull, request.items);
        }
        self.shared.changed.notify_all();
    }

    /// Hands over a request that has all that those of its signal in the queue have, and is newer.
    pub(super) fn push_newest(&self, request: OtlpRequest) {
        let mut state = self.shared.lock();
        let is_older = |it: &OtlpRequest| it.signal == request.signal;
        let (older, others): (VecDeque<_>, _) = std::mem::take(&mut state.queue).into_iter().partition(is_older);
        state.queue = others;
        for older in older {
            state.forget(&older);
            state.discard(older.signal, DropReason::Superseded, older.items);
        }
        drop(state);
        self.push(request);
    }

    /// What became of all so far.
    pub(super) fn tally(&self) -> SendTally {
        self.shared.lock().tally.clone()
    }

    /// Waits until all is sent, or until it takes too long: as long as a request may take, and with a
    /// [patient](Pace::Patient) source as long since a request was accepted.
    pub(super) fn finish(&self) -> SendTally {
        let mut state = self.shared.lock();
        state.deadline = Some(Instant::now() + self.shared.grace);
        self.shared.changed.notify_all();
        while !state.queue.is_empty() || state.in_flight.is_some() {
            if state.deadline.is_none_or(|deadline| Instant::now() >= deadline) {
                break;
            }
            let until = state.deadline;
            state = self.shared.wait(state, until);
        }
        state.is_abandoned = true;
        state.discard_all(DropReason::Unreachable);
        if let Some((signal, items)) = state.in_flight.take() {
            state.discard(signal, DropReason::Unreachable, items);
        }
        state.tally.clone()
    }
}

/// What the thread does.
struct Delivery {
    client: Client,
    settings: OtlpSettings,
    shared: Arc<SendQueue>,
    console: Console,
}

impl Delivery {
    /// Sends what is in the queue, until nobody waits for it.
    fn run(self) {
        loop {
            let mut state = self.shared.lock();
            let request = loop {
                if state.is_abandoned {
                    return;
                }
                match state.pop() {
                    Some(request) => break request,
                    None => state = self.shared.wait(state, None),
                }
            };
            drop(state);
            let outcome = self.deliver(&request);
            // Before the request counts as done, because the command may end then.
            outcome.told().into_iter().for_each(|what| self.tell(request.signal, &what));
            let mut state = self.shared.lock();
            if state.is_abandoned {
                return;
            }
            state.in_flight = None;
            self.note(&mut state, &request, &outcome);
            drop(state);
            self.shared.changed.notify_all();
        }
    }

    /// Counts what became of a request.
    fn note(&self, state: &mut SendState, request: &OtlpRequest, outcome: &SendOutcome) {
        let is_patient = self.shared.pace == Pace::Patient;
        match outcome {
            SendOutcome::Accepted { rejected, .. } => {
                let rejected = request.items.min(*rejected);
                state.tally.of_mut(request.signal).sent += request.items - rejected;
                state.discard(request.signal, DropReason::Rejected, rejected);
                if let (Some(deadline), true) = (&mut state.deadline, is_patient) {
                    *deadline = Instant::now() + self.shared.grace;
                }
            }
            SendOutcome::Refused { .. } => state.discard(request.signal, DropReason::Refused, request.items),
            SendOutcome::Later { .. } => {
                state.discard(request.signal, DropReason::Unreachable, request.items);
                if is_patient {
                    state.is_gone = true;
                    state.discard_all(DropReason::Unreachable);
                }
            }
        }
    }

    /// Says of the first request that failed why it did. Nobody waits for the terminal meanwhile.
    fn tell(&self, signal: Signal, what: &str) {
        let mut state = self.shared.lock();
        if std::mem::replace(&mut state.is_told, true) {
            return;
        }
        drop(state);
        self.console.error(&format!("--otlp: {}: {what}", self.settings.destination(signal).url));
    }

    /// Sends a request, again and again if it may help.
    fn deliver(&self, request: &OtlpRequest) -> SendOutcome {
        let to = self.settings.destination(request.signal);
        let most = if self.shared.pace == Pace::Patient { PATIENCE } else { STUBBORN };
        let (start, mut wait) = (Instant::now(), FIRST_WAIT);
        loop {
            let left = self.left();
            if left.is_zero() {
                return SendOutcome::Later { fault: SendFault::Time, after: None };
            }
            let outcome = self.client.post(to, &request.body, to.timeout.min(left));
            let SendOutcome::Later { fault, after } = &outcome else { return outcome };
            let pause = after.unwrap_or_else(|| varied(wait));
            wait = (wait * 2).min(LONGEST_WAIT);
            if start.elapsed().saturating_add(pause) > most {
                return outcome;
            }
            self.tell(request.signal, &format!("{fault}; trying again"));
            if !self.pause(pause) {
                return outcome;
            }
        }
    }

    /// How much time is left to send.
    fn left(&self) -> Duration {
        let deadline = self.shared.lock().deadline;
        deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Waits for a time. Returns whether there is time left behind it.
    fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.shared.lock();
        loop {
            if state.is_abandoned || state.deadline.is_some_and(|deadline| until >= deadline) {
                return false;
            }
            if Instant::now() >= until {
                return true;
            }
            state = self.shared.wait(state, Some(until));
        }
    }
}

/// A time of half to all of this one, so that not all who wait come back at once.
fn varied(time: Duration) -> Duration {
    // Without random numbers there is no variation.
    let random = crate::uuid::random().map_or(u16::MAX, |[first, second, ..]| u16::from_le_bytes([first, second]));
    time / 2 + time / 2 * u32::from(random) / u32::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_vary_by_half() {
        let times: Vec<Duration> = (0..100).map(|_| varied(FIRST_WAIT)).collect();
        assert!(times.iter().all(|time| (FIRST_WAIT / 2..=FIRST_WAIT).contains(time)), "{times:?}");
        assert!(times.iter().any(|time| *time != times[0]));
    }

    #[test]
    fn a_full_queue_drops_what_comes_last() {
        let request = |items| OtlpRequest { signal: Signal::Logs, items, body: vec![0; 1 << 20] };
        let mut state = SendState::default();
        for _ in 0..64 {
            assert!(state.has_room(&request(1)));
            state.push(request(1));
        }
        assert!(!state.has_room(&request(1)));
        assert_eq!(state.pop().map(|it| it.items), Some(1));
        assert!(state.has_room(&request(MOST_ITEMS - 63)) && !state.has_room(&request(MOST_ITEMS - 62)));
        state.discard_all(DropReason::Unreachable);
        assert_eq!(
            (state.bytes, state.items, state.tally.of(Signal::Logs).dropped(DropReason::Unreachable)),
            (0, 0, 63)
        );
        // A request alone is sent whatever its size is.
        assert!(state.has_room(&OtlpRequest { body: vec![0; MOST_BYTES + 1], ..request(1) }));
    }
}
