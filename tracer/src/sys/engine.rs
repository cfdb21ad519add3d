//! A session: what a plan names is watched by one of two engines.

use super::error::Error;
use super::programs::Programs;
use super::tracefs::{Tracefs, remove_leftovers};
use crate::aggregate::{Counted, Tallies};
use crate::bpf::program::ProgramError;
use crate::hit::Hit;
use crate::plan::Plan;

pub use super::programs::Kernel;

/// Which processes are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All that run the files of the plan.
    All,
    /// These, with all of their threads.
    Processes {
        /// Their numbers.
        pids: Vec<u32>,
        /// Whether the processes that they create are watched too.
        with_children: bool,
    },
}

/// What is done at a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A record is written.
    Trace {
        /// The size of the ring buffer in bytes: a power of two, and at least a page.
        ring: u32,
        /// Whether the record has the stack of the thread.
        with_stack: bool,
    },
    /// It is counted, as the site's `aggregate` says.
    Count {
        /// The most values, buckets and open intervals that are kept.
        most_values: u32,
    },
    /// Nothing: measures what a probe costs by itself.
    Nothing,
}

/// Why a session cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The kernel refused something.
    #[error(transparent)]
    Kernel(#[from] Error),
    /// There is no program for a site.
    #[error("site {site} of the plan has too many arguments for a BPF program")]
    Program {
        /// The number of the site.
        site: usize,
        /// Why.
        why: ProgramError,
    },
    /// The engine without BPF records no stacks.
    #[error("stacks are recorded with BPF only")]
    NeedsBpf,
    /// The engine without BPF watches no events of the kernel.
    #[error("events of the kernel are watched with BPF only")]
    EventsNeedBpf,
    /// A program cannot be attached to an event of the kernel.
    #[error("{event}: {why}")]
    Event {
        /// The name of the event.
        event: String,
        /// Why.
        why: Error,
    },
}

/// What sets the probes and hands on the hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// BPF programs, attached by one link for many sites (Linux 6.6).
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
    running: Running,
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
        let running = match engine {
            Engine::Bpf => Running::Bpf(Box::new(Programs::start(plan, scope, mode, kernel)?)),
            Engine::Tracefs => Running::Tracefs(Box::new(Tracefs::start(plan, scope, mode)?)),
        };
        Ok(Self { running })
    }

    /// Sets the probes of the sites that were added to the plan since the last call.
    ///
    /// # Errors
    ///
    /// The kernel refuses it, or a site needs a program that is too long.
    pub fn attach(&mut self, plan: &Plan) -> Result<(), SessionError> {
        match &mut self.running {
            Running::Bpf(programs) => programs.attach(plan),
            Running::Tracefs(tracefs) => tracefs.attach(plan),
        }
    }

    /// Hands on the hits that are complete, in the order of their times. Returns how many there
    /// were.
    ///
    /// `is_last` says that no probe is set any more, so no earlier hit can come.
    pub fn read(&mut self, plan: &Plan, is_last: bool, each: &mut dyn FnMut(&Hit<'_>)) -> u64 {
        match &mut self.running {
            Running::Bpf(programs) => programs.read(plan, is_last, each),
            Running::Tracefs(tracefs) => tracefs.read(plan, is_last, each),
        }
    }

    /// Removes the probes. After it no new record is written.
    pub fn detach(&mut self) {
        match &mut self.running {
            Running::Bpf(programs) => programs.detach(),
            Running::Tracefs(tracefs) => tracefs.detach(),
        }
    }

    /// How many hits were handed on.
    #[must_use]
    pub fn received(&self) -> u64 {
        match &self.running {
            Running::Bpf(programs) => programs.received(),
            Running::Tracefs(tracefs) => tracefs.received(),
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
            Running::Bpf(programs) => programs.missed(),
            Running::Tracefs(_) => Ok(0),
        }
    }

    /// How many hits had no space in the ring buffer, or were [missed](Self::missed).
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn lost(&self) -> Result<u64, Error> {
        match &self.running {
            Running::Bpf(programs) => programs.lost(),
            Running::Tracefs(tracefs) => tracefs.lost(),
        }
    }

    /// The tallies of each site.
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn tallies(&self) -> Result<Vec<Tallies>, Error> {
        match &self.running {
            Running::Bpf(programs) => programs.tallies(),
            Running::Tracefs(tracefs) => Ok(tracefs.tallies()),
        }
    }

    /// What was counted.
    ///
    /// # Errors
    ///
    /// A map cannot be read.
    pub fn counted(&self) -> Result<Counted, Error> {
        match &self.running {
            Running::Bpf(programs) => programs.counted(),
            Running::Tracefs(tracefs) => Ok(tracefs.counted()),
        }
    }
}
