//! `--metrics`: the counts as a page for Prometheus.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use simple_markers_resolver::text::shown;
use simple_markers_tracer::aggregate::{KeyValue, MarkerCounts, SplitTimes, Tally, UnmatchedHits};
use simple_markers_tracer::histogram::{Durations, fine_range};

use super::answer::{Answer, value_text};
use super::split::{named_parts, part_key};
use crate::address::Address;
use crate::metrics::{self, Distribution, Family, Labels, Samples};

/// How old the page is at most.
const AGE: Duration = Duration::from_secs(1);

/// The limits of the buckets of times: powers of two from so many ns to so many.
const LIMITS: std::ops::RangeInclusive<u32> = 10..=36;

/// The value of what has no series of its own.
const OTHERS: &str = "all others";

/// A page with the counts, which a server hands out.
pub(super) struct MetricsPage {
    families: Arc<Mutex<Vec<Family>>>,
    /// Where the server listens.
    pub(super) address: SocketAddr,
    started: Instant,
    /// When the page is made next.
    pub(super) due: Instant,
    exposed: ExposedValues,
}

/// The values that have a series of their own. Series must only grow, so one that has been there stays, and of one that
/// comes later the hits before are counted with the others.
#[derive(Debug, Default)]
struct ExposedValues {
    /// The hits that are counted with the others, by the number of the marker and the value.
    before: HashMap<(usize, String), u64>,
    /// Whether there was a page.
    is_begun: bool,
}

impl MetricsPage {
    /// Listens. The page is empty at first.
    pub(super) fn start(address: &Address) -> anyhow::Result<Self> {
        let families = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&families);
        let address = metrics::serve(address, move || shared.lock().unwrap_or_else(PoisonError::into_inner).clone())?;
        let started = Instant::now();
        Ok(Self { families, address, started, due: started, exposed: ExposedValues::default() })
    }

    /// Makes the page anew. At most `most` values of each marker have series of their own.
    pub(super) fn update(&mut self, answer: &Answer, most: usize) {
        let families = self.families_of(answer, most);
        *self.families.lock().unwrap_or_else(PoisonError::into_inner) = families;
        self.exposed.is_begun = true;
        self.due = Instant::now() + AGE;
    }

    fn families_of(&mut self, answer: &Answer, most: usize) -> Vec<Family> {
        let rows = &answer.counts.markers;
        let argument = answer.argument();
        let counter = |name, help, samples| Family { name, help, is_time: false, samples: Samples::Counter(samples) };
        let time = |name, help, samples| Family { name, help, is_time: true, samples };
        let measured = vec![(Labels::new(), self.started.elapsed().as_secs_f64())];
        let mut families = vec![
            time("smark_measured", "How long hits were counted.", Samples::Counter(measured)),
            counter("smark_hits", "Hits of markers and of events of the kernel.", {
                rows.iter().map(|row| (labels(row), row.hits as f64)).collect()
            }),
            counter(
                "smark_uncounted_hits",
                "Hits that are in no value, bucket or interval, for want of space or of a value.",
                {
                    let uncounted = answer.counts.sum.get(Tally::Unread) + answer.counts.sum.get(Tally::Full);
                    vec![(Labels::new(), uncounted as f64)]
                },
            ),
            counter("smark_unfiltered_hits", "Hits that could not be filtered.", {
                vec![(Labels::new(), answer.unfiltered() as f64)]
            }),
        ];
        if rows.iter().any(|row| row.values.is_some()) {
            let samples = rows.iter().flat_map(|row| self.exposed.samples(row, &argument, most)).collect();
            families.push(counter("smark_values", "Hits by the value of an argument.", samples));
        }
        if rows.iter().any(|row| row.amounts.is_some()) {
            let all = rows.iter().filter_map(|row| Some((row, row.amounts.as_ref()?.0.as_ref()?)));
            let with = |row| [labels(row), vec![("argument", shown(&argument).into_owned())]].concat();
            let (sums, counts) =
                all.map(|(row, all)| ((with(row), all.sum() as f64), (with(row), all.count() as f64))).unzip();
            let help = "The sum of an argument, which may be negative.";
            families.push(Family { name: "smark_amount", help, is_time: false, samples: Samples::Gauge(sums) });
            families.push(counter("smark_amounts", "The values in the sum of an argument.", counts));
        }
        if let Some((name, durations)) = answer.intervals() {
            families.extend(intervals(answer, &shown(&name), durations));
        }
        families
    }
}

/// The families of intervals, and of their parts.
fn intervals(answer: &Answer, name: &str, durations: &Durations) -> Vec<Family> {
    let labels = |more: Option<(&'static str, &str)>| -> Labels {
        let more = more.map(|(label, value)| (label, value.to_owned()));
        [("interval", name.to_owned())].into_iter().chain(more).collect()
    };
    let UnmatchedHits { ends, repeated, open, .. } = answer.counts.unmatched;
    let alone = [("start", repeated), ("end", ends)];
    let mut families = vec![
        Family {
            name: "smark_interval",
            help: "How long intervals were. The sum is made of the middles of their buckets, at most 1/16 off.",
            is_time: true,
            samples: Samples::Histogram(vec![(labels(None), distribution(durations))]),
        },
        Family {
            name: "smark_unpaired_hits",
            help: "Starts and ends of intervals without the other one.",
            is_time: false,
            samples: Samples::Counter({
                alone.map(|(side, count)| (labels(Some(("side", side))), count as f64)).to_vec()
            }),
        },
        Family {
            name: "smark_open_intervals",
            help: "Intervals that have not ended.",
            is_time: false,
            samples: Samples::Gauge(vec![(labels(None), open as f64)]),
        },
    ];
    if let Some(split) = &answer.counts.split {
        families.push(Family {
            name: "smark_interval_parts",
            help: "What threads did during intervals.",
            is_time: true,
            samples: Samples::Counter(parts(split, &|part| labels(Some(("part", part))))),
        });
    }
    families
}

