//! The CPU use of processes and of all of them in the last intervals, as lines of bars.

use std::collections::{HashMap, VecDeque};

use simple_markers_top::Table;

use super::text::share;
use crate::sparkline::{MOST, bars};

/// The shares of one CPU in the last intervals, the latest last.
#[derive(Clone, Debug, Default)]
pub(super) struct UsageHistory {
    all: VecDeque<f64>,
    /// By the number of the process. One that did not run in an interval has 0 there.
    processes: HashMap<u32, VecDeque<f64>>,
    /// What all CPUs together have.
    full: f64,
}

impl UsageHistory {
    /// Of a machine with so many CPUs.
    pub(super) fn new(cpus: usize) -> Self {
        Self { full: cpus as f64 * 100.0, ..Self::default() }
    }

    /// Ends an interval. Of a process that has ended nothing is kept once its row is gone.
    pub(super) fn add(&mut self, table: &Table) {
        let mut sum = 0.0;
        for shares in self.processes.values_mut() {
            push(shares, 0.0);
        }
        for process in &table.processes {
            let own = share(process.usage.cpu, table.interval);
            sum += own;
            let shares = self.processes.entry(process.pid).or_insert_with(|| VecDeque::from([0.0]));
            if let Some(last) = shares.back_mut() {
                *last += own;
            }
        }
        self.processes.retain(|_, shares| shares.iter().any(|share| *share > 0.0));
        push(&mut self.all, sum);
    }

    /// The bars of a process, at most so many: the highest is one CPU, or its most if that is more.
    pub(super) fn process(&self, pid: u32, most: usize) -> String {
        self.processes.get(&pid).map_or_else(String::new, |shares| latest(shares, most, 100.0))
    }

    /// The bars of all processes together: the highest is all CPUs.
    pub(super) fn all(&self, most: usize) -> String {
        latest(&self.all, most, self.full)
    }
}

fn push(shares: &mut VecDeque<f64>, share: f64) {
    shares.push_back(share);
    if shares.len() > MOST {
        shares.pop_front();
    }
}

/// The bars of the latest intervals.
fn latest(shares: &VecDeque<f64>, most: usize, full: f64) -> String {
    let full = shares.iter().copied().fold(full, f64::max);
    bars(shares.iter().skip(shares.len().saturating_sub(most)).copied(), full)
}

#[cfg(test)]
mod tests {
    use simple_markers_top::{Process, Usage};

    use super::*;

    fn table(rows: &[(u32, u64)]) -> Table {
        let process = |(pid, cpu): &(u32, u64)| Process {
            pid: *pid,
            usage: Usage { cpu: *cpu, ..Usage::default() },
            ..Process::default()
        };
        Table { interval: 1000, processes: rows.iter().map(process).collect(), ..Table::default() }
    }

    #[test]
    fn bars_are_the_shares_of_the_last_intervals() {
        let mut history = UsageHistory::new(4);
        for rows in [&[(1, 1000)][..], &[(1, 500), (2, 2000)], &[(2, 1)], &[(2, 1000)]] {
            history.add(&table(rows));
        }
        assert_eq!((history.process(1, 9), history.process(2, 9)), ("█▄  ".to_owned(), "█▁▄".to_owned()));
        assert_eq!((history.process(2, 2), history.process(3, 9)), ("▁▄".to_owned(), String::new()));
        // 100, 250, 0.1 and 100 of 400.
        assert_eq!(history.all(9), "▂▅▁▂");
        // Nothing is kept of what no longer runs.
        (0..MOST).for_each(|_| history.add(&table(&[(7, 10)])));
        assert_eq!((history.process(1, 9), history.all(99).chars().count()), (String::new(), MOST));
        assert_eq!(history.processes.len(), 1);
    }
}
