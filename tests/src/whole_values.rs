//! Programs with random values of random types, which they print and mark with `%p{}`.

mod c;
mod compiled;
mod cpp;
mod notation;
mod rust;
mod torn;

use std::fs;
use std::path::Path;
use std::process::Command;

pub use c::c;
pub use compiled::{CompiledLanguage, compiled};
pub use cpp::cpp;
pub use notation::{Likeness, likeness, normalized};
pub use rust::rust;
pub use torn::{KINDS, Shown, torn};

use crate::fixture;
use crate::tools::run;

/// How the values that `smark` shows compare with those that a program prints.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// How many are the same.
    pub same: usize,
    /// How many are the same as far as they were shown.
    pub cut: usize,
    /// How many were `<lost>`: the compiler did not say where they are.
    pub lost: usize,
    /// What `smark` shows and what the program prints, where they differ.
    pub different: Vec<[String; 2]>,
}

/// Traces a program that prints its values to the file that its argument names, with an engine.
///
/// # Panics
///
/// `smark` fails, or the number of hits is not that of the values.
#[must_use]
pub fn compare(program: &Path, engine: &str) -> Comparison {
    let printed = program.with_extension("printed");
    let mut smark = Command::new(fixture::smark());
    smark.args(["trace", "--engine", engine, "--bytes", "4088", "--elements", "64", "--buffer", "64M", "--"]);
    smark.args([program, &printed]);
    let shown = run(&mut smark);
    let shown: Vec<&str> = shown.lines().filter_map(|line| line.find("whole:").map(|at| &line[at..])).collect();
    let printed = fs::read_to_string(printed).expect("what the program printed");
    let printed: Vec<&str> = printed.lines().collect();
    assert_eq!(shown.len(), printed.len(), "{}", program.display());
    let mut all = Comparison::default();
    for (shown, printed) in shown.iter().zip(&printed) {
        // A value may be doubtful, which `?` behind it says.
        let shown = &shown.strip_suffix('?').unwrap_or(shown);
        // The name of the marker is the first word.
        match (shown.split_once(": "), printed.split_once(": ")) {
            (Some((marker, "<lost>")), Some((known, _))) if marker == known => all.lost += 1,
            (Some((marker, value)), Some((known, expected))) if marker == known => match likeness(value, expected) {
                Likeness::Same => all.same += 1,
                Likeness::Cut => all.cut += 1,
                Likeness::Different => all.different.push([*shown, *printed].map(str::to_owned)),
            },
            _ => all.different.push([*shown, *printed].map(str::to_owned)),
        }
    }
    all
}
