//! Probes of the crates `usdt` and `probe`. Prints what a tool has to read at each.

use std::hint::black_box;

#[usdt::provider]
mod fixture {
    fn numbers(_: u8, _: i16, _: u32, _: i64) {}
    fn text(_: &str, _: u64) {}
    fn nothing() {}
}

fn main() {
    usdt::register_probes().expect("the probes are registered");
    for n in 0..5i64 {
        let (a, b, c, d) = black_box((200 + n as u8, -300 * n as i16, 4_000_000_000 + n as u32, -5_000_000_000 * n));
        fixture::numbers!(|| (a, b, c, d));
        println!("fixture:numbers {a} {b} {c} {d}");
        let text = black_box(["zero", "one", "two", "three", "four"][n as usize]);
        fixture::text!(|| (text, n as u64));
        println!("fixture:text {} {n}", text.len());
        fixture::nothing!(|| ());
        println!("fixture:nothing");
        let (first, second) = black_box((n as i32 - 2, 1u64 << (12 * n)));
        probe::probe!(crates, values, first, second, -7);
        println!("crates:values {} {second} {}", first as isize, -7);
        probe::probe!(crates, alone);
        println!("crates:alone");
    }
}
