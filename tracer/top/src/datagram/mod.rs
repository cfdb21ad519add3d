//! The tables of intervals as datagrams: version 1 of the format of `docs/datagrams.md`.
//!
//! A datagram is lines of JSON. The first one says who sent it and where it belongs, each other one
//! is a process or a thread, so each datagram can be read without the others.
//! `crate::reassembly` puts them together.

mod reader;
#[cfg(test)]
mod tests;
pub(crate) mod writer;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value as Json, json};
use simple_markers_resolver::json::JsonError;

use super::table::{Process, Thread, Usage};

/// The version of the format.
pub(crate) const VERSION: u64 = 1;

/// The most bytes of a datagram. With the headers of UDP and IPv6, it fits a packet of Ethernet.
pub const SIZE: usize = 1400;

/// The most lines of processes and threads in all the datagrams of an interval.
pub const LINES: usize = 4096;

/// The most bytes of a name, in UTF-8. Linux has 15 for a thread and 64 for a host.
pub(crate) const NAME: usize = 64;

/// The longest interval, in ns: a day.
const INTERVAL: u64 = 86_400_000_000_000;

/// The most CPUs of a machine. Nothing uses more CPU time in an interval.
const CPUS: u64 = 65_536;

/// The most pids of a Linux machine (`PID_MAX_LIMIT`).
const PIDS: u32 = 4_194_304;

/// The largest number of every other kind: what a signed number of 64 bits holds.
const NUMBER: u64 = i64::MAX as u64;

/// The most CPU time in an interval of this length.
fn most_cpu(interval: u64) -> u64 {
    interval.saturating_mul(CPUS)
}

/// A datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Datagram {
    /// A random number of the run that sent it.
    pub(crate) sender: u64,
    /// The name of its machine.
    pub(crate) host: String,
    /// How many datagrams the run sent before.
    pub(crate) sequence: u64,
    /// What it says.
    pub(crate) content: Content,
}

/// What a datagram says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A part of an interval.
    Part(Part),
    /// The run has ended.
    End,
}

/// A part of an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The interval.
    pub(crate) interval: Interval,
    /// Which part this is, from 0.
    pub(crate) part: usize,
    /// Its lines.
    pub(crate) lines: Vec<Line>,
}

/// An interval, as every datagram about it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Interval {
    /// How many intervals the run had before.
    pub(crate) number: u64,
    /// How many parts there are, at least one.
    pub(crate) parts: usize,
    /// When it ended, in ns, by the sender's clock.
    #[serde(rename = "time_ns")]
    pub(crate) time: u64,
    /// How long it was, in ns.
    #[serde(rename = "interval_ns")]
    pub(crate) length: u64,
    /// How often a thread that was not counted left a CPU.
    #[serde(default, deserialize_with = "or_zero", skip_serializing_if = "is_zero")]
    pub(crate) uncounted: u64,
}

fn or_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

// serde calls it with a reference.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A process, without its threads.
    Process(Process),
    /// A thread of the process with this number.
    Thread(u32, Thread),
    /// What has no lines of its own.
    Others(Others),
}

/// The processes and threads that have no lines of their own, because there are too many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Others {
    /// How many processes there are.
    #[serde(rename = "others")]
    pub processes: u64,
    /// How many threads of the other processes there are.
    pub threads: u64,
    /// What the processes did together.
    #[serde(flatten)]
    pub usage: Usage,
    /// The hits of the chosen markers in these processes; `None` if no marker is watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hits: Option<u64>,
}

/// Why a datagram is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It is longer than [`SIZE`].
    TooLong,
    /// It has another version.
    Version,
    /// A line is wrong. The first one is 0.
    Line(usize, JsonError),
    /// It does not agree with earlier datagrams of its sender.
    Contradiction,
    /// There are too many senders already.
    TooManySenders,
}

impl Others {
    /// Adds a process.
    pub fn add(&mut self, process: &Process) {
        self.usage.add(&process.usage);
        self.processes += 1;
        if let Some(hits) = process.hits {
            self.hits = Some(self.hits.unwrap_or_default().saturating_add(hits));
        }
    }

    /// The line, and the member `others` of an interval.
    #[must_use]
    pub fn json(&self) -> Json {
        json!(self)
    }
}

impl Line {
    /// What there is only once in an interval.
    pub(super) fn key(&self) -> Option<(u32, Option<u32>)> {
        match self {
            Self::Process(process) => Some((process.pid, None)),
            Self::Thread(pid, thread) => Some((*pid, Some(thread.tid))),
            Self::Others(_) => None,
        }
    }
}
