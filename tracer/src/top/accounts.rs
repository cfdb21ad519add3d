//! Makes tables of what the kernel's programs know of the threads: the difference to the last time.

use std::collections::HashMap;

use simple_markers_top::{Process, Table, Thread, Usage};

use super::entry::Entry;

/// A thread: the address of its `task_struct`, and when it started.
type ThreadKey = (u64, u64);
/// A process: its number, and when it started.
type ProcessKey = (u32, u64);

/// What was known of all threads the last time.
#[derive(Debug, Default)]
pub struct Accounts {
    /// When the first interval started, in ns (`CLOCK_BOOTTIME`).
    start: u64,
    threads: HashMap<ThreadKey, ThreadTotal>,
    /// The thread at an address.
    tasks: HashMap<u64, ThreadKey>,
    processes: HashMap<ProcessKey, Total>,
}

/// What was known of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadTotal {
    cpu: u64,
    voluntary: u64,
    involuntary: u64,
    process: ProcessKey,
}

/// What is known of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    /// The CPU time of all its threads, also of those that have ended.
    cpu: u64,
    /// How many of its threads are known and have not ended.
    live: usize,
    /// All of its threads have called `exit`.
    has_ended: bool,
}

/// A table, and the threads that need not be kept any more.
#[derive(Debug, Default)]
pub struct IntervalTable {
    /// The table.
    pub table: Table,
    /// The keys of threads that have another key now.
    pub renamed: Vec<ThreadKey>,
}

impl Accounts {
    /// Starts with the threads that are there. `start` is the time in ns (`CLOCK_BOOTTIME`).
    #[must_use]
    pub fn new(start: u64, entries: &[Entry]) -> Self {
        let mut accounts = Self { start, ..Self::default() };
        for entry in entries {
            let _ = accounts.update(entry);
        }
        accounts
    }

    /// Forgets a thread that ended unseen.
    pub fn forget(&mut self, entry: &Entry) {
        self.remove((entry.task, entry.start));
    }

    /// The table of an interval with this number, and what happened since the last one. `keeps`
    /// chooses threads.
    pub fn interval(&mut self, number: u64, entries: &[Entry], keeps: &mut dyn FnMut(&Entry) -> bool) -> IntervalTable {
        let mut interval = IntervalTable::default();
        let mut rows: HashMap<ProcessKey, Process> = HashMap::new();
        // A thread that called `execve` is there twice, and was not the first thread before.
        let (first, others): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(|entry| entry.tid == entry.pid);
        for entry in others.into_iter().chain(first) {
            if interval.renamed.contains(&(entry.task, entry.start)) {
                continue;
            }
            let (change, renamed) = self.update(entry);
            interval.renamed.extend(renamed);
            let is_active = change.cpu > 0 || change.switches > 0 || entry.has_ended;
            if !is_active || !keeps(entry) {
                continue;
            }
            let usage = Usage { cpu_total: entry.cpu, longest_wait: entry.longest_wait(number), ..change };
            let row = rows.entry((entry.pid, entry.process_start)).or_default();
            row.pid = entry.pid;
            if row.name.is_empty() || entry.tid == entry.pid {
                row.name.clone_from(&entry.process_name);
            }
            row.usage.add(&usage);
            let (tid, name, has_ended) = (entry.tid, entry.name.clone(), entry.has_ended);
            row.threads.push(Thread { tid, name, usage, has_ended });
        }
        for (key, row) in &mut rows {
            if let Some(total) = self.processes.get(key) {
                row.usage.cpu_total = total.cpu;
                row.has_ended = total.has_ended && total.live == 0;
            }
            row.threads.sort_by_key(|thread| (std::cmp::Reverse(thread.usage.cpu), thread.tid));
        }
        // A process whose last thread has ended cannot come back. Without the note of its end, a
        // thread of it may not have been seen yet.
        self.processes.retain(|key, total| total.live > 0 || !total.has_ended && rows.contains_key(key));
        interval.table.processes = rows.into_values().collect();
        interval.table.processes.sort_by_key(|process| (std::cmp::Reverse(process.usage.cpu), process.pid));
        interval
    }

