//! Passes probes with values of many types, and prints what `{:?}` and `{}` of Rust write for each. What is
//! behind a pointer inside a value has a line of its own, because a recorder does not have it: `behind:`.
//!
//! `probe-whole [ROUNDS] [handle]`; `handle` handles the values itself, and prints what it got.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use simple_markers::simple_probe;

/// How many values were dropped.
static DROPPED: AtomicU32 = AtomicU32::new(0);

/// Prints a line at once, with the name of the probe.
macro_rules! says {
    ($name:literal, $($text:tt)*) => {{
        let line = format!("{}: {}\n", $name, format_args!($($text)*));
        std::io::stdout().write_all(line.as_bytes()).expect("standard output");
    }};
}

// Only what is derived reads the fields.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code)]
struct Point {
    x: i32,
    y: i32,
}

#[derive(Clone, Debug)]
struct Owner {
    id: u32,
    at: Point,
    name: String,
}

#[derive(Clone, Debug)]
#[allow(dead_code)]
enum State {
    Idle,
    Busy { since: u64, by: Point },
    Moved(i16, Option<Point>),
}

#[derive(Clone, Debug)]
#[allow(dead_code)]
struct Request {
    tag: u64,
    state: State,
    flags: (bool, char, i8),
    weights: [f32; 3],
    parent: Option<Point>,
    result: Result<u16, Point>,
}

#[derive(Clone, Copy, Debug)]
struct Nothing;

#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Packed {
    small: u8,
    large: u64,
    at: Point,
}

struct Large {
    first: u64,
    rest: [u64; 511],
}

struct Dropped {
    number: u32,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Nothing is known of the type here.
#[inline(never)]
fn generic<T>(value: T) -> T {
    simple_probe!(whole:generic, "%p{}", value);
    value
}

#[inline(never)]
fn structures(request: &Request, owner: &Owner, round: u64) {
    simple_probe!(whole:request, "%p{}", request);
    says!("whole:request", "{request:?}");
    simple_probe!(whole:place, "{} {:?} {}", request.tag, request.state, round);
    says!("whole:place", "{} {:?} {round}", request.tag, request.state);
    simple_probe!(whole:mixed, "%lu %p{} %s %p{:#x} %u", round, owner.at, owner.name, request.tag, owner.id);
    says!("whole:mixed", "{round} {:?} {} {:#x} {}", owner.at, owner.name, request.tag, owner.id);
    simple_probe!(whole:members, "%p{tag,state} %p{at.x,id}", request, owner);
    let (tag, state) = (request.tag, &request.state);
    let (x, id) = (owner.at.x, owner.id);
    says!("whole:members", "Request {{ tag: {tag}, state: {state:?} }} Owner {{ at: Point {{ x: {x} }}, id: {id} }}");
    let (tuple, array) = ((request.tag as u8, owner.at), [owner.at, owner.at]);
    simple_probe!(whole:parts, "{tuple:?} {array:?}");
    says!("whole:parts", "{tuple:?} {array:?}");
    simple_probe!(whole:options, "{request.parent:?} {request.result:?}");
    says!("whole:options", "{:?} {:?}", request.parent, request.result);
    simple_probe!(behind:owner, "%p{}", owner);
    says!("behind:owner", "{owner:?}");
}

#[inline(never)]
fn others(round: u64, text: &str, at: Point) {
    let (owned, numbers, boxed) = (format!("owned {round}"), vec![1, 2, 3, round as u32], Box::new(at));
    simple_probe!(whole:texts, "{text} {owned} {text:?} {:>8}", text);
    says!("whole:texts", "{text} {owned} {text:?} {text:>8}");
    let slice = &numbers[1..];
    simple_probe!(whole:lists, "{numbers:?} {:?} {boxed:?}", slice);
    says!("whole:lists", "{numbers:?} {slice:?} {boxed:?}");
    let (small, letter, real, truth, nothing) = (round as i8 - 3, 'ä', round as f64 / 4.0, round % 2 == 0, Nothing);
    simple_probe!(whole:scalars, "{small} {letter} {real} {truth} {nothing:?}");
    says!("whole:scalars", "{small} {letter} {real} {truth} {nothing:?}");
    let packed = Packed { small: 7, large: round << 40, at: Point { x: 1, y: round as i32 } };
    simple_probe!(whole:packed, "{packed.large} {packed.at:?} {packed.small}");
    says!("whole:packed", "{} {:?} {}", { packed.large }, { packed.at }, { packed.small });
}

/// Prints the values of the probe `whole:mixed`, and of each one of `whole:packed` how many bytes it has.
fn set_handlers() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        use simple_markers::{Hit, Value, Values, WholeValue, handle};

