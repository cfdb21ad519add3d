//! Makes the datagrams of a run.

use std::cmp::Reverse;
use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::{INTERVAL, Interval, LINES, NAME, NUMBER, Others, SIZE, VERSION, most_cpu};
use crate::table::{Process, Table, Thread, Usage};

/// The first line of a datagram.
#[derive(Serialize)]
struct Header<'w> {
    smark_top: u64,
    sender: String,
    host: &'w str,
    sequence: u64,
    #[serde(flatten)]
    interval: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<bool>,
}

/// Makes the datagrams of a run.
#[derive(Clone, Debug)]
pub struct Writer {
    sender: u64,
    host: String,
    sequence: u64,
    number: u64,
    /// How many processes of an interval get lines of their own.
    most: usize,
    /// Whether threads do.
    threads: bool,
}

impl Writer {
    /// The writer of a run with the random number `sender` on the machine `host`.
    #[must_use]
    pub fn new(sender: u64, host: &str) -> Self {
        Self { sender, host: cut(host).to_owned(), sequence: 0, number: 0, most: LINES, threads: true }
    }

    /// The writer that gives lines of their own to at most `most` processes of an interval.
    #[must_use]
    pub fn with_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// The writer that gives no lines to threads.
    #[must_use]
    pub fn without_threads(self) -> Self {
        Self { threads: false, ..self }
    }

    /// How many datagrams were made.
    #[must_use]
    pub fn datagrams(&self) -> u64 {
        self.sequence
    }

    /// The datagrams of an interval: at least one, and [`LINES`] lines at most. The processes with
    /// the most CPU time come first, then their threads. The others are added up in one more line.
    pub fn table(&mut self, table: &Table) -> Vec<String> {
        let (processes, threads, others) = share(table, self.most.min(LINES - 1), self.threads);
        let length = table.interval.clamp(1, INTERVAL);
        let mut lines: Vec<Json> = processes.iter().map(|process| process_line(process, length)).collect();
        lines.extend(threads.iter().map(|(pid, thread)| thread_line(*pid, thread, length)));
        if others != Others::default() {
            let (usage, hits) = (limited(others.usage, length), others.hits.map(|hits| hits.min(NUMBER)));
            lines.push(Others { usage, hits, ..others }.json());
        }
        // The header is made when the number of parts is known. Until then it counts as long as it
        // can be.
        let longest = Interval { number: NUMBER, parts: LINES, time: NUMBER, length: NUMBER, uncounted: NUMBER };
        let room = SIZE.saturating_sub(self.header(NUMBER, Some((longest, LINES))).to_string().len());
        let mut parts = vec![String::new()];
        for line in lines {
            let line = line.to_string();
            if parts.last().is_some_and(|part| part.len() + 1 + line.len() > room) {
                parts.push(String::new());
            }
            if let Some(part) = parts.last_mut() {
                part.push('\n');
                part.push_str(&line);
            }
        }
        let (number, count) = (self.number, parts.len());
        let (time, uncounted) = (table.time.min(NUMBER), table.uncounted.min(NUMBER));
        let interval = Interval { number, parts: count, time, length, uncounted };
        self.number += 1;
        parts.into_iter().enumerate().map(|(part, lines)| self.next(Some((interval, part))) + &lines).collect()
    }

    /// The last datagram of the run.
    pub fn end(&mut self) -> String {
        self.next(None)
    }

    fn next(&mut self, content: Option<(Interval, usize)>) -> String {
        let header = self.header(self.sequence, content).to_string();
        self.sequence += 1;
        header
    }

    fn header(&self, sequence: u64, content: Option<(Interval, usize)>) -> Json {
        let (interval, part) = content.unzip();
        let (sender, end) = (format!("{:016x}", self.sender), content.is_none().then_some(true));
        json!(Header { smark_top: VERSION, sender, host: &self.host, sequence, interval, part, end })
    }
}

/// The processes that get lines of their own, at most `most` of them, their threads, and the others.
fn share(table: &Table, most: usize, has_threads: bool) -> (Vec<&Process>, Vec<(u32, &Thread)>, Others) {
    let mut order: Vec<&Process> = table.processes.iter().collect();
    order.sort_by_key(|process| (Reverse(process.usage.cpu), process.pid));
    let (mut processes, mut others, mut pids) = (Vec::new(), Others::default(), HashSet::new());
    for process in order {
        // A number that was given to a second process in the interval has one line too.
        if processes.len() < most && pids.insert(process.pid) {
            processes.push(process);
        } else {
            others.add(process);
        }
    }
    let mut threads: Vec<(u32, &Thread)> = Vec::new();
    for process in processes.iter().filter(|_| has_threads) {
        threads.extend(process.threads.iter().map(|thread| (process.pid, thread)));
    }
    threads.sort_by_key(|(pid, thread)| (Reverse(thread.usage.cpu), *pid, thread.tid));
    let count = threads.len();
    let mut tids = HashSet::new();
    threads.retain(|(pid, thread)| tids.insert((*pid, thread.tid)));
    // The others need a line too.
    threads.truncate((LINES - 1).saturating_sub(processes.len()));
    others.threads = (count - threads.len()) as u64;
    (processes, threads, others)
}

fn process_line(process: &Process, interval: u64) -> Json {
    let mut line = line(process.pid, &process.name, process.usage, process.has_ended, interval);
    if let Some(hits) = process.hits {
        line["hits"] = hits.min(NUMBER).into();
    }
    line
}

fn thread_line(pid: u32, thread: &Thread, interval: u64) -> Json {
    let mut line = line(pid, &thread.name, thread.usage, thread.has_ended, interval);
    line["tid"] = thread.tid.into();
    line
}

fn line(pid: u32, name: &str, usage: Usage, has_ended: bool, interval: u64) -> Json {
    let mut line = json!(limited(usage, interval));
    line["pid"] = pid.into();
    line["comm"] = cut(name).into();
    if has_ended {
        line["ended"] = true.into();
    }
    line
}

/// Numbers that a receiver accepts.
fn limited(usage: Usage, interval: u64) -> Usage {
    Usage {
        cpu: usage.cpu.min(most_cpu(interval)),
        cpu_total: usage.cpu_total.min(NUMBER),
        switches: usage.switches.min(NUMBER),
        preempted: usage.preempted.min(NUMBER),
        longest_wait: usage.longest_wait.min(NUMBER),
    }
}

/// As much of a name as a datagram may have.
fn cut(name: &str) -> &str {
    let end = (0..=name.len().min(NAME)).rev().find(|end| name.is_char_boundary(*end));
    end.and_then(|end| name.get(..end)).unwrap_or_default()
}
