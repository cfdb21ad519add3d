//! Where the programs find what they read, and what they share with the reader.

/// Offsets in the kernel's `task_struct`, and in what it points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the kernel's")]
pub struct TaskFields {
    pub pid: u32,
    pub tgid: u32,
    /// `start_boottime`.
    pub start: u32,
    pub comm: u32,
    pub group_leader: u32,
    pub exit_state: u32,
    pub on_cpu: u32,
    /// `__state`.
    pub state: u32,
    pub sum_exec_runtime: u32,
    pub exec_start: u32,
    pub nvcsw: u32,
    pub nivcsw: u32,
    /// `sched_info.run_delay`; `None` if the kernel does not account waits.
    pub run_delay: Option<u32>,
    pub signal: u32,
    /// In `signal_struct`.
    pub live: u32,
    /// In `signal_struct`.
    pub sum_sched_runtime: u32,
    pub run_queue: Option<RunQueue>,
}

/// Where the kernel's clocks of a CPU are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the kernel's")]
pub struct RunQueue {
    /// `se.cfs_rq`, in `task_struct`.
    pub cfs_rq: u32,
    /// In `cfs_rq`.
    pub rq: u32,
    /// In `rq`.
    pub clock: u32,
    /// In `rq`.
    pub clock_task: u32,
}

/// The size of the value of `Map::Shared`.
pub const SHARED_SIZE: u32 = 32;
/// The number of the interval.
pub const INTERVAL: u16 = 0;
/// How many switches were not counted because `Map::Threads` was full.
pub const UNCOUNTED: u16 = 8;
/// What `CLOCK_MONOTONIC` is ahead of the kernel's clock of the CPUs; 0 if it is not known.
pub const CLOCK_AHEAD: u16 = 16;
/// The end of the interval in ns (`CLOCK_MONOTONIC`).
pub const END: u16 = 24;