    /// Takes over what is known of a thread. Returns the change, and the key that it had before.
    fn update(&mut self, entry: &Entry) -> (Usage, Option<ThreadKey>) {
        let (key, process) = ((entry.task, entry.start), (entry.pid, entry.process_start));
        let mut renamed = None;
        let mut known = self.threads.get(&key).copied();
        if known.is_none() {
            // After `execve` in a thread that is not the first, it has the number and the start of the
            // process. Any other thread at an address that is known came after one that has ended,
            // and whose end is read the next time: the entries are not read at one moment.
            let is_same = |it: &ThreadKey| self.threads.get(it).is_some_and(|it| it.process == process);
            renamed = self.tasks.get(&entry.task).copied().filter(|it| entry.tid == entry.pid && is_same(it));
            known = renamed.and_then(|before| self.remove(before));
            let total = self.processes.entry(process).or_insert(Total { cpu: entry.ended_before, ..Total::default() });
            total.live += 1;
            self.tasks.insert(entry.task, key);
            if known.is_some() {
                // It goes on: its time is in the total.
            } else if entry.start < self.start {
                // What it did before the first interval belongs to the total only.
                total.cpu = total.cpu.saturating_add(entry.cpu);
                known = Some(ThreadTotal::of(entry));
            }
        }
        let known = known.unwrap_or_default();
        let involuntary = entry.involuntary.saturating_sub(known.involuntary);
        let usage = Usage {
            cpu: entry.cpu.saturating_sub(known.cpu),
            switches: entry.voluntary.saturating_sub(known.voluntary).saturating_add(involuntary),
            preempted: involuntary,
            ..Usage::default()
        };
        let total = self.processes.entry(process).or_default();
        total.cpu = total.cpu.saturating_add(entry.cpu).saturating_sub(known.cpu);
        total.has_ended |= entry.process_has_ended;
        self.threads.insert(key, ThreadTotal::of(entry));
        if entry.has_ended {
            self.remove(key);
        }
        (usage, renamed)
    }

    fn remove(&mut self, key: ThreadKey) -> Option<ThreadTotal> {
        let known = self.threads.remove(&key)?;
        if self.tasks.get(&key.0) == Some(&key) {
            self.tasks.remove(&key.0);
        }
        if let Some(total) = self.processes.get_mut(&known.process) {
            total.live = total.live.saturating_sub(1);
        }
        Some(known)
    }
}

