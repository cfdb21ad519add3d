//! Counts hits as the BPF programs count them in the kernel (`crate::bpf::count`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use simple_markers_resolver::marks::TaskPoint;

use super::amounts::{AmountTotal, AmountTotals, amount_bucket};
use super::key::{IntervalKey, Key, NO_VALUE, key_of, process_key};
use super::split::{IntervalPart, SUM_BUCKET, SplitSubject, SplitTimes};
use super::task_times::{TaskClocks, TaskTimes};
use super::{IntervalStacks, Intervals, RawCounts, StartOutcome, Tallies, Tally};
use crate::bytes::put;
use crate::filter::Inputs;
use crate::histogram::{Durations, coarse, fine};
use crate::open_polls::TaskHit;
use crate::plan::{Aggregate, By, Interval, KeyFields, Pairing, Plan, Readable};

/// A hit at a site of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a, I: ?Sized> {
    /// The number of the site in the plan.
    pub site: usize,
    /// The time in ns.
    pub time: u64,
    /// The number of the process.
    pub process: u32,
    /// The number of the thread.
    pub thread: u32,
    /// The inputs of the site.
    pub inputs: &'a I,
}

/// What was counted so far.
#[derive(Clone, Debug)]
pub struct Replay {
    most: usize,
    /// The group of each site.
    groups: Vec<u32>,
    tallies: Vec<Tallies>,
    values: HashMap<Key, u64>,
    totals: AmountTotals,
    /// By the group and the bucket.
    buckets: HashMap<(u32, u32), u64>,
    /// The address that each site shares with other sites; `None` if it has one of its own.
    shared: Vec<Option<usize>>,
    /// The last hit of each thread at an address that sites share.
    passes: HashMap<u32, Pass>,
    /// The times of the starts, and by what the intervals are counted.
    starts: Intervals<IntervalStart>,
    durations: Durations,
    /// The time of the last hit.
    last: u64,
    /// What tasks did, if times are split by it.
    clocks: TaskClocks,
    split: Option<SplitTimes>,
}

/// What is kept of the start of an interval.
#[derive(Clone, Debug)]
struct IntervalStart {
    time: u64,
    by: Option<Key>,
    /// What the task had done until then, if times are split and it is known.
    task: Option<TaskTimes>,
}

/// A pass of an address that several sites share.
#[derive(Clone, Copy, Debug)]
struct Pass {
    address: usize,
    /// The site of the last hit.
    site: usize,
    /// The time of the first hit.
    time: u64,
}

impl Replay {
    /// Nothing was counted. At most `most` values, buckets and open intervals are kept.
    #[must_use]
    pub fn new(plan: &Plan, most: usize) -> Self {
        let mut replay = Self {
            most,
            groups: Vec::new(),
            tallies: Vec::new(),
            values: HashMap::new(),
            totals: AmountTotals::default(),
            buckets: HashMap::new(),
            shared: Vec::new(),
            passes: HashMap::new(),
            starts: Intervals::default(),
            durations: Durations::default(),
            last: 0,
            clocks: TaskClocks::default(),
            split: None,
        };
        replay.extend(plan);
        replay
    }

    /// Also counts at the sites that were added to the plan.
    pub fn extend(&mut self, plan: &Plan) {
        let group = |marker| u32::try_from(plan.group(marker)).unwrap_or(u32::MAX);
        self.groups.extend(plan.sites.iter().skip(self.groups.len()).map(|site| group(site.marker)));
        self.tallies.resize(plan.sites.len(), Tallies::default());
        let (first, addresses) = (self.shared.len(), self.shared.iter().flatten().count());
        self.shared.resize(plan.sites.len(), None);
        let shared = plan.by_address(first).into_iter().filter(|sites| sites.len() > 1);
        for (address, sites) in (addresses..).zip(shared) {
            for site in sites {
                if let Some(of) = self.shared.get_mut(site) {
                    *of = Some(address);
                }
            }
        }
    }

    /// Splits times by what the tasks of async runtimes did, which hits of these tell ([`Self::note`]). `has_wakes` says
    /// whether wakes are among them.
    pub fn split_tasks(&mut self, has_wakes: bool) {
        let subject = SplitSubject::Task { has_wakes };
        self.split = Some(SplitTimes { wall: Some(0), subject, ..SplitTimes::default() });
    }

    /// Takes the hit of a poll or a wake, which is not counted.
    pub fn note(&mut self, what: TaskPoint, hit: &TaskHit) {
        self.clocks.add(what, hit);
    }

