//! The hits of a recording, counted as `smark count` does it.

use std::io::{self, BufWriter, Write as _};
use std::ops::ControlFlow;

use simple_markers_tracer::Hit;
use simple_markers_tracer::aggregate::{Question, Replay};
use simple_markers_tracer::ctf::SiteSelection;
use simple_markers_tracer::recorded_members::RecordedInputs;

use super::stack_tally::StackTally;
use crate::console::Console;
use crate::count::{Answer, Flames, HeatMap, ValueLimits};
use crate::end::{self, Totals};
use crate::narrow;
use crate::sinks::Sink;

/// Counts the wanted hits.
pub(super) struct CountedHits<'a> {
    chosen: &'a SiteSelection,
    question: &'a Question,
    kept: ValueLimits,
    /// `None` if no stacks are counted.
    stacks: Option<StackTally<'a>>,
    replay: Replay,
    /// How long intervals took over time; `None` if it is not shown.
    heat: Option<HeatMap>,
    /// How many hits were wanted.
    hits: u64,
}

impl<'a> CountedHits<'a> {
    /// The recording begins at `start`. `has_wakes` says whether it has the wakes of tasks.
    pub(super) fn new(
        chosen: &'a SiteSelection,
        question: &'a Question,
        kept: ValueLimits,
        start: u64,
        has_wakes: bool,
    ) -> Self {
        let mut replay = Replay::new(&chosen.plan, usize::try_from(kept.most).unwrap_or(usize::MAX));
        if question.is_split() {
            replay.split_tasks(has_wakes);
        }
        let heat = kept.heat.then(|| HeatMap::new(start));
        Self { chosen, question, kept, stacks: None, replay, heat, hits: 0 }
    }

    /// The same with the stacks of the hits.
    pub(super) fn with_stacks(self, stacks: Option<StackTally<'a>>) -> Self {
        Self { stacks, ..self }
    }

    /// The same with a map of times that has columns of 0.39 ms at first.
    pub(super) fn with_fine_map(self) -> Self {
        Self { heat: self.heat.map(|heat| heat.finer(256)), ..self }
    }

    /// Counts a hit.
    pub(super) fn add(&mut self, hit: &Hit<'_>) {
        if let Some(heat) = self.heat.as_mut().filter(|heat| hit.time >= heat.due()) {
            heat.add(hit.time, self.replay.durations());
        }
        if let (Some(what), true) = (hit.marker.task_point, self.question.is_split()) {
            self.replay.note(what, &hit.of_task());
        }
        if let Some((number, site)) = self.chosen.site(hit) {
            let holds = self.chosen.wants(hit);
            self.hits += u64::from(holds == Some(true));
            if let (Some(stacks), Some(true)) = (&mut self.stacks, holds) {
                stacks.add(self.chosen.plan.group(site.marker), hit);
            }
            let inputs = RecordedInputs::new(hit, site);
            self.replay.add(&site.aggregate, holds, &hit.passage(number, &inputs));
        }
    }

    /// What was counted.
    pub(super) fn answer(self) -> Answer {
        let heat = self.heat.map(|mut heat| {
            heat.add(heat.due(), self.replay.durations());
            heat
        });
        let answer = Answer::new(&self.chosen.plan, self.question, &self.replay.counted(), self.kept).with_heat(heat);
        match &self.stacks {
            Some(stacks) => answer.with_recorded_stacks(&|group| stacks.of(group)),
            None => answer,
        }
    }
}

/// Counts the wanted hits, and prints the counts.
pub(super) struct Counts<'a> {
    counted: CountedHits<'a>,
    json: bool,
    /// The stacks that are written for another tool in place of the answer; `None` if it is the answer.
    flames: Option<Flames>,
}

impl<'a> Counts<'a> {
    pub(super) fn new(counted: CountedHits<'a>, json: bool, flames: Option<Flames>) -> Self {
        Self { counted, json, flames }
    }
}

impl Sink for Counts<'_> {
    fn hit(&mut self, hit: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
        self.counted.add(hit);
        Ok(ControlFlow::Continue(()))
    }

    fn end(self: Box<Self>, console: &Console, totals: &Totals<'_>) -> anyhow::Result<()> {
        let Self { counted, json, flames } = *self;
        let (plan, hits) = (&counted.chosen.plan, counted.hits);
        let answer = counted.answer();
        if let Some(flames) = &flames {
            flames.write(&answer, console)?;
        }
        let mut out = BufWriter::new(io::stdout().lock());
        match json {
            _ if flames.is_some() => {}
            true => {
                for line in answer.json() {
                    writeln!(out, "{line}")?;
                }
                end::write_lost(&mut out, totals.lost)?;
                let (hits, uncounted) = (Some(hits + totals.lost), Some(answer.uncounted()));
                let totals = Totals { unfiltered: answer.unfiltered(), ..totals.clone() };
                end::write(&mut out, totals.json(hits, uncounted))?;
            }
            false => out.write_all(answer.text(false).as_bytes())?,
        }
        out.flush()?;
        answer.tell(console);
        narrow::tell_unfiltered(console, plan, answer.unfiltered());
        Ok(())
    }
}
