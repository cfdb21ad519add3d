//! Begins and ends spans, and prints each begin and end with the process and the thread.
//!
//! Each span has a number, which its begin records. `ways` ends spans in all the ways that one can
//! end in a thread, `moved N` moves N guards between threads, and `switched FOLDER` arms and
//! disarms the probes of spans that are open.

use std::future::Future;
use std::hint::black_box;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use std::thread;

use simple_markers::{simple_span, span};

fn say(what: &str, number: u64) {
    // SAFETY: it asks for a number.
    let thread = unsafe { libc::gettid() };
    println!("{what} {number} {} {thread}", std::process::id());
}

/// Says that a span ends, before it does.
struct Saying<G> {
    number: u64,
    guard: Option<G>,
}

impl<G> Drop for Saying<G> {
    fn drop(&mut self) {
        say("end", self.number);
        drop(self.guard.take());
    }
}

#[inline(never)]
fn begin(number: u64) -> Saying<impl Send + 'static + use<>> {
    say("begin", number);
    Saying { number, guard: Some(simple_span!(spans:work, "number %lu", number)) }
}

#[inline(never)]
fn leaves_early(number: u64, limit: u64) -> Option<u64> {
    let _span = begin(number);
    let rest = limit.checked_sub(number)?;
    let _inner = begin(number + 1);
    if rest > 3 {
        return Some(rest);
    }
    Some(rest + 1)
}

#[inline(never)]
fn panics(number: u64) {
    let _span = begin(number);
    let _inner = begin(number + 1);
    // Without a message.
    resume_unwind(Box::new(()));
}

/// Is ready when it is polled again.
#[derive(Default)]
struct Again(bool);

impl Future for Again {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

async fn waits(number: u64) -> u64 {
    let span = begin(number);
    Again::default().await;
    let _inner = begin(number + 1);
    Again::default().await;
    drop(span);
    number
}

struct Queue {
    depth: u64,
}

impl Queue {
    #[span(spans:method, "number %lu, %s", number = self.depth, name)]
    async fn drained(&self, name: &str) -> usize {
        Again::default().await;
        name.len()
    }
}

#[span(spans:function, "number %lu", number)]
fn function(number: u64) -> u64 {
    black_box(number) + 1
}

#[span]
fn unnamed() {
    black_box(());
}

fn is_send<T: Send>(value: T) -> T {
    value
}

/// Polls a future so many times, and drops it.
fn polled<T>(future: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    (0..times).find_map(|_| match future.as_mut().poll(&mut context) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    })
}

fn ways() {
    leaves_early(1, 0);
    leaves_early(10, 12);
    leaves_early(20, 40);
    catch_unwind(AssertUnwindSafe(|| panics(30))).expect_err("it panics");
    for times in 0..4 {
        polled(is_send(waits(100 + 10 * times as u64)), times);
    }
    std::mem::forget(begin(200));
    // Ends that are not those of a stack.
    let (first, second) = (begin(210), begin(211));
    drop(first);
    drop(second);
    let boxed: Vec<Box<dyn Send>> = (220..223).map(|number| Box::new(begin(number)) as Box<dyn Send>).collect();
    drop(boxed);
    thread::spawn(|| drop(begin(230))).join().expect("a thread");
    let open = begin(240);
    std::io::stdout().flush().expect("it is read");
    // SAFETY: there is one thread.
    let child = unsafe { libc::fork() };
    drop(begin(250 + u64::from(child == 0)));
    drop(open);
    if child == 0 {
        return;
    }
    // SAFETY: it waits for our own child.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    say("function", function(300));
    unnamed();
    for (number, times) in [(310, 1), (311, 2)] {
        polled(Queue { depth: number }.drained("queue"), times);
    }
}

/// `count` guards begin in each of 4 threads and end in another one.
fn moved(count: u64) {
    const THREADS: u64 = 4;
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| channel()).unzip();
    thread::scope(|scope| {
        for (thread, receiver) in receivers.into_iter().enumerate() {
            let sender = senders[(thread + 1) % senders.len()].clone();
            scope.spawn(move || {
                let mut kept = Vec::new();
                for number in 0..count {
                    let number = number * THREADS + thread as u64;
                    sender.send(simple_span!(spans:moved, "number %lu", number)).expect("it receives");
                    kept.extend(receiver.try_iter());
                    if number % 7 == 0 {
                        kept.reverse();
                        kept.truncate(3);
                    }
                }
                drop(sender);
                kept.extend(receiver);
            });
        }
        drop(senders);
    });
}

fn switched(folder: &str) {
    let asleep = begin(1);
    simple_markers::arm("spans:*", folder).expect("it is armed");
    let awake = begin(2);
    drop(asleep);
    let (ended_later, ended_asleep) = (begin(3), begin(4));
    drop(ended_later);
    simple_markers::disarm("*").expect("it is disarmed");
    drop(awake);
    drop(ended_asleep);
    drop(begin(5));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ways"] => ways(),
        ["moved", count] => moved(count.parse().expect("a number")),
        ["switched", folder] => switched(folder),
        _ => panic!("{arguments:?}"),
    }
}
