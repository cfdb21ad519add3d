//! Prints a generated C program with markers: `generate SEED FUNCTIONS keep|place`. `.ci/kernels` compares what
//! is traced of it on several processors.

use simple_markers_tests::generator::{Form, Program, Variant};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words.get(index).and_then(|word| word.parse().ok());
    let variant = match words.get(2).map(String::as_str) {
        Some("keep") => Some(Variant::KeepAnchor),
        Some("place") => Some(Variant::Anchor),
        _ => None,
    };
    let (Some(seed), Some(functions), Some(variant)) = (number(0), number(1), variant) else {
        eprintln!("usage: generate SEED FUNCTIONS keep|place");
        std::process::exit(2);
    };
    print!("{}", Program::generate(seed, functions as usize).c(Form::Marked(variant)).text);
}
