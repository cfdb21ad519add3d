//! What a page needs to know of all hits: counts, rates, ticks and slices.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use serde_json::{Value as Json, json};
use simple_markers_resolver::marks::TaskPoint;
use simple_markers_tracer::Hit;
use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::ctf::SiteSelection;
use simple_markers_tracer::open_polls::OpenPolls;
use simple_markers_tracer::pairs::{Pair, PairTally, Role, SliceBegin};

use super::super::counts::CountedHits;
use super::super::recording::Recording;
use crate::console::Console;
use crate::count::ValueLimits;
use crate::hit_tracks::{HitTracks, TrackSubject};
use crate::html::{EvenSample, LongestSlices, PageSlice, RateBins};
use crate::pair_tally;

/// The most hits that are ticks.
const TICKS: usize = 1 << 20;
/// The most slices.
const SLICES: usize = 1 << 19;
/// The most slow intervals of a pair that are shown with their hits.
const SLOWEST: usize = 20;
/// The most bins of rates, and the least width of one in ns.
const BINS: (usize, u64) = (1024, 1_000);

/// What is kept of an event that may be the begin of slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageBegin {
    time: u64,
    process: u32,
    thread: u32,
    /// Its number among the wanted hits; `None` if it is not wanted.
    number: Option<u64>,
}

impl SliceBegin for PageBegin {
    fn is_wanted(&self) -> bool {
        self.number.is_some()
    }
}

/// A pair, or a span.
pub(super) struct PagePair<'a> {
    question: &'a Question,
    pair: Pair<PageBegin>,
    counted: CountedHits<'a>,
    slowest: LongestSlices,
}

impl<'a> PagePair<'a> {
    /// `counted` are the sites whose hits are counted, `of_slices` those without the filter.
    pub(super) fn new(
        question: &'a Question,
        counted: &'a SiteSelection,
        of_slices: &SiteSelection,
        kept: ValueLimits,
        start: u64,
    ) -> Option<Self> {
        let pair = Pair::new(question, of_slices.clone())?;
        let kept = kept.with_heat(true);
        let counted = CountedHits::new(counted, question, kept, start, false).with_fine_map();
        Some(Self { question, pair, counted, slowest: LongestSlices::new(SLOWEST) })
    }
}

/// What is known of a pair at the end.
pub(super) struct CountedPair {
    pub(super) question: Question,
    pub(super) is_span: bool,
    /// The slices that took longest, the longest first.
    pub(super) slowest: Vec<PageSlice>,
    pub(super) json: Json,
    name: String,
    ends: (String, String),
    tally: PairTally,
}

impl CountedPair {
    fn new(of: PagePair<'_>) -> Self {
        let PagePair { question, pair, counted, slowest } = of;
        let tally = pair.tally();
        let time = counted.answer().json().pop().unwrap_or_default();
        let json = json!({
            "name": pair.name, "from": pair.from, "to": pair.to, "is_span": pair.is_span(),
            "key": if let Question::Time { key, .. } = question { key.arguments().to_vec() } else { Vec::new() },
            "time": time, "slices": tally.slices,
            "not_in_slices": {
                "ends_without_begin": tally.unmatched.ends, "replaced_begins": tally.unmatched.repeated,
                "open_begins": tally.unmatched.open, "key_not_read": tally.unread, "no_space": tally.full,
            },
        });
        let ends = (pair.from.clone(), pair.to.clone());
        let (is_span, name) = (pair.is_span(), pair.name.clone());
        Self { question: question.clone(), is_span, slowest: slowest.into_longest(), json, name, ends, tally }
    }

    /// Says which of its hits are in no slice.
    pub(super) fn tell(&self, console: &Console, most: u32) {
        let (from, to) = &self.ends;
        pair_tally::tell(console, [&self.name, from, to], self.tally, most);
    }
}

/// A hit on the timeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tick {
    /// In ns since the start of the recording.
    pub(super) time: u64,
    pub(super) track: usize,
    /// The number of the series.
    pub(super) marker: usize,
}

