//! Functions with markers on places that a compiler may keep out of memory: fields behind an
//! exclusive reference (`ref_`) and locals (`own_`). A feature chooses how a place is marked. With
//! an argument, the program calls each function so often, for callgrind; without one it prints the
//! nanoseconds of a call, the minimum of many rounds.

#![allow(asm_sub_register, reason = "the registers are not used")]

use std::hint::black_box;
use std::time::Instant;

/// `mark!("FORMAT", root; places)`: `root` is what contains the places.
macro_rules! define {
    ($d:tt $format:ident $root:ident $place:ident => $($code:tt)*) => {
        macro_rules! mark {
            ($d $format:literal, $d $root:expr; $d($d $place:expr),+) => {
                $($code)*
            };
        }
    };
}

#[cfg(feature = "none")]
define! { $ format root place => {} }
#[cfg(feature = "asm")]
define! { $ format root place => {
    // SAFETY: no instruction.
    unsafe { core::arch::asm!("", options(nomem, nostack, preserves_flags)) }
} }
#[cfg(feature = "mark")]
define! { $ format root place => { simple_markers::simple_mark!(places:mark, $format, $($place),+) } }
#[cfg(feature = "keep")]
define! { $ format root place => { simple_markers::simple_mark!(places:mark, $format, $(keep $place),+) } }
// As `keep`, but without `readonly`.
#[cfg(feature = "value")]
define! { $ format root place => {
    // SAFETY: a comment.
    unsafe { core::arch::asm!(concat!("/*", $(stringify!($place), "{}",)+ "*/"), $(in(reg) $place),+, options(nomem, nostack, preserves_flags)) }
} }
// The address of each place is an operand.
#[cfg(feature = "address")]
define! { $ format root place => {
    // SAFETY: a comment.
    unsafe { core::arch::asm!(concat!("/*", $(stringify!($place), "{}",)+ "*/"), $(in(reg) &raw const $place),+, options(readonly, nostack, preserves_flags)) }
} }
// The address of what contains the places, as `keep &*self` with `%p` passes it.
#[cfg(feature = "root")]
define! { $ format root place => {
    // SAFETY: a comment.
    unsafe { core::arch::asm!("/*{}*/", in(reg) &raw const $root, options(readonly, nostack, preserves_flags)) }
} }

pub struct Random {
    a: u64,
    b: u64,
    calls: u64,
}

impl Random {
    #[inline]
    fn next(&mut self) -> u64 {
        let (mut x, y) = (self.a, self.b);
        self.a = y;
        x ^= x << 23;
        self.b = x ^ y ^ (x >> 17) ^ (y >> 26);
        self.calls += 1;
        mark!("%lu %lu", *self; self.calls, self.b);
        self.b.wrapping_add(y)
    }
}

/// A generator of random numbers.
#[inline(never)]
pub fn ref_random(random: &mut Random, out: &mut [u64]) {
    for value in out {
        *value = random.next();
    }
}

pub struct Ring {
    head: u32,
    tail: u32,
    count: u32,
    lost: u32,
    slots: [u64; 64],
}

impl Ring {
    #[inline]
    fn push(&mut self, value: u64) {
        if self.count == 64 {
            self.lost += 1;
            mark!("%u %u", *self; self.lost, self.count);
            return;
        }
        self.slots[(self.tail & 63) as usize] = value;
        self.tail = self.tail.wrapping_add(1);
        self.count += 1;
        mark!("%u %u", *self; self.tail, self.count);
    }

    #[inline]
    fn pop(&mut self) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let value = self.slots[(self.head & 63) as usize];
        self.head = self.head.wrapping_add(1);
        self.count -= 1;
        mark!("%u %u", *self; self.head, self.count);
        Some(value)
    }
}

/// A ring buffer.
#[inline(never)]
pub fn ref_ring(ring: &mut Ring, values: &[u64]) -> u64 {
    let mut sum = 0;
    for &value in values {
        ring.push(value);
        ring.push(value ^ 1);
        if value & 3 != 0 {
            sum ^= ring.pop().unwrap_or_default();
            sum ^= ring.pop().unwrap_or_default();
        }
    }
    sum
}

pub struct Stats {
    reads: u64,
    bytes: u64,
    max: u64,
    last: u64,
}

impl Stats {
    #[inline]
    fn record(&mut self, value: u64) {
        self.reads += 1;
        self.bytes = self.bytes.wrapping_add(value);
        if value > self.max {
            self.max = value;
        }
        mark!("%lu %lu %lu", *self; self.reads, self.bytes, self.max);
        self.last = value;
    }
}

