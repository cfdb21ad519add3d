//! Markers in functions with the names of Rust. Each is followed by a line that says the same.

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

macro_rules! mark {
    ($name:ident, $value:expr) => {{
        let x: u64 = std::hint::black_box($value);
        simple_markers::simple_mark!(rs:$name, "%lu", keep x);
        println!(concat!("rs:", stringify!($name), " {}"), x);
        x
    }};
}

trait Shape {
    fn area(&self, by: u64) -> u64;
    #[inline(never)]
    fn twice(&self, by: u64) -> u64 {
        mark!(default_method, by)
    }
}

struct Square;
impl Shape for Square {
    #[inline(never)]
    fn area(&self, by: u64) -> u64 {
        mark!(trait_method, by)
    }
}
impl<T: Shape> Shape for Vec<T> {
    #[inline(never)]
    fn area(&self, by: u64) -> u64 {
        mark!(generic_impl, by)
    }
}

impl Drop for Square {
    #[inline(never)]
    fn drop(&mut self) {
        mark!(drop, 5);
    }
}

#[inline(never)]
fn generic<T: Into<u64>>(x: T) -> u64 {
    mark!(generic, x.into())
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn ab(x: u64) -> u64 {
    mark!(two_letters, x)
}

#[unsafe(export_name = "sizeof")]
#[inline(never)]
extern "C" fn keyword(x: u64) -> u64 {
    mark!(keyword, x)
}

#[unsafe(export_name = "a$b.part.0")]
#[inline(never)]
extern "C" fn dollar(x: u64) -> u64 {
    mark!(dollar, x)
}

#[inline(never)]
async fn asynchronous(x: u64) -> u64 {
    mark!(async_fn, x)
}

fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return done;
        }
    }
}

mod main {
    #[inline(never)]
    pub(super) fn main(x: u64) -> u64 {
        mark!(module_main, x)
    }
}

fn main() {
    let mut sum = 0;
    for i in 0..2 {
        #[inline(never)]
        fn nested(x: u64) -> u64 {
            mark!(nested, x)
        }
        let closure = |x: u64| mark!(closure, x + i);
        let calls: &dyn Fn(u64) -> u64 = &closure;
        sum += black_box(calls)(10);
        sum += run(async { mark!(async_block, 20 + i) });
        sum += run(asynchronous(30 + i)) + nested(40 + i) + generic(50u8) + generic(60u32) + main::main(70 + i);
        sum += ab(80 + i) + keyword(90 + i) + dollar(100 + i);
        let shapes: [&dyn Shape; 2] = [&Square, &vec![Square]];
        for shape in black_box(shapes) {
            sum += shape.area(110 + i) + shape.twice(120 + i);
        }
    }
    eprintln!("{sum}");
}
