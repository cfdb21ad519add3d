//! An interval of which some parts arrived.

use std::collections::{BTreeMap, BTreeSet};

use super::received::{Key, ReceivedInterval};
use crate::datagram::{Interval, LINES, Line, Others, Part};
use crate::table::{Process, Table, Thread};

#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) interval: Interval,
    /// When its first part arrived.
    pub(super) since: u64,
    parts: BTreeSet<usize>,
    processes: BTreeMap<u32, Process>,
    /// Threads, by the numbers of their process and of their own.
    threads: BTreeMap<(u32, u32), Thread>,
    others: Option<Others>,
}

impl Pending {
    /// An interval that begins with this part.
    pub(super) fn new(part: Part, since: u64) -> Self {
        let (processes, threads) = (BTreeMap::new(), BTreeMap::new());
        let mut pending =
            Self { interval: part.interval, since, parts: BTreeSet::new(), processes, threads, others: None };
        pending.add(part);
        pending
    }

    /// Whether a part belongs to this interval: nothing in it is known already, and there are not
    /// too many lines.
    pub(super) fn takes(&self, part: &Part) -> bool {
        let lines = self.processes.len() + self.threads.len() + usize::from(self.others.is_some());
        let is_new = |line: &Line| match line {
            Line::Process(process) => !self.processes.contains_key(&process.pid),
            Line::Thread(pid, thread) => !self.threads.contains_key(&(*pid, thread.tid)),
            Line::Others(_) => self.others.is_none(),
        };
        self.interval == part.interval
            && !self.parts.contains(&part.part)
            && lines + part.lines.len() <= LINES
            && part.lines.iter().all(is_new)
    }

    pub(super) fn add(&mut self, part: Part) {
        self.parts.insert(part.part);
        for line in part.lines {
            match line {
                Line::Process(process) => drop(self.processes.insert(process.pid, process)),
                Line::Thread(pid, thread) => drop(self.threads.insert((pid, thread.tid), thread)),
                Line::Others(others) => self.others = Some(others),
            }
        }
    }

    /// How many parts are missing.
    pub(super) fn missing(&self) -> usize {
        self.interval.parts.saturating_sub(self.parts.len())
    }

    /// The interval as it is now. Threads without a process are left out.
    pub(super) fn received(self, sender: Key, host: String) -> ReceivedInterval {
        let (missing, mut processes) = (self.missing(), self.processes);
        for ((pid, _), thread) in self.threads {
            if let Some(process) = processes.get_mut(&pid) {
                process.threads.push(thread);
            }
        }
        let Interval { number, time, length: interval, uncounted, .. } = self.interval;
        let processes = processes.into_values().collect();
        let table = Table { time, interval, processes, uncounted };
        ReceivedInterval { sender, host, number, table, others: self.others, missing }
    }
}
