//! Marks parameters that are gone from their registers in frames of all sorts, and prints them: recursion,
//! unwinding, threads.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

use simple_markers::simple_mark;

/// Overwrites the registers that parameters are passed in.
#[inline(never)]
fn work() {
    let mut sum = 0u64;
    for i in 0..black_box(3) {
        sum = black_box(sum.rotate_left(3) ^ i);
    }
    black_box((sum, sum + 1, sum + 2, sum + 3));
}

fn thread() -> i64 {
    let name = std::fs::read_link("/proc/thread-self").expect("a thread");
    name.file_name().expect("a name").to_string_lossy().parse().expect("a number")
}

#[inline(never)]
fn say(marker: &str, value: u64) {
    println!("= {} {marker} {value} -", thread());
}

#[inline(never)]
fn recursive(value: u64, depth: u32) {
    if depth > 0 {
        recursive(black_box(value * 3 + u64::from(depth)), depth - 1);
        black_box(());
    }
    work();
    simple_mark!(frames:recursive, "%lu", value);
    work();
}

#[inline(never)]
fn unwinding(value: u64, depth: u64) -> u64 {
    work();
    simple_mark!(frames:unwinding, "%lu", value);
    work();
    if black_box(depth) == 0 {
        std::panic::resume_unwind(Box::new(()));
    }
    unwinding(black_box(depth * 13), depth - 1) + 1
}

fn expected(value: u64, depth: u32) {
    if depth > 0 {
        expected(value * 3 + u64::from(depth), depth - 1);
    }
    say("frames:recursive", value);
}

fn rounds(first: u64) {
    for round in first..first + 20 {
        recursive(round, 6);
        expected(round, 6);
        let _ = catch_unwind(AssertUnwindSafe(|| unwinding(round, 3)));
        [round, 39, 26, 13].into_iter().for_each(|value| say("frames:unwinding", value));
    }
}

fn main() {
    let threads: Vec<_> = (0..3).map(|i| std::thread::spawn(move || rounds(i * 1000))).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
}
