//! Compares random values of random types with what the programs that have them print:
//! `whole-values SEED PROGRAMS FUNCTIONS VALUES LEVEL...`. A level is one of rustc, or `lto`.
//!
//! It prints how many values are the same, and each difference on standard error. Then the exit
//! status is 1.

use std::process;

use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::whole_values;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    let (Some(seed), Some(programs), Some(functions), Some(values)) = (number(0), number(1), number(2), number(3))
    else {
        eprintln!("usage: whole-values SEED PROGRAMS FUNCTIONS VALUES LEVEL...");
        process::exit(2);
    };
    let mut is_same = true;
    for level in &words[4..] {
        let (mut same, mut cut, mut different) = (0, 0, 0);
        for program in 0..programs {
            let source = whole_values::rust(seed + program, functions as usize, values as usize);
            let name = format!("whole-values-field-{level}");
            let fixture = Fixture::new(&name).file("src/main.rs", &source);
            // The crates that the program uses need bitcode too.
            let (level, of_all, own) = match level.as_str() {
                "lto" => ("3", "-g -Cembed-bitcode=yes", Some("-Clto=fat")),
                level => (level, "-g", None),
            };
            let level = format!("-Copt-level={level}");
            let flags: Vec<&str> = own.into_iter().chain([level.as_str()]).collect();
            fixture::succeeds_silently(fixture.rustc(&flags).env("RUSTFLAGS", of_all));
            let all = whole_values::compare(&fixture.built(&name));
            same += all.same;
            cut += all.cut;
            different += all.different.len();
            for [shown, printed] in all.different {
                eprintln!("seed {} {level}:\n  {shown}\n  {printed}", seed + program);
                is_same = false;
            }
        }
        println!("level {level}: {same} the same, {cut} the same as far as they were shown, {different} different");
    }
    process::exit(i32::from(!is_same));
}
