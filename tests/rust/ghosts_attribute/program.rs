use simple_markers::{ghosts, simple_mark};
use std::hint::black_box;

#[ghosts]
#[inline(never)]
fn blocks(x: u32) -> u32 {
    let mut y = black_box(x);
    simple_mark!(g:first, "%u", y);
    'outer: loop {
        #![allow(unused_parens)]
        use std::convert::identity;
        y = black_box(identity(y) + 1);
        simple_mark!(g:turn, "%u", y);
        match y & 3 {
            0 => {
                y = black_box(y + 2);
                simple_mark!(g:arm, "%u", y)
            }
            1 =>
                simple_mark!(g:value, "%u", y),
            _ => {
                if black_box(y) > 9 {
                    black_box(y);
                    simple_mark!(g:leave, "%u", y);
                    break 'outer;
                }
                black_box(y);
                simple_mark!(g:again, "%u", y);
            }
        }
        let Some(z) = black_box(Some(y)) else {
            black_box(1);
            simple_mark!(g:none, "none");
            return 0;
        };
        unsafe {
            black_box(*(&raw const z));
            simple_markers::simple_mark!(g:unsafe, "%u", z)
        }
    }
    black_box(y);
    simple_mark!(g:two, "%u", y);
    simple_mark!(g:three, "%u", y, options(ghost));
    y
}

#[ghosts]
mod inner {
    use super::*;
    pub trait Work {
        fn required(&self) -> u32;
        fn work(&self) -> u32 {
            let y = black_box(self.required());
            simple_mark!(g:method, "%u", y);
            black_box(y)
        }
    }
    impl Work for u32 {
        fn required(&self) -> u32 {
            simple_mark!(g:required, "%u", *self);
            black_box(*self)
        }
    }
    pub const fn constant(x: u32) -> u32 {
        const LIMIT: u32 = { let limit = 3; simple_mark!(g:limit, "limit"); limit };
        if x > LIMIT {
            simple_mark!(g:constant, "%u", x);
            return 1;
        }
        x + 1
    }
    pub fn closures(x: u32) -> u32 {
        let add = |y: u32| {
            let z = black_box(x) + y;
            simple_mark!(g:closure, "%u", z);
            black_box(z)
        };
        let note = ||
            simple_mark!(g:note, "note");
        note();
        fn nested<T: Copy>(x: T) -> T {
            black_box(x);
            simple_mark!(g:nested, "nested");
            black_box(x)
        }
        add(nested(x)) + black_box(vec![x]).len() as u32
    }
    pub async fn wait(x: u32) -> u32 {
        let y = black_box(x);
        simple_mark!(g:before, "%u", y);
        std::future::ready(()).await;
        if black_box(y) > 2 {
            std::future::ready(()).await;
            black_box(y);
            simple_mark!(g:between, "%u", y);
        }
        std::future::ready(()).await;
        simple_mark!(g:after, "%u", y);
        black_box(y)
    }
}

fn main() {
    use inner::Work as _;
    let x = black_box(3);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let future: std::pin::Pin<Box<dyn Future<Output = u32>>> = black_box(Box::pin(inner::wait(x)));
    black_box(future).as_mut().poll(&mut context).is_ready();
    black_box(blocks(x) + x.work() + inner::constant(x) + inner::closures(x));
}
