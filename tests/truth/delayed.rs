//! Stores that are held back in a register, or dropped.
use simple_markers::simple_mark;

struct Counter {
    a: u32,
    b: u32,
}

impl Counter {
    /// An unrolled loop stores once for several rounds.
    #[inline(never)]
    fn each(&mut self, v: &[u32]) {
        for x in v {
            self.a = self.a.wrapping_mul(3) + x;
            self.b ^= self.a;
            simple_mark!(delayed:each, "%u %u", self.a, self.b);
        }
    }

    /// The first store is dead.
    #[inline(never)]
    fn dead(&mut self, n: u32) {
        self.a = n;
        simple_mark!(delayed:dead, "%u", self.a);
        self.a = n * 3;
    }
}

#[derive(Clone, Copy)]
struct V {
    k: u32,
    _rest: [u32; 8],
}

/// A struct by value is a pointer to the caller's copy.
#[inline(never)]
fn by_value(mut v: V) -> u32 {
    v.k += 1;
    simple_mark!(delayed:by_value, "%u", v.k);
    v.k
}

/// The first store to the element is dead.
#[inline(never)]
fn element(n: u32) -> u32 {
    let mut a = [n; 16];
    a[n as usize & 15] = 5;
    a[1] = 77;
    simple_mark!(delayed:element, "%u", a[1]);
    a[1] = n;
    a[(n as usize * 3) & 15] + a[(n as usize * 5) & 15]
}

/// The field is never read again.
#[inline(never)]
fn unread(s: &[u32]) -> u32 {
    let mut v = V { k: 1, _rest: [s[0]; 8] };
    for (index, item) in s.iter().enumerate() {
        v.k = *item;
        v._rest[index & 7] += item;
    }
    simple_mark!(delayed:unread, "%u", v.k);
    v._rest[s.len() & 7]
}

#[inline(never)]
fn fill(all: &mut std::mem::MaybeUninit<[u64; 9]>) -> u64 {
    all.write([7; 9])[3]
}

/// When the block is left, another array gets the bytes, and a callee its address.
#[inline(never)]
fn shared(used: u64, n: u64) -> u64 {
    let sum = {
        let mut items = [used; 8];
        items[(n & 7) as usize] = n;
        items[4] = n + 1;
        simple_mark!(delayed:shared, "%lu", items[4]);
        items[3]
    };
    let mut other = std::mem::MaybeUninit::uninit();
    fill(&mut other) + sum
}

#[inline]
fn assign(items: &mut [u64], n: u64) -> u64 {
    items[(n & 7) as usize] = n;
    items[4] = n + 1;
    simple_mark!(delayed:behind, "%lu", items[4]);
    items[3]
}

/// The same behind a pointer.
#[inline(never)]
fn behind(used: u64, n: u64) -> u64 {
    let sum = {
        let mut items = [used; 8];
        assign(&mut items, n)
    };
    let mut other = std::mem::MaybeUninit::uninit();
    fill(&mut other) + sum
}

fn main() {
    let n = std::env::args().count() as u32;
    let mut counter = Counter { a: 1, b: 1 };
    counter.each(&[n, 2, 3]);
    counter.dead(n);
    let sum = by_value(V { k: 6 + n, _rest: [n; 8] });
    println!("{} {} {} {} {}", counter.a, counter.b, sum, element(5 + n), unread(&[n, 2, 3]));
    println!("{} {}", shared(sum.into(), n.into()), behind(sum.into(), n.into()));
}
