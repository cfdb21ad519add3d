//! Shows collections that another thread changes, and says how many values are right, marked or wrong:
//! `torn HITS PAUSE [KIND..]`. PAUSE is the time between two versions in nanoseconds.

use std::process;

use simple_markers_tests::fixture::{self, Fixture, workspace};
use simple_markers_tests::whole_values::{KINDS, torn};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    let (Some(hits), Some(pause)) = (number(0), number(1)) else {
        eprintln!("usage: torn HITS PAUSE [KIND..]");
        process::exit(2);
    };
    let source = std::fs::read_to_string(workspace().join("tests/whole/torn.rs")).expect("the source");
    let fixture = Fixture::new("torn").file("src/main.rs", &source);
    fixture::succeeds_silently(fixture.rustc(&["-Copt-level=2"]).env("RUSTFLAGS", "-g"));
    let columns = ["marker", "hits", "right", "right and changing", "marked", "wrong", "in an operation"];
    println!("| {} |\n| ---{} |", columns.join(" | "), " | ---:".repeat(columns.len() - 1));
    for kind in KINDS.into_iter().filter(|kind| words.len() < 3 || words.iter().any(|word| word == kind)) {
        for marker in [format!("torn:{kind}"), format!("counted:{kind}")] {
            let all = torn(&fixture.built("torn"), &marker, hits, Some(pause));
            let [total, right, changing, marked, wrong, operation] =
                [all.all(), all.right, all.right_and_changing, all.marked, all.unmarked(), all.wrong_in_an_operation];
            println!("| {marker} | {total} | {right} | {changing} | {marked} | {wrong} | {operation} |");
            for (value, times) in all.wrong.iter().take(3) {
                eprintln!("{times} times {value}");
            }
        }
    }
}
