//! A session: what a plan names is watched by one of two engines, and recorded by the programs
//! themselves where they can.

use std::os::fd::RawFd;
use std::time::Duration;

use super::error::Error;
use super::notices::Notices;
use super::programs::Programs;
use super::recorded::RecordedHits;
use super::recorder::Failure;
use super::request::{Mode, Scope, SessionError, has_intervals, has_split};
use super::tracefs::{Tracefs, remove_leftovers};
use crate::aggregate::{RawCounts, Tallies, Tally};
use crate::bpf::entry::EntryCounts;
use crate::histogram::Durations;
use crate::hit::Hit;
use crate::plan::{Aggregate, Plan};
use crate::record::stack::StackSettings;

pub use super::programs::Kernel;

/// What sets the probes and hands on the hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// BPF programs at uprobes.
    Bpf,
    /// Probes of `uprobe_events` in an instance of tracefs. It needs root.
    Tracefs,
}

impl Engine {
    /// The engine that the kernel offers: BPF, or tracefs and why BPF cannot be used. If only a right
    /// is missing, it is BPF, and the session says which.
    #[must_use]
    pub fn choose(scope: &Scope, kernel: &Kernel) -> (Self, Option<Error>) {
        match kernel.offers_bpf(scope) {
            Ok(()) => (Self::Bpf, None),
            // Root has every right that BPF needs, unless the kernel is locked down.
            Err(why) if why.is_permission() && !is_root() => (Self::Bpf, None),
            Err(why) => (Self::Tracefs, Some(why)),
        }
    }
}

fn is_root() -> bool {
    // SAFETY: it only asks for a number.
    unsafe { libc::geteuid() == 0 }
}

/// A plan that is watched. When it is dropped, the probes are removed.
#[derive(Debug)]
pub struct Session {
    engine: Engine,
    scope: Scope,
    mode: Mode,
    kernel: Kernel,
    /// `None` if the programs record every hit themselves, and it cannot be started.
    running: Option<Running>,
    recorded: Option<RecordedHits>,
}

/// The engine that runs.
#[derive(Debug)]
enum Running {
    Bpf(Box<Programs>),
    Tracefs(Box<Tracefs>),
}

impl Session {
    /// Sets the probes of a plan with BPF.
    ///
    /// # Errors
    ///
    /// The kernel refuses it, or a site needs a program that is too long.
    pub fn start(plan: &Plan, scope: &Scope, mode: Mode, kernel: Kernel) -> Result<Self, SessionError> {
        Self::start_with(Engine::Bpf, plan, scope, mode, kernel)
    }

    /// Sets the probes of a plan with an engine. Removes what killed sessions left in tracefs, if it
    /// may.
    ///
    /// # Errors
    ///
    /// The kernel refuses it, a site needs a program that is too long, or the engine has no
    /// stacks.
    pub fn start_with(
        engine: Engine,
        plan: &Plan,
        scope: &Scope,
        mode: Mode,
        kernel: Kernel,
    ) -> Result<Self, SessionError> {
        remove_leftovers();
        let (scope, running, recorded) = (scope.clone(), None, None);
        let mut session = Self { engine, scope, mode, kernel, running, recorded };
        session.attach(plan)?;
        Ok(session)
    }

