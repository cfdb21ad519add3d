// The functions of stores.rs, with the `mark!(name, root; place)` of the module that includes them.

use std::hint::black_box;

use super::{Inner, Value};

pub struct State {
    first: u64,
    n: u64,
    inner: Inner,
}

impl State {
    /// The second addition is merged with the first.
    #[inline(never)]
    fn twice(&mut self) {
        self.n += 1;
        mark!(twice, *self; self.n);
        self.n += 1;
    }

    /// An unrolled loop.
    #[inline(never)]
    fn unrolled(&mut self) {
        for _ in 0..4 {
            self.n += 3;
            mark!(unrolled, *self; self.n);
        }
    }

    /// A loop.
    #[inline(never)]
    fn sum(&mut self, values: &[u64]) {
        for value in values {
            self.n = self.n.wrapping_mul(31) ^ value;
            mark!(sum, *self; self.n);
        }
        self.n = 1;
    }

    /// A field of a field, overwritten on one path.
    #[inline(never)]
    fn nested(&mut self, again: bool) {
        self.inner.depth += 7;
        mark!(nested, *self; self.inner.depth);
        if again {
            self.inner.depth = 0;
        }
    }

    #[inline]
    fn add(&mut self, value: u64) {
        self.first = self.first.wrapping_add(value);
        mark!(add, *self; self.first);
    }

    /// An inlined function, three times.
    #[inline(never)]
    fn three(&mut self, value: u64) {
        self.add(value);
        self.add(value >> 3);
        self.add(!value);
    }
}

/// A struct passed by value.
#[inline(never)]
fn by_value(mut value: Value) -> u64 {
    value.k += 1;
    mark!(by_value, value; value.k);
    value.j ^ value.k
}

/// A field that is never read again.
#[inline(never)]
fn unread(mut value: Value, by: u64) -> u64 {
    value.k = by * 3;
    mark!(unread, value; value.k);
    value.j
}

/// An element that is overwritten.
#[inline(never)]
fn element(value: u64) -> u64 {
    let mut a = [0_u64; 4];
    a[1] = 77;
    mark!(element, a; a[1]);
    a[1] = value;
    a[(value & 3) as usize]
}

pub fn run() {
    let mut state = State { first: 10, n: 20, inner: Inner { depth: 30 } };
    let state = black_box(&mut state);
    state.twice();
    state.twice();
    state.unrolled();
    state.sum(black_box(&[1, 2, 3, 4, 5]));
    state.nested(black_box(true));
    state.nested(black_box(false));
    state.three(black_box(1000));
    black_box(by_value(black_box(Value { j: 1, k: 7 })));
    black_box(unread(black_box(Value { j: 1, k: 7 }), black_box(5)));
    black_box(element(black_box(6)));
}
