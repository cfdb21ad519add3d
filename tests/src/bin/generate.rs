//! Prints a generated program with markers: `generate SEED FUNCTIONS keep|place c|rust`.
//! `.ci/kernels` compares what is traced of it on several processors.

use simple_markers_tests::generator::{Form, Program, Variant};

fn usage() -> ! {
    eprintln!("usage: generate SEED FUNCTIONS keep|place c|rust");
    std::process::exit(2);
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words.get(index).and_then(|word| word.parse().ok());
    let variant = match words.get(2).map(String::as_str) {
        Some("keep") => Some(Variant::KeepAnchor),
        Some("place") => Some(Variant::Anchor),
        _ => None,
    };
    let (Some(seed), Some(functions), Some(variant)) = (number(0), number(1), variant) else { usage() };
    let (program, form) = (Program::generate(seed, functions as usize), Form::Marked(variant));
    let source = match words.get(3).map(String::as_str) {
        Some("c") => program.c(form),
        Some("rust") => program.rust(form),
        _ => usage(),
    };
    print!("{}", source.text);
}
