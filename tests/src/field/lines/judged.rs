//! Compares what a reader saw at a line with the passes of the twin.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::NumberedLine;
use crate::field::compare;
use crate::field::report::Count;
use crate::oracle::twin::Passes;

/// A value that a reader gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadValue {
    /// What the reader says of it: a verdict, with the reason of a doubtful one; empty if it has none.
    pub verdict: String,
    /// `None` if it cannot be read.
    pub value: Option<Json>,
}

/// What a reader saw at a line.
#[derive(Clone, Debug, Default)]
pub struct LineReading {
    /// The number of places.
    pub places: usize,
    /// The worst verdict on the places; empty if there are none, or the reader has no verdicts.
    pub verdict: &'static str,
    /// The reasons of the verdicts on the places.
    pub reasons: BTreeSet<String>,
    /// Whether another line is read, because this one has no code.
    pub is_nearest: bool,
    /// Whether a probe cannot be set at one of the places.
    pub is_refused: bool,
    /// Each hit, in order.
    pub hits: Vec<Vec<ReadValue>>,
}

/// A line that a reader read.
#[derive(Clone, Debug)]
pub struct JudgedLine {
    /// The line.
    pub line: NumberedLine,
    /// What the reader saw.
    pub reading: LineReading,
    /// How often the twin passes it.
    pub passes: usize,
    /// By verdict, the values that were compared. Only at the line itself, and if there are as many hits as
    /// passes.
    pub values: BTreeMap<String, Count>,
    /// How many values could not be read.
    pub unread: u64,
    /// The argument, the number of the hit, the true value, the one that was read, and the verdict on
    /// it, of the first wrong values.
    pub wrong: Vec<(String, usize, String, String, String)>,
}

impl JudgedLine {
    /// Whether each pass is a hit.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.reading.hits.len() == self.passes
    }
}

/// The lines that the twin passes at most so many times.
#[must_use]
pub fn passed_at_most(most: usize, lines: &[NumberedLine], twin: &Passes) -> Vec<NumberedLine> {
    let passes = |line: &NumberedLine| compare::passes(twin, &format!("field:m{}", line.number)).len();
    lines.iter().filter(|line| passes(line) <= most).cloned().collect()
}

/// Compares the readings of some lines with two runs of the twin. Leaves out the lines that the second
/// run passes another number of times. What differs between the runs has no value in the source.
#[must_use]
pub fn judge(lines: &[NumberedLine], readings: Vec<LineReading>, twins: (&Passes, &Passes)) -> Vec<JudgedLine> {
    let mut judged = Vec::new();
    for (line, reading) in lines.iter().zip(readings) {
        let name = format!("field:m{}", line.number);
        let [one, other] = [twins.0, twins.1].map(|twin| compare::passes(twin, &name));
        if one.len() != other.len() {
            continue;
        }
        let (values, wrong) = (BTreeMap::new(), Vec::new());
        let mut of = JudgedLine { line: line.clone(), reading, passes: one.len(), values, unread: 0, wrong };
        // Another line has other values.
        if of.is_right() && !of.reading.is_nearest {
            for (number, (hit, passes)) in of.reading.hits.iter().zip(one.iter().zip(other)).enumerate() {
                for (at, (read, (text, conversion))) in hit.iter().zip(&line.arguments).enumerate() {
                    let shown = |pass: &[_]| pass.get(at).map(|value| compare::shown(conversion, value));
                    let (truth, again) = (shown(passes.0), shown(passes.1));
                    let Some(value) = &read.value else {
                        of.unread += 1;
                        continue;
                    };
                    let Some(truth) = truth.filter(|truth| Some(truth) == again.as_ref()) else { continue };
                    let count = of.values.entry(read.verdict.clone()).or_default();
                    count.values += 1;
                    if truth != *value {
                        count.wrong += 1;
                        if !of.wrong.iter().any(|(known, ..)| known == text) {
                            let verdict = read.verdict.clone();
                            of.wrong.push((text.clone(), number, truth.to_string(), value.to_string(), verdict));
                        }
                    }
                }
            }
        }
        judged.push(of);
    }
    judged
}
