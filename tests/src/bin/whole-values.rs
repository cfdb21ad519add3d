//! Compares random values of random types with what the programs that have them print:
//! `whole-values SEED PROGRAMS FUNCTIONS VALUES LEVEL...`. A level is one of rustc, or `lto`.
//!
//! It prints how many values are the same, and each difference on standard error. Then the exit
//! status is 1.

use std::process::{self, Command};

use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools::run;
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
        let (mut all, mut same, mut cut) = (0, 0, 0);
        for program in 0..programs {
            let source = whole_values::rust(seed + program, functions as usize, values as usize);
            let fixture = Fixture::new("whole-values-field").file("src/main.rs", &source);
            let flags = match level.as_str() {
                "lto" => vec!["-Copt-level=3", "-Clto=fat", "-Cembed-bitcode=yes"],
                level => vec![
                    ["-Copt-level=0", "-Copt-level=1", "-Copt-level=2", "-Copt-level=3", "-Copt-level=s"]
                        .into_iter()
                        .find(|flag| flag.ends_with(level))
                        .expect("a level"),
                ],
            };
            fixture::succeeds_silently(fixture.rustc(&flags).env("RUSTFLAGS", "-g"));
            let mut smark = Command::new(fixture::smark());
            smark.args(["trace", "--bytes", "4088", "--elements", "64", "--"]).arg(fixture.built("whole-values-field"));
            let output = run(&mut smark);
            let (said, printed): (Vec<&str>, Vec<&str>) = output.lines().partition(|line| !line.starts_with("whole:"));
            let said: Vec<&str> = said.iter().filter_map(|line| line.find("whole:").map(|at| &line[at..])).collect();
            if said.len() != printed.len() {
                eprintln!("seed {}: {} hits of {} values", seed + program, said.len(), printed.len());
                is_same = false;
            }
            for (said, printed) in said.iter().zip(&printed) {
                all += 1;
                if whole_values::normalized(said) == *printed {
                    same += 1;
                } else if said.contains("..") {
                    cut += 1;
                } else {
                    eprintln!("seed {} {level}:\n  {said}\n  {printed}", seed + program);
                    is_same = false;
                }
            }
        }
        println!("level {level}: {same} of {all} the same, {cut} cut");
    }
    process::exit(i32::from(!is_same));
}
