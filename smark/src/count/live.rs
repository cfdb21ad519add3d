//! The counts of the kernel, printed every so often and at the end.

use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use simple_markers_tracer::aggregate::{Question, Tally};
use simple_markers_tracer::sys::{self, Floor, Session};
use simple_markers_tracer::{Hit, Plan};

use super::answer::Answer;
use super::export::CountExport;
use super::heat::HeatMap;
use super::metrics::CountMetrics;
use super::question::ValueLimits;
use super::rates::RateHistory;
use super::screen::CountScreen;
use crate::agent_report::HitTally;
use crate::console::Console;
use crate::end::{self, Totals};
use crate::hit_stacks::HitStacks as _;
use crate::sinks::{Next, Sink};
use crate::stacks::Stacks;

/// How often it is looked whether there are as many hits as `--limit` says.
const LOOK: Duration = Duration::from_millis(100);

/// Prints the counts of the kernel.
pub(super) struct Live {
    pub(super) question: Question,
    pub(super) kept: ValueLimits,
    /// How long intervals took over time; `None` if it is not shown.
    pub(super) heat: Option<HeatMap>,
    /// How often markers were passed of late; `None` if it is not shown.
    pub(super) rates: Option<RateHistory>,
    /// The metrics for Prometheus and OpenTelemetry.
    pub(super) metrics: CountMetrics,
    /// Says what the frames of stacks are; `None` if they are not counted.
    pub(super) stacks: Option<Stacks>,
    /// The shortest time that is measured.
    pub(super) floor: Option<Floor>,
    /// Whether the powers of two of the parts of intervals are printed too.
    pub(super) is_verbose: bool,
    pub(super) json: bool,
    /// What is written besides the table.
    pub(super) export: Option<CountExport>,
    pub(super) limit: Option<u64>,
    pub(super) every: Option<Duration>,
    /// When they are printed next.
    pub(super) next: Option<Instant>,
    pub(super) screen: CountScreen,
}

impl Live {
    /// The counts alone.
    fn counts(&self, plan: &Plan, session: &Session) -> Result<Answer, sys::Error> {
        Ok(Answer::new(plan, &self.question, &session.counted()?, self.kept))
    }

    fn answer(&mut self, plan: &Plan, session: &Session) -> Result<Answer, sys::Error> {
        let answer = self.counts(plan, session)?;
        if let Some(heat) = &mut self.heat {
            heat.add(sys::now(), answer.durations());
        }
        let answer = answer.with_floor(plan, self.floor).with_stacks(plan, self.stacks.as_mut());
        Ok(answer.with_heat(self.heat.clone()))
    }

    /// Prints an answer. `may_cut` says that another one follows.
    fn print(&mut self, answer: &Answer, may_cut: bool) -> io::Result<()> {
        if !self.json {
            return self.screen.show(&answer.text(self.is_verbose), may_cut);
        }
        let mut out = io::stdout().lock();
        for line in answer.json() {
            writeln!(out, "{line}")?;
        }
        out.flush()
    }
}

impl Sink for Live {
    fn hit(&mut self, _: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    fn pause(&mut self, plan: &Plan, session: &Session) -> anyhow::Result<Next> {
        if let (Some(due), Some(every)) = (self.next, self.every) {
            if Instant::now() >= due {
                self.next = Some(Instant::now() + every);
                let answer = self.answer(plan, session)?;
                self.metrics.update(&answer, plan, self.kept.top);
                if let Some(rates) = &mut self.rates {
                    rates.add(Instant::now(), &answer.counts.markers);
                }
                self.print(&answer.with_rates(self.rates.clone()), true)?;
            }
        }
        if let Some(heat) = self.heat.as_mut().filter(|heat| sys::now() >= heat.due()) {
            heat.add(sys::now(), &session.durations()?);
        }
        if self.metrics.due().is_some_and(|due| Instant::now() >= due) {
            let answer = self.counts(plan, session)?;
            self.metrics.update(&answer, plan, self.kept.top);
        }
        if let Some(limit) = self.limit {
            if self.counts(plan, session)?.hits() >= limit {
                return Ok(Next::End);
            }
        }
        let left = self.next.map(|due| due.saturating_duration_since(Instant::now()));
        let heat = self.heat.as_ref().map(|heat| Duration::from_nanos(heat.due().saturating_sub(sys::now())));
        let metrics = self.metrics.due().map(|due| due.saturating_duration_since(Instant::now()));
        Ok(left
            .into_iter()
            .chain(heat)
            .chain(metrics)
            .chain(self.limit.map(|_| LOOK))
            .min()
            .map_or(Next::Wait, Next::WaitFor))
    }

    fn tally(&self, session: &Session) -> anyhow::Result<HitTally> {
        let hits = session.tallies()?.iter().map(|tallies| tallies.get(Tally::Hits)).sum();
        // What programs record themselves may be lost before it is counted.
        let dropped = session.lost()?.saturating_sub(session.missed()?);
        Ok(HitTally { hits: dropped.saturating_add(hits), delivered: hits, dropped })
    }

    fn end(mut self: Box<Self>, console: &Console, totals: &Totals<'_>) -> anyhow::Result<()> {
        let Some((plan, session)) = totals.live else { return Ok(()) };
        let answer = self.answer(plan, session)?;
        if !self.export.as_ref().is_some_and(CountExport::takes_stdout) {
            self.print(&answer, false)?;
        }
        if let Some(export) = &self.export {
            export.write(&answer, totals, console)?;
        }
        let members = self.metrics.end(&answer, plan, self.kept.top, console);
        if self.json {
            let totals = Totals { unfiltered: answer.unfiltered(), ..totals.clone() };
            let mut totals = totals.json(None, Some(answer.uncounted()));
            let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
            totals.as_object_mut().into_iter().for_each(|all| all.extend(members.clone()));
            end::write(&mut io::stdout().lock(), totals)?;
        }
        answer.tell(console);
        self.stacks.iter().for_each(|stacks| stacks.tell(console));
        if session.lost()? > session.missed()? {
            console.note(
                "probes were counted from what the program recorded; with --engine bpf the kernel counts each hit",
            );
        }
        Ok(())
    }
}
