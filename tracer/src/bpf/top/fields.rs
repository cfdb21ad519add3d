//! Where the programs find what they read, and what they share with the reader.

use crate::bpf::kernel_number::KernelNumber;

/// Numbers in the kernel's `task_struct`, and in what it points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the kernel's")]
pub struct TaskFields {
    pub pid: KernelNumber,
    pub tgid: KernelNumber,
    /// `start_boottime`.
    pub start: KernelNumber,
    /// The offset of the name.
    pub comm: u32,
    pub group_leader: KernelNumber,
    pub exit_state: KernelNumber,
    pub on_cpu: KernelNumber,
    /// `__state`.
    pub state: KernelNumber,
    pub sum_exec_runtime: KernelNumber,
    pub exec_start: KernelNumber,
    pub nvcsw: KernelNumber,
    pub nivcsw: KernelNumber,
    /// `sched_info.run_delay`; `None` if the kernel does not account waits.
    pub run_delay: Option<KernelNumber>,
    pub signal: KernelNumber,
    /// In `signal_struct`.
    pub live: KernelNumber,
    /// In `signal_struct`.
    pub sum_sched_runtime: KernelNumber,
    pub run_queue: Option<RunQueue>,
}

/// Where the kernel's clocks of a CPU are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the kernel's")]
pub struct RunQueue {
    /// `se.cfs_rq`, in `task_struct`.
    pub cfs_rq: KernelNumber,
    /// In `cfs_rq`.
    pub rq: KernelNumber,
    /// In `rq`.
    pub clock: KernelNumber,
    /// In `rq`.
    pub clock_task: KernelNumber,
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
