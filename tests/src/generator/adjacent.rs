//! Programs with markers that have nothing between them: in a row, at the start and the end of loops and
//! branches, and in functions that are inlined. They do the same in C and in Rust.

use crate::tools::Choices;

/// A program in both languages.
#[derive(Clone, Debug, Default)]
pub struct Adjacent {
    /// In C.
    pub c: String,
    /// In Rust.
    pub rust: String,
    /// How many markers it has. Their names are `adjacent:m0` and so on.
    pub markers: usize,
}

const C: &str = r#"#include <pthread.h>
#include <simple_marker.h>
static _Thread_local volatile unsigned sink;
"#;

const RUST: &str = r#"use simple_markers::simple_mark;
use std::cell::Cell;
thread_local! { static SINK: Cell<u32> = const { Cell::new(0) }; }
"#;

const C_MAIN: &str = r#"static void *run(void *seed) {
    unsigned x = (unsigned)(unsigned long)seed;
    for (unsigned round = 0; round < 2; round++) x = all(x + round);
    sink = x;
    return 0;
}
int main(void) {
    pthread_t other;
    pthread_create(&other, 0, run, (void *)7ul);
    run((void *)1000ul);
    return pthread_join(other, 0);
}
"#;

const RUST_MAIN: &str = r#"fn run(seed: u32) {
    let mut x = seed;
    for round in 0..2 { x = all(x.wrapping_add(round)); }
    SINK.set(x);
}
fn main() {
    let other = std::thread::spawn(|| run(7));
    run(1000);
    other.join().unwrap();
}
"#;

impl Adjacent {
    /// The program of a seed.
    #[must_use]
    pub fn generate(seed: u64, functions: u32) -> Self {
        let mut program = Self { c: C.to_owned(), rust: RUST.to_owned(), markers: 0 };
        let mut choices = Choices::new(seed);
        for number in 0..functions {
            let is_inlined = number + 1 < functions && choices.chance(50);
            let (c, rust) = match is_inlined {
                true => ("static inline __attribute__((always_inline))", "#[inline(always)]"),
                false => ("static __attribute__((noinline))", "#[inline(never)]"),
            };
            program.line(
                &format!("{c} unsigned f{number}(unsigned x) {{"),
                &format!("{rust} fn f{number}(mut x: u32) -> u32 {{"),
            );
            program.block(&mut choices, number, 3);
            program.line("return x; }", "x }");
        }
        program.line(
            "static __attribute__((noinline)) unsigned all(unsigned x) {",
            "#[inline(never)] fn all(mut x: u32) -> u32 {",
        );
        for number in 0..functions {
            program.both(&format!("x = f{number}(x);"));
        }
        program.line("return x; }", "x }");
        program.line(C_MAIN, RUST_MAIN);
        program
    }

    fn line(&mut self, c: &str, rust: &str) {
        self.c.push_str(&format!("{c}\n"));
        self.rust.push_str(&format!("{rust}\n"));
    }

    fn both(&mut self, text: &str) {
        self.line(text, text);
    }

    fn marks(&mut self, choices: &mut Choices) {
        for _ in 0..=choices.below(4) {
            let (number, value) = (self.markers, choices.chance(50));
            self.markers += 1;
            let rest = if value { ", \"%u\", x" } else { ", \"\"" };
            self.line(
                &format!("simple_mark(adjacent:m{number}{rest});"),
                &format!("simple_mark!(adjacent:m{number}{rest});"),
            );
        }
    }

    fn block(&mut self, choices: &mut Choices, function: u32, depth: u32) {
        for _ in 0..=choices.below(3) {
            self.marks(choices);
            match choices.below(if depth == 0 { 3 } else { 6 }) {
                0 => self.line("sink = x;", "SINK.set(x);"),
                1 => self.line("x = x * 5 + sink;", "x = x.wrapping_mul(5).wrapping_add(SINK.get());"),
                2 if function > 0 => {
                    let callee = choices.below(function);
                    self.both(&format!("x = f{callee}(x);"));
                }
                2 => self.line("x ^= x >> 3;", "x ^= x >> 3;"),
                3 | 4 => {
                    let bit = 1 << choices.below(5);
                    self.line(&format!("if (x & {bit}) {{"), &format!("if x & {bit} != 0 {{"));
                    self.block(choices, function, depth - 1);
                    if choices.chance(50) {
                        self.both("} else {");
                        self.block(choices, function, depth - 1);
                    }
                    self.both("}");
                }
                _ => {
                    let count = 1 + choices.below(3);
                    self.line(
                        &format!("for (unsigned i{depth} = 0, n = {count} + (x & 1); i{depth} < n; i{depth}++) {{"),
                        &format!("for i{depth} in 0..{count} + (x & 1) {{"),
                    );
                    self.block(choices, function, depth - 1);
                    self.line(&format!("x += i{depth};"), &format!("x = x.wrapping_add(i{depth});"));
                    self.both("}");
                }
            }
        }
        self.marks(choices);
    }
}
