//! rustc makes one variable of a parameter and its copy, which changes. The debug information describes
//! both in the same register.
use std::hint::black_box;

use simple_markers::simple_mark;

#[inline(never)]
fn line(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < bytes.len() && bytes[at] != b'.' {
        at += 1;
        simple_mark!(united:start, "%zu %zu", start, at); //~ start: rustc
    }
    at
}

fn main() {
    let bytes = black_box(*b"one.two.three.");
    black_box(line(&bytes, 0) + line(&bytes, 4) + line(&bytes, 8));
}
