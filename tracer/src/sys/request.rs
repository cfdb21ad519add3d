//! What a session does, for which processes, and why it cannot.

use super::error::Error;
use super::groups::Group;
use crate::bpf::program::ProgramError;
use crate::plan::{Aggregate, Interval, Plan, StackNotes};
use crate::record::stack::StackSettings;

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
    /// Those in a control group of version 2, and in the groups below it, also if they come later.
    Group(Group),
}

/// What is done at a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A record is written.
    Trace {
        /// The size of the ring buffer in bytes: a power of two, and at least a page.
        ring: u32,
        /// What the record has of the stacks of the thread.
        stacks: StackSettings,
    },
    /// It is counted, as the site's `aggregate` says.
    Count {
        /// The most values, buckets and open intervals that are kept.
        most_values: u32,
        /// The size in bytes of the buffer for hits that the kernel does not count: those that programs
        /// record themselves, and the others if intervals may be between both. A power of two, and at
        /// least a page.
        ring: u32,
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
    /// The kernel measures intervals already.
    #[error("intervals of probes that programs record are not measured in the kernel")]
    NotInOrder,
    /// The engine without BPF records no stacks.
    #[error("stacks are read with BPF only")]
    NeedsBpf,
    /// Only the programs at uprobes and events of the kernel split intervals.
    #[error("the times on a CPU, queued and blocked are told apart with BPF only (--split)")]
    SplitNeedsBpf,
    /// The kernel does not count how long threads wait for a CPU.
    #[error(
        "the kernel does not say how long threads wait for a CPU (CONFIG_SCHED_INFO), or has no clock of a CPU where it is looked for"
    )]
    NoWaits,
    /// The kernel refused the program that notes stacks when threads leave a CPU.
    #[error("the stacks of blocked threads cannot be noted (--blocked): {0}")]
    NoBlockedStacks(Error),
    /// The kernel refused the program that samples CPUs.
    #[error("the CPUs cannot be sampled (--oncpu): {0}")]
    NoSamples(Error),
    /// The engine without BPF watches no events of the kernel.
    #[error("events of the kernel are watched with BPF only")]
    EventsNeedBpf,
    /// The engine without BPF knows no control groups.
    #[error("control groups and containers are watched with BPF only")]
    GroupsNeedBpf,
    /// A program cannot be attached to an event of the kernel.
    #[error("{event}: {why}")]
    Event {
        /// The name of the event.
        event: String,
        /// Why.
        why: Error,
    },
}

/// The intervals that start or end at the sites of a plan.
fn intervals(plan: &Plan) -> impl Iterator<Item = &Interval> {
    plan.sites.iter().filter_map(|site| match &site.aggregate {
        Aggregate::Start(interval) | Aggregate::End(interval) => Some(interval),
        _ => None,
    })
}

/// Whether intervals are split.
pub(super) fn has_split(plan: &Plan) -> bool {
    intervals(plan).any(|interval| interval.is_split)
}

/// Which stacks are noted during intervals.
pub(super) fn stack_notes(plan: &Plan) -> StackNotes {
    intervals(plan).fold(StackNotes::default(), |notes, interval| notes.or(interval.notes))
}

/// Whether the times between two markers are asked for.
pub(super) fn has_intervals(plan: &Plan) -> bool {
    intervals(plan).next().is_some()
}
