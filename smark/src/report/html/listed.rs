//! The hits that a page lists with their arguments: an even sample, and those in the slowest intervals.

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use simple_markers_tracer::Hit;
use simple_markers_tracer::aggregate::IntervalKey;
use simple_markers_tracer::plan::DoubtfulValues;
use simple_markers_tracer::text::{json_event, json_named};

use super::super::recording::Recording;
use super::collect::HitSummary;
use crate::hit_text::HitText;
use crate::html::{EvenSample, PageSlice};
use crate::sinks::IntervalSites;

/// The most hits of the sample, and the most bytes of their objects.
const MOST: usize = 20_000;
const MOST_BYTES: usize = 16 << 20;
/// The most bytes of the object of a hit. A larger one has no arguments.
const LARGEST: usize = 64 << 10;
/// The most hits of an interval.
const MOST_INSIDE: usize = 200;

/// An interval whose hits are listed.
struct SlowInterval {
    /// The number of the pair.
    pair: usize,
    slice: PageSlice,
    /// The key, and the thread if its hits belong to it, once it has begun.
    key: Option<IntervalKey>,
    thread: Option<(u32, u32)>,
    /// The objects of its hits.
    hits: Vec<Json>,
    left_out: u64,
}

/// Which hits belong to the intervals of a pair.
struct PairSites {
    sites: IntervalSites,
    is_span: bool,
}

/// Lists hits.
pub(super) struct ListedHits<'a> {
    recording: &'a Recording,
    texts: HitText,
    sample: EvenSample<(u64, String)>,
    bytes: usize,
    number: u64,
    pairs: Vec<PairSites>,
    intervals: Vec<SlowInterval>,
    /// The intervals by the number of their first hit.
    begins: HashMap<u64, Vec<usize>>,
    /// Those that have begun and not ended.
    open: Vec<usize>,
}

impl<'a> ListedHits<'a> {
    pub(super) fn new(recording: &'a Recording, collected: &HitSummary, doubtful: DoubtfulValues) -> Self {
        let sites = |question| IntervalSites::new(recording.plan(), question, doubtful);
        let pairs = collected.pairs.iter();
        let pairs = pairs.map(|pair| PairSites { sites: sites(&pair.question), is_span: pair.is_span }).collect();
        let (mut intervals, mut begins) = (Vec::new(), HashMap::<u64, Vec<usize>>::new());
        for (pair, of) in collected.pairs.iter().enumerate() {
            for slice in &of.slowest {
                let Some(first) = slice.first else { continue };
                begins.entry(first).or_default().push(intervals.len());
                let (slice, hits) = (*slice, Vec::new());
                intervals.push(SlowInterval { pair, slice, key: None, thread: None, hits, left_out: 0 });
            }
        }
        Self {
            recording,
            texts: recording.text(),
            sample: EvenSample::new(MOST),
            bytes: 0,
            number: 0,
            pairs,
            intervals,
            begins,
            open: Vec::new(),
        }
    }

    /// Takes a wanted hit.
    pub(super) fn add(&mut self, hit: &Hit<'_>) {
        let number = self.number;
        self.number += 1;
        self.add_to_intervals(hit, number);
        let mut sample = std::mem::replace(&mut self.sample, EvenSample::new(0));
        sample.add(|| {
            let line = self.object(hit, number).to_string();
            self.bytes += line.len();
            (number, line)
        });
        self.sample = sample;
        if self.bytes > MOST_BYTES {
            // Some of them may have been left out since.
            self.bytes = self.size();
            while self.bytes > MOST_BYTES && self.sample.kept().len() > 1 {
                self.sample.thin();
                self.bytes = self.size();
            }
        }
    }

    /// How many bytes the objects of the sample have.
    fn size(&self) -> usize {
        self.sample.kept().iter().map(|(_, line)| line.len()).sum()
    }

    fn add_to_intervals(&mut self, hit: &Hit<'_>, number: u64) {
        let new = self.begins.remove(&number).unwrap_or_default();
        if new.is_empty() && self.open.is_empty() {
            return;
        }
        let keys: Vec<Option<IntervalKey>> = self.pairs.iter().map(|pair| pair.sites.key(hit)).collect();
        let key = |pair: usize| keys.get(pair).and_then(Option::as_ref);
        for at in new {
            let Some(interval) = self.intervals.get_mut(at) else { continue };
            interval.key = key(interval.pair).copied();
            let is_span = self.pairs.get(interval.pair).is_some_and(|pair| pair.is_span);
            interval.thread = is_span.then_some((hit.process, hit.thread));
            self.open.push(at);
        }
        let time = hit.time.saturating_sub(self.recording.description.start);
        let intervals = &self.intervals;
        self.open.retain(|at| {
            intervals.get(*at).is_some_and(|it| time <= it.slice.end && it.slice.last.is_none_or(|last| number <= last))
        });
        let is_inside = |at: &usize| {
            let Some(interval) = self.intervals.get(*at) else { return false };
            interval.key.is_some() && interval.key.as_ref() == key(interval.pair)
                || interval.thread == Some((hit.process, hit.thread))
        };
        let inside: Vec<usize> = self.open.iter().copied().filter(is_inside).collect();
        if inside.is_empty() {
            return;
        }
        let object = self.object(hit, number);
        for at in inside {
            let Some(interval) = self.intervals.get_mut(at) else { continue };
            // The last one is the end.
            let most = if interval.slice.last == Some(number) { MOST_INSIDE } else { MOST_INSIDE - 1 };
            match interval.hits.len() < most {
                true => interval.hits.push(object.clone()),
                false => interval.left_out += 1,
            }
        }
    }

    /// The object of a hit: that of `smark report --json`, its number and its text.
    fn object(&mut self, hit: &Hit<'_>, number: u64) -> Json {
        let mut text = String::new();
        self.texts.write(hit, &mut text);
        let mut object = match &hit.marker.event {
            Some(_) => json_event(hit, &text),
            None => json_named(hit, &self.recording.description.functions),
        };
        if text.len() > LARGEST || object.to_string().len() > LARGEST {
            object = json!({
                "time_ns": hit.time, "cpu": hit.cpu, "pid": hit.process, "tid": hit.thread, "comm": hit.thread_name(),
                "marker": &*hit.marker.name, "is_too_large": true,
            });
            text.clear();
        }
        if let Some(members) = object.as_object_mut() {
            members.insert("number".to_owned(), number.into());
            members.insert("text".to_owned(), text.into());
        }
        object
    }

    /// The hits of the sample, as lines of JSON.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.sample.kept().iter().map(|(_, line)| &**line)
    }

    /// How many there are in the sample.
    pub(super) fn len(&self) -> usize {
        self.sample.kept().len()
    }

    /// Of how many hits one is in the sample.
    pub(super) fn every(&self) -> u64 {
        self.sample.every()
    }

    /// The slowest intervals of each pair with their hits, the slowest of all first.
    pub(super) fn intervals(&self) -> Vec<Json> {
        let interval = |of: &SlowInterval| {
            json!({
                "pair": of.pair, "begin_ns": of.slice.begin, "took_ns": of.slice.took(), "track": of.slice.track,
                "left_out": of.left_out, "hits": of.hits,
            })
        };
        self.intervals.iter().map(interval).collect()
    }
}