/// The sum of each part of intervals.
fn parts(split: &SplitTimes, labels: &dyn Fn(&str) -> Labels) -> Vec<(Labels, f64)> {
    let named = named_parts(split.subject).into_iter();
    named.map(|(part, name)| (labels(&part_key(name)), split.get(part).sum as f64 / 1e9)).collect()
}

/// How times are distributed, in seconds.
fn distribution(durations: &Durations) -> Distribution {
    let limits = LIMITS.map(|power| (1u64 << power) - 1);
    let mut buckets: Vec<(u64, u64)> = limits.chain([u64::MAX]).map(|limit| (limit, 0)).collect();
    let mut sum = 0.0;
    for (fine, count) in (0..).zip(&durations.counts).filter(|(_, count)| **count > 0) {
        let (low, high) = fine_range(fine);
        let middle = (low + (high - low) / 2).clamp(durations.min, durations.max.max(durations.min));
        sum += middle as f64 * *count as f64;
        if let Some((_, all)) = buckets.iter_mut().find(|(limit, _)| high <= *limit) {
            *all += count;
        }
    }
    let limit = |limit: u64| if limit == u64::MAX { f64::INFINITY } else { limit as f64 / 1e9 };
    Distribution { sum: sum / 1e9, buckets: buckets.into_iter().map(|(at, count)| (limit(at), count)).collect() }
}

/// The labels of a marker.
fn labels(row: &MarkerCounts) -> Labels {
    let kind = if row.is_event { "event" } else { "marker" };
    let module = (!row.module.is_empty()).then(|| ("module", shown(&row.module).into_owned()));
    [(kind, shown(&row.marker).into_owned())].into_iter().chain(module).collect()
}

impl ExposedValues {
    /// The samples of the values of a marker, at most `most`, and of the others.
    fn samples(&mut self, row: &MarkerCounts, argument: &str, most: usize) -> Vec<(Labels, f64)> {
        let Some(values) = &row.values else { return Vec::new() };
        let text = |value: &KeyValue| shown(&value_text(value)).into_owned();
        let own = self.before.keys().filter(|(group, _)| *group == row.group).count();
        let new = values.iter().filter(|(value, _)| !self.before.contains_key(&(row.group, text(value))));
        let new: Vec<_> = new.take(most.saturating_sub(own)).map(|(value, count)| (text(value), *count)).collect();
        for (value, count) in new {
            self.before.insert((row.group, value), if self.is_begun { count } else { 0 });
        }
        let (mut samples, mut others) = (Vec::new(), 0u64);
        let labels = |value: String| {
            let own = [("argument", shown(argument).into_owned()), ("value", value)];
            labels(row).into_iter().chain(own).collect::<Labels>()
        };
        for (value, count) in values {
            let text = text(value);
            match self.before.get(&(row.group, text.clone())) {
                Some(before) => {
                    samples.push((labels(text), count.saturating_sub(*before) as f64));
                    others = others.saturating_add(*before);
                }
                None => others = others.saturating_add(*count),
            }
        }
        samples.push((labels(OTHERS.to_owned()), others as f64));
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_of_values_only_grow() {
        let row = |values: &[(i128, u64)]| MarkerCounts {
            marker: "a:b".into(),
            module: "m".into(),
            image: 0,
            group: 0,
            is_event: false,
            hits: values.iter().map(|(_, count)| count).sum(),
            values: Some(values.iter().map(|(value, count)| (KeyValue::Integer(*value), *count)).collect()),
            buckets: None,
            amounts: None,
            stacks: None,
            names: None,
        };
        let mut exposed = ExposedValues::default();
        let mut samples = |values: &[(i128, u64)], is_begun| {
            exposed.is_begun = is_begun;
            let samples = exposed.samples(&row(values), "x", 2);
            samples.into_iter().map(|(labels, count)| (labels[3].1.clone(), count)).collect::<Vec<_>>()
        };
        let of = |value: &str, count| (value.to_owned(), count);
        assert_eq!(samples(&[(7, 5)], false), [of("7", 5.0), of(OTHERS, 0.0)]);
        // One that comes later begins at 0, and there is no room for a third.
        assert_eq!(samples(&[(8, 9), (7, 6), (9, 3)], true), [of("8", 0.0), of("7", 6.0), of(OTHERS, 12.0)]);
        assert_eq!(samples(&[(9, 30), (8, 10), (7, 6)], true), [of("8", 1.0), of("7", 6.0), of(OTHERS, 39.0)]);
    }

    #[test]
    fn times_are_in_the_bucket_of_their_power() {
        let mut durations = Durations::default();
        [1, 1023, 1024, 2047, 2048, 1 << 40].into_iter().for_each(|ns| durations.count_one(ns));
        let of = distribution(&durations);
        let filled: Vec<(f64, u64)> = of.buckets.iter().copied().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(1023e-9, 2), (2047e-9, 2), (4095e-9, 1), (f64::INFINITY, 1)]);
        let exact = (1 + 1023 + 1024 + 2047 + 2048) as f64 / 1e9 + (1u64 << 40) as f64 / 1e9;
        assert!((of.sum / exact - 1.0).abs() < 1.0 / 16.0, "{}", of.sum);
    }
}
