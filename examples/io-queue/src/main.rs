//! An I/O queue, like the SCSI example in the proposal of simple markers in 2008. Requests go to a
//! device that serves them on several threads, completes them out of order and sometimes fails.
//! Failed requests are retried.
//!
//! `io-queue [REQUESTS [SEED]]` prints how the requests ended. There is a marker at every point
//! that helps to understand a slow or failing queue. The program runs as if they were not there.

mod device;
mod queue;
mod request;

use std::process::ExitCode;

use crate::device::Device;
use crate::queue::Queue;
use crate::request::Request;

/// Requests that the device holds at the same time.
const DEPTH: usize = 8;

/// Threads of the device.
const CHANNELS: usize = 2;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (Ok(requests), Ok(seed)) = (arguments.next().unwrap_or(Ok(64)), arguments.next().unwrap_or(Ok(1))) else {
        eprintln!("usage: io-queue [REQUESTS [SEED]]");
        return ExitCode::from(2);
    };
    let mut queue = Queue::new(Device::start(CHANNELS, seed), DEPTH);
    for tag in 0..requests {
        queue.submit(Request::generate(tag, seed));
    }
    let outcome = queue.drain();
    println!(
        "{} completed, {} retried, {} failed, {} KiB transferred",
        outcome.completed,
        outcome.retried,
        outcome.failed,
        outcome.bytes / 1024
    );
    ExitCode::SUCCESS
}
