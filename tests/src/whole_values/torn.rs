//! Judges what is shown of a collection that another thread changes (`tests/whole/torn.rs`).

use std::collections::BTreeMap;
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

/// Traces the program, and judges each value. `pause` is what it waits between two versions.
#[must_use]
pub fn torn(program: &Path, kind: &str, hits: u64, pause: Option<u64>) -> Shown {
    let mut smark = Command::new(fixture::smark());
    let marker = format!("torn:{kind}");
    smark.args(["trace", "--buffer", "256M", &marker, "--"]);
    // Otherwise a thread that does not run leaves the value in the middle of a change for thousands of hits.
    smark.args(["chrt", "-f", "5"]).arg(program).arg(kind).arg(hits.to_string());
    smark.args(pause.map(|pause| pause.to_string()));
    let mut all = Shown::default();
    let marker = format!("{marker}: ");
    for line in run(&mut smark).lines() {
        let Some((_, value)) = line.split_once(&marker) else { continue };
        match (is_version(kind, value.trim_end_matches(" <changing>")), value.contains('<')) {
            (true, false) => all.right += 1,
            (true, true) => all.right_and_changing += 1,
            (false, true) => all.marked += 1,
            (false, false) => *all.wrong.entry(value.to_owned()).or_default() += 1,
        }
    }
    all
}

/// Whether the program ever had a value.
fn is_version(kind: &str, value: &str) -> bool {
    let versions: Vec<u32> = match kind {
        "text" => {
            let text = value.split('"').nth(1).unwrap_or_default();
            text.bytes().map(|letter| u32::from(letter).wrapping_sub(u32::from(b'a'))).collect()
        }
        // The numbers behind keys, and all others.
        "map" | "tree" | "nodes" => numbers(value.replace("next", "").split(": ").skip(1)),
        _ => numbers(value.split(['[', ',']).skip(1)),
    };
    let Some(first) = versions.first() else { return false };
    let length = match kind {
        "array" => 8,
        "nodes" => (1 + first % 8).min(4),
        _ => 1 + first % 8,
    };
    *first < 24 && versions.iter().all(|version| version == first) && versions.len() == length as usize
}

/// The numbers that begin texts.
fn numbers<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<u32> {
    let digits = |text: &'t str| {
        let text = text.trim_start();
        text.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    };
    texts.filter_map(digits).collect()
}