    /// Sets the probes of the sites that were added to the plan since the last call.
    ///
    /// # Errors
    ///
    /// The kernel refuses it, or a site needs a program that is too long.
    pub fn attach(&mut self, plan: &Plan) -> Result<(), SessionError> {
        let is_recorded = plan.sites.iter().any(|site| site.recorded.is_some());
        if has_split(plan) && (is_recorded || self.engine != Engine::Bpf) {
            return Err(SessionError::SplitNeedsBpf);
        }
        let has_stacks = plan.sites.iter().any(|site| matches!(site.aggregate, Aggregate::Stacks { .. }));
        if has_stacks && self.engine != Engine::Bpf {
            return Err(SessionError::NeedsBpf);
        }
        if self.recorded.is_none() && plan.sites.iter().any(|site| site.recorded.is_some()) {
            if self.running.is_some() && matches!(self.mode, Mode::Count { .. }) && has_intervals(plan) {
                return Err(SessionError::NotInOrder);
            }
            self.recorded = Some(RecordedHits::new(&self.scope, self.mode)?);
        }
        // A plan without sites starts the engine too, which tells whether it works.
        let is_for_engine = plan.sites.is_empty() || plan.sites.iter().any(|site| site.recorded.is_none());
        match &mut self.running {
            Some(Running::Bpf(programs)) => programs.attach(plan)?,
            Some(Running::Tracefs(tracefs)) => tracefs.attach(plan)?,
            // If the programs record all probes, it only gives notice of what they map, if it may.
            None if is_for_engine || self.recorded.is_some() => {
                let Self { scope, kernel, .. } = self;
                let mode = match (self.mode, &self.recorded) {
                    // An interval may be between a hit that the kernel sees and one that it does not see.
                    (Mode::Count { ring, .. }, Some(_)) if has_intervals(plan) => {
                        Mode::Trace { ring, stacks: StackSettings::NONE }
                    }
                    (mode, _) => mode,
                };
                let started = match self.engine {
                    Engine::Bpf => Programs::start(plan, scope, mode, *kernel).map(|it| Running::Bpf(Box::new(it))),
                    Engine::Tracefs => Tracefs::start(plan, scope, mode).map(|it| Running::Tracefs(Box::new(it))),
                };
                self.running = if is_for_engine { Some(started?) } else { started.ok() };
            }
            None => {}
        }
        if let Some(recorded) = &mut self.recorded {
            let known = match &self.running {
                Some(Running::Bpf(programs)) => programs.layouts(),
                Some(Running::Tracefs(tracefs)) => tracefs.layouts(),
                None => &[],
            };
            recorded.attach(plan, known);
        }
        Ok(())
    }

    /// Arms the probes of programs that record them, in what the processes have mapped since the last
    /// call. Returns what cannot be recorded.
    pub fn arm(&mut self) -> Vec<Failure> {
        let Some(recorded) = &mut self.recorded else { return Vec::new() };
        recorded.recorders.arm();
        recorded.recorders.take_failures()
    }

