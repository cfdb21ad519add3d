//! What the threads did during the intervals, as a table and as JSON.

use serde_json::{Value as Json, json};
use simple_markers_tracer::aggregate::{IntervalPart, PartTimes, SplitSubject, SplitTimes};
use simple_markers_tracer::histogram::Durations;

use super::answer::powers;
use crate::units::duration;

/// The parts with their names in the table.
pub(super) fn named_parts(subject: SplitSubject) -> Vec<(IntervalPart, &'static str)> {
    let [first, second, third] = IntervalPart::ALL;
    match subject {
        SplitSubject::Thread => vec![(first, "on CPU"), (second, "queued"), (third, "blocked")],
        SplitSubject::Task { has_wakes: true } => vec![(first, "polled"), (second, "scheduled"), (third, "waiting")],
        // What was not polled is in the second one.
        SplitSubject::Task { has_wakes: false } => vec![(first, "polled"), (second, "not polled")],
    }
}

/// The name of a part in JSON.
pub(super) fn part_key(name: &str) -> String {
    name.to_lowercase().replace(' ', "_")
}

/// Appends a table of the whole intervals and their parts.
pub(super) fn table(wall: &Durations, split: &SplitTimes, out: &mut String) {
    let rest = split.wall.unwrap_or(0).saturating_sub(split.sum());
    let all = split.sum().saturating_add(rest);
    let times = |durations: &Durations| {
        let of = |percent| duration(durations.percentile(percent).unwrap_or(0));
        let (min, max) = match durations.count() {
            0 => (0, 0),
            _ => (durations.min, durations.max),
        };
        [duration(min), of(50), of(90), of(99), duration(max)]
    };
    let width = if split.subject == SplitSubject::Thread { 9 } else { 11 };
    let mut row = |name: &str, sum: &str, share: &str, times: &[String]| {
        let times: String = times.iter().map(|time| format!(" {time:>9}")).collect();
        out.push_str(&format!("{name:<width$}{sum:>9} {share:>7}{times}\n"));
    };
    let share = |sum: u64| match all {
        0 => "-".to_owned(),
        all => format!("{:.1} %", sum as f64 * 100.0 / all as f64),
    };
    row("", "SUM", "", &["MIN", "P50", "P90", "P99", "MAX"].map(str::to_owned));
    row("wall", &duration(all), "", &times(wall));
    for (part, name) in named_parts(split.subject) {
        let PartTimes { durations, sum } = split.get(part);
        row(name, &duration(*sum), &share(*sum), &times(durations));
    }
    if split.count() < wall.count() {
        row("not split", &duration(rest), &share(rest), &[]);
    }
}

/// The parts as an object.
pub(super) fn split_json(split: &SplitTimes) -> Json {
    let part = |part| {
        let PartTimes { durations, sum } = split.get(part);
        let is_some = durations.count() > 0;
        json!({
            "count": durations.count(), "sum": sum,
            "min": is_some.then_some(durations.min), "p50": durations.percentile(50),
            "p90": durations.percentile(90), "p99": durations.percentile(99),
            "max": is_some.then_some(durations.max),
            "histogram": powers_json(durations),
        })
    };
    named_parts(split.subject).into_iter().map(|(of, name)| (part_key(name), part(of))).collect()
}

/// The durations by powers of two, as arrays.
pub(super) fn powers_json(durations: &Durations) -> Vec<Json> {
    powers(durations).into_iter().map(|(low, high, count)| json!([low, high, count])).collect()
}
