//! A session: what a plan names is watched by one of two engines.

use super::error::Error;
use super::programs::Programs;
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
}

impl Session {
    /// Sets the probes of a plan.
    ///
    /// # Errors
    ///
    /// The kernel refuses it, or a site needs a program that is too long.
    pub fn start(plan: &Plan, scope: &Scope, mode: Mode, kernel: Kernel) -> Result<Self, SessionError> {
        let running = Running::Bpf(Box::new(Programs::start(plan, scope, mode, kernel)?));
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
        }
    }

    /// Hands on the hits that are complete, in the order of their times. Returns how many there
    /// were.
    ///
    /// `is_last` says that no probe is set any more, so no earlier hit can come.
    pub fn read(&mut self, plan: &Plan, is_last: bool, each: &mut dyn FnMut(&Hit<'_>)) -> u64 {
        match &mut self.running {
            Running::Bpf(programs) => programs.read(plan, is_last, each),
        }
    }

    /// Removes the probes. After it no new record is written.
    pub fn detach(&mut self) {
        match &mut self.running {
            Running::Bpf(programs) => programs.detach(),
        }
    }

    /// How many hits were handed on.
    #[must_use]
    pub fn received(&self) -> u64 {
        match &self.running {
            Running::Bpf(programs) => programs.received(),
        }
    }

    /// How many hits had no space in the ring buffer.
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn lost(&self) -> Result<u64, Error> {
        match &self.running {
            Running::Bpf(programs) => programs.lost(),
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
        }
    }
}
