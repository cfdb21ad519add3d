//! The end of the hits: what became of them, and the last lines of JSON, behind which nothing is missing.

use std::io::{self, Write};

use serde_json::{Map, Value as Json, json};
use simple_markers_tracer::Plan;
use simple_markers_tracer::sys::Session;

/// What became of the hits of a source.
#[derive(Clone)]
pub(crate) struct Totals<'a> {
    /// How many were lost.
    pub(crate) lost: u64,
    /// How many could not be filtered.
    pub(crate) unfiltered: u64,
    /// The exit status of the program; null if there is none.
    pub(crate) exit: Json,
    /// What was watched, and by what; `None` for a recording.
    pub(crate) live: Option<(&'a Plan, &'a Session)>,
}

impl Totals<'_> {
    /// What the last line says. `hits` is how many there were, with those that were lost; `None` if each
    /// marker has its own number. `uncounted` is how many could not be counted; `None` if they are not
    /// counted.
    pub(crate) fn json(&self, hits: Option<u64>, uncounted: Option<u64>) -> Json {
        let always = [("lost", self.lost.into()), ("unfiltered", self.unfiltered.into()), ("exit", self.exit.clone())];
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
