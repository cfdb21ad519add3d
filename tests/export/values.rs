//! Values of Rust wherever the compiler puts them, for consumers to read: each marker is followed by a line that says the same with
//! `println!`, so what a consumer read must be what stands there (`tests/rust/export.rs`).

use simple_markers::simple_mark;
use std::hint::black_box;

struct Queue {
    name: String,
    depth: usize,
    last: Option<Box<Queue>>,
}

#[inline(never)]
fn submit(queue: &Queue, tag: u64, attempts: u32, delta: i8, name: &str) {
    simple_mark!(rust:submit, "%lu %u %d %zu", tag, attempts, delta, queue.depth);
    println!("rust:submit {tag} {attempts} {delta} {}", queue.depth);
    simple_mark!(rust:names, "%s in %s", name, queue.name);
    println!("rust:names {name} in {}", queue.name);
}

#[inline(never)]
fn kept(values: &[i32], write: bool) {
    let sum: i32 = values.iter().sum();
    simple_mark!(rust:kept, "%d %zu %d", keep sum, keep length = values.len(), write);
    println!("rust:kept {sum} {} {}", values.len(), i32::from(write));
}

#[inline(never)]
fn deeper(queue: &Queue) {
    if let Some(last) = &queue.last {
        simple_mark!(rust:deeper, "%zu %zu", last.depth, queue.depth, options(anchor));
        println!("rust:deeper {} {}", last.depth, queue.depth);
    }
}

fn main() {
    // A text with more behind it: who reads up to a NUL reads too much.
    let text = black_box("na\u{ef}ve \"x\" and more");
    let last = Queue { name: "last".to_owned(), depth: 3, last: None };
    let mut queue = Queue { name: "a queue".to_owned(), depth: 7, last: Some(Box::new(last)) };
    for round in 1..=3u8 {
        queue.depth += usize::from(round);
        submit(black_box(&queue), u64::MAX - u64::from(round), u32::from(round), -(round as i8), if round == 2 { &text[..0] } else { &text[..10] });
        kept(black_box(&[1, -20, 3][..usize::from(round)]), round > 1);
        deeper(black_box(&queue));
    }
}
