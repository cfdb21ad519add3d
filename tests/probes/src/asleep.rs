//! Functions with a probe each, which `tests/rust/asleep.rs` compares with the same functions
//! without. Their arguments are values at hand, computed values, floats, text and addresses.
#![crate_type = "cdylib"]
#![no_std]

use simple_markers::{simple_probe, simple_span};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
pub fn plain() -> u64 {
    simple_probe!(asleep:plain, "no argument");
    7
}

#[unsafe(no_mangle)]
pub fn computed(a: u64, b: u64) -> u64 {
    simple_probe!(asleep:computed, "%lu %lu %d", a, b.wrapping_mul(3).rotate_left(5), (a as i32).wrapping_sub(1));
    a ^ b
}

#[unsafe(no_mangle)]
pub fn floats(x: f64, y: f32) -> f64 {
    simple_probe!(asleep:floats, "%g %g %f", x, y, x * 0.5);
    x * f64::from(y)
}

#[unsafe(no_mangle)]
pub fn text(name: &str, bytes: &[u8]) -> usize {
    simple_probe!(asleep:text, "%s %s %p", name, bytes, bytes.as_ptr());
    name.len() + bytes.len()
}

/// More values than a caller passes in registers.
#[unsafe(no_mangle)]
pub fn many(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32) -> u32 {
    simple_probe!(
        asleep:many, "%u %u %u %u %u %u %u %u %u %u %u %u",
        a, b, c, d, e, f, a ^ b, b ^ c, c ^ d, d ^ e, e ^ f, f ^ a
    );
    a ^ b ^ c ^ d ^ e ^ f
}

#[unsafe(no_mangle)]
pub fn one_arm(last: &mut [u64; 2], a: u64, b: u64) {
    if a > b {
        simple_probe!(asleep:one_arm, "%lu %lu", a ^ 5, last[1]);
        last[0] = a;
    }
}

pub struct Node {
    value: u64,
    tag: u32,
    next: Option<&'static Node>,
}

#[unsafe(no_mangle)]
pub fn looped(mut list: Option<&'static Node>) -> u64 {
    let mut sum = 0u64;
    while let Some(node) = list {
        simple_probe!(asleep:looped, "%u, %lu so far", node.tag, sum);
        sum = sum.wrapping_mul(31).wrapping_add(node.value);
        list = node.next;
    }
    sum
}

#[inline]
fn shared<T: Copy + Into<u64>>(value: T, other: u64) -> u64 {
    simple_probe!(asleep:shared, "%lu", value.into());
    value.into() ^ other
}

/// Three copies of one probe.
#[unsafe(no_mangle)]
pub fn copies(out: &mut [u64; 3], a: u8, b: u32, c: u64) {
    out[0] = shared(a, 1);
    out[1] = shared(b, c);
    out[2] = shared(c, 3);
}

#[unsafe(no_mangle)]
pub fn spanned(a: u64, b: u64) -> u64 {
    let _span = simple_span!(asleep:spanned, "%lu %lu", a, b.wrapping_mul(3).rotate_left(5));
    a ^ b
}

#[unsafe(no_mangle)]
pub fn span_in_loop(mut sum: u64) -> u64 {
    while {
        let _span = simple_span!(asleep:span_in_loop, "%lu", sum);
        sum = sum.wrapping_mul(31).wrapping_add(5);
        sum > 1000
    } {}
    sum
}

/// The inner one ends first.
#[unsafe(no_mangle)]
pub fn nested(last: &mut [u64; 3], a: u64, b: u64) {
    let _outer = simple_span!(asleep:outer, "%lu", a);
    last[0] = a;
    {
        let _inner = simple_span!(asleep:inner, "%lu, %lu", b, last[1]);
        last[1] = b;
    }
    last[2] = 9;
}