        type Mixed<'a> = (u64, WholeValue<'a>, &'a [u8], WholeValue<'a>, u32);
        let mixed = &|_: &Hit<'_>, (round, at, name, tag, id): Mixed<'_>| {
            // SAFETY: a `Point` and a `u64` have no padding.
            let of = |value: WholeValue<'_>| value.bytes().iter().map(|byte| unsafe { byte.assume_init() }).collect();
            let (bytes, tag): (Vec<u8>, Vec<u8>) = (of(at), of(tag));
            says!("handled:mixed", "{round} {bytes:?} {} {tag:?} {id}", name.escape_ascii());
        };
        assert_eq!(handle::<Mixed<'static>>("whole:mixed", mixed).expect("a handler"), 1);
        let wrong = handle::<(u64, u64, &[u8], u64, u32)>("whole:mixed", &|_, _| {}).expect_err("other types");
        says!("handled:wrong", "{wrong}");
        let sizes = &|hit: &Hit<'_>, values: Values<'_>| {
            let of = |value| match value {
                Value::Whole(value) => (value.size(), value.is_behind()),
                other => panic!("{other:?}"),
            };
            says!("handled:sizes", "{} {:?}", hit.probe().name(), values.map(of).collect::<Vec<_>>());
        };
        let patterns = "whole:packed,whole:lists,whole:texts,whole:large,whole:scalars";
        assert_eq!(handle::<Values<'_>>(patterns, sizes).expect("a handler"), 5);
    }
}

fn main() {
    if std::env::args().nth(2).is_some() {
        set_handlers();
    }
    let rounds = std::env::args().nth(1).map_or(3, |rounds| rounds.parse().expect("a number"));
    for round in 0..rounds {
        let at = Point { x: round as i32, y: -1 };
        let state = match round % 3 {
            0 => State::Idle,
            1 => State::Busy { since: round << 33, by: at },
            _ => State::Moved(-5, (round % 2 == 0).then_some(at)),
        };
        let request = Request {
            tag: round + 1,
            state,
            flags: (round % 2 == 1, 'x', -8),
            weights: [0.5, round as f32, -1.25],
            parent: (round > 0).then_some(at),
            result: if round == 0 { Err(at) } else { Ok(round as u16) },
        };
        let owner = Owner { id: 70 + round as u32, at, name: format!("owner {round}") };
        structures(&request, &owner, round);
        others(round, "some text", at);
        generic(at);
        says!("whole:generic", "{at:?}");
        let mut large = Large { first: round, rest: [round; 511] };
        large.rest[510] = 1 << 63;
        simple_probe!(whole:large, "%p{first}", large);
        says!("whole:large", "Large {{ first: {} }}", large.first + large.rest[510] - (1 << 63));
        simple_probe!(cut:large, "%p{}", large);
        let value = Dropped { number: round as u32 };
        simple_probe!(whole:dropped, "%p{}", value);
        says!("whole:dropped", "Dropped {{ number: {} }}", value.number);
    }
    says!("dropped", "{}", DROPPED.load(Ordering::Relaxed));
}
