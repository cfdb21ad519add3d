//! `--flow ARG` and `--counter ARG`: what a timeline shows besides slices.

use clap::Args;
use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::perfetto::{DrawnCounter, Flow, TimelineContents};

use super::recording::RecordedMarkers;
use crate::console::Console;
use crate::count::{Names, names};
use crate::narrow::HitQuery;

/// What a timeline shows besides slices.
#[derive(Debug, Default, Args)]
pub(super) struct TimelineOptions {
    /// With --to perfetto, draw arrows between the hits of a process at which this argument has the same value, or several have theirs;
    /// may be given several times. The end of a --pair with the same --key ends them
    #[arg(long, value_name = "ARG,..", requires = "to", value_parser = names)]
    flow: Vec<Names>,
    /// With --to perfetto, draw the values of this numeric argument over time; may be given several times
    #[arg(long, value_name = "ARG", requires = "to")]
    counter: Vec<String>,
}

impl TimelineOptions {
    /// Whether none was given.
    pub(super) fn is_empty(&self) -> bool {
        self.flow.is_empty() && self.counter.is_empty()
    }

    /// Whether one of them takes the argument of this name.
    pub(super) fn names(&self, argument: &str) -> bool {
        self.questions().any(|(question, _)| question.names(argument))
    }

    /// A question for each, and the option.
    fn questions(&self) -> impl Iterator<Item = (Question, &'static str)> {
        let flows = self.flow.iter().map(|names| (Question::Values(names.all().to_vec()), "--flow"));
        let counters = self.counter.iter().map(|name| (Question::Histogram(name.as_str().into()), "--counter"));
        flows.chain(counters)
    }

    /// The flows and counters with their sites. Says which sites are left out.
    pub(super) fn choose(&self, console: &Console, selected: &RecordedMarkers<'_>) -> anyhow::Result<TimelineContents> {
        let mut contents = TimelineContents::default();
        for (question, option) in self.questions() {
            let asked = HitQuery { filter: None, question: &question, option: Some(option) };
            let sites = selected.choose(console, &asked)?;
            contents.flows.extend(Flow::new(&question, sites.clone()));
            contents.counters.extend(DrawnCounter::new(&question, sites));
        }
        Ok(contents)
    }
}