impl ThreadTotal {
    fn of(entry: &Entry) -> Self {
        Self {
            cpu: entry.cpu,
            voluntary: entry.voluntary,
            involuntary: entry.involuntary,
            process: (entry.pid, entry.process_start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_000;

    fn entry(task: u64, start: u64, pid: u32, tid: u32, cpu: u64) -> Entry {
        let name = format!("t{tid}");
        Entry { task, start, pid, tid, process_start: 500, name, cpu, ..Entry::default() }
    }

    fn all(accounts: &mut Accounts, entries: &[Entry]) -> IntervalTable {
        accounts.interval(1, entries, &mut |_| true)
    }

    fn times(interval: &IntervalTable) -> Vec<(u32, u64, u64)> {
        let of = |process: &Process| (process.pid, process.usage.cpu, process.usage.cpu_total);
        interval.table.processes.iter().map(of).collect()
    }

    #[test]
    fn an_interval_has_the_difference() {
        let seeded = Entry { ended_before: 40, is_seeded: true, ..entry(1, 500, 7, 7, 100) };
        let mut accounts = Accounts::new(START, std::slice::from_ref(&seeded));
        assert_eq!(times(&all(&mut accounts, std::slice::from_ref(&seeded))), []);
        // A thread that is new, and one that was there and was not seen.
        let entries = [
            Entry { cpu: 130, voluntary: 2, involuntary: 1, waits: [(1, 5), (0, 9), (0, 0)], ..seeded },
            entry(2, 2_000, 7, 8, 25),
            entry(3, 600, 9, 9, 1_000),
        ];
        let interval = all(&mut accounts, &entries);
        assert_eq!(times(&interval), [(7, 55, 195)]);
        let usage = Usage { cpu: 30, cpu_total: 130, switches: 3, preempted: 1, longest_wait: 5 };
        assert_eq!(interval.table.processes[0].threads[0].usage, usage);
        // What is chosen does not change what is known.
        let later = [Entry { cpu: 150, ..entries[0].clone() }, entries[1].clone()];
        assert_eq!(times(&accounts.interval(2, &later, &mut |entry| entry.pid != 7)), []);
        assert_eq!(times(&all(&mut accounts, &later)), []);
    }

    #[test]
    fn a_process_ends_with_its_last_thread() {
        let mut accounts = Accounts::new(START, &[]);
        let first = Entry { has_ended: true, process_has_ended: true, ..entry(1, 2_000, 7, 7, 10) };
        let interval = all(&mut accounts, &[first, entry(2, 2_000, 7, 8, 5)]);
        assert_eq!((times(&interval), interval.table.processes[0].has_ended), (vec![(7, 15, 15)], false));
        let second = Entry { has_ended: true, ..entry(2, 2_000, 7, 8, 6) };
        let interval = all(&mut accounts, &[second]);
        assert_eq!((times(&interval), interval.table.processes[0].has_ended), (vec![(7, 1, 16)], true));
        assert!(accounts.threads.is_empty() && accounts.tasks.is_empty() && accounts.processes.is_empty());
        // The number is used again.
        let again = Entry { process_start: 3_000, ..entry(1, 3_000, 7, 7, 4) };
        assert_eq!(times(&all(&mut accounts, &[again])), [(7, 4, 4)]);
    }

    #[test]
    fn a_thread_may_get_the_number_of_its_process() {
        let (first, second) = (entry(1, 500, 7, 7, 100), entry(2, 900, 7, 8, 50));
        let mut accounts = Accounts::new(START, &[first.clone(), second.clone()]);
        // It calls `execve`. The first thread ends.
        let first = Entry { has_ended: true, cpu: 101, ..first };
        let renamed = entry(2, 500, 7, 7, 80);
        let interval = all(&mut accounts, &[renamed.clone(), first, second]);
        assert_eq!((times(&interval), &interval.renamed[..]), (vec![(7, 31, 181)], &[(2, 900)][..]));
        let interval = all(&mut accounts, &[Entry { cpu: 90, ..renamed }]);
        assert_eq!((times(&interval), interval.renamed.len()), (vec![(7, 10, 191)], 0));
    }

    #[test]
    fn an_address_may_belong_to_another_thread() {
        let first = entry(1, 500, 7, 7, 100);
        let mut accounts = Accounts::new(START, std::slice::from_ref(&first));
        // It was read before it ended, and the other one after that.
        let other = Entry { process_start: 2_000, ..entry(1, 2_000, 8, 8, 3) };
        let interval = all(&mut accounts, &[first.clone(), other.clone()]);
        assert_eq!((times(&interval), interval.renamed.len()), (vec![(8, 3, 3)], 0));
        let ended = Entry { cpu: 105, has_ended: true, process_has_ended: true, ..first };
        let interval = all(&mut accounts, &[other.clone(), ended]);
        assert_eq!((times(&interval), interval.table.processes[0].has_ended), (vec![(7, 5, 105)], true));
        let interval = all(&mut accounts, &[Entry { cpu: 4, ..other }]);
        assert_eq!(times(&interval), [(8, 1, 4)]);
        // A thread in place of another one of the same process.
        let interval = all(&mut accounts, &[Entry { process_start: 2_000, ..entry(1, 2_500, 8, 9, 6) }]);
        assert_eq!((times(&interval), interval.renamed.len()), (vec![(8, 6, 10)], 0));
    }

    #[test]
    fn less_than_was_seen_is_no_time() {
        let mut accounts = Accounts::new(START, &[]);
        assert_eq!(times(&all(&mut accounts, &[entry(1, 2_000, 7, 7, 100)])), [(7, 100, 100)]);
        let ended = Entry { has_ended: true, process_has_ended: true, ..entry(1, 2_000, 7, 7, 98) };
        assert_eq!(times(&all(&mut accounts, &[ended])), [(7, 0, 98)]);
    }
}
