//! `smark trace --every`: how often each marker is passed, again and again.

use std::io::Write;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use simple_markers_resolver::text::shown;
use simple_markers_tracer::aggregate::{Counts, Question};
use simple_markers_tracer::sys::{self, Mode, Session};
use simple_markers_tracer::{Hit, Plan};

use crate::console::Console;
use crate::end::{self, Totals};
use crate::sinks::{Next, Sink};
use crate::source::drain;
use crate::watch::{Options, RING};

/// Counts hits in the kernel, and prints at the end of each interval those that came in it.
pub(crate) fn run(
    watch: Options,
    every: Duration,
    json: bool,
    colour: bool,
    console: &Console,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let watching = watch.start(console, Mode::Count { most_values: 1, ring: RING })?;
    let start = watching.started;
    let rates = Rates { start, last: start, every, counts: Vec::new(), json, colour, out };
    drain(watching, Box::new(rates), console)
}

struct Rates<'a> {
    /// The time that counts as 0.
    start: u64,
    /// When the interval began.
    last: u64,
    every: Duration,
    /// The hits of each marker until then. New markers come after the known ones.
    counts: Vec<u64>,
    json: bool,
    colour: bool,
    out: &'a mut dyn Write,
}

impl Sink for Rates<'_> {
    fn hit(&mut self, _: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    fn pause(&mut self, plan: &Plan, session: &Session) -> anyhow::Result<Next> {
        if sys::now().saturating_sub(self.last) >= self.every() {
            self.print(plan, session)?;
        }
        let passed = sys::now().saturating_sub(self.last);
        Ok(Next::WaitFor(Duration::from_nanos(self.every().saturating_sub(passed))))
    }

    fn end(mut self: Box<Self>, _: &Console, totals: &Totals<'_>) -> anyhow::Result<()> {
        let Some((plan, session)) = totals.live else { return Ok(()) };
        self.print(plan, session)?;
        if self.json {
            let hits = self.counts.iter().sum::<u64>() + totals.lost;
            end::write(self.out, totals.json(Some(hits), None))?;
        }
        Ok(())
    }
}

impl Rates<'_> {
    /// The length of an interval in ns.
    fn every(&self) -> u64 {
        u64::try_from(self.every.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Prints the markers that were hit in the interval, and begins the next one.
    fn print(&mut self, plan: &Plan, session: &Session) -> anyhow::Result<()> {
        let counts = Counts::new(plan, &Question::Hits, &session.counted()?);
        let now = sys::now();
        let seconds = (now.saturating_sub(self.last).max(1)) as f64 / 1e9;
        let before = self.counts.iter().copied().chain(std::iter::repeat(0));
        for (marker, before) in counts.markers.iter().zip(before) {
            let hits = marker.hits.saturating_sub(before);
            if hits == 0 {
                continue;
            }
            let rate = (hits as f64 / seconds).round() as u64;
            if self.json {
                let kind = if marker.is_event { "event" } else { "marker" };
                let line = json!({
                    "time_ns": now, kind: &*marker.marker, "module": &*marker.module, "hits": hits,
                    "interval_ns": now.saturating_sub(self.last), "per_second": rate,
                });
                writeln!(self.out, "{line}")?;
                continue;
            }
            let time = now.saturating_sub(self.start);
            let (whole, fraction) = (time / 1_000_000_000, time % 1_000_000_000 / 1_000_000);
            let (bold, plain) = if self.colour { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
            writeln!(
                self.out,
                "{whole:>4}.{fraction:03} {hits:>10} {rate:>10}/s {bold}{}{plain}",
                shown(&marker.marker)
            )?;
        }
        self.out.flush()?;
        (self.counts, self.last) = (counts.markers.iter().map(|marker| marker.hits).collect(), now);
        Ok(())
    }
}
