//! A collection that one thread changes while another one passes a marker with it: `torn KIND HITS PAUSE`.
//! PAUSE is how many nanoseconds the thread waits between two versions; without it nothing is changed.
//! `torn KIND states` prints what the collection is between any two operations on it.
//!
//! All elements of version V are V, and there are 1 + V % 8 of them. Nobody but the thread reads the
//! collection. `counted:KIND` shows a number before it too, which is odd while an operation changes it.

use std::cell::UnsafeCell;
use std::collections::{BTreeMap, HashMap, LinkedList, VecDeque};
use std::fmt::Debug;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
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

/// A collection and what counts the beginnings and ends of the operations on it.
#[repr(C)]
struct Counted<T> {
    operations: AtomicU32,
    value: T,
}

/// Begins or ends an operation.
fn step(operations: &AtomicU32) {
    fence(Ordering::SeqCst);
    operations.store(operations.load(Ordering::Relaxed) + 1, Ordering::SeqCst);
}

struct Shared<T>(UnsafeCell<Counted<T>>);

// SAFETY: one thread uses the value. The other ones take its address.
unsafe impl<T> Sync for Shared<T> {}

/// A text in a structure.
#[derive(Debug, Default)]
struct Words {
    text: String,
}

#[derive(Debug, Default)]
struct Numbers {
    numbers: [u32; 8],
}

/// A node of a list as in C.
#[derive(Debug, Default)]
struct Node {
    next: Option<Box<Node>>,
    version: u32,
}

trait Versions: Debug + Default {
    /// Makes the next version of what is there, and calls `done` after each operation.
    fn change(&mut self, version: u32, done: impl FnMut(&Self));
}

macro_rules! pass {
    ($function:ident, $kind:ident, $type:ty) => {
        #[inline(never)]
        fn $function(shared: &Counted<$type>) {
            simple_mark!(torn:$kind, "%p{}", shared.value, options(anchor));
            simple_mark!(counted:$kind, "%p{}", *shared, options(anchor));
            black_box(shared);
        }
    };
}

pass!(pass_array, array, Numbers);
pass!(pass_vec, vec, Vec<u32>);
pass!(pass_ring, ring, VecDeque<u32>);
pass!(pass_text, text, Words);
pass!(pass_list, list, LinkedList<u32>);
pass!(pass_nodes, nodes, Node);
pass!(pass_map, map, HashMap<u32, u32>);
pass!(pass_tree, tree, BTreeMap<u32, u32>);

fn length(version: u32) -> u32 {
    1 + version % 8
}

impl Versions for Vec<u32> {
    fn change(&mut self, version: u32, mut done: impl FnMut(&Self)) {
        self.clear();
        done(self);
        self.shrink_to(if version % 3 == 0 { 0 } else { 8 });
        for _ in 0..length(version) {
            self.push(version);
            done(self);
        }
    }
}

impl Versions for VecDeque<u32> {
    fn change(&mut self, version: u32, mut done: impl FnMut(&Self)) {
        for _ in 0..length(version) {
            self.push_back(version);
            done(self);
        }
        while self.len() > length(version) as usize {
            self.pop_front();
            done(self);
        }
    }
}

impl Versions for HashMap<u32, u32> {
    fn change(&mut self, version: u32, mut done: impl FnMut(&Self)) {
        for key in 0..8 {
            if key < length(version) { self.insert(key, version) } else { self.remove(&key) };
            done(self);
        }
    }
}

impl Versions for BTreeMap<u32, u32> {
    fn change(&mut self, version: u32, mut done: impl FnMut(&Self)) {
        for key in 0..8 {
            if key < length(version) { self.insert(key, version) } else { self.remove(&key) };
            done(self);
        }
    }
}

impl Versions for LinkedList<u32> {
    fn change(&mut self, version: u32, mut done: impl FnMut(&Self)) {
        for _ in 0..length(version) {
            self.push_back(version);
            done(self);
        }
        while self.len() > length(version) as usize {
            self.pop_front();
            done(self);
        }
    }
}

impl Versions for Words {
    fn change(&mut self, version: u32, mut done: impl FnMut(&Self)) {
        self.text = (0..length(version)).map(|_| char::from(b'a' + version as u8)).collect();
        done(self);
    }
}

impl Versions for Numbers {
    fn change(&mut self, version: u32, mut done: impl FnMut(&Self)) {
        for index in 0..self.numbers.len() {
            *black_box(&mut self.numbers[index]) = version;
            done(self);
        }
    }
}

impl Versions for Node {
    fn change(&mut self, version: u32, mut done: impl FnMut(&Self)) {
        let mut next = None;
        (1..length(version).min(4)).for_each(|_| next = Some(Box::new(Node { next: next.take(), version })));
        self.version = version;
        done(self);
        self.next = next;
        done(self);
    }
}

/// Prints what the value is between any two operations, from the first version on.
fn print_states<T: Versions>() {
    let mut value = T::default();
    value.change(0, |_| ());
    println!("{value:?}");
    // The second round begins with the last version.
    for version in (1..VERSIONS).chain(0..VERSIONS) {
        value.change(version, |value| println!("{value:?}"));
    }
}

fn run<T: Versions>(pass: fn(&Counted<T>), hits: u64, pause: Option<Duration>) {
    let mut value = T::default();
    value.change(0, |_| ());
    let shared = &Shared(UnsafeCell::new(Counted { operations: AtomicU32::new(0), value }));
    let done = AtomicBool::new(false);
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
                    let Counted { operations, value } = unsafe { &mut *shared.0.get() };
                    step(operations);
                    value.change(version, |_| {
                        step(operations);
                        step(operations);
                    });
                    step(operations);
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

fn start<T: Versions>(pass: fn(&Counted<T>), words: &[String]) {
    if words[2] == "states" {
        return print_states::<T>();
    }
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    run(pass, number(2).unwrap_or(1), number(3).map(Duration::from_nanos));
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match &*words[1] {
        "vec" => start(pass_vec, &words),
        "ring" => start(pass_ring, &words),
        "map" => start(pass_map, &words),
        "tree" => start(pass_tree, &words),
        "list" => start(pass_list, &words),
        "text" => start(pass_text, &words),
        "array" => start(pass_array, &words),
        "nodes" => start(pass_nodes, &words),
        other => panic!("{other}"),
    }
}
