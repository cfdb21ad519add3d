//! Passes markers in async functions, async blocks and closures.
#![forbid(unsafe_code)]

use std::future::Future;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use simple_markers::simple_mark;

mod worker {
    use super::*;

    pub async fn deliver(job: u64) -> u64 {
        simple_mark!(closures:function, "%lu", keep job);
        black_box(job) + 1
    }
}

/// Async functions are called through it, so that they are not inlined.
type Task = Pin<Box<dyn Future<Output = u64>>>;

fn run(mut task: Task) -> u64 {
    loop {
        if let Poll::Ready(result) = pin!(&mut task).poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
    }
}

fn main() {
    let block = async {
        let two = black_box(2);
        simple_mark!(closures:block, "%lu", keep two);
        two
    };
    let closure = |three: u64| {
        simple_mark!(closures:closure, "%lu", keep three);
        black_box(three)
    };
    let closure: &dyn Fn(u64) -> u64 = black_box(&closure);
    let inside = async {
        let four: &dyn Fn(u64) -> u64 = black_box(&|four: u64| {
            simple_mark!(closures:inside, "%lu", keep four);
            black_box(four)
        });
        four(4)
    };
    let tasks: [Task; 3] = black_box([Box::pin(worker::deliver(1)), Box::pin(block), Box::pin(inside)]);
    println!("{}", tasks.into_iter().map(run).sum::<u64>() + closure(3));
}
