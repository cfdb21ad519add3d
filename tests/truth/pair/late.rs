//! The assignment is merged with the next use. With `$mark` first in `order` it is behind the marker.
use std::hint::black_box;

use simple_markers::simple_mark;

macro_rules! order {
    ($mark:expr, $assign:expr) => {
        $assign;
        $mark;
    };
}

#[inline(never)]
fn late(used: u32, mut a: u16) -> u32 {
    let used = used.wrapping_mul(31).wrapping_add(a.into());
    order!(simple_mark!(pair:late, "%hu", a), a = a.wrapping_add(a));
    used.wrapping_mul(31).wrapping_add(a.into())
}

fn main() {
    println!("{}", late(black_box(1), black_box(5)));
}
