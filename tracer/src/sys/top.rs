//! CPU time of processes and threads: the programs of `crate::bpf::top`, attached.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use simple_markers_events::btf::{self, Btf};
use simple_markers_top::Table;

use super::bpf::{self, Kind, MapType};
use super::clock::{boot_time, now, update_cpu_clock};
use super::error::{Error, Step};
use super::groups::Group;
use super::mapping::Mapping;
use crate::bpf::kernel_number::KernelNumber;
use crate::bpf::top::{
    CLOCK_AHEAD, END, INTERVAL, RunQueue, SHARED_SIZE, TaskFields, UNCOUNTED, Visit, switched, visited,
};
use crate::bpf::{Code, Map, TooLong};
use crate::top::accounts::Accounts;
use crate::top::entry::{Entry, KEY_SIZE, VALUE_SIZE};

/// Which threads are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Those of these processes; of all if it is empty.
    pub pids: Vec<u32>,
    /// Those in this control group.
    pub group: Option<Group>,
}

/// How many threads a map has room for, besides those that are there at the start.
const THREADS: u32 = 1 << 14;
/// The same for each CPU.
const THREADS_OF_CPU: u32 = 1 << 12;
/// The most threads that a map has room for.
const MOST_THREADS: u32 = 1 << 20;
/// How many entries of the map are read at once.
const BATCH: u32 = 1 << 10;
/// The bytes of a page, the least that can be mapped.
const PAGE: usize = 4096;

/// The numbers of the kernel's types that the programs need.
#[derive(Clone, Copy, Debug)]
struct Types {
    fields: TaskFields,
    /// The arguments of `sched_switch`.
    switch: u32,
    /// The arguments of the program that visits threads.
    visit: u32,
}

impl Types {
    fn new() -> Result<Self, Error> {
        let failed = |why: &io::Error| Error::new(Step::Types, why);
        let bytes = std::fs::read("/sys/kernel/btf/vmlinux").map_err(|why| failed(&why))?;
        let types = Btf::new(&bytes).ok().and_then(|btf| Self::of(&btf));
        types.ok_or_else(|| failed(&io::Error::from_raw_os_error(libc::ENOENT)))
    }

    fn of(btf: &Btf<'_>) -> Option<Self> {
        let number = |structure, path: &[&str]| KernelNumber::of(btf, structure, path);
        let task = |path: &[&str]| number("task_struct", path);
        let run_queue = || {
            Some(RunQueue {
                cfs_rq: task(&["se", "cfs_rq"])?,
                rq: number("cfs_rq", &["rq"])?,
                clock: number("rq", &["clock"])?,
                clock_task: number("rq", &["clock_task"])?,
            })
        };
        let fields = TaskFields {
            pid: task(&["pid"])?,
            tgid: task(&["tgid"])?,
            start: task(&["start_boottime"]).or_else(|| task(&["real_start_time"]))?,
            comm: btf.member("task_struct", &["comm"])?.offset,
            group_leader: task(&["group_leader"])?,
            exit_state: task(&["exit_state"])?,
            on_cpu: task(&["on_cpu"])?,
            state: task(&["__state"]).or_else(|| task(&["state"]))?,
            sum_exec_runtime: task(&["se", "sum_exec_runtime"])?,
            exec_start: task(&["se", "exec_start"])?,
            nvcsw: task(&["nvcsw"])?,
            nivcsw: task(&["nivcsw"])?,
            run_delay: task(&["sched_info", "run_delay"]),
            signal: task(&["signal"])?,
            live: number("signal_struct", &["live"])?,
            sum_sched_runtime: number("signal_struct", &["sum_sched_runtime"])?,
            run_queue: run_queue(),
        };
        let switch = btf.number(btf::BtfKind::Typedef, "btf_trace_sched_switch")?;
        Some(Self { fields, switch, visit: btf.number(btf::BtfKind::Function, "bpf_iter_task")? })
    }
}

/// The kernel counts the CPU time of all threads. When it is dropped, the kernel stops.
#[derive(Debug)]
pub struct Top {
    threads: bpf::KernelMap,
    _shared: bpf::KernelMap,
    /// The value of the map.
    words: Mapping,
    /// Runs the program that visits the threads that are on a CPU.
    running: OwnedFd,
    _switch: OwnedFd,
    accounts: Accounts,
    choice: Choice,
    /// When the last interval ended (`CLOCK_MONOTONIC`).
    last: u64,
    uncounted: u64,
}

