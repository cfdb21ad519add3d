//! What a sink is: it takes the hits of a source.

use std::ops::ControlFlow;
use std::time::Duration;

use simple_markers_events::Names;
use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::sys::Session;
use simple_markers_tracer::{Hit, Plan};

use crate::agent_report::HitTally;
use crate::console::Console;
use crate::end::Totals;
use crate::hit_stacks::HitStacks;

/// Takes the hits of a source, or the counts of a session.
pub(crate) trait Sink {
    /// Takes a hit. Returns whether more are wanted.
    fn hit(&mut self, hit: &Hit<'_>) -> anyhow::Result<ControlFlow<()>>;

    /// All hits so far of programs that are watched were taken. Returns when it is to be called again at
    /// the latest.
    fn pause(&mut self, _plan: &Plan, _session: &Session) -> anyhow::Result<Next> {
        Ok(Next::Wait)
    }

    /// There are no more hits: hands on those that wait for others.
    fn flush(&mut self, _session: &Session) -> anyhow::Result<()> {
        Ok(())
    }

    /// What became of the hits so far.
    fn tally(&self, session: &Session) -> anyhow::Result<HitTally> {
        let (received, lost) = (session.received(), session.lost()?);
        Ok(HitTally { hits: received.saturating_add(lost), delivered: received, dropped: lost })
    }

    /// There are no more hits. Writes what is left, and says what else there is to say.
    fn end(self: Box<Self>, console: &Console, totals: &Totals<'_>) -> anyhow::Result<()>;
}

/// What is to be done when all hits so far are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// No more are wanted.
    End,
    /// To wait for more.
    Wait,
    /// The same, at most for this time.
    WaitFor(Duration),
}

/// What the lines of hits are made with.
pub(crate) struct Setting {
    /// The time that counts as 0.
    pub(crate) start: u64,
    /// What the texts of the kernel's events use.
    pub(crate) names: Box<dyn Names>,
    pub(crate) colour: bool,
    /// Whether hits may note their tasks.
    pub(crate) has_tasks: bool,
    /// Finds the functions whose addresses values have.
    pub(crate) functions: Box<dyn FunctionNames>,
    /// Says what the frames of stacks are; `None` if they are not asked for.
    pub(crate) stacks: Option<Box<dyn HitStacks>>,
}
