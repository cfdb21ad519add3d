//! Stores as in `delayed.rs`, with markers that make the values exact: `keep` of the place (`kept:`),
//! and the address of what contains the place as an operand (`stored:`).
use std::hint::black_box;

use simple_markers::simple_mark;

struct Inner {
    depth: u64,
}

struct State {
    first: u64,
    n: u64,
    inner: Inner,
    name: [u8; 4],
}

/// The second addition is merged with the first.
impl State {
    #[inline(never)]
    fn kept_twice(&mut self) {
        self.n += 1;
        simple_mark!(kept:twice, "%lu", keep self.n, options(anchor));
        self.n += 1;
    }

    #[inline(never)]
    fn stored_twice(&mut self) {
        self.n += 1;
        simple_mark!(stored:twice, "%lu %p", self.n, keep self, options(anchor));
        self.n += 1;
    }
}

/// An unrolled loop.
impl State {
    #[inline(never)]
    fn kept_unrolled(&mut self) {
        for _ in 0..4 {
            self.n += 3;
            simple_mark!(kept:unrolled, "%lu", keep self.n, options(anchor));
        }
    }

    #[inline(never)]
    fn stored_unrolled(&mut self) {
        for _ in 0..4 {
            self.n += 3;
            simple_mark!(stored:unrolled, "%lu %p", self.n, keep self, options(anchor));
        }
    }
}

/// A loop.
impl State {
    #[inline(never)]
    fn kept_sum(&mut self, values: &[u64]) {
        for value in values {
            self.n = self.n.wrapping_mul(31) ^ value;
            simple_mark!(kept:sum, "%lu", keep self.n, options(anchor));
        }
        self.n = 1;
    }

    #[inline(never)]
    fn stored_sum(&mut self, values: &[u64]) {
        for value in values {
            self.n = self.n.wrapping_mul(31) ^ value;
            simple_mark!(stored:sum, "%lu %p", self.n, keep self, options(anchor));
        }
        self.n = 1;
    }
}

/// A field of a field, overwritten on one path.
impl State {
    #[inline(never)]
    fn kept_nested(&mut self, again: bool) {
        self.inner.depth += 7;
        simple_mark!(kept:nested, "%lu", keep self.inner.depth, options(anchor));
        if again {
            self.inner.depth = 0;
        }
    }

    #[inline(never)]
    fn stored_nested(&mut self, again: bool) {
        self.inner.depth += 7;
        simple_mark!(stored:nested, "%lu %p", self.inner.depth, keep &*self, options(anchor));
        if again {
            self.inner.depth = 0;
        }
    }
}

/// An inlined function.
impl State {
    #[inline]
    fn kept_add(&mut self, value: u64) {
        self.first = self.first.wrapping_add(value);
        simple_mark!(kept:add, "%lu", keep self.first, options(anchor));
    }

    #[inline]
    fn stored_add(&mut self, value: u64) {
        self.first = self.first.wrapping_add(value);
        simple_mark!(stored:add, "%lu %p", self.first, keep self, options(anchor));
    }

    #[inline(never)]
    fn three(&mut self, value: u64) {
        self.kept_add(value);
        self.kept_add(value >> 3);
        self.kept_add(!value);
        self.stored_add(value);
        self.stored_add(value >> 3);
        self.stored_add(!value);
    }
}

/// What no register holds.
impl State {
    #[inline(never)]
    fn stored_text(&mut self) {
        self.name = *b"abcd";
        simple_mark!(stored:text, "%s %p", self.name, keep self, options(anchor));
        self.name = *b"wxyz";
    }
}

struct Value {
    j: u64,
    k: u64,
}

/// A struct passed by value.
#[inline(never)]
fn kept_by_value(mut value: Value) -> u64 {
    value.k += 1;
    simple_mark!(kept:by_value, "%lu", keep value.k, options(anchor));
    value.j ^ value.k
}

#[inline(never)]
fn stored_by_value(mut value: Value) -> u64 {
    value.k += 1;
    simple_mark!(stored:by_value, "%lu %p", value.k, keep &value, options(anchor));
    value.j ^ value.k
}

/// A field that is never read again.
#[inline(never)]
fn kept_unread(mut value: Value, by: u64) -> u64 {
    value.k = by * 3;
    simple_mark!(kept:unread, "%lu", keep value.k, options(anchor));
    value.j
}

#[inline(never)]
fn stored_unread(mut value: Value, by: u64) -> u64 {
    value.k = by * 3;
    simple_mark!(stored:unread, "%lu %p", value.k, keep &value, options(anchor));
    value.j
}

/// An element that is overwritten.
#[inline(never)]
fn kept_element(value: u64) -> u64 {
    let mut a = [0_u64; 4];
    a[1] = 77;
    simple_mark!(kept:element, "%lu", keep a[1], options(anchor));
    a[1] = value;
    a[(value & 3) as usize]
}

#[inline(never)]
fn stored_element(value: u64) -> u64 {
    let mut a = [0_u64; 4];
    a[1] = 77;
    simple_mark!(stored:element, "%lu %p", a[1], keep &a, options(anchor));
    a[1] = value;
    a[(value & 3) as usize]
}

fn main() {
    let mut state = State { first: 10, n: 20, inner: Inner { depth: 30 }, name: [0; 4] };
    let state = black_box(&mut state);
    let values = black_box(&[1, 2, 3, 4, 5]);
    for _ in 0..2 {
        state.kept_twice();
        state.stored_twice();
    }
    state.kept_unrolled();
    state.stored_unrolled();
    state.kept_sum(values);
    state.stored_sum(values);
    for again in [true, false] {
        state.kept_nested(black_box(again));
        state.stored_nested(black_box(again));
    }
    state.three(black_box(1000));
    state.stored_text();
    let value = |k| black_box(Value { j: 1, k });
    println!("{} {}", kept_by_value(value(7)), stored_by_value(value(8)));
    println!("{} {}", kept_unread(value(7), black_box(5)), stored_unread(value(8), black_box(6)));
    println!("{} {}", kept_element(black_box(6)), stored_element(black_box(7)));
}
