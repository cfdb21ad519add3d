//! What no rule finds: the compiler drops or forgets an assignment, and the code has no trace of it.
//! `left.c` says how.
use simple_markers::simple_mark;

#[inline(never)]
fn merged(mut used: u64, c: u64) -> u64 {
    let mut d = 37_u64;
    used = used.wrapping_mul(31).wrapping_add(d);
    d = d.wrapping_sub(c);
    simple_mark!(left:merged, "%lu", d); //~ d: rustc
    used.wrapping_mul(31).wrapping_add(d)
}

#[inline(never)]
fn joined(mut a: i32, b: i32) -> i32 {
    let mut used = b.wrapping_mul(31).wrapping_add(a);
    if b & 1 != 0 {
        used = used.wrapping_mul(31).wrapping_add(a);
        a ^= a;
    }
    simple_mark!(left:joined, "%d", a); //~ a: rustc
    used
}

// This compiler needs the branch.
#[inline(never)]
fn masked(mut used: u32, mut a: u32, n: u32) -> u32 {
    if n & 1 != 0 {
        a ^= 2;
        used = used.wrapping_mul(31);
        simple_mark!(left:masked, "%u", a); //~ a: rustc
        used ^= used >> 7;
    }
    used.wrapping_add(a & 1)
}

fn main() {
    let count = std::env::args().count() as u32;
    let mut result = 0_u64;
    for i in 0..6 {
        let n = i + count;
        let sum = joined(n as i32, i as i32) as u64;
        result = result.wrapping_mul(31).wrapping_add(merged(result, n.into())).wrapping_add(sum);
        result = result.wrapping_add(u64::from(masked(result as u32, n, i)));
    }
    println!("{result}");
}