    /// Whether a program records so many hits that its buffer may be full soon.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.recorded.as_ref().is_some_and(|recorded| recorded.recorders.is_busy())
    }

    /// Records the probes of another process too, where programs record them themselves.
    pub fn add_process(&mut self, pid: u32) {
        if let Some(recorded) = &mut self.recorded {
            recorded.recorders.add(pid);
        }
        if let Some(Running::Bpf(programs)) = &mut self.running {
            programs.add_process(pid);
        }
    }

    /// Whether programs record some of the probes themselves.
    #[must_use]
    pub fn has_recorded(&self) -> bool {
        self.recorded.is_some()
    }

    /// Removes the probes of an image, whose file has become another program.
    pub fn forget(&mut self, plan: &Plan, image: usize) {
        match &mut self.running {
            Some(Running::Bpf(programs)) => programs.forget(image),
            Some(Running::Tracefs(tracefs)) => tracefs.forget(image),
            None => {}
        }
        if let (Some(recorded), Some(image)) = (&mut self.recorded, plan.images.get(image)) {
            recorded.recorders.forget(image);
        }
    }

    /// From now on [`take_notices`](Self::take_notices) also tells of libraries that a loader maps.
    /// `offset` is that of the function in the file of the loader that it calls then.
    pub fn add_loader(&mut self, path: &str, offset: u64) {
        if let Some(Running::Bpf(programs)) = &mut self.running {
            programs.add_loader(path, offset);
        }
    }

    /// The processes that have executed a program or mapped libraries since the last call.
    pub fn take_notices(&mut self) -> Vec<u32> {
        match &mut self.running {
            Some(Running::Bpf(programs)) => programs.notices().map(Notices::take).unwrap_or_default(),
            Some(Running::Tracefs(tracefs)) => tracefs.take_notices(),
            None => Vec::new(),
        }
    }

    /// How long until [`take_notices`](Self::take_notices) tells more, although nothing is readable.
    #[must_use]
    pub fn next_notice(&self) -> Option<Duration> {
        match &self.running {
            Some(Running::Tracefs(tracefs)) => tracefs.due(),
            Some(Running::Bpf(_)) | None => None,
        }
    }

    /// Whether [`take_notices`](Self::take_notices) tells everything. Otherwise somebody has to look
    /// again and again.
    #[must_use]
    pub fn gives_notice(&self) -> bool {
        match &self.running {
            Some(Running::Bpf(programs)) => programs.is_told(),
            Some(Running::Tracefs(tracefs)) => tracefs.is_told(),
            None => false,
        }
    }

    /// Whether a descriptor tells of hits. Otherwise somebody has to read again and again.
    #[must_use]
    pub fn tells_hits(&self) -> bool {
        let is_told = match &self.running {
            Some(Running::Bpf(_)) => true,
            Some(Running::Tracefs(tracefs)) => tracefs.tells_hits(),
            None => self.recorded.is_some(),
        };
        is_told && self.recorded.as_ref().is_none_or(|recorded| recorded.recorders.is_asleep())
    }

    /// How long until hits have to be looked for, although nothing is readable.
    #[must_use]
    pub fn next_look(&self) -> Option<Duration> {
        self.recorded.as_ref().and_then(|recorded| recorded.recorders.next_look())
    }

    /// Whether hits were read that are not handed on yet.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        let of_engine = match &self.running {
            Some(Running::Bpf(programs)) => programs.has_waiting(),
            Some(Running::Tracefs(tracefs)) => tracefs.has_waiting(),
            None => false,
        };
        of_engine || self.recorded.as_ref().is_some_and(RecordedHits::has_waiting)
    }

    /// What is readable when there are hits, if they are wanted, or notices.
    pub(super) fn descriptors(&self, with_hits: bool) -> Vec<RawFd> {
        let mut descriptors = match &self.running {
            Some(Running::Bpf(programs)) => programs.descriptors(with_hits).collect(),
            Some(Running::Tracefs(tracefs)) => tracefs.descriptors(with_hits),
            None => Vec::new(),
        };
        let recorded = self.recorded.as_ref().filter(|_| with_hits);
        descriptors.extend(recorded.map(|recorded| recorded.recorders.descriptor()));
        descriptors
    }

    /// Hands on the hits that are complete, in the order of their times. Returns how many there
    /// were.
    ///
    /// `is_last` says that no probe is set any more, so no earlier hit can come.
    pub fn read(&mut self, plan: &Plan, is_last: bool, each: &mut dyn FnMut(&Hit<'_>)) -> u64 {
        let Self { running, recorded, .. } = self;
        let mut read_running = |each: &mut dyn FnMut(&Hit<'_>)| match running {
            Some(Running::Bpf(programs)) => programs.read(plan, is_last, each),
            Some(Running::Tracefs(tracefs)) => tracefs.read(plan, is_last, each),
            None => 0,
        };
        match recorded {
            Some(recorded) => recorded.read(plan, is_last, &mut read_running, each),
            None => read_running(each),
        }
    }

    /// Removes the probes. After it no new record is written.
    pub fn detach(&mut self) {
        match &mut self.running {
            Some(Running::Bpf(programs)) => programs.detach(),
            Some(Running::Tracefs(tracefs)) => tracefs.detach(),
            None => {}
        }
        if let Some(recorded) = &mut self.recorded {
            recorded.recorders.detach();
        }
    }

    /// How many hits were handed on, and how many of those that programs recorded were counted.
    #[must_use]
    pub fn received(&self) -> u64 {
        match (&self.recorded, &self.running) {
            (Some(recorded), _) => recorded.received,
            (None, Some(Running::Bpf(programs))) => programs.received(),
            (None, Some(Running::Tracefs(tracefs))) => tracefs.received(),
            (None, None) => 0,
        }
    }

    /// How many events of the kernel had no record because the kernel ran another BPF program on the same
    /// CPU, and so not the one of the event. If a filter or processes choose among events, it is not
    /// known whether they were wanted.
    ///
    /// # Errors
    ///
    /// The programs cannot be asked.
    pub fn missed(&self) -> Result<u64, Error> {
        match &self.running {
            Some(Running::Bpf(programs)) => programs.missed(),
            Some(Running::Tracefs(_)) | None => Ok(0),
        }
    }

    /// What was counted at each entry of a function at which values are noted, with its number in the plan.
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn entries(&self) -> Result<Vec<(usize, EntryCounts)>, Error> {
        match &self.running {
            Some(Running::Bpf(programs)) => programs.entries_counted(),
            Some(Running::Tracefs(_)) | None => Ok(Vec::new()),
        }
    }

    /// How many hits had no space in a buffer, or were [missed](Self::missed).
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn lost(&self) -> Result<u64, Error> {
        let lost = match &self.running {
            Some(Running::Bpf(programs)) => programs.lost()?,
            Some(Running::Tracefs(tracefs)) => tracefs.lost()?,
            None => 0,
        };
        Ok(lost + self.recorded.as_ref().map_or(0, |recorded| recorded.recorders.lost()))
    }

    /// The tallies of each site.
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn tallies(&self) -> Result<Vec<Tallies>, Error> {
        let mut counted = RawCounts { tallies: self.tallies_of_engine()?, ..RawCounts::default() };
        if let Some(recorded) = &self.recorded {
            counted.add(RawCounts { tallies: recorded.counts.tallies().to_vec(), ..RawCounts::default() });
        }
        Ok(counted.tallies)
    }

    fn tallies_of_engine(&self) -> Result<Vec<Tallies>, Error> {
        let tallies = match &self.running {
            Some(Running::Bpf(programs)) => programs.tallies()?,
            Some(Running::Tracefs(tracefs)) => tracefs.tallies(),
            None => Vec::new(),
        };
        // It hands on its hits, and only knows which of them had no space or could not be filtered.
        let hands_on = self.recorded.as_ref().is_some_and(|recorded| recorded.is_in_order);
        Ok(match hands_on {
            true => tallies.iter().map(|of_site| of_site.only(Tally::Unfiltered)).collect(),
            false => tallies,
        })
    }

    /// How long the intervals were that have ended.
    ///
    /// # Errors
    ///
    /// A map cannot be read.
    pub fn durations(&self) -> Result<Durations, Error> {
        let mut durations = match (&self.running, &self.recorded) {
            (Some(_), Some(recorded)) if recorded.is_in_order => Durations::default(),
            (Some(Running::Bpf(programs)), _) => programs.durations()?,
            (Some(Running::Tracefs(tracefs)), _) => tracefs.durations(),
            (None, _) => Durations::default(),
        };
        if let Some(recorded) = &self.recorded {
            durations.add(recorded.counts.durations());
        }
        Ok(durations)
    }

    /// What was counted.
    ///
    /// # Errors
    ///
    /// A map cannot be read.
    pub fn counted(&self) -> Result<RawCounts, Error> {
        let mut counted = match (&self.running, &self.recorded) {
            (Some(_), Some(recorded)) if recorded.is_in_order => {
                RawCounts { tallies: self.tallies_of_engine()?, ..RawCounts::default() }
            }
            (Some(Running::Bpf(programs)), _) => programs.counted()?,
            (Some(Running::Tracefs(tracefs)), _) => tracefs.counted(),
            (None, _) => RawCounts::default(),
        };
        if let Some(recorded) = &self.recorded {
            counted.add(recorded.counts.counted());
        }
        Ok(counted)
    }
}