/// The hits of markers that are counted together.
pub(super) struct PageSeries {
    /// The number of the first of these markers.
    pub(super) marker: usize,
}

/// Collects what all hits say.
pub(super) struct Collector<'a> {
    chosen: &'a SiteSelection,
    start: u64,
    most: usize,
    counted: CountedHits<'a>,
    pairs: Vec<PagePair<'a>>,
    /// The number of the series of each marker.
    series_of: HashMap<usize, usize>,
    series: Vec<PageSeries>,
    rates: RateBins,
    tracks: HitTracks,
    ticks: EvenSample<Tick>,
    slices: LongestSlices,
    polls: OpenPolls,
    poll_slices: u64,
    threads: BTreeMap<u32, u64>,
    first: Option<u64>,
    last: u64,
    hits: u64,
    all: u64,
    unfiltered: u64,
}

/// What all hits say.
pub(super) struct HitSummary {
    pub(super) counts: Vec<Json>,
    pub(super) pairs: Vec<CountedPair>,
    pub(super) series: Vec<PageSeries>,
    pub(super) rates: RateBins,
    pub(super) tracks: HitTracks,
    pub(super) ticks: EvenSample<Tick>,
    /// In the order of their begins.
    pub(super) slices: Vec<PageSlice>,
    pub(super) slice_count: u64,
    /// What became of the hits of polls.
    pub(super) polls: Json,
    /// The hits of each process.
    pub(super) processes: BTreeMap<u32, u64>,
    /// When the first and the last wanted hit were, in ns since the start of the recording.
    pub(super) first: Option<u64>,
    pub(super) last: u64,
    /// The wanted hits.
    pub(super) hits: u64,
    /// All that could be read.
    pub(super) all: u64,
    pub(super) unfiltered: u64,
}

static EVERY_HIT: Question = Question::Hits;

