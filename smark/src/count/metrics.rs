//! `--metrics` and `--otlp`: the counts as metrics.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_resolver::text::shown;
use simple_markers_tracer::Plan;
use simple_markers_tracer::aggregate::{KeyValue, MarkerCounts, SplitTimes, Tally, UnmatchedHits};
use simple_markers_tracer::histogram::Durations;

use super::answer::{Answer, value_text};
use super::split::{named_parts, part_key};
use crate::address::Address;
use crate::console::Console;
use crate::metrics::{self, Family, FamilyOutput, Labels, SampleValue, Samples};

/// How old the page is at most.
const AGE: Duration = Duration::from_secs(1);

/// The value of what has no series of its own.
const OTHERS: &str = "all others";

/// A page with the counts, which a server hands out.
pub(super) struct MetricsPage {
    families: Arc<Mutex<Vec<Family>>>,
    /// Where the server listens.
    pub(super) address: SocketAddr,
    due: Instant,
}

impl MetricsPage {
    /// Listens. The page is empty at first.
    pub(super) fn start(address: &Address) -> anyhow::Result<Self> {
        let families = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&families);
        let address = metrics::serve(address, move || shared.lock().unwrap_or_else(PoisonError::into_inner).clone())?;
        Ok(Self { families, address, due: Instant::now() })
    }
}

impl FamilyOutput for MetricsPage {
    fn due(&self) -> Instant {
        self.due
    }

    fn put(&mut self, families: &[Family], _: &Plan) {
        *self.families.lock().unwrap_or_else(PoisonError::into_inner) = families.to_vec();
        self.due = Instant::now() + AGE;
    }
}

/// Makes metrics of counts, for all who take them.
pub(super) struct CountMetrics {
    outputs: Vec<Box<dyn FamilyOutput>>,
    started: Instant,
    exposed: ExposedValues,
}

/// The values that have a series of their own. Series must only grow, so one that has been there stays, and of one that
/// comes later the hits before are counted with the others.
#[derive(Debug, Default)]
struct ExposedValues {
    /// The hits that are counted with the others, by the number of the marker and the value.
    before: HashMap<(usize, String), u64>,
    /// Whether there were metrics before.
    is_begun: bool,
}

impl CountMetrics {
    pub(super) fn new(outputs: Vec<Box<dyn FamilyOutput>>) -> Self {
        Self { outputs, started: Instant::now(), exposed: ExposedValues::default() }
    }

    /// When the first of them takes metrics next; `None` if nobody takes any.
    pub(super) fn due(&self) -> Option<Instant> {
        self.outputs.iter().map(|output| output.due()).min()
    }

    /// Makes metrics for those who take them now. At most `most` values of each marker have series of their own.
    pub(super) fn update(&mut self, answer: &Answer, plan: &Plan, most: usize) {
        let families = self.families_of(answer, most);
        let now = Instant::now();
        self.outputs.iter_mut().filter(|output| now >= output.due()).for_each(|output| output.put(&families, plan));
    }

    /// Makes the last metrics for all. Returns the members of the last line of JSON.
    pub(super) fn end(
        &mut self,
        answer: &Answer,
        plan: &Plan,
        most: usize,
        console: &Console,
    ) -> Vec<(&'static str, Json)> {
        let families = if self.outputs.is_empty() { Vec::new() } else { self.families_of(answer, most) };
        let ended = std::mem::take(&mut self.outputs).into_iter().filter_map(|mut output| {
            output.put(&families, plan);
            output.end(console)
        });
        ended.collect()
    }

