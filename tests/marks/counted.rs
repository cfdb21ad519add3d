//! Each line that ends with `// passes N` is passed so often. These are the smallest programs of lines of Rust
//! that were hit too seldom or too often in programs that other people wrote (`docs/measured/marks.md`).

use std::hint::black_box;

/// The lines begin in functions that are inlined.
#[inline(never)]
fn looked_up(names: &[(u32, u32)], wanted: u32) -> Option<u32> {
    let at = names.iter().position(|(name, _)| *name == wanted)?; // passes 20
    let (_, value) = names.get(at)?; // passes 5
    let value = value.checked_sub(1)?; // passes 5
    Some(black_box(value))
}

/// Each type has an instance of its own, and one of them no code of the first line.
#[inline(never)]
fn counted<T>(from: impl Fn(usize) -> Option<T>) -> usize {
    let mut count = black_box(1); // passes 2
    if size_of::<T>() == 0 {
        count = 7; // passes 1
    }
    while from(count).is_some() {
        count += 1; // passes 6
    }
    count
}

#[inline(never)]
fn each(names: &[(u32, u32)], mut call: impl FnMut(&(u32, u32)) -> u32) -> u32 {
    let mut sum = 0;
    for name in names {
        sum += call(name); // passes 5
    }
    sum
}

fn main() {
    let names: Vec<(u32, u32)> = (0..5).map(|number| (number, number * 2)).collect();
    let mut sum = 0;
    for number in 0..20 {
        // An optimiser unrolls the loop.
        sum += looked_up(black_box(&names), number).unwrap_or(1); // passes 20
    }
    // What is left of the line is in the closure.
    let doubled = |(name, value): &(u32, u32)| { // passes 1
        black_box(*name) + *value
    };
    sum += each(black_box(&names), doubled); // passes 1
    sum += counted(|at| (at < 7).then_some(black_box(at))) as u32; // passes 1
    sum += counted(|_| None::<()>) as u32; // passes 1
    println!("{sum}"); // passes 1
}
