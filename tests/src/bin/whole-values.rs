//! Compares random values of random types with what the programs that have them print:
//! `whole-values [--tracefs] LANGUAGE SEED PROGRAMS FUNCTIONS VALUES LEVEL...`. LANGUAGE is `rust`, or
//! `c:COMPILER`, or `c++:COMPILER`, where the compiler `libc++` is clang++ with libc++. A level is one of
//! the compiler, or `lto` of rustc. With `--tracefs` the values are read without BPF.
//!
//! It prints how many values are the same, and each difference on standard error. Then the exit
//! status is 1.

use std::path::PathBuf;
use std::process;

use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::whole_values::{self, CompiledLanguage};

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let engine = if words.first().is_some_and(|word| word == "--tracefs") { "tracefs" } else { "bpf" };
    words.retain(|word| word != "--tracefs");
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    let language = words.first().map_or("", |word| word);
    let (Some(seed), Some(programs), Some(functions), Some(values)) = (number(1), number(2), number(3), number(4))
    else {
        eprintln!("usage: whole-values [--tracefs] LANGUAGE SEED PROGRAMS FUNCTIONS VALUES LEVEL...");
        process::exit(2);
    };
    let mut is_same = true;
    for level in &words[5..] {
        let (mut same, mut cut, mut lost, mut different) = (0, 0, 0, 0);
        for program in 0..programs {
            let seed = seed + program;
            let (functions, values) = (functions as usize, values as usize);
            let folder = tempfile::tempdir().expect("a folder");
            let compiled = |of, compiler, source: &str| {
                whole_values::compiled(of, compiler, level, source, folder.path()).expect("the compiler")
            };
            let program = match language.split_once(':') {
                Some(("c", compiler)) => {
                    compiled(CompiledLanguage::C, compiler, &whole_values::c(seed, functions, values))
                }
                Some(("c++", compiler)) => {
                    compiled(CompiledLanguage::Cpp, compiler, &whole_values::cpp(seed, functions, values))
                }
                _ => rust_program(level, &whole_values::rust(seed, functions, values)),
            };
            let all = whole_values::compare(&program, engine);
            same += all.same;
            cut += all.cut;
            lost += all.lost;
            different += all.different.len();
            for [shown, printed] in all.different {
                eprintln!("seed {seed} {level}:\n  {shown}\n  {printed}");
                is_same = false;
            }
        }
        println!(
            "level {level}: {same} the same, {cut} the same as far as they were shown, {lost} lost, {different} different"
        );
    }
    process::exit(i32::from(!is_same));
}

fn rust_program(level: &str, source: &str) -> PathBuf {
    let name = format!("whole-values-field-{level}");
    let fixture = Fixture::new(&name).file("src/main.rs", source);
    // The crates that the program uses need bitcode too.
    let (level, of_all, own) = match level {
        "lto" => ("3", "-g -Cembed-bitcode=yes", Some("-Clto=fat")),
        level => (level, "-g", None),
    };
    let level = format!("-Copt-level={level}");
    let flags: Vec<&str> = own.into_iter().chain([level.as_str()]).collect();
    fixture::succeeds_silently(fixture.rustc(&flags).env("RUSTFLAGS", of_all));
    fixture.built(&name)
}
