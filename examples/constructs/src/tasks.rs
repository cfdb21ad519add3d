//! Asynchronous code and threads.

use std::future::Future;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    assert_eq!(block_on(task(black_box(3))), 6);
    block_on(async {
        simple_mark!(construct:async:block, "in an async block"); //~ live
        witness(8400);
    });
    let closure = async |value: u32| {
        Yield(false).await;
        simple_mark!(construct:async:closure, "value %u", value); //~ live
        witness(8401);
    };
    block_on(closure(black_box(1)));
    threads();
}

async fn task(value: u32) -> u32 {
    simple_mark!(construct:async:before_await, "value %u", value); //~ live
    witness(8402);
    let doubled = value * 2;
    Yield(false).await;
    simple_mark!(construct:async:after_await, "value %u, doubled %u", value, doubled); //~ live
    witness(8403);
    black_box(doubled)
}

/// Is ready when it is polled a second time.
struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            simple_mark!(construct:async:ready, "ready"); //~ live
            witness(8404);
            Poll::Ready(())
        } else {
            self.0 = true;
            Poll::Pending
        }
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

fn threads() {
    let thread = std::thread::spawn(move || {
        simple_mark!(construct:thread:spawned, "in a thread"); //~ live
        witness(8405);
    });
    thread.join().expect("the thread does not panic");
    let sum = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for number in 0..2 {
            let sum = &sum;
            scope.spawn(move || {
                sum.fetch_add(number, Ordering::Relaxed);
                simple_mark!(construct:thread:scoped, "thread %u, sum %u", number, sum); //~ live
                witness(8406);
            });
        }
    });
    assert_eq!(sum.into_inner(), 1);
}
