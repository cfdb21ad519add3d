//! What the processes of each name used since the start, for a bounded number of names.
//!
//! Counters must not go backwards, although the busiest names change. So what a name uses is added
//! either to its own counters or to those of the others, when it is used, and stays there. A name
//! that is no longer among the busiest ones keeps its counters, and goes on from them when it is
//! one again.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::sync::Arc;

use super::table::{Process, Table};

/// How many names that are not among the busiest ones keep their counters. Those with the least
/// recent CPU time are forgotten first.
const REMEMBERED: usize = 4096;

/// The time after which CPU time counts for 1/e, in ns, when names are compared.
const RECENT: f64 = 60e9;

/// How much more recent CPU time another name must have to take the place of one of the busiest.
const LEAD: f64 = 1.5;

/// For how many of these spans the longest wait is kept, and how long each is, in ns.
const SPANS: usize = 6;
const SPAN: u64 = 10_000_000_000;

/// What the processes of each name used.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// How many names have counters of their own.
    most: usize,
    names: HashMap<Name, Entry>,
    others: Totals,
    /// The sum of all intervals, in ns.
    measured: u64,
    /// The time that passed, in ns. With several machines it is less than what was measured.
    passed: u64,
}

/// The name of processes on a machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The name of the machine; `None` for this one.
    pub host: Option<Arc<str>>,
    /// The name of the processes.
    pub comm: String,
}

/// What was used since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The CPU time, in ns.
    pub cpu: u64,
    /// How often a CPU was left.
    pub switches: u64,
    /// The hits of the chosen markers; `None` if no marker is watched.
    pub hits: Option<u64>,
    /// The longest wait in each of the last spans, the newest one first.
    waits: [u64; SPANS],
}

#[derive(Clone, Debug, Default)]
struct Entry {
    totals: Totals,
    /// Its recent CPU time, in ns.
    recent: f64,
    /// Whether it is one of the busiest names.
    is_busy: bool,
}

impl Metrics {
    /// No counts yet, with counters for `most` names.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, names: HashMap::new(), others: Totals::default(), measured: 0, passed: 0 }
    }

    /// Adds an interval of a machine. `passed` is the time since the last interval of any machine
    /// was added, in ns.
    pub fn add(&mut self, host: Option<&str>, table: &Table, passed: u64) {
        self.measured = self.measured.saturating_add(table.interval);
        self.pass(passed);
        let host: Option<Arc<str>> = host.map(Arc::from);
        let name = |process: &Process| Name { host: host.clone(), comm: process.name.clone() };
        for process in &table.processes {
            self.names.entry(name(process)).or_default().recent += process.usage.cpu as f64;
        }
        self.choose();
        for process in &table.processes {
            match self.names.get_mut(&name(process)).filter(|entry| entry.is_busy) {
                Some(entry) => entry.totals.add(process),
                None => self.others.add(process),
            }
        }
    }

    fn pass(&mut self, passed: u64) {
        let before = self.passed;
        self.passed = before.saturating_add(passed);
        let spans = (self.passed / SPAN - before / SPAN).min(SPANS as u64);
        let decay = (-(passed as f64) / RECENT).exp();
        for entry in self.names.values_mut() {
            entry.totals.pass(spans);
            entry.recent *= decay;
        }
        self.others.pass(spans);
    }

    /// Chooses the busiest names, and forgets some of the others if there are too many.
    fn choose(&mut self) {
        if self.names.len() <= self.most {
            self.names.values_mut().for_each(|entry| entry.is_busy = true);
            return;
        }
        let weight = |entry: &Entry| if entry.is_busy { entry.recent * LEAD } else { entry.recent };
        let mut order: Vec<(f64, bool, Name)> =
            self.names.iter().map(|(name, entry)| (weight(entry), entry.is_busy, name.clone())).collect();
        order.sort_unstable_by(|a, b| {
            let by_weight = b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal);
            by_weight.then_with(|| (Reverse(a.1), &a.2).cmp(&(Reverse(b.1), &b.2)))
        });
        for (rank, (.., name)) in order.iter().enumerate() {
            if rank >= self.most.saturating_add(REMEMBERED) {
                self.names.remove(name);
            } else if let Some(entry) = self.names.get_mut(name) {
                entry.is_busy = rank < self.most;
            }
        }
    }

    /// The busiest names in alphabetical order, and what they used.
    #[must_use]
    pub fn busiest(&self) -> Vec<(&Name, &Totals)> {
        let busy = self.names.iter().filter(|(_, entry)| entry.is_busy);
        let mut busy: Vec<(&Name, &Totals)> = busy.map(|(name, entry)| (name, &entry.totals)).collect();
        busy.sort_unstable_by_key(|(name, _)| *name);
        busy
    }

    /// What was used by processes whose name was not one of the busiest at that time.
    #[must_use]
    pub fn others(&self) -> &Totals {
        &self.others
    }

    /// How long was measured, in ns.
    #[must_use]
    pub fn measured(&self) -> u64 {
        self.measured
    }
}

