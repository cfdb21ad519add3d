//! Markers without a rebuild (`--mark 'FILE:LINE ..'`) on programs that other people wrote.
//!
//! The optimised program is built from sources that nobody changed. The [`places`](super::places) of
//! markers become lines of them, and the twin, which prints before the same statements, says how often
//! each line is passed and with which values. [`watched`] reads the lines by `smark`, [`others`] by gdb and
//! perf, [`judged`] compares a reader with the twin, and [`summary`] counts.

pub mod judged;
pub mod others;
pub mod summary;
pub mod watched;

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use super::marked::Marked;
use super::places::Argument;
use super::program::at;

/// A line of a program, and what is read there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedLine {
    /// The number of the marker of the twin.
    pub number: usize,
    /// The file, in the folder of the sources.
    pub file: PathBuf,
    /// From 1.
    pub line: u32,
    /// What is read, and the conversion of each.
    pub arguments: Vec<Argument>,
}

impl NumberedLine {
    /// The line as all readers take it.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }

    /// The mark of the line.
    #[must_use]
    pub fn mark(&self) -> String {
        let formats: Vec<_> = self.arguments.iter().map(|(text, conversion)| format!("{text} {conversion}")).collect();
        let arguments: String = self.arguments.iter().map(|(text, _)| format!(", {text}")).collect();
        format!("{} \"{}\"{arguments}", self.place(), formats.join(", "))
    }
}

/// The lines that the places of a program stand for, at most `count`, each with `variables` variables.
/// The statement is the first of the line, and no two lines are the same. The other places are left out.
///
/// # Errors
///
/// A source cannot be read.
pub fn of_places(marked: &mut Marked<'_>, count: usize, variables: usize) -> Result<Vec<NumberedLine>, String> {
    let mut seen = HashSet::new();
    let mut lines = Vec::new();
    for place in &mut marked.places {
        let path = marked.source.join(&place.file);
        let text = at(&path, fs::read(&path))?;
        let before = text.get(..place.offset).unwrap_or_default();
        let mut line = before.iter().rev().take_while(|byte| **byte != b'\n');
        let is_line = line.all(u8::is_ascii_whitespace) && place.arguments.len() >= variables;
        if lines.len() == count || !is_line || !seen.insert((place.file.clone(), place.line)) {
            continue;
        }
        place.arguments.truncate(variables);
        let (number, file) = (place.number, place.file.clone());
        lines.push(NumberedLine { number, file, line: place.line, arguments: place.arguments.clone() });
    }
    let numbers: HashSet<usize> = lines.iter().map(|line| line.number).collect();
    let others = marked.places.iter().map(|place| place.number).filter(|number| !numbers.contains(number)).collect();
    marked.leave_out(&others);
    Ok(lines)
}
