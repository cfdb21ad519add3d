//! Places that outlive a call: statics, thread-locals, variables shared between threads.

use std::cell::Cell;
use std::hint::black_box;
use std::num::{NonZero, Wrapping};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI16, AtomicU64, AtomicUsize, Ordering};

use constructs_library::witness;
use simple_markers::simple_mark;

static READY: AtomicBool = AtomicBool::new(false);
static TOTAL: AtomicU64 = AtomicU64::new(0);
static LIMITS: Limits = Limits { low: 1, high: 2 };
static mut CHANGING: u32 = 7;

struct Limits {
    low: u32,
    high: u32,
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static NAME: String = {
        simple_mark!(construct:thread_local:initialiser, "first use in this thread"); //~ live
        witness(7800);
        String::from("thread")
    };
}

pub(crate) fn run() {
    statics();
    thread_locals();
    numbers();
    locked(black_box(&Mutex::new(1)));
}

#[inline(never)]
fn statics() {
    READY.store(true, Ordering::Relaxed);
    TOTAL.store(black_box(9), Ordering::Relaxed);
    simple_mark!(construct:static:atomic, "ready %d, total %lu", READY, TOTAL); //~ live 1 time
    witness(7801);
    simple_mark!(construct:static:field, "%u to %u", LIMITS.low, LIMITS.high); //~ live 1 time
    simple_mark!(construct:static:path, "%u", crate::storage::LIMITS.low); //~ live 1 time
    simple_mark!(construct:static:mutable, "%u", CHANGING); //~ live 1 time
    witness(7802);
    // SAFETY: only this thread uses it.
    unsafe { CHANGING = black_box(8) };
}

#[inline(never)]
fn thread_locals() {
    DEPTH.with(|depth| {
        depth.set(depth.get() + 1);
        simple_mark!(construct:thread_local, "depth %u", depth); //~ live
        witness(7803);
    });
    NAME.with(|name| {
        simple_mark!(construct:thread_local:lazy, "name %s", name); //~ live
        witness(7804);
        black_box(name);
    });
}

#[inline(never)]
fn numbers() {
    let non_zero = black_box(NonZero::<u32>::MIN);
    let wrapping = black_box(Wrapping(2u16));
    let atomic = black_box(AtomicUsize::new(3));
    let small = black_box(AtomicI16::new(-3));
    let cell = black_box(Cell::new(4i64));
    simple_mark!(construct:number:non_zero, "%u", non_zero); //~ live 1 time
    simple_mark!(construct:number:wrapping, "%hu", wrapping); //~ live 1 time
    simple_mark!(construct:number:atomic, "%zu", atomic); //~ live 1 time
    simple_mark!(construct:number:small_atomic, "%hd", small); //~ live 1 time
    simple_mark!(construct:number:cell, "%ld", cell); //~ live 1 time
    witness(7805);
    cell.set(5);
    black_box(cell);
}

#[inline(never)]
fn locked(mutex: &Mutex<i32>) {
    if let Ok(mut guard) = mutex.lock() {
        *guard += 1;
        simple_mark!(construct:lock_guard, "now %d", keep value = *guard); //~ live 1 time; keeps 2
        witness(7806);
    }
}
