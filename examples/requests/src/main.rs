//! Requests that one thread receives and others answer, with spans.
//!
//! `request:whole` begins where a request is received, moves with it to another thread, and ends
//! when that has answered it. `request:answer` is in one thread. To see both:
//!
//! ```console
//! $ smark count --time request:whole -- target/demo/requests
//! $ smark record -o trace -- target/demo/requests && smark report --to perfetto -o trace.pftrace trace
//! ```

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use simple_markers::{simple_span, span};

const REQUESTS: u64 = 40;
const WORKERS: usize = 3;

/// A request, with the guard of its span.
struct Request<G> {
    number: u64,
    _span: G,
}

fn receive(number: u64) -> Request<impl Send> {
    Request { number, _span: simple_span!(request:whole, "number %lu", number) }
}

/// The sum of the first `1000 * number` numbers.
#[span(request:answer, "number %lu", number)]
fn answer(number: u64) -> u64 {
    (0..1000 * number).fold(0, |sum, next| black_box(sum + next))
}

fn work<G>(requests: &Mutex<Receiver<Request<G>>>) -> u64 {
    let mut sum = 0;
    loop {
        let request = requests.lock().expect("no worker panics").recv();
        let Ok(request) = request else { return sum };
        sum += answer(request.number);
    }
}

fn main() {
    let (sender, receiver) = channel();
    let requests = Mutex::new(receiver);
    let sum: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(|| work(&requests))).collect();
        (1..=REQUESTS).for_each(|number| sender.send(receive(number)).expect("somebody works"));
        drop(sender);
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).sum()
    });
    println!("{REQUESTS} requests, {sum}");
}