impl Totals {
    /// The longest wait in about the last minute, in ns.
    #[must_use]
    pub fn longest_wait(&self) -> u64 {
        self.waits.iter().copied().max().unwrap_or_default()
    }

    fn add(&mut self, process: &Process) {
        let usage = process.usage;
        self.cpu = self.cpu.saturating_add(usage.cpu);
        self.switches = self.switches.saturating_add(usage.switches);
        if let Some(hits) = process.hits {
            self.hits = Some(self.hits.unwrap_or_default().saturating_add(hits));
        }
        let [newest, ..] = &mut self.waits;
        *newest = usage.longest_wait.max(*newest);
    }

    /// Begins this many new spans.
    fn pass(&mut self, spans: u64) {
        for _ in 0..spans {
            self.waits.rotate_right(1);
            let [newest, ..] = &mut self.waits;
            *newest = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Usage;

    const SECOND: u64 = 1_000_000_000;

    fn process(name: &str, cpu: u64, longest_wait: u64) -> Process {
        let usage = Usage { cpu, cpu_total: cpu, switches: cpu / 2, preempted: 0, longest_wait };
        Process { name: name.to_owned(), usage, hits: Some(cpu / 3), ..Process::default() }
    }

    fn table(seconds: u64, processes: Vec<Process>) -> Table {
        Table { time: 0, interval: seconds * SECOND, processes, uncounted: 0 }
    }

    fn names(metrics: &Metrics) -> Vec<&str> {
        metrics.busiest().into_iter().map(|(name, _)| &*name.comm).collect()
    }

    #[test]
    fn processes_of_a_name_are_added_up() {
        let mut metrics = Metrics::new(2);
        metrics.add(None, &table(1, vec![process("b", 6, 1), process("a", 30, 9), process("b", 60, 5)]), SECOND);
        metrics.add(None, &table(1, vec![process("b", 600, 2)]), SECOND);
        let all: Vec<(&str, u64, u64, Option<u64>, u64)> = metrics
            .busiest()
            .into_iter()
            .map(|(name, totals)| (&*name.comm, totals.cpu, totals.switches, totals.hits, totals.longest_wait()))
            .collect();
        assert_eq!(all, [("a", 30, 15, Some(10), 9), ("b", 666, 333, Some(222), 5)]);
        assert_eq!((metrics.others(), metrics.measured()), (&Totals::default(), 2 * SECOND));
    }

    #[test]
    fn the_busiest_names_have_counters_of_their_own() {
        let mut metrics = Metrics::new(2);
        metrics.add(None, &table(1, vec![process("a", 300, 0), process("b", 200, 0), process("c", 100, 7)]), SECOND);
        assert_eq!((names(&metrics), metrics.others().cpu), (vec!["a", "b"], 100));
        assert_eq!(metrics.others().longest_wait(), 7);
        // A little more is not enough to take a place.
        metrics.add(None, &table(1, vec![process("c", 150, 0)]), SECOND);
        assert_eq!((names(&metrics), metrics.others().cpu), (vec!["a", "b"], 250));
        metrics.add(None, &table(1, vec![process("c", 500, 0), process("b", 40, 0)]), SECOND);
        assert_eq!((names(&metrics), metrics.others().cpu), (vec!["a", "c"], 290));
        // What `c` used before stays with the others, and it goes on from what it had.
        assert_eq!(metrics.busiest().last().map(|(_, totals)| totals.cpu), Some(500));
        metrics.add(None, &table(1, vec![process("b", 90_000, 0)]), SECOND);
        assert_eq!(metrics.busiest().first().map(|(name, totals)| (&*name.comm, totals.cpu)), Some(("b", 90_200)));
    }

    #[test]
    fn the_longest_wait_is_that_of_the_last_minute() {
        let mut metrics = Metrics::new(1);
        metrics.add(None, &table(1, vec![process("a", 1, 500)]), SECOND);
        metrics.add(None, &table(1, vec![process("a", 1, 20)]), SECOND);
        let longest = |metrics: &Metrics| metrics.busiest().first().map(|(_, totals)| totals.longest_wait());
        for _ in 0..57 {
            metrics.add(None, &table(1, Vec::new()), SECOND);
        }
        assert_eq!(longest(&metrics), Some(500));
        metrics.add(None, &table(1, vec![process("a", 1, 30)]), SECOND);
        assert_eq!(longest(&metrics), Some(30));
        metrics.add(None, &table(3600, Vec::new()), 3600 * SECOND);
        assert_eq!(longest(&metrics), Some(0));
    }

    #[test]
    fn no_counter_goes_backwards_and_nothing_is_left_out() {
        let mut seed = 5u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut metrics = Metrics::new(5);
        let mut known: HashMap<String, Totals> = HashMap::new();
        let (mut fed, mut others, mut changes) = (0, Totals::default(), 0);
        for _ in 0..3000 {
            let all: Vec<Process> = (0..random(8))
                .map(|_| {
                    let scale = random(30);
                    process(&format!("program {}", random(40)), 3 * random(1 << scale), 0)
                })
                .collect();
            fed += all.iter().map(|process| process.usage.cpu).sum::<u64>();
            let before: Vec<String> = names(&metrics).into_iter().map(str::to_owned).collect();
            metrics.add(None, &table(1, all), SECOND);
            changes += usize::from(before != names(&metrics));
            assert!(names(&metrics).len() <= 5);
            for (name, totals) in metrics.busiest() {
                if let Some(before) = known.insert(name.comm.clone(), totals.clone()) {
                    assert!(
                        before.cpu <= totals.cpu && before.switches <= totals.switches && before.hits <= totals.hits
                    );
                }
            }
            assert!(others.cpu <= metrics.others().cpu && others.hits <= metrics.others().hits);
            others = metrics.others().clone();
            assert_eq!(known.values().map(|totals| totals.cpu).sum::<u64>() + others.cpu, fed);
        }
        assert!(changes > 100, "{changes}");
    }

    #[test]
    fn machines_have_their_own_names() {
        let mut metrics = Metrics::new(2);
        metrics.add(Some("x"), &table(10, vec![process("a", 6, 1)]), 0);
        metrics.add(Some("y"), &table(10, vec![process("a", 30, 9)]), SECOND);
        let all: Vec<(Option<&str>, &str, u64)> = metrics
            .busiest()
            .into_iter()
            .map(|(name, totals)| (name.host.as_deref(), &*name.comm, totals.cpu))
            .collect();
        assert_eq!(all, [(Some("x"), "a", 6), (Some("y"), "a", 30)]);
        assert_eq!((metrics.measured(), metrics.passed), (20 * SECOND, SECOND));
    }

    #[test]
    fn only_so_many_names_are_kept() {
        let mut metrics = Metrics::new(3);
        for round in 0..10u64 {
            let all = (0..1000).map(|name| process(&format!("{round} {name}"), name + 1, 0)).collect();
            metrics.add(None, &table(1, all), SECOND);
            assert!(metrics.names.len() <= 3 + REMEMBERED);
        }
        assert_eq!(metrics.busiest().len(), 3);
    }
}
