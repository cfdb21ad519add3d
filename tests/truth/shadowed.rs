//! Names that an inner block declares again.
use simple_markers::simple_mark;

/// The concrete instance of the inlined function lacks the inner block.
#[inline]
fn each(v: &[u32], out: &mut u32) {
    for x in v.iter() {
        let x = *x;
        simple_mark!(shadowed:each, "%u", x, options(anchor));
        *out ^= x;
    }
}

#[inline(never)]
fn first(v: &[u32]) -> u32 {
    let mut out = 1;
    each(v, &mut out);
    out
}

#[inline(never)]
fn second(v: &[u32], out: &mut u32) {
    each(&v[1..], out);
}

#[inline(never)]
fn twice(n: u32) -> u32 {
    let x = n + 1;
    let mut sum = x;
    if n > 0 {
        let x = x * 7;
        simple_mark!(shadowed:inner, "%u", x);
        sum += x;
    }
    simple_mark!(shadowed:outer, "%u", x);
    sum
}

fn main() {
    let n = std::env::args().count() as u32;
    let values = [n, 4, 2, 9];
    let mut out = first(&values);
    second(&values, &mut out);
    println!("{out} {}", twice(n));
}
