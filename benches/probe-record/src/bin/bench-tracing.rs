//! Measures what an event of `tracing` costs, with two subscribers that write to memory: one that copies
//! the values, as the recorder does, and `tracing-subscriber`, which writes text. `benches/probe-lttng`
//! runs it. Each row is the median of 9 runs of MILLIONS million events (1), less the loop.

use std::cell::RefCell;
use std::fmt::Debug;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::fmt::MakeWriter;

/// Bytes of a thread's memory, which is written from the start again when it is full.
const SIZE: usize = 1 << 20;

thread_local! {
    static MEMORY: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(SIZE));
}

/// Which of the two subscribers has the events.
static WRITES_TEXT: AtomicBool = AtomicBool::new(false);

/// Both subscribers.
struct Both<T>(T);

/// A loop's body.
type Body = fn(u64);

fn main() {
    let millions = std::env::args().nth(1).map_or(1, |millions| millions.parse().expect("a number"));
    let events = millions * 1_000_000;
    let bodies: [(&str, Body); 3] = [
        ("2 arguments", |number| tracing::info!(name: "two", a = number, b = 2u64)),
        ("4 arguments", |number| tracing::info!(name: "four", a = number, b = 2u64, c = 3u64, d = 4u64)),
        ("text of 16 bytes", |_| tracing::info!(name: "text", text = "0123456789abcdef")),
    ];
    let loops = median(events, |number| _ = std::hint::black_box([number, number]));
    let text = tracing_subscriber::fmt().with_writer(Memory).finish();
    tracing::subscriber::set_global_default(Both(text)).expect("the first subscriber");
    println!("{:30} {:>8} {:>8}", "ns", "values", "text");
    for (name, body) in bodies {
        let [values, text] = [false, true].map(|is_text| {
            WRITES_TEXT.store(is_text, Ordering::Relaxed);
            median(events, body) - loops
        });
        println!("{name:30} {values:8.1} {text:8.1}");
    }
}

/// ns of processor time for each event.
fn median(events: u64, body: Body) -> f64 {
    let run = || {
        let start = thread_time();
        for number in 0..events {
            body(std::hint::black_box(number));
        }
        (thread_time() - start) / events as f64
    };
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

impl<T: Subscriber> Subscriber for Both<T> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.enabled(metadata)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.0.new_span(span)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.0.record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.0.record_follows_from(span, follows);
    }

    fn event(&self, event: &Event<'_>) {
        if WRITES_TEXT.load(Ordering::Relaxed) {
            return self.0.event(event);
        }
        MEMORY.with_borrow_mut(|memory| {
            let from = std::ptr::from_ref(event.metadata()) as usize;
            // SAFETY: reading the counter has no effect.
            let time = unsafe { std::arch::x86_64::_rdtsc() };
            put(memory, &time.to_ne_bytes());
            put(memory, &from.to_ne_bytes());
            event.record(&mut Values(memory));
        });
    }

    fn enter(&self, span: &Id) {
        self.0.enter(span);
    }

    fn exit(&self, span: &Id) {
        self.0.exit(span);
    }
}

fn put(memory: &mut Vec<u8>, bytes: &[u8]) {
    if memory.len() + bytes.len() > SIZE {
        memory.clear();
    }
    memory.extend_from_slice(bytes);
}

/// Copies the values of an event.
struct Values<'a>(&'a mut Vec<u8>);

impl Visit for Values<'_> {
    fn record_u64(&mut self, _: &Field, value: u64) {
        put(self.0, &value.to_ne_bytes());
    }

    fn record_str(&mut self, _: &Field, value: &str) {
        put(self.0, &value.len().to_ne_bytes());
        put(self.0, value.as_bytes());
    }

    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{value:?}");
    }
}

/// The memory of the thread, as `tracing-subscriber` writes to it.
struct Memory;

impl<'a> MakeWriter<'a> for Memory {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

impl std::io::Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        MEMORY.with_borrow_mut(|memory| put(memory, bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
