//! A session: what a plan names is watched by one of two engines, and recorded by the programs
//! themselves where they can.

use super::clock::now;
use super::error::Error;
use super::programs::Programs;
use super::recorder::{Failure, Recorders};
use super::tracefs::{Tracefs, remove_leftovers};
use crate::aggregate::{Counted, Tallies};
use crate::bpf::input::Input;
use crate::bpf::program::ProgramError;
use crate::hit::Hit;
use crate::order::Order;
use crate::plan::Plan;
use crate::record::{Layout, Record};

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
    /// Programs record hits of processes that are named, with their values and no stack.
    #[error("programs record their probes only for processes that are named, without stacks")]
    NotRecorded,
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

/// A hit is handed on so much later, in ns, if programs record some hits themselves: a thread may lose
/// the processor between the time of a hit and its record.
const DELAY: u64 = 20_000_000;

/// A plan that is watched. When it is dropped, the probes are removed.
#[derive(Debug)]
pub struct Session {
    engine: Engine,
    scope: Scope,
    mode: Mode,
    kernel: Kernel,
    /// `None` if the programs record every hit themselves.
    running: Option<Running>,
    recorded: Option<Recorded>,
}

/// The engine that runs.
#[derive(Debug)]
enum Running {
    Bpf(Box<Programs>),
    Tracefs(Box<Tracefs>),
}

/// Hits that programs record themselves, and how they are put in one order with the others.
#[derive(Debug)]
struct Recorded {
    recorders: Recorders,
    order: Order,
    /// By the number of the site, for all sites of the plan.
    layouts: Vec<Layout>,
    received: u64,
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
        // A plan without sites starts the engine too, which tells whether it works.
        let is_for_engine = plan.sites.is_empty() || plan.sites.iter().any(|site| site.recorded.is_none());
        match &mut self.running {
            Some(Running::Bpf(programs)) => programs.attach(plan)?,
            Some(Running::Tracefs(tracefs)) => tracefs.attach(plan)?,
            None if is_for_engine => {
                let Self { scope, mode, kernel, .. } = self;
                self.running = Some(match self.engine {
                    Engine::Bpf => Running::Bpf(Box::new(Programs::start(plan, scope, *mode, *kernel)?)),
                    Engine::Tracefs => Running::Tracefs(Box::new(Tracefs::start(plan, scope, *mode)?)),
                });
            }
            None => {}
        }
        if self.recorded.is_none() && plan.sites.iter().any(|site| site.recorded.is_some()) {
            let recorders = Recorders::new(&self.scope, self.mode)?;
            self.recorded = Some(Recorded { recorders, order: Order::default(), layouts: Vec::new(), received: 0 });
        }
        if let Some(recorded) = &mut self.recorded {
            recorded.recorders.attach(plan);
            let known = match &self.running {
                Some(Running::Bpf(programs)) => programs.layouts(),
                Some(Running::Tracefs(tracefs)) => tracefs.layouts(),
                None => &[],
            };
            let layouts = plan.sites.iter().enumerate().map(|(number, site)| match site.recorded {
                Some(_) => Layout::new(site.inputs.iter().map(Input::kind)),
                None => known.get(number).cloned().unwrap_or_default(),
            });
            recorded.layouts = layouts.collect();
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
        let Some(Recorded { recorders, order, layouts, received }) = recorded else { return read_running(each) };
        let time = if is_last { u64::MAX } else { now().saturating_sub(DELAY) };
        recorders.read(plan, order);
        read_running(&mut |hit| order.add(hit.record.time(), hit.record.0));
        let mut count = 0;
        order.take_before(time, &mut |record| {
            if let Some(hit) = Hit::new(Record(record), plan, layouts) {
                count += 1;
                each(&hit);
            }
        });
        *received += count;
        count
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

    /// How many hits were handed on.
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
        match &self.running {
            Some(Running::Bpf(programs)) => programs.tallies(),
            Some(Running::Tracefs(tracefs)) => Ok(tracefs.tallies()),
            None => Ok(Vec::new()),
        }
    }

    /// What was counted.
    ///
    /// # Errors
    ///
    /// A map cannot be read.
    pub fn counted(&self) -> Result<Counted, Error> {
        match &self.running {
            Some(Running::Bpf(programs)) => programs.counted(),
            Some(Running::Tracefs(tracefs)) => Ok(tracefs.counted()),
            None => Ok(Counted::default()),
        }
    }
}
