//! What is watched as a source of hits, until the program ends, the user ends it, or no more are wanted.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use simple_markers_tracer::sys::{self, ExitStatus, Session, Wakes, signals};
use simple_markers_tracer::{Hit, Plan};

use super::watching::LOOK;
use super::watching::Watching;
use crate::agent_report::{AgentReport, AgentSocket};
use crate::console::{Console, Status};
use crate::end::Totals;
use crate::narrow;
use crate::sinks::{Next, Sink};
use crate::source::Source;

/// How often hits are read while there are some.
const INTERVAL: Duration = Duration::from_millis(5);

/// Hands hits to a sink as long as it wants more.
struct Feed<'s> {
    sink: &'s mut dyn Sink,
    /// How many may be handed on yet.
    left: u64,
    wants_more: bool,
    failed: Option<anyhow::Error>,
}

impl Feed<'_> {
    /// Hands on the hits that a session has. Returns whether more are wanted.
    fn read(&mut self, session: &mut Session, plan: &Plan, is_last: bool) -> anyhow::Result<bool> {
        session.read(plan, is_last, &mut |hit| self.hit(hit));
        self.failed.take().map_or(Ok(self.wants_more), Err)
    }

    fn hit(&mut self, hit: &Hit<'_>) {
        if !self.wants_more {
            return;
        }
        self.left = self.left.saturating_sub(1);
        match self.sink.hit(hit) {
            Ok(flow) => self.wants_more = flow.is_continue() && self.left > 0,
            Err(error) => (self.wants_more, self.failed) = (false, Some(error)),
        }
    }
}

impl Source for Watching {
    fn run(&mut self, console: &Console, sink: &mut dyn Sink) -> anyhow::Result<()> {
        let mut wakes = Wakes::new(&self.pids);
        let left = self.watch.limit.unwrap_or(u64::MAX);
        let mut feed = Feed { sink, left, wants_more: true, failed: None };
        let (mut wants_more, mut idle) = (true, INTERVAL);
        let mut agent = self.watch.for_agent.then(AgentSocket::of_stdin).transpose().context("standard input")?;
        // What was mapped before the kernel told of it.
        self.follow(console, None)?;
        while wants_more && !self.is_over() {
            self.serve(console)?;
            self.yield_leases(console);
            self.look_again(console)?;
            self.follow_paths(console)?;
            let Some(session) = &mut self.session else { return Ok(()) };
            let before = session.received();
            wants_more = feed.read(session, &self.plan, false)?;
            let is_quiet = session.received() == before && !session.has_waiting();
            let most = match feed.sink.pause(&self.plan, session)? {
                Next::End => break,
                Next::Wait => None,
                Next::WaitFor(time) => Some(time),
            };
            if let Some(agent) = agent.as_mut().filter(|agent| agent.due_in().is_zero()) {
                let tally = feed.sink.tally(session)?;
                if agent.tell(&AgentReport { tally, sites: self.plan.sites.len() as u64, is_last: false }).is_err() {
                    // The agent is gone.
                    break;
                }
            }
            if !wants_more || session.is_busy() {
                continue;
            }
            // Hits that come one after the other are read together.
            idle = if is_quiet { (idle * 2).min(LOOK) } else { INTERVAL };
            let with_hits = is_quiet && session.tells_hits();
            let is_asked = (!session.gives_notice()).then_some(LOOK);
            let is_due = if with_hits { session.next_look() } else { Some(idle) };
            let is_told = agent.as_ref().map(AgentSocket::due_in);
            let needs = [is_due, is_asked, session.next_notice(), most, self.files.due(), is_told];
            let time = needs.into_iter().flatten().min();
            wakes.wait(self.child.as_ref(), session, self.files.paths(), with_hits, time);
        }
        if let Some(session) = &mut self.session {
            self.lost = if wants_more { None } else { Some(session.lost()?) };
            session.detach();
            feed.read(session, &self.plan, true)?;
            feed.sink.pause(&self.plan, session)?;
            feed.sink.flush(session)?;
            if let Some(agent) = &mut agent {
                let tally = feed.sink.tally(session)?;
                // If the agent is gone, nobody asks.
                let _ = agent.tell(&AgentReport::last(tally, self.plan.sites.len() as u64));
            }
            self.has_hits = session.received() > 0 || session.lost()? > 0 || !session.counted()?.is_empty();
        }
        if let Some(child) = &mut self.child {
            child.let_go();
        }
        Ok(())
    }

    fn totals(&mut self) -> anyhow::Result<Option<Totals<'_>>> {
        let exit = self.exit().into();
        let lost = self.lost()?;
        let Some(session) = &self.session else { return Ok(None) };
        let unfiltered = narrow::unfiltered(session)?;
        Ok(Some(Totals { lost, unfiltered, exit, live: Some((&self.plan, session)) }))
    }

    /// Waits for the program.
    fn end(mut self, console: &Console) -> anyhow::Result<ExitCode> {
        if let Some(session) = &self.session {
            narrow::tell_unfiltered(console, &self.plan, narrow::unfiltered(session)?);
            let (lost, missed) = (self.lost()?, session.missed()?);
            if lost > missed {
                let (full, all) = (lost - missed, session.received() + lost);
                console.error(&format!("{full} of {all} hits were lost: the buffer was full"));
            }
            if missed > 0 {
                console.error(&format!(
                    "{missed} events of the kernel were missed: it ran another BPF program on the same CPU"
                ));
            }
        }
        self.tell_entries(console)?;
        if self.session.take().is_some() {
            self.tell_why_silent(console);
        }
        // Nobody has to wait any more who writes to their files.
        self.pinned.clear();
        let Some(child) = &self.child else {
            let later = if self.may_match_later() { self.report_patterns(console)? } else { Status::Done };
            return Ok(self.status.max(later).into());
        };
        let wakes = Wakes::new(&[child.pid()]);
        let status = loop {
            if let Some(child) = &self.child {
                signals::take_sent().for_each(|signal| child.send(signal));
            }
            if let Some(status) = self.exit() {
                break ExitCode::from(u8::try_from(status).unwrap_or(255));
            }
            if let Some(child) = &self.child {
                wakes.wait_for(child);
            }
        };
        if self.may_match_later() && self.report_patterns(console)? > Status::Done && self.exit() == Some(0) {
            return Ok(Status::NoMatch.into());
        }
        Ok(status)
    }
}

impl Watching {
    /// How many hits were lost until the end, or until no more were wanted.
    fn lost(&self) -> Result<u64, sys::Error> {
        match (self.lost, &self.session) {
            (Some(lost), _) => Ok(lost),
            (None, Some(session)) => session.lost(),
            (None, None) => Ok(0),
        }
    }

    /// The exit status of the watched program, or 128 and the number of the signal that killed it.
    /// `None` without a program, or while it runs.
    fn exit(&mut self) -> Option<i32> {
        match self.child.as_mut()?.ended()? {
            ExitStatus::Exited(status) => Some(status.into()),
            ExitStatus::Killed(signal) => Some(128 + signal),
        }
    }
}
