//! What the compiler describes as a computation, and gets wrong.
use simple_markers::simple_mark;

/// Only the low bits of the product are used, so the factor is narrowed.
#[inline(never)]
fn narrowed(x: u64) -> u8 {
    let h = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    simple_mark!(computed:narrowed, "%lu", h);
    h as u8
}

#[inline(never)]
fn exclusive(x: u64) -> u8 {
    let h = x ^ 0x1234_5678_9abc_de13;
    simple_mark!(computed:exclusive, "%lu", h);
    h as u8
}

/// An arithmetic shift of a narrow integer.
#[inline(never)]
fn shifted(x: u16, y: u32) -> u32 {
    let z = (x as i16) >> 3;
    simple_mark!(computed:shifted, "%hd", z);
    (z as u32 & 0xff) + y
}

/// The accumulator of a recursion that becomes a loop.
#[inline(never)]
fn tail(n: u32, acc: u64) -> u64 {
    simple_mark!(computed:tail, "%u %lu", n, acc);
    if n == 0 {
        return acc;
    }
    tail(n - 1, acc * u64::from(n))
}

/// The loop counts down, and the variable up.
#[inline(never)]
fn induction(n: u32, out: &mut [u32]) {
    let mut i = 0;
    while i < n {
        out[(i & 7) as usize] += i * 3;
        i += 1;
        simple_mark!(computed:induction, "%u", i);
    }
}

#[inline(never)]
fn folded(n: u32, a: u64) -> u64 {
    (0..n).fold(1, |used: u64, _| used.wrapping_mul(31).wrapping_add(a))
}

/// The register counts one ahead, and is described as the result of a computation.
#[inline(never)]
fn ahead(a: u64, b: i32, n: u64) {
    for outer in 0..(n & 7) {
        let mut i = 0_u64;
        let end = (outer.wrapping_add(outer)) & 7;
        while i < end {
            let c = outer.wrapping_add(i);
            if b > 0 {
                simple_mark!(computed:ahead, "%lu", i);
            } else {
                folded(5, c);
                simple_mark!(computed:other, "%lu %lu", outer, a);
            }
            i += 1;
        }
    }
}

/// The variable counts to 0.
#[inline(never)]
fn countdown(mut used: u64, n: u32) -> u64 {
    let mut i = u64::from(n & 15);
    while i > 0 {
        i -= 1;
        used = used.wrapping_mul(31).wrapping_add(u64::from(n));
        simple_mark!(computed:countdown, "%lu", i);
        used ^= used >> 7;
    }
    used
}

/// Only the lower half is used, which is 0.
#[inline(never)]
fn high(b: u32, n: u32) -> u32 {
    let v = u64::from(b) << 32;
    simple_mark!(computed:high, "%lu", v); //~ v: rustc
    (v as u32).wrapping_add(n)
}

/// Only the lower byte is used, which is that of `y`.
#[inline(never)]
fn lower(x: u32, y: u32) -> u32 {
    let h = (x << 8).wrapping_add(y);
    simple_mark!(computed:lower, "%u", h); //~ h: rustc
    u32::from(h as u8).wrapping_add(y.wrapping_mul(3))
}

fn main() {
    let n = std::env::args().count() as u32;
    for i in 0..6 {
        ahead(u64::from(i + n), i as i32 - 2, i.into());
    }
    let mut out = [n; 8];
    induction(6 + n, &mut out);
    println!(
        "{} {} {} {} {} {} {:?}",
        narrowed(u64::from(n) + 1),
        exclusive(u64::from(n) + 1),
        shifted(0xfff0 + n as u16, n),
        tail(5 + n, 1),
        countdown(n.into(), 5 + n),
        high(n, n + 7) + lower(n, n + 3),
        out
    );
}
