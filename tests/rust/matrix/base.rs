//! The base crate of the others.
#![no_std]

use core::hint::black_box;
use core::sync::atomic::{AtomicU32, Ordering};

use simple_markers::simple_mark;

static CALLS: AtomicU32 = AtomicU32::new(0);
static SUM: AtomicU32 = AtomicU32::new(0);

#[inline(never)]
pub fn witness(number: u32) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    SUM.fetch_add(number, Ordering::Relaxed);
}

pub fn witnessed() -> u32 {
    CALLS.load(Ordering::Relaxed) << 16 | SUM.load(Ordering::Relaxed)
}

#[inline(never)]
pub fn called(value: u32) -> u32 {
    simple_mark!(base:called, "called with %u", value); //~ live
    witness(101);
    black_box(value) + 1
}

#[inline(always)]
pub fn always(value: u32) -> u32 {
    simple_mark!(base:always, "inlined with %u", value); //~ live
    witness(102);
    value ^ 0x55
}

#[inline]
pub fn maybe(value: u32) -> u32 {
    simple_mark!(base:maybe, "inlined perhaps with %u", value); //~ live
    witness(103);
    value.rotate_left(3)
}

pub fn generic<T: Into<u32>>(value: T) -> u32 {
    let value = value.into();
    simple_mark!(base:generic, "of some type: %u", keep value); //~ live
    witness(104);
    if value > 1000 {
        simple_mark!(base:generic:large, "large: %u", value); //~ live
        witness(105);
        return called(value);
    }
    value
}

pub fn never_instantiated<T: Into<u32>>(value: T) -> u32 {
    simple_mark!(base:never_instantiated, "of no type"); //~ eliminated
    witness(106);
    value.into()
}

#[inline(never)]
pub fn never_called(value: u32) -> u32 {
    simple_mark!(base:never_called, "never called with %u", value); //~ discarded
    witness(107);
    only_from_the_dead(value)
}

#[inline(never)]
fn only_from_the_dead(value: u32) -> u32 {
    simple_mark!(base:only_from_the_dead, "called by the dead"); //~ discarded
    witness(108);
    value + 1
}

pub fn dead_with_closure(value: u32) -> u32 {
    let closure = |by: u32| {
        simple_mark!(base:dead:closure, "by %u", by); //~ discarded
        witness(109);
        by * value
    };
    closure(value)
}

/// Called only through a pointer.
pub static TABLE: [fn(u32) -> u32; 2] = [twin, other_twin];

fn twin(value: u32) -> u32 {
    simple_mark!(base:twin, "one"); //~ live
    witness(110);
    value + 7
}

/// `--cfg twins` makes the code of both the same.
const OTHER: u32 = if cfg!(twins) { 7 } else { 9 };

fn other_twin(value: u32) -> u32 {
    simple_mark!(base:other_twin, "the other"); //~ live
    witness(110);
    value + OTHER
}
