//! Counts of what was compared.

use std::collections::BTreeMap;
use std::fmt;

use super::{Judged, Reason};

/// Counts by row. A row is a compiler and a level.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    rows: BTreeMap<String, BTreeMap<&'static str, usize>>,
    reasons: BTreeMap<Reason, usize>,
    /// Compared arguments with a value, counted once for each site of each build.
    pub values: usize,
    /// Comparisons, counted at each stop.
    pub comparisons: usize,
    /// Scalars in these comparisons.
    pub scalars: usize,
    /// Arguments that both call optimised out, counted once for each site of each build.
    pub gone: usize,
    /// Stops at which the functions were compared.
    pub scopes: usize,
    /// Location list entries compared with llvm-dwarfdump's, and those whose operations were
    /// compared too.
    pub entries: (usize, usize),
    /// Values given in comments of the sources.
    pub expected: usize,
    /// Those of them that were also compared as the marker's conversion prints them.
    pub printed: usize,
    /// Differences that fail the test.
    pub complaints: Vec<String>,
}

impl Tally {
    /// Counts an outcome; `first` says that this argument and site were not counted before.
    pub fn count(&mut self, row: &str, what: &str, outcome: Judged, first: bool) {
        let column = match &outcome {
            Judged::Same(scalars) | Judged::SameInScope(scalars, _) => {
                self.values += usize::from(first);
                self.comparisons += 1;
                self.scalars += scalars;
                "same"
            }
            Judged::Gone => {
                self.gone += usize::from(first);
                "gone"
            }
            Judged::Absent => "absent",
            Judged::Unjudged(_) => "unjudged",
            Judged::Different(_) => "different",
        };
        if first {
            *self.rows.entry(row.to_owned()).or_default().entry(column).or_default() += 1;
        }
        match outcome {
            Judged::SameInScope(_, reason) | Judged::Unjudged(reason) => {
                *self.reasons.entry(reason).or_default() += 1;
            }
            Judged::Different(why) => self.complaints.push(format!("{what}: {why}")),
            _ => {}
        }
    }

    /// How often a reason occurred.
    #[must_use]
    pub fn reason(&self, reason: &Reason) -> usize {
        self.reasons.get(reason).copied().unwrap_or_default()
    }

    /// Adds another tally.
    pub fn add(&mut self, other: Self) {
        for (row, columns) in other.rows {
            let mine = self.rows.entry(row).or_default();
            columns.into_iter().for_each(|(column, count)| *mine.entry(column).or_default() += count);
        }
        other.reasons.into_iter().for_each(|(reason, count)| *self.reasons.entry(reason).or_default() += count);
        self.values += other.values;
        self.comparisons += other.comparisons;
        self.scalars += other.scalars;
        self.gone += other.gone;
        self.scopes += other.scopes;
        self.entries = (self.entries.0 + other.entries.0, self.entries.1 + other.entries.1);
        self.expected += other.expected;
        self.printed += other.printed;
        self.complaints.extend(other.complaints);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const COLUMNS: [&str; 5] = ["same", "gone", "absent", "unjudged", "different"];
        write!(f, "{:32}", "")?;
        COLUMNS.iter().try_for_each(|column| write!(f, "{column:>10}"))?;
        writeln!(f)?;
        for (row, columns) in &self.rows {
            write!(f, "{row:32}")?;
            COLUMNS.iter().try_for_each(|column| write!(f, "{:>10}", columns.get(column).unwrap_or(&0)))?;
            writeln!(f)?;
        }
        let Self { values, comparisons, scalars, gone, scopes, entries, expected, printed, .. } = self;
        writeln!(
            f,
            "{values} values compared with gdb's ({comparisons} times, {scalars} scalars), {gone} gone in both"
        )?;
        writeln!(f, "{scopes} stops of which the functions were compared")?;
        writeln!(
            f,
            "{expected} values known from the source, {printed} of them as the marker's conversion prints them"
        )?;
        writeln!(f, "{} entries compared with llvm-dwarfdump's, {} of them to the operation", entries.0, entries.1)?;
        for (reason, count) in &self.reasons {
            writeln!(f, "    {count:6} {reason:?}")?;
        }
        Ok(())
    }
}