impl<'a> Collector<'a> {
    pub(super) fn new(
        recording: &'a Recording,
        chosen: &'a SiteSelection,
        pairs: Vec<PagePair<'a>>,
        kept: ValueLimits,
    ) -> Self {
        let (plan, start) = (&chosen.plan, recording.description.start);
        let (mut series_of, mut series) = (HashMap::new(), Vec::new());
        // In the order of the counts.
        let mut groups: Vec<usize> = plan.sites.iter().map(|site| plan.group(site.marker)).collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            series_of.insert(group, series.len());
            series.push(PageSeries { marker: group });
        }
        let of_group = |marker: usize| series_of.get(&plan.group(marker)).map(|number| (marker, *number));
        let series_of = (0..plan.markers.len()).filter_map(of_group).collect();
        Self {
            chosen,
            start,
            most: usize::try_from(kept.most).unwrap_or(usize::MAX),
            counted: CountedHits::new(chosen, &EVERY_HIT, kept.with_heat(false), start, false),
            pairs,
            rates: RateBins::new(series.len(), BINS.0, BINS.1),
            series_of,
            series,
            tracks: HitTracks::default(),
            ticks: EvenSample::new(TICKS),
            slices: LongestSlices::new(SLICES),
            polls: OpenPolls::default(),
            poll_slices: 0,
            threads: BTreeMap::new(),
            first: None,
            last: 0,
            hits: 0,
            all: 0,
            unfiltered: 0,
        }
    }

    /// Takes a hit.
    pub(super) fn add(&mut self, hit: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
        self.all += 1;
        let wants = self.chosen.wants(hit);
        self.unfiltered += u64::from(wants.is_none());
        self.counted.add(hit);
        let number = (wants == Some(true)).then_some(self.hits);
        self.add_poll(hit);
        self.add_slices(hit, number);
        if number.is_some() {
            self.hits += 1;
            self.add_tick(hit);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn since_start(&self, time: u64) -> u64 {
        time.saturating_sub(self.start)
    }

    fn add_tick(&mut self, hit: &Hit<'_>) {
        let time = self.since_start(hit.time);
        self.first = Some(self.first.unwrap_or(time));
        self.last = self.last.max(time);
        *self.threads.entry(hit.process).or_default() += 1;
        let marker = self.series_of.get(&hit.site.marker).copied().unwrap_or(0);
        self.rates.add(marker, time);
        let thread = self.tracks.thread(hit);
        let track = match hit.task() {
            Some(Ok(Some(task))) => self.tracks.number(TrackSubject::Task { process: hit.process, task: task.get() }),
            _ => thread,
        };
        self.tracks.count(track);
        self.ticks.add(|| Tick { time, track, marker });
    }

    /// Takes the begin or the end of a poll, which has a slice on the track of its thread, and on that of its task.
    fn add_poll(&mut self, hit: &Hit<'_>) {
        match hit.marker.task_point {
            Some(TaskPoint::PollBegin) => self.polls.begin(&hit.of_task()),
            Some(TaskPoint::PollEnd) => {
                let Some(poll) = self.polls.end(&hit.of_task()) else { return };
                self.poll_slices += 1;
                let (begin, end) = (self.since_start(poll.begin), self.since_start(hit.time.max(poll.begin)));
                let thread = self.tracks.thread(hit);
                let of_task = poll.task.map(|task| TrackSubject::Task { process: hit.process, task });
                let task = of_task.map(|subject| self.tracks.number(subject));
                for track in [Some(thread), task].into_iter().flatten() {
                    // Behind the pairs.
                    let pair = self.pairs.len();
                    self.slices.add(PageSlice { begin, end, pair, track, first: None, last: None });
                }
            }
            Some(TaskPoint::Wake) | None => {}
        }
    }

    fn add_slices(&mut self, hit: &Hit<'_>, number: Option<u64>) {
        for (at, of) in self.pairs.iter_mut().enumerate() {
            of.counted.add(hit);
            let begin = match of.pair.role(hit, number.is_some()) {
                Some(Role::Begin(key)) => {
                    let (time, process, thread) = (hit.time, hit.process, hit.thread);
                    of.pair.open(key, PageBegin { time, process, thread, number }, self.most);
                    continue;
                }
                Some(Role::End(begin)) if begin.is_wanted() => begin,
                Some(Role::End(_) | Role::Nothing) | None => continue,
            };
            let is_in_thread = !of.pair.has_key() || of.pair.is_span() && begin.thread == hit.thread;
            let PageBegin { process, thread, .. } = begin;
            let track = self.tracks.number(match is_in_thread {
                true => TrackSubject::Thread { process, thread },
                false => TrackSubject::Pair { process, pair: at },
            });
            let time = begin.time.saturating_sub(self.start);
            let end = hit.time.max(begin.time).saturating_sub(self.start);
            let slice = PageSlice { begin: time, end, pair: at, track, first: begin.number, last: number };
            of.slowest.add(slice);
            self.slices.add(slice);
        }
    }

    /// Says what all hits were.
    pub(super) fn finish(mut self) -> HitSummary {
        for of in &mut self.pairs {
            // Their number is what is asked for.
            of.pair.close().for_each(drop);
        }
        let slice_count = self.slices.seen();
        let mut slices = self.slices.into_longest();
        // Of those that begin together the outer one first.
        slices.sort_unstable_by_key(|slice| (slice.begin, Reverse(slice.end), *slice));
        HitSummary {
            counts: self.counted.answer().json(),
            pairs: self.pairs.into_iter().map(CountedPair::new).collect(),
            series: self.series,
            rates: self.rates,
            tracks: self.tracks,
            ticks: self.ticks,
            slices,
            slice_count,
            polls: json!({
                "polls": self.poll_slices, "begins_without_end": self.polls.unended(),
                "ends_without_begin": self.polls.ends,
            }),
            processes: self.threads,
            first: self.first,
            last: self.last,
            hits: self.hits,
            all: self.all,
            unfiltered: self.unfiltered,
        }
    }
}
