//! Measures what a span costs, asleep and awake: `cargo run --release --manifest-path
//! benches/Cargo.toml
//! -p bench-spans [MILLIONS]`, in the folder of the workspace.
//!
//! Each row is the median of 9 runs of MILLIONS million spans (4), less the loop: ns of processor
//! time. The ring is that of a tool, as `smark trace` has it, in the folder `TMPDIR`, where a file
//! system in memory is best; the files are those of a program that records itself. `tracing` has
//! the subscriber of `tracing-subscriber` that writes text to memory when a span is closed, and one
//! that only makes numbers. `fastrace` hands its spans to a reporter that drops them.

/// The tests of the recorder arm in the same way.
#[allow(dead_code, missing_docs, unreachable_pub)]
#[path = "../../../markers/recorder/tests/support"]
mod support {
    pub mod child;
    pub mod probe;
    pub mod tool;
}

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use fastrace::local::LocalSpan;
use simple_markers::{simple_probe, simple_span};
use simple_markers_record::buffer::control;
use support::child::Folder;
use support::probe::Descriptor;
use support::tool::{self, Buffers};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::fmt::format::FmtSpan;

/// A loop's body.
type Body = fn(u64);

fn span(number: u64) {
    let _span = simple_span!(bench:span, "%lu %lu", number, 2u64);
    black_box(number);
}

fn two_probes(number: u64) {
    simple_probe!(bench:first, "%lu %lu %lu", number, number, 2u64);
    black_box(number);
    simple_probe!(bench:second, "%lu", number);
}

fn of_tracing(number: u64) {
    let _span = tracing::info_span!("span", a = number, b = 2u64).entered();
    black_box(number);
}

fn of_fastrace(number: u64) {
    let _span = LocalSpan::enter_with_local_parent("span")
        .with_properties(|| [("a", number.to_string()), ("b", 2u64.to_string())]);
    black_box(number);
}

fn of_fastrace_bare(number: u64) {
    let _span = LocalSpan::enter_with_local_parent("span");
    black_box(number);
}

/// A flight recorder, which never stops.
const RING: Buffers = Buffers { packet_size: 1 << 16, packets: 16, flags: control::OVERWRITE };

/// The probes of this program: the section of their switches.
fn probes() -> Vec<&'static Descriptor> {
    unsafe extern "C" {
        #[link_name = "__start___simple_probe"]
        static START: Descriptor;
        #[link_name = "__stop___simple_probe"]
        static STOP: Descriptor;
    }
    // SAFETY: the linker puts the symbols around the section, which consists of descriptors.
    let all = unsafe {
        let (start, stop) = (&raw const START, &raw const STOP);
        std::slice::from_raw_parts(start, stop.offset_from_unsigned(start))
    };
    all.iter().collect()
}

fn main() {
    let millions = std::env::args().nth(1).map_or(4, |millions| millions.parse().expect("a number"));
    let count = millions * 1_000_000;
    let loops = median(count, |number| _ = black_box(number));
    let row = |what: &str, count: u64, body: Body| println!("{what:60} {:8.1}", median(count, body) - loops);
    println!("{:60} {:>8}", "loop", format!("{loops:.1}"));
    row("simple_span!, asleep", count, span);
    row("two simple_probe!, asleep", count, two_probes);
    row("tracing, no subscriber", count, of_tracing);
    row("fastrace, no reporter", count, of_fastrace);

    let folder = Folder::new("bench");
    tool::arm(folder.path(), RING, &probes());
    row("simple_span!, 2 arguments, to a ring", count, span);
    row("two simple_probe! with 3 arguments and 1, to a ring", count, two_probes);
    tool::disarm(&probes());

    fastrace::set_reporter(NoReporter, Config::default());
    let fastrace = |body: Body, what: &str| {
        let ns = median_of(|| {
            let root = fastrace::Span::root("root", SpanContext::random());
            let _guard = root.set_local_parent();
            // It keeps at most so many spans of a local parent.
            run(4_000, body)
        });
        println!("{what:60} {:8.1}", ns - loops);
    };
    fastrace(of_fastrace, "fastrace, 2 properties, to a reporter that drops them");
    fastrace(of_fastrace_bare, "fastrace, no property, to a reporter that drops them");

    let text = tracing_subscriber::fmt().with_writer(io::sink).with_span_events(FmtSpan::CLOSE).finish();
    tracing::subscriber::with_default(Numbers(AtomicU64::new(1)), || {
        row("tracing, 2 fields, a subscriber that counts", count, of_tracing);
    });
    tracing::subscriber::with_default(text, || {
        row("tracing, 2 fields, tracing-subscriber, text at the close", count / 10, of_tracing);
    });
}

struct NoReporter;

impl Reporter for NoReporter {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        drop(black_box(spans));
    }
}

/// A subscriber that only gives numbers to spans.
struct Numbers(AtomicU64);

impl Subscriber for Numbers {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// ns of processor time for each span.
fn run(count: u64, body: Body) -> f64 {
    let start = thread_time();
    for number in 0..count {
        body(black_box(number));
    }
    (thread_time() - start) / count as f64
}

fn median(count: u64, body: Body) -> f64 {
    median_of(|| run(count, body))
}

fn median_of(run: impl Fn() -> f64) -> f64 {
    let mut runs: Vec<f64> = (0..9).map(|_| run()).collect();
    runs.sort_by(f64::total_cmp);
    runs[4]
}

/// The processor time of this thread in ns.
fn thread_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
