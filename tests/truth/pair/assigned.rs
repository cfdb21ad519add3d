//! The variables are assigned, but not read again. With `{ let _ = $value; }` in `assign` they
//! keep their first values.
use std::cell::Cell;
use std::hint::black_box;

use simple_markers::simple_mark;

macro_rules! assign {
    ($place:ident = $value:expr) => {
        $place = $value
    };
}

#[inline(never)]
fn count(step: i32, left: &Cell<i32>) {
    let mut v = step;
    let mut w = 7;
    while black_box(left).replace(left.get() - step) > 0 {
        if left.get() == 2 {
            assign!(v = 3);
            assign!(w = 4);
        }
        simple_mark!(pair:count, "%d %d", v, w);
    }
}

fn main() {
    count(black_box(1), &Cell::new(4));
}
