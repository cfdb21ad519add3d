//! The queue: keeps the device busy, retries failed requests, and counts.

use std::collections::VecDeque;
use std::time::Instant;

use simple_markers::simple_mark;

use crate::device::{Completion, Device};
use crate::request::{Request, Status};

/// Attempts before a request counts as failed.
const ATTEMPTS: u32 = 4;

/// How the requests ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) completed: u64,
    pub(crate) retried: u64,
    pub(crate) failed: u64,
    pub(crate) bytes: u64,
}

/// Requests on their way to a device.
pub(crate) struct Queue {
    device: Device,
    depth: usize,
    waiting: VecDeque<Request>,
    in_flight: usize,
    started: Instant,
    outcome: Outcome,
}

impl Queue {
    /// A queue that keeps at most `depth` requests at the device.
    pub(crate) fn new(device: Device, depth: usize) -> Self {
        Self {
            device,
            depth,
            waiting: VecDeque::new(),
            in_flight: 0,
            started: Instant::now(),
            outcome: Outcome::default(),
        }
    }

    /// Takes a request; waits if the device is full.
    pub(crate) fn submit(&mut self, request: Request) {
        simple_mark!(
            queue:submit,
            "request %lu: %u sectors from %#lx, %zu in flight",
            request.tag,
            request.sectors,
            request.sector,
            self.in_flight
        );
        self.waiting.push_back(request);
        self.fill();
        while self.in_flight >= self.depth && self.complete_one() {
            self.fill();
        }
    }

    /// Waits until every request is done.
    pub(crate) fn drain(mut self) -> Outcome {
        simple_mark!(queue:drain, "%zu in flight", self.in_flight);
        while self.complete_one() {
            self.fill();
        }
        simple_mark!(queue:drained, "%lu completed, %lu failed", self.outcome.completed, self.outcome.failed, options(anchor));
        std::mem::take(&mut self.outcome)
    }

    /// Dispatches waiting requests, up to the depth.
    fn fill(&mut self) {
        while self.in_flight < self.depth {
            let Some(request) = self.waiting.pop_front() else {
                return;
            };
            self.dispatch(request);
        }
        simple_mark!(queue:full, "%zu in flight", self.in_flight);
    }

    fn dispatch(&mut self, mut request: Request) {
        request.attempts += 1;
        simple_mark!(queue:dispatch, "request %lu, attempt %u", request.tag, request.attempts);
        let accepted = self.device.dispatch(request);
        simple_mark!(queue:dispatch_return, "accepted %d", keep accepted);
        self.in_flight += usize::from(accepted);
    }

    /// Waits for one completion and handles it; `false` if nothing is in flight.
    fn complete_one(&mut self) -> bool {
        if self.in_flight == 0 {
            return false;
        }
        let Some(Completion { request, status }) = self.device.completion() else {
            return false;
        };
        self.in_flight -= 1;
        match status {
            Status::Good => self.complete(&request),
            Status::MediumError | Status::Busy => self.retry(request, status),
        }
        true
    }

    fn complete(&mut self, request: &Request) {
        self.outcome.completed += 1;
        self.outcome.bytes += request.bytes();
        simple_mark!(
            queue:complete,
            "request %lu after %zu us",
            request.tag,
            keep elapsed = self.started.elapsed().as_micros() as usize
        );
    }

    fn retry(&mut self, request: Request, status: Status) {
        if request.attempts < ATTEMPTS {
            self.outcome.retried += 1;
            simple_mark!(queue:retry, "request %lu: status %d, attempt %u", request.tag, keep code = status as i32, request.attempts);
            self.waiting.push_front(request);
        } else {
            self.outcome.failed += 1;
            simple_mark!(queue:give_up, "request %lu failed for good after %u attempts", request.tag, request.attempts);
        }
    }
}
