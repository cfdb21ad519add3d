//! The device: several channels serve the dispatched requests and complete them in any order.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use simple_markers::simple_mark;

use crate::request::{Operation, Request, Status, scramble};

/// Verifies every transfer with a second read. For debugging the device itself.
const VERIFY: bool = false;

/// One request in this many fails on its medium, or finds the device busy.
const MEDIUM_ERRORS: u64 = 13;
const BUSY: u64 = 7;

/// A finished request.
pub(crate) struct Completion {
    pub(crate) request: Request,
    pub(crate) status: Status,
}

/// A running device.
pub(crate) struct Device {
    submissions: Option<Sender<Request>>,
    completions: Receiver<Completion>,
    channels: Vec<JoinHandle<()>>,
}

impl Device {
    /// Starts a device of `channels` threads. `seed` alone determines which requests fail.
    pub(crate) fn start(channels: usize, seed: u64) -> Self {
        let (submissions, submitted) = channel();
        let (complete, completions) = channel();
        let submitted = Arc::new(Mutex::new(submitted));
        let channels = (0..channels)
            .map(|index| {
                let channel = Channel { index, seed, submitted: Arc::clone(&submitted), complete: complete.clone() };
                std::thread::spawn(move || channel.serve())
            })
            .collect();
        Self { submissions: Some(submissions), completions, channels }
    }

    /// Passes a request to the device; `false` if the device has stopped.
    pub(crate) fn dispatch(&self, request: Request) -> bool {
        self.submissions.as_ref().is_some_and(|submissions| submissions.send(request).is_ok())
    }

    /// Waits for the next finished request; `None` if the device has stopped.
    pub(crate) fn completion(&self) -> Option<Completion> {
        self.completions.recv().ok()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.submissions = None;
        for channel in self.channels.drain(..) {
            let panicked = channel.join().is_err();
            simple_mark!(device:stop, "a channel ended; panicked %d", panicked);
        }
    }
}

/// One thread of the device.
struct Channel {
    index: usize,
    seed: u64,
    submitted: Arc<Mutex<Receiver<Request>>>,
    complete: Sender<Completion>,
}

impl Channel {
    /// Serves requests, later sectors of a batch first, until no more are dispatched.
    fn serve(&self) {
        let mut head = 0;
        loop {
            let mut batch = self.batch();
            if batch.is_empty() {
                break;
            }
            simple_mark!(device:batch, "channel %zu took %zu requests", self.index, keep length = batch.len());
            batch.sort_by_key(|request| std::cmp::Reverse(request.sector));
            for request in batch {
                let distance = request.sector.abs_diff(head);
                head = request.sector;
                simple_mark!(device:seek, "channel %zu: %lu sectors for request %lu", self.index, distance, request.tag);
                let status = self.transfer(&request);
                if self.complete.send(Completion { request, status }).is_err() {
                    return;
                }
            }
        }
        simple_mark!(device:idle, "channel %zu: nothing more to serve, head at %#lx", self.index, head);
    }

    /// Waits for the next request, and returns it with all others that are there already.
    fn batch(&self) -> Vec<Request> {
        let submitted = self.submitted.lock().unwrap_or_else(PoisonError::into_inner);
        let first = submitted.recv().ok();
        first.into_iter().chain(submitted.try_iter().take(3)).collect()
    }

    fn transfer(&self, request: &Request) -> Status {
        let draw = scramble(self.seed ^ (request.tag << 8) ^ u64::from(request.attempts));
        if request.operation != Operation::Flush {
            if draw % MEDIUM_ERRORS == 0 {
                simple_mark!(device:medium_error, "request %lu: sector %#lx", request.tag, request.sector);
                return Status::MediumError;
            }
            if draw % BUSY == 0 {
                simple_mark!(device:busy, "request %lu, attempt %u", request.tag, request.attempts);
                return Status::Busy;
            }
        }
        if VERIFY {
            simple_mark!(device:verify, "request %lu read again", request.tag);
        }
        simple_mark!(device:transfer, "request %lu: %u sectors", request.tag, request.sectors);
        Status::Good
    }
}