impl Top {
    /// Makes the kernel count.
    ///
    /// # Errors
    ///
    /// The kernel refuses it, or does not tell its types.
    pub fn start(choice: Choice) -> Result<Self, Error> {
        let types = Types::new()?;
        let size = THREADS
            .saturating_add(THREADS_OF_CPU.saturating_mul(u32::try_from(bpf::possible_cpus()).unwrap_or(u32::MAX)))
            .saturating_add(thread_count().saturating_mul(2));
        let threads = bpf::KernelMap::with_keys(MapType::Hash, KEY_SIZE, VALUE_SIZE, size.min(MOST_THREADS))?;
        let shared = bpf::KernelMap::mappable(SHARED_SIZE)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let words = Mapping::new(shared.descriptor(), access, PAGE, 0).map_err(|why| Error::new(Step::Map, &why))?;
        let loader = Loader { threads: &threads, shared: &shared };
        // Without the clocks of the CPUs, the time of a thread that is on a CPU is that of the last tick.
        let without = TaskFields { run_queue: None, ..types.fields };
        let visit = |what: Visit| {
            let load =
                |fields: &TaskFields| loader.load(visited(fields, what), Kind::Iterator { arguments: types.visit });
            load(&types.fields).or_else(|_| load(&without)).and_then(|program| bpf::link_iterator(&program))
        };
        let (all, running) = (visit(Visit::All)?, visit(Visit::Running)?);
        let switch = loader.load(
            switched(&types.fields, choice.group.as_ref().map(|group| group.level)),
            Kind::TypedTracepoint { arguments: types.switch },
        )?;
        set(&words, INTERVAL, 1);
        let start = boot_time();
        let last = run(&words, &all)?;
        let mut accounts = Accounts::new(start, &read(&threads)?);
        let switch = bpf::attach_tracepoint(&switch, None)?;
        // Threads that ended before that will not be seen again. Others were created before that.
        set(&words, INTERVAL, 2);
        run(&words, &all)?;
        for entry in read(&threads)? {
            if entry.visited < 2 && entry.is_seeded && !entry.has_ended {
                threads.remove(&entry.key())?;
                accounts.forget(&entry);
            }
        }
        Ok(Self { threads, _shared: shared, words, running, _switch: switch, accounts, choice, last, uncounted: 0 })
    }

    /// What happened since the last call, or since the start.
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn read(&mut self) -> Result<Table, Error> {
        let number = get(&self.words, INTERVAL);
        let time = run(&self.words, &self.running)?;
        set(&self.words, INTERVAL, number.wrapping_add(1));
        let mut entries = read(&self.threads)?;
        for entry in entries.iter_mut().filter(|entry| entry.has_ended) {
            // It may have been copied while it was written. Now it is complete.
            let value = self.threads.take(&entry.key())?;
            if let Some(complete) = value.and_then(|value| Entry::new(&entry.key(), &value)) {
                *entry = complete;
            }
        }
        let Choice { pids, group } = &self.choice;
        let is_in = |entry: &Entry, group: &Group| match entry.group {
            // It has not left a CPU yet.
            0 => group.has(entry.tid),
            id => id == group.id,
        };
        let mut keeps = |entry: &Entry| {
            (pids.is_empty() || pids.contains(&entry.pid)) && group.as_ref().is_none_or(|group| is_in(entry, group))
        };
        let interval = self.accounts.interval(number, &entries, &mut keeps);
        for (task, start) in interval.renamed {
            self.threads.remove(&Entry { task, start, ..Entry::default() }.key())?;
        }
        let uncounted = get(&self.words, UNCOUNTED);
        let mut table = interval.table;
        (table.time, table.interval) = (time, time.saturating_sub(self.last));
        table.uncounted = uncounted.saturating_sub(self.uncounted);
        (self.last, self.uncounted) = (time, uncounted);
        Ok(table)
    }
}

struct Loader<'m> {
    threads: &'m bpf::KernelMap,
    shared: &'m bpf::KernelMap,
}

impl Loader<'_> {
    fn load(&self, code: Result<Code, TooLong>, kind: Kind) -> Result<OwnedFd, Error> {
        let code = code.map_err(|_| Error::new(Step::Program, &io::Error::from_raw_os_error(libc::E2BIG)))?;
        let descriptor = |map| match map {
            Map::Threads => self.threads.descriptor(),
            Map::Shared => self.shared.descriptor(),
            _ => -1,
        };
        bpf::load(&code.link(&descriptor), kind)
    }
}

/// Visits threads at the end of an interval, and returns the time of that.
fn run(words: &Mapping, visit: &OwnedFd) -> Result<u64, Error> {
    let mut time = 0;
    bpf::run_iterator(visit, || {
        time = now();
        set(words, END, time);
        set(words, CLOCK_AHEAD, 0);
        update_cpu_clock();
    })?;
    Ok(time)
}

fn read(threads: &bpf::KernelMap) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    threads.each(BATCH, &mut |key, value| entries.extend(Entry::new(key, value)))?;
    Ok(entries)
}

fn get(words: &Mapping, at: u16) -> u64 {
    words.word(usize::from(at) / 8).map_or(0, |word| word.load(Ordering::Relaxed))
}

fn set(words: &Mapping, at: u16, value: u64) {
    if let Some(word) = words.word(usize::from(at) / 8) {
        word.store(value, Ordering::Relaxed);
    }
}

/// How many threads there are (`man 5 proc_loadavg`).
fn thread_count() -> u32 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let count = text.split_whitespace().nth(3).and_then(|word| word.split_once('/')?.1.parse().ok());
    count.unwrap_or(THREADS)
}
