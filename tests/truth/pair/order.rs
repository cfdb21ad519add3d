//! The marker is before the assignment. With `$assign; $mark` in `order` it is behind it.
use std::hint::black_box;

use simple_markers::simple_mark;

macro_rules! order {
    ($mark:expr, $assign:expr) => {
        $mark;
        $assign;
    };
}

#[inline(never)]
fn replaced(a: i32, b: i32) -> i32 {
    let mut v = a;
    black_box(v);
    order!(simple_mark!(pair:order, "%d", v), v = b);
    v * 3
}

fn main() {
    println!("{}", replaced(black_box(5), black_box(2)));
}
