//! A collection that one thread changes while another one passes a marker with it: `torn KIND HITS PAUSE`.
//! PAUSE is how many nanoseconds the thread waits between two versions; without it nothing is changed.
//!
//! All elements of version V are V, and there are 1 + V % 8 of them, so that a value tells whether the
//! program ever had it. Nobody but the thread reads the collection.

use std::cell::UnsafeCell;
use std::collections::{BTreeMap, HashMap, LinkedList, VecDeque};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use simple_markers::simple_mark;

unsafe extern "C" {
    fn sched_setaffinity(thread: i32, size: usize, mask: *const u64) -> i32;
}

/// Runs this thread on one CPU, if there is such a CPU.
fn stay_on(cpu: u32) {
    // SAFETY: the mask has 8 bytes.
    unsafe { sched_setaffinity(0, 8, &(1 << cpu)) };
}

/// How many versions there are. A text has a letter for each.
const VERSIONS: u32 = 24;

struct Shared<T>(UnsafeCell<T>);

// SAFETY: one thread uses the value. The other ones take its address.
unsafe impl<T> Sync for Shared<T> {}

/// A text in a structure.
struct Words {
    text: String,
}

struct Numbers {
    numbers: [u32; 8],
}

/// A node of a list as in C.
struct Node {
    next: Option<Box<Node>>,
    version: u32,
}

trait Versions: Default {
    /// Makes the next version of what is there.
    fn change(&mut self, version: u32);
}

#[inline(never)]
fn pass_array(value: &Numbers) {
    simple_mark!(torn:array, "%p{}", *value, options(anchor));
    black_box(value);
}

#[inline(never)]
fn pass_vec(value: &Vec<u32>) {
    simple_mark!(torn:vec, "%p{}", *value, options(anchor));
    black_box(value);
}

#[inline(never)]
fn pass_ring(value: &VecDeque<u32>) {
    simple_mark!(torn:ring, "%p{}", *value, options(anchor));
    black_box(value);
}

#[inline(never)]
fn pass_text(value: &Words) {
    simple_mark!(torn:text, "%p{}", *value, options(anchor));
    black_box(value);
}

#[inline(never)]
fn pass_list(value: &LinkedList<u32>) {
    simple_mark!(torn:list, "%p{}", *value, options(anchor));
    black_box(value);
}

#[inline(never)]
fn pass_nodes(value: &Node) {
    simple_mark!(torn:nodes, "%p{}", *value, options(anchor));
    black_box(value);
}

#[inline(never)]
fn pass_map(value: &HashMap<u32, u32>) {
    simple_mark!(torn:map, "%p{}", *value, options(anchor));
    black_box(value);
}

#[inline(never)]
fn pass_tree(value: &BTreeMap<u32, u32>) {
    simple_mark!(torn:tree, "%p{}", *value, options(anchor));
    black_box(value);
}

fn length(version: u32) -> u32 {
    1 + version % 8
}

impl Versions for Vec<u32> {
    fn change(&mut self, version: u32) {
        self.clear();
        self.shrink_to(if version % 3 == 0 { 0 } else { 8 });
        (0..length(version)).for_each(|_| self.push(version));
    }
}

impl Versions for VecDeque<u32> {
    fn change(&mut self, version: u32) {
        (0..length(version)).for_each(|_| self.push_back(version));
        while self.len() > length(version) as usize {
            self.pop_front();
        }
    }
}

impl Versions for HashMap<u32, u32> {
    fn change(&mut self, version: u32) {
        for key in 0..8 {
            if key < length(version) { self.insert(key, version) } else { self.remove(&key) };
        }
    }
}

impl Versions for BTreeMap<u32, u32> {
    fn change(&mut self, version: u32) {
        for key in 0..8 {
            if key < length(version) { self.insert(key, version) } else { self.remove(&key) };
        }
    }
}

impl Versions for LinkedList<u32> {
    fn change(&mut self, version: u32) {
        (0..length(version)).for_each(|_| self.push_back(version));
        while self.len() > length(version) as usize {
            self.pop_front();
        }
    }
}

impl Default for Words {
    fn default() -> Self {
        Self { text: String::new() }
    }
}

impl Versions for Words {
    fn change(&mut self, version: u32) {
        self.text = (0..length(version)).map(|_| char::from(b'a' + version as u8)).collect();
    }
}

impl Default for Numbers {
    fn default() -> Self {
        Self { numbers: [0; 8] }
    }
}

impl Versions for Numbers {
    fn change(&mut self, version: u32) {
        self.numbers.iter_mut().for_each(|number| *black_box(number) = version);
    }
}

impl Default for Node {
    fn default() -> Self {
        Self { next: None, version: 0 }
    }
}

impl Versions for Node {
    fn change(&mut self, version: u32) {
        let mut next = None;
        (1..length(version).min(4)).for_each(|_| next = Some(Box::new(Node { next: next.take(), version })));
        self.version = version;
        self.next = next;
    }
}

fn run<T: Versions>(pass: fn(&T), hits: u64, pause: Option<Duration>) {
    let value = Shared(UnsafeCell::new(T::default()));
    let done = AtomicBool::new(false);
    let shared = &value;
    // SAFETY: the other thread does not run yet.
    unsafe { (*shared.0.get()).change(0) };
    let is_running = AtomicBool::new(pause.is_none());
    std::thread::scope(|scope| {
        if let Some(pause) = pause {
            let (done, is_running) = (&done, &is_running);
            scope.spawn(move || {
                stay_on(1);
                is_running.store(true, Ordering::Relaxed);
                let mut version = 0;
                while !done.load(Ordering::Relaxed) {
                    version = (version + 1) % VERSIONS;
                    // SAFETY: only this thread uses the value.
                    unsafe { (*shared.0.get()).change(version) };
                    let start = Instant::now();
                    while start.elapsed() < pause {}
                }
            });
        }
        stay_on(0);
        while !is_running.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        // SAFETY: nothing is read of the value.
        (0..hits).for_each(|_| pass(unsafe { &*shared.0.get() }));
        done.store(true, Ordering::Relaxed);
    });
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    let (hits, pause) = (number(2).unwrap_or(1), number(3).map(Duration::from_nanos));
    match &*words[1] {
        "vec" => run(pass_vec, hits, pause),
        "ring" => run(pass_ring, hits, pause),
        "map" => run(pass_map, hits, pause),
        "tree" => run(pass_tree, hits, pause),
        "list" => run(pass_list, hits, pause),
        "text" => run(pass_text, hits, pause),
        "array" => run(pass_array, hits, pause),
        "nodes" => run(pass_nodes, hits, pause),
        other => panic!("{other}"),
    }
}
