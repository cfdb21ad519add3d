//! What is watched, from the first hit to the end.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use simple_markers_tracer::plan::DoubtfulValues;
use simple_markers_tracer::sys::{self, Child, Ended, Failure, Kernel, Session, mapped, signals};
use simple_markers_tracer::{Hit, Plan};

use super::{Watch, explained};
use crate::planned::PlanFile;
use crate::stacks::{Chains, Stacks};
use crate::{Console, Status, narrow};

/// How often the ring buffer is read.
const INTERVAL: Duration = Duration::from_millis(5);

/// How often new files and the end of processes are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// A session with the files and processes that it watches.
pub(crate) struct Watching {
    pub(crate) plan: Plan,
    /// The file of `--plan`.
    pub(super) file: Option<PlanFile>,
    /// What becomes of doubtful arguments.
    pub(super) doubtful: DoubtfulValues,
    pub(super) session: Option<Session>,
    pub(super) kernel: Kernel,
    /// Whether programs record their probes themselves.
    pub(super) is_recorded: bool,
    /// The files that the user named, by their canonical names.
    pub(super) named: HashSet<PathBuf>,
    /// The files that were looked at.
    pub(super) known: HashSet<PathBuf>,
    pub(super) pids: Vec<u32>,
    pub(super) child: Option<Child>,
    /// When the probes were set, on the clock of the records.
    pub(crate) started: u64,
    /// When new files were looked for.
    pub(super) looked: Instant,
    pub(crate) status: Status,
    pub(super) chains: Chains,
    /// How many hits were lost when no more were wanted; `None` until then.
    pub(super) lost: Option<u64>,
    pub(super) patterns: Vec<String>,
    pub(crate) watch: Watch,
}

impl Watching {
    /// Calls `each` for each hit until the program ends, the user ends it, or `each` returns
    /// `false`. Calls `pause` whenever all hits so far are read.
    pub(crate) fn run(
        &mut self,
        console: &Console,
        each: &mut dyn FnMut(&Hit<'_>) -> bool,
        pause: &mut dyn FnMut(&Plan, &Session) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let mut wants_more = true;
        while wants_more && !self.is_over() {
            if self.looked.elapsed() >= LOOK {
                self.looked = Instant::now();
                self.follow(console)?;
            }
            let Some(session) = &mut self.session else { return Ok(()) };
            session.read(&self.plan, false, &mut |hit| wants_more = wants_more && each(hit));
            wants_more = wants_more && pause(&self.plan, session)?;
            if wants_more && !session.is_busy() {
                std::thread::sleep(INTERVAL);
            }
        }
        if let Some(session) = &mut self.session {
            self.lost = if wants_more { None } else { Some(session.lost()?) };
            session.detach();
            session.read(&self.plan, true, &mut |hit| wants_more = wants_more && each(hit));
            pause(&self.plan, session)?;
        }
        Ok(())
    }

    /// Watches the files that the processes have mapped since the last call.
    pub(crate) fn look(&mut self, console: &Console) -> anyhow::Result<()> {
        if !self.pids.iter().any(|pid| mapped::exists(*pid)) {
            return Ok(());
        }
        self.follow(console)
    }

    /// Watches the files that the processes have mapped since the last look.
    fn follow(&mut self, console: &Console) -> anyhow::Result<()> {
        let files: Vec<PathBuf> = self.pids.iter().filter_map(|pid| mapped::files(*pid)).flatten().collect();
        let sites = self.plan.sites.len();
        self.add(console, &files)?;
        if let (Some(session), true) = (&mut self.session, self.plan.sites.len() > sites) {
            session.attach(&self.plan).map_err(explained)?;
        }
        self.arm(console);
        Ok(())
    }

    /// Arms the probes of programs that record them, in what is mapped now.
    pub(super) fn arm(&mut self, console: &Console) {
        let Some(session) = &mut self.session else { return };
        for Failure { pid, file, why } in session.arm() {
            console.error(&format!("process {pid}: {}: probes are not recorded: {why}", file.display()));
        }
    }

    /// Whether the watched processes have ended, or the user wants to end.
    fn is_over(&mut self) -> bool {
        match &mut self.child {
            // The terminal sends the signal to the program too, which decides what it does.
            Some(child) => child.ended().is_some(),
            None => signals::is_stopped() || !self.pids.is_empty() && !self.pids.iter().any(|pid| mapped::exists(*pid)),
        }
    }

    /// Waits for the program, and returns the exit status of the command. `session` has what was
    /// lost.
    pub(crate) fn end(mut self, console: &Console) -> anyhow::Result<ExitCode> {
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
        self.session = None;
        if self.child.is_none() {
            return Ok(self.status.into());
        }
        loop {
            match self.exit() {
                Some(status) => return Ok(ExitCode::from(u8::try_from(status).unwrap_or(255))),
                None => std::thread::sleep(INTERVAL),
            }
        }
    }

    /// Says what the frames of the hits' stacks are.
    pub(crate) fn stacks(&self) -> Stacks {
        Stacks::new(self.watch.filters.debug_folders(), self.chains.clone())
    }

    /// How many hits were lost until the end, or until no more were wanted.
    pub(crate) fn lost(&self) -> Result<u64, sys::Error> {
        match (self.lost, &self.session) {
            (Some(lost), _) => Ok(lost),
            (None, Some(session)) => session.lost(),
            (None, None) => Ok(0),
        }
    }

    /// The session; `None` if there is nothing to watch.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Whether there is something to watch.
    pub(crate) fn is_active(&self) -> bool {
        self.session.is_some()
    }

    /// The exit status of the watched program, or 128 and the number of the signal that killed it.
    /// `None` without a program, or while it runs.
    pub(crate) fn exit(&mut self) -> Option<i32> {
        match self.child.as_mut()?.ended()? {
            Ended::Exited(status) => Some(status.into()),
            Ended::Killed(signal) => Some(128 + signal),
        }
    }
}
