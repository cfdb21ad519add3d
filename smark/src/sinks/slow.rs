//! `--slow`: the intervals that took long, each with the hits in it.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::{Value as Json, json};
use simple_markers_resolver::text::shown;
use simple_markers_tracer::aggregate::{DEEPEST, IntervalKey, Question};
use simple_markers_tracer::plan::{Aggregate, DoubtfulValues};
use simple_markers_tracer::sys::{Session, now};
use simple_markers_tracer::{Hit, Plan};

use super::keyed::IntervalSites;
use super::line::HitLine;
use super::sink::{Next, Sink};
use crate::console::Console;
use crate::end::{self, Totals};
use crate::units::duration;

/// The most lines that are kept of the hits of a key,
const MOST_LINES: usize = 10_000;
/// the most bytes of all lines,
const MOST_BYTES: usize = 64 << 20;
/// and the most keys that have open intervals.
const MOST_KEYS: usize = 65_536;

/// Which intervals are shown.
#[derive(Clone, Debug)]
pub(crate) struct SlowIntervals {
    /// A [`Question::Time`].
    pub(crate) question: Question,
    /// How long they take at least.
    pub(crate) least: Duration,
    /// Whether doubtful values tell which end belongs to which start.
    pub(crate) doubtful: DoubtfulValues,
}

impl SlowIntervals {
    fn name(&self) -> String {
        match &self.question {
            Question::Time { from, to, .. } => format!("{from}..{to}"),
            _ => String::new(),
        }
    }
}

/// The open intervals of a key.
#[derive(Default)]
struct OpenIntervals {
    /// The time of each start, and how many lines were there before.
    starts: Vec<(u64, usize)>,
    /// The lines of the hits since the first start.
    lines: Vec<String>,
    /// How many lines were not kept.
    left_out: u64,
}

/// Writes the hits of intervals that took long.
pub(super) struct Slow<'a> {
    out: BufWriter<Box<dyn Write + 'a>>,
    lines: Box<dyn HitLine>,
    is_json: bool,
    intervals: SlowIntervals,
    sites: Option<IntervalSites>,
    open: HashMap<IntervalKey, OpenIntervals>,
    /// The size of all lines.
    bytes: usize,
    /// The time of the last hit.
    last: u64,
    all: u64,
    slow: u64,
    /// The starts for which there was no space.
    full: u64,
}

impl<'a> Slow<'a> {
    pub(super) fn new(
        out: Box<dyn Write + 'a>,
        lines: Box<dyn HitLine>,
        is_json: bool,
        intervals: SlowIntervals,
    ) -> Self {
        let out = BufWriter::with_capacity(1 << 16, out);
        let open = HashMap::new();
        Self { out, lines, is_json, intervals, sites: None, open, bytes: 0, last: 0, all: 0, slow: 0, full: 0 }
    }

    fn is_slow(&self, time: u64) -> bool {
        u128::from(time) >= self.intervals.least.as_nanos()
    }