    /// What the task did until a hit that is the start or the end of an interval; `None` if it is not known, or times
    /// are not split.
    fn task_times<I: Inputs + ?Sized>(&self, of: &Interval, time: u64, hit: &Passage<'_, I>) -> Option<TaskTimes> {
        let Pairing::Arguments(KeyFields(fields)) = &of.key else { return None };
        let [Readable::Number { number, .. }] = &fields[..] else { return None };
        self.split.as_ref()?;
        self.clocks.times(hit.process, number.bits(hit.inputs)?, time)
    }

    /// When the thread passed the address of a hit. What is done at one site of an address takes time, so
    /// the hits of one pass have different times in records.
    fn passed<I: Inputs + ?Sized>(&mut self, hit: &Passage<'_, I>) -> u64 {
        let Some(address) = self.shared.get(hit.site).copied().flatten() else {
            if !self.passes.is_empty() {
                self.passes.remove(&hit.thread);
            }
            return hit.time;
        };
        let pass = self.passes.entry(hit.thread).or_insert(Pass { address, site: usize::MAX, time: hit.time });
        // The sites of an address are passed in the order of their numbers.
        let is_same = pass.address == address && pass.site < hit.site;
        let time = if is_same { pass.time } else { hit.time };
        *pass = Pass { address, site: hit.site, time };
        time
    }

    /// Counts a hit. The filter of its site was applied: `holds` is its result, or `None` if an
    /// argument that it needs could not be read.
    pub fn add<I: Inputs + ?Sized>(&mut self, aggregate: &Aggregate, holds: Option<bool>, hit: &Passage<'_, I>) {
        let time = self.passed(hit);
        self.last = self.last.max(hit.time);
        if holds != Some(true) {
            self.forget_call(aggregate, hit);
        }
        let Some(holds) = holds else { return self.tally(hit.site, Tally::Unfiltered) };
        if !holds {
            return;
        }
        self.tally(hit.site, Tally::Hits);
        let group = self.groups.get(hit.site).copied().unwrap_or(u32::MAX);
        let interval = |of: &Interval| {
            let by = match &of.by {
                By::Here(by) => Some(key_of(0, by, hit.inputs)?),
                By::Nothing | By::AtStart(_) => None,
            };
            Some((IntervalKey::new(&of.key, hit.process, hit.thread, hit.inputs)?, by))
        };
        let problem = match aggregate {
            // The stacks of hits are not among their inputs.
            Aggregate::Hits | Aggregate::Stacks { .. } => None,
            Aggregate::Processes => increment(&mut self.values, process_key(hit.process), 1, self.most),
            Aggregate::Values(of) => match key_of(group.into(), of, hit.inputs) {
                Some(key) => increment(&mut self.values, key, 1, self.most),
                None => Some(Tally::Unread),
            },
            Aggregate::Amounts { of, by } => match of.value(hit.inputs) {
                Some(amount) => self.amount(group, amount, by.as_ref(), hit.inputs),
                None => Some(Tally::Unread),
            },
            Aggregate::Histogram(number) => match number.value(hit.inputs) {
                Some(value) => increment(&mut self.buckets, (group, coarse(value)), 1, self.most),
                None => Some(Tally::Unread),
            },
            Aggregate::Start(of) => {
                let task = self.task_times(of, time, hit);
                interval(of).map_or(Some(Tally::Unread), |(key, by)| {
                    self.start(key, IntervalStart { time, by, task }, of.key.is_frame())
                })
            }
            Aggregate::End(of) => {
                let task = self.task_times(of, time, hit);
                interval(of).map_or(Some(Tally::Unread), |(key, by)| self.end(&key, &IntervalStart { time, by, task }))
            }
        };
        if let Some(problem) = problem {
            self.tally(hit.site, problem);
        }
    }

    /// Adds 1 to a tally of a site.
    pub fn tally(&mut self, site: usize, tally: Tally) {
        if let Some(count) = self.tallies.get_mut(site).and_then(|of_site| of_site.0.get_mut(tally as usize)) {
            *count += 1;
        }
    }

    /// Forgets the start of a call at the frame of another one whose hit is not wanted. The first call did not
    /// return.
    fn forget_call<I: Inputs + ?Sized>(&mut self, aggregate: &Aggregate, hit: &Passage<'_, I>) {
        let Aggregate::Start(Interval { key: key @ Pairing::Frame(_), .. }) = aggregate else { return };
        let key = IntervalKey::new(key, hit.process, hit.thread, hit.inputs);
        if key.and_then(|key| self.starts.end(&key)).is_some() {
            self.tally(hit.site, Tally::Unmatched);
        }
    }