    fn families_of(&mut self, answer: &Answer, most: usize) -> Vec<Family> {
        let rows = &answer.counts.markers;
        let argument = answer.argument();
        let counter = |name, help, samples| Family { name, help, is_time: false, samples: Samples::Counter(samples) };
        let time = |name, help, samples| Family { name, help, is_time: true, samples };
        let measured = vec![(Labels::new(), SampleValue::Real(self.started.elapsed().as_secs_f64()))];
        let mut families = vec![
            time("smark_measured", "How long hits were counted.", Samples::Counter(measured)),
            counter("smark_hits", "Hits of markers and of events of the kernel.", {
                rows.iter().map(|row| (labels(row), row.hits.into())).collect()
            }),
            counter(
                "smark_uncounted_hits",
                "Hits that are in no value, bucket or interval, for want of space or of a value.",
                {
                    let uncounted = answer.counts.sum.get(Tally::Unread) + answer.counts.sum.get(Tally::Full);
                    vec![(Labels::new(), uncounted.into())]
                },
            ),
            counter("smark_unfiltered_hits", "Hits that could not be filtered.", {
                vec![(Labels::new(), answer.unfiltered().into())]
            }),
        ];
        if rows.iter().any(|row| row.values.is_some()) {
            let samples = rows.iter().flat_map(|row| self.exposed.samples(row, &argument, most)).collect();
            families.push(counter("smark_values", "Hits by the value of an argument.", samples));
        }
        let with = |row| [labels(row), vec![("argument", shown(&argument).into_owned())]].concat();
        if rows.iter().any(|row| row.amounts.is_some()) {
            let all = rows.iter().filter_map(|row| Some((row, row.amounts.as_ref()?.0.as_ref()?)));
            let sum = |sum: i128| SampleValue::Integer(sum);
            let (sums, counts) =
                all.map(|(row, all)| ((with(row), sum(all.sum())), (with(row), all.count().into()))).unzip();
            let help = "The sum of an argument, which may be negative.";
            families.push(Family { name: "smark_amount", help, is_time: false, samples: Samples::Gauge(sums) });
            families.push(counter("smark_amounts", "The values in the sum of an argument.", counts));
        }
        if rows.iter().any(|row| row.buckets.is_some()) {
            let buckets = rows.iter().filter_map(|row| Some((with(row), row.buckets.clone()?))).collect();
            let help = "How the values of an argument are distributed, by powers of two.";
            families.push(Family {
                name: "smark_distribution",
                help,
                is_time: false,
                samples: Samples::Powers(buckets),
            });
        }
        if let Some((name, durations)) = answer.intervals() {
            families.extend(intervals(answer, &shown(&name), durations));
        }
        self.exposed.is_begun = true;
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
            samples: Samples::Times(vec![(labels(None), durations.clone())]),
        },
        Family {
            name: "smark_unpaired_hits",
            help: "Starts and ends of intervals without the other one.",
            is_time: false,
            samples: Samples::Counter({
                alone.map(|(side, count)| (labels(Some(("side", side))), count.into())).to_vec()
            }),
        },
        Family {
            name: "smark_open_intervals",
            help: "Intervals that have not ended.",
            is_time: false,
            samples: Samples::Gauge(vec![(labels(None), open.into())]),
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
fn parts(split: &SplitTimes, labels: &dyn Fn(&str) -> Labels) -> Vec<(Labels, SampleValue)> {
    let seconds = |ns: u64| SampleValue::Real(ns as f64 / 1e9);
    let named = named_parts(split.subject).into_iter();
    named.map(|(part, name)| (labels(&part_key(name)), seconds(split.get(part).sum))).collect()
}

/// The labels of a marker.
fn labels(row: &MarkerCounts) -> Labels {
    let kind = if row.is_event { "event" } else { "marker" };
    let module = (!row.module.is_empty()).then(|| ("module", shown(&row.module).into_owned()));
    [(kind, shown(&row.marker).into_owned())].into_iter().chain(module).collect()
}

impl ExposedValues {
    /// The samples of the values of a marker, at most `most`, and of the others.
    fn samples(&mut self, row: &MarkerCounts, argument: &str, most: usize) -> Vec<(Labels, SampleValue)> {
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
                    samples.push((labels(text), count.saturating_sub(*before).into()));
                    others = others.saturating_add(*before);
                }
                None => others = others.saturating_add(*count),
            }
        }
        samples.push((labels(OTHERS.to_owned()), others.into()));
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
        let of = |value: &str, count: u64| (value.to_owned(), count.into());
        assert_eq!(samples(&[(7, 5)], false), [of("7", 5), of(OTHERS, 0)]);
        // One that comes later begins at 0, and there is no room for a third.
        assert_eq!(samples(&[(8, 9), (7, 6), (9, 3)], true), [of("8", 0), of("7", 6), of(OTHERS, 12)]);
        assert_eq!(samples(&[(9, 30), (8, 10), (7, 6)], true), [of("8", 1), of("7", 6), of(OTHERS, 39)]);
    }
}
