//! Judges what is shown of a collection that another thread changes (`tests/whole/torn.rs`). The program
//! itself prints what the collection is between any two operations.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::Command;

use crate::fixture;
use crate::tools::run;

/// The kinds of collections of the program.
pub const KINDS: [&str; 8] = ["array", "vec", "ring", "text", "list", "nodes", "map", "tree"];

/// How the values of a program were shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// As one that the program had.
    pub right: u64,
    /// As one that it had, but as changing.
    pub right_and_changing: u64,
    /// As none that it had, with a mark that says so: changing, inconsistent, unreadable.
    pub marked: u64,
    /// As none that it had, without a mark, and how often each.
    pub wrong: BTreeMap<String, u64>,
    /// Those of them whose count of operations is odd: an operation was in progress for the whole of the first look.
    pub wrong_in_an_operation: u64,
}

impl Shown {
    /// How many values were shown.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.right + self.right_and_changing + self.marked + self.unmarked()
    }

    /// How many are none that the program had, and have no mark.
    #[must_use]
    pub fn unmarked(&self) -> u64 {
        self.wrong.values().sum()
    }
}

/// Traces a marker of the program, and judges each value. `marker` is `torn:KIND` or `counted:KIND`, and
/// `pause` is what the program waits between two versions.
#[must_use]
pub fn torn(program: &Path, marker: &str, hits: u64, pause: Option<u64>) -> Shown {
    let mut smark = Command::new(fixture::smark());
    let (_, kind) = marker.split_once(':').expect("a provider and a kind");
    smark.args(["trace", "--buffer", "256M", marker, "--"]);
    // Otherwise a thread that does not run leaves the value in the middle of a change for thousands of hits.
    smark.args(["chrt", "-f", "5"]).arg(program).arg(kind).arg(hits.to_string());
    smark.args(pause.map(|pause| pause.to_string()));
    let mut all = Shown::default();
    let states = states(program, kind);
    let marker = format!("{marker}: ");
    for line in run(&mut smark).lines() {
        let Some((_, value)) = line.split_once(&marker) else { continue };
        let (operations, value) = counted(value);
        match (states.contains(&content(kind, value)), value.contains('<')) {
            (true, false) => all.right += 1,
            (true, true) => all.right_and_changing += 1,
            (false, true) => all.marked += 1,
            (false, false) => {
                *all.wrong.entry(value.to_owned()).or_default() += 1;
                all.wrong_in_an_operation += u64::from(operations.is_some_and(|operations| operations % 2 == 1));
            }
        }
    }
    all
}

/// The count of operations that is shown with a collection, if there is one, and the collection.
fn counted(value: &str) -> (Option<u64>, &str) {
    let parts = value.strip_prefix("Counted { operations: ").and_then(|rest| rest.split_once(", value: "));
    parts.map_or((None, value), |(operations, value)| (operations.parse().ok(), value))
}

/// What the collection is between any two operations of the program on it.
fn states(program: &Path, kind: &str) -> HashSet<Vec<u64>> {
    run(Command::new(program).args([kind, "states"])).lines().map(|state| content(kind, state)).collect()
}

/// The numbers or letters of a collection. Those of a map by its keys: their order differs from run to run.
fn content(kind: &str, value: &str) -> Vec<u64> {
    if kind == "text" {
        return value.split('"').nth(1).unwrap_or_default().chars().map(u64::from).collect();
    }
    let digits = value.split(|letter: char| !letter.is_ascii_digit()).filter(|digits| !digits.is_empty());
    // Bytes that are no number of the program may be any number.
    let numbers: Vec<u64> = digits.map(|digits| digits.parse().unwrap_or(u64::MAX)).collect();
    if kind != "map" {
        return numbers;
    }
    let mut pairs: Vec<&[u64]> = numbers.chunks(2).collect();
    pairs.sort();
    pairs.concat()
}
