//! Measures what it costs to record a probe:
//! `cargo run --release --manifest-path benches/Cargo.toml -p bench-probe-record [MILLIONS]`, in the
//! folder of the workspace.
//!
//! `benches/probe-lttng` measures the same with LTTng-UST, in the same run. Each row is the median of 9 runs of MILLIONS million hits (4), less the loop. The rings are in the
//! folder `TMPDIR`, where a file system in memory is best. Then four threads record at once, and last
//! a reader empties rings while two threads record 100 million hits: those that it gets and those that
//! were dropped are counted.

/// The tests of the recorder arm and read in the same way.
#[allow(dead_code, missing_docs, unreachable_pub)]
#[path = "../../../markers/recorder/tests/support"]
mod support {
    pub mod child;
    pub mod probe;
    pub mod reader;
    pub mod tool;
}

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use simple_markers_record::buffer::{control, value};
use simple_markers_recorder::{Hit, Values, handle, unhandle};
use support::child::Folder;
use support::probe::Descriptor;
use support::tool::{self, Buffers};

descriptor!(NONE: "bench:none", "", "", "", []);
descriptor!(TWO: "bench:two", "%lu %lu", "a, b", "8 8", [false; 2]);
descriptor!(FOUR: "bench:four", "%lu %lu %lu %lu", "a, b, c, d", "8 8 8 8", [false; 4]);
descriptor!(TEXT: "bench:text", "%s", "text", "s", [true]);
descriptor!(MIXED: "bench:mixed", "%lu %s", "a, text", "8 s", [false, true]);
descriptor!(VALUE: "bench:value", "%lu %lu %lu %lu %p{}", "a, b, c, d, value", "8 8 8 8 v", [false, false, false, false, true]; with_values);

static PROBES: [&Descriptor; 6] = [&NONE, &TWO, &FOUR, &TEXT, &MIXED, &VALUE];

/// A value of 64 bytes, and a reference to it.
static LARGE: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
static REFERENCE: &[u64; 8] = &LARGE;

/// A flight recorder, which never stops.
const FLIGHT: Buffers = Buffers { packet_size: 1 << 16, packets: 16, flags: control::OVERWRITE };

const GROWING: Buffers = Buffers { packet_size: 1 << 16, packets: 0, flags: 0 };

/// A loop's body.
type Body = fn(u64);