/// Statistics in a loop.
#[inline(never)]
pub fn ref_stats(stats: &mut Stats, values: &[u64]) {
    for &value in values {
        stats.record(value);
    }
}

/// Statistics in a straight line: the function inlined three times.
#[inline(never)]
pub fn ref_three(stats: &mut Stats, value: u64) {
    stats.record(value);
    stats.record(value >> 3);
    stats.record(!value);
}

pub struct Bits {
    pending: u64,
    count: u32,
    at: u32,
    out: [u8; 4096],
}

impl Bits {
    #[inline]
    fn put(&mut self, code: u32, length: u32) {
        self.pending |= u64::from(code) << self.count;
        self.count += length;
        mark!("%lu %u", *self; self.pending, self.count);
        while self.count >= 8 {
            self.out[(self.at & 4095) as usize] = self.pending as u8;
            self.at = self.at.wrapping_add(1);
            self.pending >>= 8;
            self.count -= 8;
        }
    }
}

/// A writer of bits.
#[inline(never)]
pub fn ref_bits(bits: &mut Bits, text: &[u8]) {
    for &byte in text {
        if byte < b'a' {
            bits.put(byte.into(), 9);
        } else {
            bits.put(u32::from(byte) & 31, 5);
        }
    }
}

pub struct Lexer<'a> {
    at: usize,
    line: u32,
    column: u32,
    depth: u32,
    text: &'a [u8],
}

impl Lexer<'_> {
    #[inline]
    fn bump(&mut self) {
        self.at += 1;
        self.column += 1;
    }

    fn skip(&mut self, is_inside: impl Fn(u8) -> bool) {
        while self.text.get(self.at).is_some_and(|&byte| is_inside(byte)) {
            self.bump();
        }
    }
}

/// A lexer: its next token.
#[inline(never)]
pub fn ref_token(lexer: &mut Lexer<'_>) -> u32 {
    while let Some(&byte) = lexer.text.get(lexer.at) {
        lexer.bump();
        match byte {
            b' ' => {}
            b'\n' => {
                lexer.line += 1;
                lexer.column = 0;
                mark!("%u %zu", *lexer; lexer.line, lexer.at);
            }
            b'(' => {
                lexer.depth += 1;
                mark!("%u %u", *lexer; lexer.depth, lexer.column);
                return 1;
            }
            b')' => {
                lexer.depth = lexer.depth.wrapping_sub(1);
                mark!("%u %u", *lexer; lexer.depth, lexer.column);
                return 2;
            }
            b'a'..=b'z' => {
                lexer.skip(|byte| matches!(byte, b'a'..=b'z' | b'_' | b'0'..=b'9'));
                mark!("%zu %u", *lexer; lexer.at, lexer.column);
                return 3;
            }
            b'0'..=b'9' => {
                lexer.skip(|byte| byte.is_ascii_digit());
                mark!("%zu %u", *lexer; lexer.at, lexer.column);
                return 4;
            }
            _ => return 5,
        }
    }
    0
}

#[derive(Clone, Copy)]
pub struct Body {
    x: f64,
    y: f64,
    vx: f64,
    vy: f64,
    time: u64,
    hits: u64,
}

/// A moving body: floats, and two counters that are marked.
#[inline(never)]
pub fn own_body(mut body: Body, steps: u64) -> f64 {
    for _ in 0..steps {
        body.x += body.vx * 0.5;
        body.y += body.vy * 0.5;
        body.time += 3;
        if body.x > 10.0 {
            body.vx = -body.vx;
            body.hits += 1;
        }
        mark!("%lu %lu", body; body.time, body.hits);
        body.vy -= 0.01;
    }
    body.x + body.y + body.time as f64 + body.hits as f64
}

#[derive(Clone, Copy)]
pub struct Machine {
    pc: u64,
    sum: u64,
    x: u64,
    flag: u64,
}

/// An interpreter.
#[inline(never)]
pub fn own_machine(mut machine: Machine, code: &[u8]) -> u64 {
    while let Some(&byte) = code.get(machine.pc as usize) {
        machine.pc += 1;
        match byte & 7 {
            0 => machine.sum = machine.sum.wrapping_add(machine.x),
            1 => machine.x = machine.x.wrapping_mul(3) ^ 5,
            2 => machine.sum ^= machine.x >> 3,
            3 => machine.flag = u64::from(machine.sum == 0),
            4 => machine.sum = machine.sum.rotate_left(7),
            5 => machine.x = machine.sum,
            6 => machine.pc += machine.flag,
            _ => machine.sum = machine.sum.wrapping_sub(byte.into()),
        }
        mark!("%lu %lu", machine; machine.pc, machine.sum);
    }
    machine.sum ^ machine.x ^ machine.pc
}

