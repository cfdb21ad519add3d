//! The assignments are computed after the marker, and the location of the old value goes on.
use simple_markers::simple_mark;

#[inline]
fn sunk(a: i32, mut b: u16, c: i64) -> u64 {
    if 15 < a as u8 {
        if (c >> 61) == 1 {
            return c as u64;
        }
        b = b.wrapping_add(b / 18);
        b = b.wrapping_add(b / 18);
        simple_mark!(stale:sunk, "%hu", b);
    }
    u64::from(b)
}

#[inline(never)]
fn recursive(depth: i32) -> i32 {
    let local = depth.wrapping_mul(2);
    simple_mark!(stale:recursive, "%d %d", depth, local);
    if depth > 0 {
        return recursive(depth - 1);
    }
    local
}

/// The recursion becomes a loop in its caller.
fn inlined(depth: u32, seen: &mut u64) -> u32 {
    simple_mark!(stale:inlined, "%u", depth); //? depth: rustc parameter_in_loop
    next(seen);
    if depth == 0 { 0 } else { depth + inlined(depth - 1, seen) }
}

#[inline(never)]
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn main() {
    let n = std::env::args().count() as i32;
    let (mut state, mut result) = (1, 0u64);
    for _ in 0..20 * n {
        let (a, b, c) = (next(&mut state) as i32, next(&mut state) as u16, next(&mut state) as i64);
        result = result.wrapping_mul(31).wrapping_add(sunk(a, b, c));
    }
    println!("{result} {} {}", recursive(4 + n), inlined(4 + n as u32, &mut state));
}
