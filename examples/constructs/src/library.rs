//! A crate that the program links: the witness, and markers in functions for other crates.

pub mod unused;

use std::sync::atomic::{AtomicU32, Ordering};

use simple_markers::simple_mark;

static CALLS: AtomicU32 = AtomicU32::new(0);
static SUM: AtomicU32 = AtomicU32::new(0);

/// Is called after a marker, with a unique number. The program checks that it was called. In a
/// disassembly, the number in the register of the first argument shows where the code after the
/// marker is.
#[inline(never)]
pub fn witness(number: u32) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    SUM.fetch_add(number, Ordering::Relaxed);
}

/// How often [`witness`] was called, and the sum of its arguments.
#[must_use]
pub fn witnessed() -> (u32, u32) {
    (CALLS.load(Ordering::Relaxed), SUM.load(Ordering::Relaxed))
}

/// Compiled here, called from the other crate.
#[inline(never)]
pub fn called(value: i32) {
    simple_mark!(construct:library:called, "called with %d", value); //~ live 1 time
    witness(7001);
}

/// Compiled in the crate that calls it.
#[inline]
pub fn inlined(value: i32) {
    simple_mark!(construct:library:inlined, "inlined with %d", value); //~ live
    witness(7002);
}

/// Compiled in the crate that chooses `T`.
pub fn instantiated<T>(_: &T) {
    simple_mark!(construct:library:instantiated, "instantiated"); //~ live 2 times in dev, live at least 2 times in release
    witness(7003);
}

/// Compiled here because another crate could call it. No crate does, so the linker removes it.
#[inline(never)]
pub fn never_called(value: i32) {
    simple_mark!(construct:library:never_called, "never called with %d", value); //~ discarded
    witness(7004);
}

/// Called only by a function that nobody calls.
#[inline(never)]
pub fn calls_the_dead() {
    simple_mark!(construct:library:calls_the_dead, "calls the dead"); //~ discarded
    called_by_the_dead();
}

#[inline(never)]
fn called_by_the_dead() {
    simple_mark!(construct:library:called_by_the_dead, "called by the dead"); //~ discarded
    witness(7005);
}

/// Generic, and no crate instantiates it.
pub fn never_instantiated<T>(_: &T) {
    simple_mark!(construct:library:never_instantiated, "never instantiated"); //~ eliminated
    witness(7006);
}