#[inline(never)]
fn opaque(value: u64) -> u64 {
    black_box(value)
}

/// Calls of a function that the compiler does not know.
#[inline(never)]
pub fn own_calls(mut machine: Machine, times: u64) -> u64 {
    for time in 0..times {
        machine.pc += 1;
        machine.sum = machine.sum.wrapping_mul(31) ^ time;
        machine.x = machine.x.wrapping_add(opaque(time));
        machine.flag ^= opaque(machine.x);
        mark!("%lu", machine; machine.sum);
    }
    machine.sum ^ machine.x ^ machine.pc ^ machine.flag
}

/// A copy of what is behind a reference, written back at the end.
#[inline(never)]
pub fn own_copy(stats: &mut Stats, values: &[u64]) {
    let mut copy = Stats { ..*stats };
    for &value in values {
        copy.reads += 1;
        copy.bytes = copy.bytes.wrapping_add(value);
        if value > copy.max {
            copy.max = value;
        }
        mark!("%lu %lu", copy; copy.reads, copy.bytes);
    }
    *stats = copy;
}

/// An array.
#[inline(never)]
pub fn own_array(text: &[u8]) -> u32 {
    let mut counts = [0_u32; 8];
    for &byte in text {
        counts[usize::from(byte & 7)] += 1;
        mark!("%u", counts; counts[1]);
    }
    counts.iter().fold(0, |sum, count| sum.wrapping_mul(31) ^ count)
}

/// A pair.
#[inline(never)]
pub fn own_pair(values: &[u64]) -> u64 {
    let mut pair = (0_u64, 0);
    for &value in values {
        pair.0 = pair.0.wrapping_mul(31) ^ value;
        if value > pair.1 {
            pair.1 = value;
        }
        mark!("%lu %lu", pair; pair.0, pair.1);
    }
    pair.0 ^ pair.1
}

/// Calls of a round, and rounds.
const CALLS: u32 = 4;
const ROUNDS: u32 = 500;

fn run(times: Option<u32>, name: &str, mut call: impl FnMut()) {
    if let Some(times) = times {
        (0..times).for_each(|_| call());
        return;
    }
    let round = |_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    println!("{name} {:.1}", (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min));
}

fn main() {
    let times = std::env::args().nth(1).and_then(|times| times.parse().ok());
    let mut state = 7_u64;
    let values = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 20
    });
    let values: Vec<u64> = values.take(1000).collect();
    let text: Vec<u8> = b"sum (first_1 + 23, product (alpha beta 4096) * 7)\n".iter().copied().cycle().take(1000).collect();
    let (values, text) = (black_box(&values[..]), black_box(&text[..]));
    let mut out = vec![0; 1000];
    let mut random = Random { a: 1, b: 2, calls: 0 };
    let mut ring = Ring { head: 0, tail: 0, count: 0, lost: 0, slots: [0; 64] };
    let mut stats = Stats { reads: 0, bytes: 0, max: 0, last: 0 };
    let mut bits = Bits { pending: 0, count: 0, at: 0, out: [0; 4096] };
    let body = Body { x: 0.0, y: 0.0, vx: 1.0, vy: 1.0, time: 0, hits: 0 };
    let machine = Machine { pc: 0, sum: 1, x: 2, flag: 0 };
    run(times, "ref_random", || ref_random(black_box(&mut random), &mut out));
    run(times, "ref_ring", || {
        black_box(ref_ring(black_box(&mut ring), values));
    });
    run(times, "ref_stats", || ref_stats(black_box(&mut stats), values));
    run(times, "ref_three", || values.iter().for_each(|&value| ref_three(black_box(&mut stats), value)));
    run(times, "ref_bits", || ref_bits(black_box(&mut bits), text));
    run(times, "ref_token", || {
        let mut lexer = Lexer { at: 0, line: 1, column: 0, depth: 0, text };
        while ref_token(black_box(&mut lexer)) != 0 {}
    });
    run(times, "own_body", || {
        black_box(own_body(black_box(body), 1000));
    });
    run(times, "own_machine", || {
        black_box(own_machine(black_box(machine), text));
    });
    run(times, "own_calls", || {
        black_box(own_calls(black_box(machine), 1000));
    });
    run(times, "own_copy", || own_copy(black_box(&mut stats), values));
    run(times, "own_array", || {
        black_box(own_array(text));
    });
    run(times, "own_pair", || {
        black_box(own_pair(values));
    });
}