    /// Writes an interval. `took` is how long it took, or is open.
    fn write(&mut self, took: u64, has_ended: bool, lines: &[String], left_out: u64) -> anyhow::Result<()> {
        let name = self.intervals.name();
        if self.is_json {
            // The lines are objects.
            let hits: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
            let (name, hits) = (Json::from(name), hits.join(","));
            writeln!(
                self.out,
                r#"{{"interval":{name},"took_ns":{took},"has_ended":{has_ended},"left_out":{left_out},"hits":[{hits}]}}"#
            )?;
            return Ok(());
        }
        let (name, took) = (shown(&name), duration(took));
        match has_ended {
            true => writeln!(self.out, "{name} took {took}")?,
            false => writeln!(self.out, "{name} has not ended after {took}")?,
        }
        for line in lines {
            self.out.write_all(line.as_bytes())?;
        }
        if left_out > 0 {
            writeln!(self.out, ".. and {left_out} hits that were not kept")?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    /// Keeps the line of a hit in the open intervals of its key.
    fn keep(&mut self, key: IntervalKey, hit: &Hit<'_>) {
        let Some(open) = self.open.get_mut(&key) else { return };
        if open.lines.len() >= MOST_LINES || self.bytes >= MOST_BYTES {
            open.left_out += 1;
            return;
        }
        let line = self.lines.line(hit).to_owned();
        if line.is_empty() {
            return;
        }
        self.bytes += line.len();
        open.lines.push(line);
    }

    fn start(&mut self, key: IntervalKey, time: u64) {
        if self.open.len() >= MOST_KEYS && !self.open.contains_key(&key) {
            self.full += 1;
            return;
        }
        let open = self.open.entry(key).or_default();
        if open.starts.len() >= DEEPEST as usize {
            self.full += 1;
            return;
        }
        open.starts.push((time, open.lines.len()));
    }

    fn end_interval(&mut self, key: IntervalKey, time: u64) -> anyhow::Result<()> {
        let Some(open) = self.open.get_mut(&key) else { return Ok(()) };
        let Some((start, from)) = open.starts.pop() else { return Ok(()) };
        let took = time.saturating_sub(start);
        self.all += 1;
        let (lines, left_out) = (std::mem::take(&mut open.lines), open.left_out);
        if self.is_slow(took) {
            self.slow += 1;
            self.write(took, true, lines.get(from..).unwrap_or_default(), left_out)?;
        }
        match self.open.get_mut(&key).filter(|open| !open.starts.is_empty()) {
            // Outer intervals have these lines too.
            Some(open) => open.lines = lines,
            None => {
                self.open.remove(&key);
                self.bytes -= lines.iter().map(String::len).sum::<usize>().min(self.bytes);
            }
        }
        Ok(())
    }
}

impl Sink for Slow<'_> {
    fn hit(&mut self, hit: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
        if self.sites.as_ref().is_none_or(|sites| sites.known < hit.plan.sites.len()) {
            self.sites = Some(IntervalSites::new(hit.plan, &self.intervals.question, self.intervals.doubtful));
        }
        self.last = self.last.max(hit.time);
        let Some(sites) = &self.sites else { return Ok(ControlFlow::Continue(())) };
        let Some(key) = sites.key(hit) else { return Ok(ControlFlow::Continue(())) };
        let aggregate = sites.ends.site(hit).map(|(_, site)| &site.aggregate);
        let (is_start, is_end) =
            (matches!(aggregate, Some(Aggregate::Start(_))), matches!(aggregate, Some(Aggregate::End(_))));
        if is_start {
            self.start(key, hit.time);
        }
        self.keep(key, hit);
        if is_end {
            self.end_interval(key, hit.time)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn pause(&mut self, _: &Plan, _: &Session) -> anyhow::Result<Next> {
        self.out.flush()?;
        Ok(Next::Wait)
    }

    fn end(mut self: Box<Self>, console: &Console, totals: &Totals<'_>) -> anyhow::Result<()> {
        let at_end = if totals.live.is_some() { now() } else { self.last };
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_by_key(|open| open.starts.first().copied());
        let mut still_open = 0u64;
        for OpenIntervals { starts, lines, left_out } in open {
            let Some((start, from)) = starts.first().copied() else { continue };
            let age = at_end.saturating_sub(start);
            if self.is_slow(age) {
                still_open += 1;
                self.write(age, false, lines.get(from..).unwrap_or_default(), left_out)?;
            }
        }
        if self.is_json {
            end::write_lost(&mut self.out, totals.lost)?;
            let counts = json!({ "intervals": self.all, "slow": self.slow, "open": still_open, "no_space": self.full });
            let mut totals = totals.json(None, None);
            if let (Some(totals), Json::Object(counts)) = (totals.as_object_mut(), counts) {
                totals.extend(counts);
            }
            end::write(&mut self.out, totals)?;
        }
        self.out.flush()?;
        let (name, least) = (self.intervals.name(), duration(self.intervals.least.as_nanos() as u64));
        let (all, slow, full) = (self.all, self.slow, self.full);
        console.note(&format!("{slow} of {all} {} took {least} or longer", shown(&name)));
        if let Some(why) = self.sites.as_ref().and_then(IntervalSites::why_none) {
            console.error(&format!("--slow: no interval can be told: {why}"));
        }
        if full > 0 {
            console.error(&format!("{full} intervals are not known: too many were open"));
        }
        self.lines.tell(console);
        Ok(())
    }
}
