//! What happened in an interval: the CPU time of each process and thread, and the hits of markers.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// An interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// When it ended, in ns (`CLOCK_MONOTONIC`).
    #[serde(rename = "time_ns")]
    pub time: u64,
    /// How long it was, in ns.
    #[serde(rename = "interval_ns")]
    pub interval: u64,
    /// The processes that ran in it, the one with the most CPU time first.
    pub processes: Vec<Process>,
    /// How often a thread that was not counted left a CPU: there was no space for more threads.
    pub uncounted: u64,
}

/// A process in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The name of its first thread.
    #[serde(rename = "comm")]
    pub name: String,
    /// What its threads did together.
    #[serde(flatten)]
    pub usage: Usage,
    /// Its threads that ran in the interval.
    pub threads: Vec<Thread>,
    /// The hits of the chosen markers; `None` if no marker is watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hits: Option<u64>,
    /// Whether it ended in the interval.
    #[serde(rename = "ended")]
    pub has_ended: bool,
}

/// A thread in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// Its name.
    #[serde(rename = "comm")]
    pub name: String,
    /// What it did.
    #[serde(flatten)]
    pub usage: Usage,
    /// Whether it ended in the interval.
    #[serde(rename = "ended")]
    pub has_ended: bool,
}

/// How the CPUs were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The CPU time in the interval, in ns.
    #[serde(rename = "cpu_ns")]
    pub cpu: u64,
    /// The CPU time since the process or thread was created, in ns.
    #[serde(rename = "cpu_total_ns")]
    pub cpu_total: u64,
    /// How often it left a CPU in the interval.
    pub switches: u64,
    /// How often of these it could have run on.
    pub preempted: u64,
    /// The longest time that it waited for a CPU while it could run, in ns. A wait belongs to the
    /// interval in which it was seen to have ended.
    #[serde(rename = "wait_max_ns")]
    pub longest_wait: u64,
}

impl Table {
    /// The object that `smark top --json` prints.
    #[must_use]
    pub fn json(&self) -> Json {
        json!(self)
    }
}

impl Usage {
    /// Adds what another thread did.
    pub fn add(&mut self, other: &Self) {
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.cpu_total = self.cpu_total.saturating_add(other.cpu_total);
        self.switches = self.switches.saturating_add(other.switches);
        self.preempted = self.preempted.saturating_add(other.preempted);
        self.longest_wait = self.longest_wait.max(other.longest_wait);
    }
}