    fn start(&mut self, key: IntervalKey, start: IntervalStart, is_call: bool) -> Option<Tally> {
        let outcome = match is_call {
            true => self.starts.start_call(key, start, self.most),
            false => self.starts.start(key, start, self.most),
        };
        match outcome {
            StartOutcome::Open => None,
            StartOutcome::Nested => Some(Tally::Nested),
            StartOutcome::InPlaceOf(_) => Some(Tally::Unmatched),
            StartOutcome::Full(_) => Some(Tally::Full),
        }
    }

    /// Adds an amount, which is told apart by values.
    fn amount<I: Inputs + ?Sized>(
        &mut self,
        group: u32,
        amount: i128,
        by: Option<&KeyFields>,
        inputs: &I,
    ) -> Option<Tally> {
        let Some(mut key) = by.map_or(Some(NO_VALUE), |by| key_of(group.into(), by, inputs)) else {
            return Some(Tally::Unread);
        };
        put(&mut key, 0, &group.to_ne_bytes());
        put(&mut key, 4, &amount_bucket(amount).to_ne_bytes());
        let problem = increment(&mut self.values, key, 1, self.most);
        if problem.is_none() {
            put(&mut key, 4, &[0; 4]);
            self.totals.extend([(key.to_vec(), AmountTotal::of(amount))]);
        }
        problem
    }

    /// Ends an interval with what is known of its end.
    fn end(&mut self, key: &IntervalKey, end: &IntervalStart) -> Option<Tally> {
        let Some(start) = self.starts.end(key) else { return Some(Tally::Unmatched) };
        let duration = end.time.saturating_sub(start.time);
        self.durations.count_one(duration);
        let parts = start.task.zip(end.task).map(|(start, end)| {
            let part = |of: usize| Some(end.get(of)?.saturating_sub(*start.get(of)?));
            [0, 1, 2].map(|of| part(of).unwrap_or(0))
        });
        // Where a time went back, as it may between hits of different CPUs, the parts are no parts of it.
        let parts =
            parts.filter(|parts| parts.iter().try_fold(0u64, |sum, part| sum.checked_add(*part)) == Some(duration));
        let by = start.by.or(end.by);
        if let Some(split) = &mut self.split {
            split.wall = split.wall.map(|wall| wall.saturating_add(duration));
            parts.into_iter().for_each(|parts| split.add_interval(parts));
        }
        let mut key = by?;
        put(&mut key, 0, &u64::from(fine(duration)).to_ne_bytes());
        let mut full = increment(&mut self.values, key, 1, self.most);
        for (part, ns) in IntervalPart::ALL.into_iter().zip(parts.into_iter().flatten()) {
            put(&mut key, 4, &part.number().to_ne_bytes());
            for (bucket, count) in [(fine(ns), 1), (SUM_BUCKET, ns)] {
                put(&mut key, 0, &bucket.to_ne_bytes());
                full = full.or(increment(&mut self.values, key, count, self.most));
            }
        }
        full
    }

    /// For how long the starts without an end are open at the time of the last hit.
    fn open(&self) -> Durations {
        let mut open = Durations::default();
        self.starts.open().for_each(|start| open.count_one(self.last.saturating_sub(start.time)));
        open
    }

    /// The tallies of each site.
    #[must_use]
    pub fn tallies(&self) -> &[Tallies] {
        &self.tallies
    }

    /// How long the intervals were.
    #[must_use]
    pub fn durations(&self) -> &Durations {
        &self.durations
    }

    /// What was counted.
    #[must_use]
    pub fn counted(&self) -> RawCounts {
        let bucket = |(group, bucket): &(u32, u32)| [group.to_ne_bytes(), bucket.to_ne_bytes()].concat();
        let values = self.values.iter().map(|(key, count)| (key.to_vec(), *count));
        RawCounts {
            tallies: self.tallies.clone(),
            values: values.chain(self.buckets.iter().map(|(key, count)| (bucket(key), *count))).collect(),
            durations: self.durations.clone(),
            totals: self.totals.clone(),
            open: self.open(),
            split: self.split.clone(),
            interval_stacks: IntervalStacks::default(),
            stacks: HashMap::new(),
        }
    }
}

/// Adds to the count of a key, which may be new. Returns what could not be done.
fn increment<K: Eq + Hash>(counts: &mut HashMap<K, u64>, key: K, more: u64, most: usize) -> Option<Tally> {
    let has_space = counts.len() < most;
    match counts.entry(key) {
        Entry::Occupied(mut count) => *count.get_mut() = count.get().saturating_add(more),
        Entry::Vacant(count) if has_space => {
            count.insert(more);
        }
        Entry::Vacant(_) => return Some(Tally::Full),
    }
    None
}
