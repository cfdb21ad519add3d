//! A marker with numbers or a whole value at a `nop`, passed many times: `whole KIND [TIMES]`. It
//! prints `ns NUMBER`, for one pass.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::time::Instant;

use simple_markers::simple_mark;

/// 64 bytes.
#[allow(dead_code)]
struct Request {
    tag: u64,
    status: i32,
    depth: u32,
    queue: i64,
    load: f64,
    times: [u64; 4],
}

struct All {
    request: Request,
    text: String,
    list: Vec<u64>,
    texts: Vec<String>,
    map: HashMap<u32, u64>,
    tree: BTreeMap<u32, u64>,
}

#[inline(never)]
fn scalars(all: &All) {
    let Request { tag, status, depth, queue, .. } = all.request;
    simple_mark!(whole:scalars, "%lu %d %u %ld", tag, status, depth, queue, options(keep, anchor));
    black_box(all);
}

#[inline(never)]
fn structure(all: &All) {
    simple_mark!(whole:structure, "%p{}", all.request, options(anchor));
    black_box(all);
}

#[inline(never)]
fn text(all: &All) {
    simple_mark!(whole:text, "%p{}", all.text, options(anchor));
    black_box(all);
}

#[inline(never)]
fn list(all: &All) {
    simple_mark!(whole:list, "%p{}", all.list, options(anchor));
    black_box(all);
}

#[inline(never)]
fn texts(all: &All) {
    simple_mark!(whole:texts, "%p{}", all.texts, options(anchor));
    black_box(all);
}

#[inline(never)]
fn map(all: &All) {
    simple_mark!(whole:map, "%p{}", all.map, options(anchor));
    black_box(all);
}

#[inline(never)]
fn tree(all: &All) {
    simple_mark!(whole:tree, "%p{}", all.tree, options(anchor));
    black_box(all);
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let pass = match words.get(1).map(String::as_str) {
        Some("structure") => structure,
        Some("text") => text,
        Some("list") => list,
        Some("texts") => texts,
        Some("map") => map,
        Some("tree") => tree,
        _ => scalars,
    };
    let times = words.get(2).and_then(|times| times.parse().ok()).unwrap_or(200_000);
    let mut all = All {
        request: Request { tag: 7, status: 5, depth: 3, queue: 1, load: 0.5, times: [1, 2, 3, 4] },
        text: "a text of thirty-two characters.".to_owned(),
        list: (0..16).collect(),
        texts: (0..16).map(|number| format!("text {number}")).collect(),
        map: (0..16).map(|key| (key, u64::from(key))).collect(),
        tree: (0..16).map(|key| (key, u64::from(key))).collect(),
    };
    let start = Instant::now();
    for tag in 0..times {
        all.request.tag = tag;
        pass(black_box(&all));
    }
    eprintln!("ns {}", start.elapsed().as_nanos() / u128::from(times));
}
