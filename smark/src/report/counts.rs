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

/// How the answer is written.
pub(super) struct CountForm {
    /// How much of it is shown.
    pub(super) kept: ValueLimits,
    pub(super) json: bool,
    /// The stacks that are written for another tool in place of the answer; `None` if it is the answer.
    pub(super) flames: Option<Flames>,
}

/// Counts the wanted hits, and prints the counts.
pub(super) struct Counts<'a> {
    chosen: &'a SiteSelection,
    question: &'a Question,
    form: CountForm,
    /// `None` if no stacks are counted.
    stacks: Option<StackTally<'a>>,
    replay: Replay,
    /// How long intervals took over time; `None` if it is not shown.
    heat: Option<HeatMap>,
    hits: u64,
}

impl<'a> Counts<'a> {
    /// The recording begins at `start`. `has_wakes` says whether it has the wakes of tasks.
    pub(super) fn new(
        chosen: &'a SiteSelection,
        question: &'a Question,
        form: CountForm,
        stacks: Option<StackTally<'a>>,
        start: u64,
        has_wakes: bool,
    ) -> Self {
        let mut replay = Replay::new(&chosen.plan, usize::try_from(form.kept.most).unwrap_or(usize::MAX));
        if question.is_split() {
            replay.split_tasks(has_wakes);
        }
        let heat = form.kept.heat.then(|| HeatMap::new(start));
        Self { chosen, question, form, stacks, replay, heat, hits: 0 }
    }
}

impl Sink for Counts<'_> {
    fn hit(&mut self, hit: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
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
        Ok(ControlFlow::Continue(()))
    }

    fn end(self: Box<Self>, console: &Console, totals: &Totals<'_>) -> anyhow::Result<()> {
        let heat = self.heat.map(|mut heat| {
            heat.add(heat.due(), self.replay.durations());
            heat
        });
        let CountForm { kept, json, flames } = self.form;
        let mut answer = Answer::new(&self.chosen.plan, self.question, &self.replay.counted(), kept).with_heat(heat);
        if let Some(stacks) = &self.stacks {
            answer = answer.with_recorded_stacks(&|group| stacks.of(group));
        }
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
                let (hits, uncounted) = (Some(self.hits + totals.lost), Some(answer.uncounted()));
                let totals = Totals { unfiltered: answer.unfiltered(), ..totals.clone() };
                end::write(&mut out, totals.json(hits, uncounted))?;
            }
            false => out.write_all(answer.text(false).as_bytes())?,
        }
        out.flush()?;
        answer.tell(console);
        narrow::tell_unfiltered(console, &self.chosen.plan, answer.unfiltered());
        Ok(())
    }
}