fn main() {
    let millions = std::env::args().nth(1).map_or(4, |millions| millions.parse().expect("a number"));
    let hits = millions * 1_000_000;
    let loops = median(|| measure(hits, |number| _ = std::hint::black_box([number, number])));
    let rows: [(&str, Body); 8] = [
        ("no argument", |_| NONE.hit(&[])),
        ("2 arguments", |number| TWO.hit(&[number, 2])),
        ("4 arguments", |number| FOUR.hit(&[number, 2, 3, 4])),
        ("text of 16 bytes", |_| TEXT.hit(&support::probe::text(b"0123456789abcdef"))),
        ("text of 13 bytes", |_| TEXT.hit(&support::probe::text(b"0123456789abc"))),
        ("1 argument, text of 5 bytes", |number| {
            let [at, length] = support::probe::text(b"01234");
            MIXED.hit(&[number, at, length]);
        }),
        ("4 arguments, value of 64 bytes", |number| {
            VALUE.hit(&[number, 2, 3, 4, (&raw const LARGE) as u64, value::word(64, None)]);
        }),
        ("the same behind a reference", |number| {
            VALUE.hit(&[number, 2, 3, 4, (&raw const REFERENCE) as u64, value::word(64, Some(0))]);
        }),
    ];
    let asleep = median(|| measure(hits, |number| TWO.hit(&[number, 2])));
    println!("loop {loops:.1} ns, asleep {:.1}", asleep - loops);
    println!("{:30} {:>8} {:>8} {:>8} {:>8} {:>8}", "ns", "ring", "growing", "full", "slow", "handler");
    for (name, hit) in rows {
        let ring = with_buffers(FLIGHT, || median(|| measure(hits, hit)));
        let growing = with_buffers(GROWING, || median(|| measure(hits, hit)));
        let full = Buffers { flags: 0, ..FLIGHT };
        let full = with_buffers(full, || median(|| measure(hits, hit)));
        // Each hit takes the slow path.
        let slow = Buffers { flags: control::OVERWRITE | control::MONOTONIC, ..FLIGHT };
        let slow = with_buffers(slow, || median(|| measure(hits / 20, hit)));
        // Not recorded.
        let count = |_: &Hit<'_>, values: Values<'_>| _ = std::hint::black_box(values.len());
        assert_eq!(handle::<Values<'_>>("bench:*", Box::leak(Box::new(count))), Ok(PROBES.len()));
        let handler = median(|| measure(hits / 20, hit));
        assert_eq!(unhandle("*"), Ok(PROBES.len()));
        let [ring, growing, full, slow, handler] = [ring, growing, full, slow, handler].map(|ns| ns - loops);
        println!("{name:30} {ring:8.1} {growing:8.1} {full:8.1} {slow:8.1} {handler:8.1}");
    }
    let one = with_buffers(FLIGHT, || median(|| threads(1, hits)));
    let four = with_buffers(FLIGHT, || median(|| threads(4, hits)));
    println!("1 thread {one:.1} ns, 4 threads {four:.1} on {} processors", processors());
    live();
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// ns of processor time for each hit.
fn measure(hits: u64, mut hit: impl FnMut(u64)) -> f64 {
    let start = thread_time();
    for number in 0..hits {
        hit(std::hint::black_box(number));
    }
    (thread_time() - start) / hits as f64
}

fn median(mut run: impl FnMut() -> f64) -> f64 {
    let mut runs: Vec<f64> = (0..9).map(|_| run()).collect();
    runs.sort_by(f64::total_cmp);
    runs[4]
}

fn with_buffers<T>(buffers: Buffers, run: impl FnOnce() -> T) -> T {
    let folder = Folder::new("bench");
    tool::arm(folder.path(), buffers, &PROBES);
    let result = run();
    tool::disarm(&PROBES);
    result
}

/// The same with `count` threads at once.
fn threads(count: usize, hits: u64) -> f64 {
    let run = || measure(hits, |number| TWO.hit(&[number, 2]));
    let times: f64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).sum()
    });
    times / count as f64
}

/// The processor time of this thread in ns.
fn thread_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Two threads record, and a reader counts what it gets.
fn live() {
    const EACH: u64 = 50_000_000;
    let folder = Folder::new("live");
    tool::arm(folder.path(), Buffers { packet_size: 1 << 16, packets: 64, flags: 0 }, &PROBES);
    let is_done = AtomicBool::new(false);
    let (received, dropped, ns) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| receive(folder.path(), &is_done));
        let writers = [1, 2].map(|_| scope.spawn(|| measure(EACH, |number| TWO.hit(&[number, 2]))));
        let ns = writers.map(|writer| writer.join().expect("a thread"));
        is_done.store(true, Ordering::Release);
        let (received, dropped) = reader.join().expect("a reader");
        (received, dropped, ns)
    });
    tool::disarm(&PROBES);
    println!(
        "live: {} hits = {received} received + {dropped} dropped + {} without a buffer; {:.1} and {:.1} ns",
        2 * EACH,
        tool::lost(),
        ns[0],
        ns[1],
    );
    assert_eq!(received + dropped + tool::lost(), 2 * EACH);
}

/// How many hits were received and dropped.
fn receive(folder: &Path, is_done: &AtomicBool) -> (u64, u64) {
    let layouts = PROBES.map(Descriptor::layout);
    let mut rings = Vec::new();
    let mut received = 0;
    loop {
        let last = is_done.load(Ordering::Acquire);
        for path in support::reader::files(folder) {
            if !rings.iter().any(|(known, _)| *known == path) {
                let ring = support::reader::Ring::open(&path, &layouts);
                rings.push((path, ring));
            }
        }
        for (_, ring) in &mut rings {
            received += ring.count();
        }
        if last {
            let dropped = rings.iter().map(|(_, ring)| ring.page().lost).sum();
            return (received, dropped);
        }
    }
}
