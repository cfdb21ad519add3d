//! The last lines of JSON: how many hits were lost, and the end, behind which nothing is missing.

use std::io::{self, Write};

use serde_json::{Map, Value as Json, json};

/// What became of the hits.
pub(crate) struct Totals {
    /// How many there were, with those that were lost; `None` if each marker has its own number.
    pub(crate) hits: Option<u64>,
    /// How many were lost.
    pub(crate) lost: u64,
    /// How many could not be filtered.
    pub(crate) unfiltered: u64,
    /// How many could not be counted; `None` if they are not counted.
    pub(crate) uncounted: Option<u64>,
    /// The exit status of the program; null if there is none.
    pub(crate) exit: Json,
}

impl From<Totals> for Json {
    fn from(totals: Totals) -> Self {
        let Totals { hits, lost, unfiltered, uncounted, exit } = totals;
        let always = [("lost", lost.into()), ("unfiltered", unfiltered.into()), ("exit", exit)];
        let some = [("hits", hits), ("uncounted", uncounted)];
        let some = some.into_iter().filter_map(|(name, count)| Some((name, count?.into())));
        always.into_iter().chain(some).map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
    }
}

/// Writes how many hits were lost among those of the lines before, if any were.
pub(crate) fn write_lost(out: &mut dyn Write, lost: u64) -> io::Result<()> {
    if lost > 0 {
        writeln!(out, "{}", json!({ "lost": lost }))?;
    }
    Ok(())
}

/// Writes the last line.
pub(crate) fn write(out: &mut dyn Write, end: impl Into<Json>) -> io::Result<()> {
    writeln!(out, "{}", json!({ "end": end.into() }))?;
    out.flush()
}
