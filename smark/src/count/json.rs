//! Counts as JSON, a line for each marker.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use simple_markers_tracer::aggregate::{
    Amounts, AmountsOf, KeyValue, MarkerCounts, StackCounts, StackMoment, TimesOf, UnmatchedHits,
};
use simple_markers_tracer::histogram::coarse_range;
use simple_markers_tracer::text::json_integer;

use super::answer::{Answer, value_text};
use super::heat::HeatMap;
use super::split::{powers_json, split_json};
use super::stacks::NamedStack;

impl Answer {
    /// An object for each marker, and one for the intervals.
    pub(crate) fn json(&self) -> Vec<Json> {
        let row = |(number, row): (usize, &MarkerCounts)| {
            let by = row.values.as_ref().map(|values| {
                let shown = self.shown(values).iter().map(|(value, count)| match value {
                    KeyValue::Named { name, .. } => json!([json_key(value), count, &**name]),
                    _ => json!([json_key(value), count]),
                });
                Json::from(shown.collect::<Vec<_>>())
            });
            let other = row.values.as_ref().map(|values| self.other(values).map_or(0, |(_, count)| count));
            let histogram = row.buckets.as_ref().map(|buckets| {
                let bucket = |(bucket, count): &(u32, u64)| {
                    let (low, high) = coarse_range(*bucket);
                    json!([json_integer(low), json_integer(high), count])
                };
                Json::from(buckets.iter().map(bucket).collect::<Vec<_>>())
            });
            let (amounts, by, other) = match (&row.amounts, self.amounts(row)) {
                (Some((all, _)), Some((shown, others))) => {
                    let each = self.amounts_by().map(|_| shown.into_iter().map(amounts_of_json).collect());
                    (Some(all.as_ref().map(amounts_json)), each, Some(others.iter().map(|it| it.amounts.count()).sum()))
                }
                _ => (None, by, other),
            };
            let kind = if row.is_event { "event" } else { "marker" };
            let mut line = json!({
                kind: &*row.marker, "module": &*row.module, "hits": row.hits,
                "by": by, "other": other, "histogram": histogram, "time": null,
            });
            if let (Some(amounts), Some(line)) = (amounts, line.as_object_mut()) {
                line.insert("amounts".to_owned(), amounts.into());
            }
            if let (Some((shown, others)), Some(counts), Some(line)) =
                (self.shown_stacks(number), &row.stacks, line.as_object_mut())
            {
                line.insert("stacks".to_owned(), shown.iter().map(NamedStack::json).collect());
                line.insert("other".to_owned(), others.iter().map(|stack| stack.sum).sum::<u64>().into());
                let StackCounts { collided, full, unread, .. } = counts;
                line.insert("no_stack".to_owned(), json!({ "collided": collided, "full": full, "unread": unread }));
            }
            line
        };
        let mut lines: Vec<Json> = self.counts.markers.iter().enumerate().map(row).collect();
        if let Some((interval, durations)) = self.intervals() {
            let is_some = durations.count() > 0;
            let UnmatchedHits { ends, repeated, open, nested } = self.counts.unmatched;
            let by = self.times().map(|(times, _)| times.iter().map(times_json).collect::<Vec<_>>());
            let other = self.times().map(|(_, others)| others.iter().map(|it| it.durations.count()).sum::<u64>());
            let tail_call = |(function, count): &(Option<Arc<str>>, u64)| json!([function.as_deref(), count]);
            let tail_calls = self.counts.tail_calls.iter().map(tail_call).collect::<Vec<_>>();
            let tail_calls = self.is_of_calls().then_some(tail_calls);
            let time = json!({
                "count": durations.count(),
                "min": is_some.then_some(durations.min), "p50": durations.percentile(50),
                "p90": durations.percentile(90), "p99": durations.percentile(99),
                "max": is_some.then_some(durations.max),
                "open": self.counts.open.as_ref().filter(|open| open.count() > 0).map(|open| json!({
                    "p50": open.percentile(50), "max": open.max,
                })),
                "heat": self.heat.as_ref().map(HeatMap::json), "ends_without_start": ends, "starts_without_end": repeated + open, "nested": nested,
                "floor": self.floor.flatten().map(|floor| json!([floor.emulated, floor.stepped])),
                "not_returned": self.is_of_calls().then_some(repeated), "tail_calls": tail_calls,
                "sum": self.counts.split.as_ref().and_then(|split| split.wall),
                "split": self.counts.split.as_ref().map(split_json),
                "blocked": self.stacks_json(StackMoment::Blocked), "on_cpu": self.stacks_json(StackMoment::OnCpu),
                "is_doubtful": self.suspicion().is_some(), "keys": self.suspicion(),
            });
            lines.push(json!({
                "marker": interval, "module": null, "hits": durations.count(),
                "by": by, "other": other, "histogram": powers_json(durations), "time": time,
            }));
        }
        lines
    }

    /// The stacks during intervals; `None` if they were not asked for.
    fn stacks_json(&self, moment: StackMoment) -> Option<Json> {
        let sums = self.interval_stacks.iter().find(|sums| sums.moment() == moment)?;
        Some(sums.json(self.most_stacks()))
    }
}

/// A value, how many times it has, and their percentiles and powers of two.
fn times_json(TimesOf { value, durations, split }: &TimesOf) -> Json {
    let of = |percent| durations.percentile(percent);
    let times = json!({
        "p50": of(50), "p90": of(90), "p99": of(99), "histogram": powers_json(durations),
        "split": split.as_ref().map(split_json),
    });
    match value {
        KeyValue::Named { name, .. } => json!([json_key(value), durations.count(), times, &**name]),
        _ => json!([json_key(value), durations.count(), times]),
    }
}

/// A value, how many amounts it has, and what they are.
fn amounts_of_json(AmountsOf { value, amounts }: &AmountsOf) -> Json {
    match value {
        KeyValue::Named { name, .. } => json!([json_key(value), amounts.count(), amounts_json(amounts), &**name]),
        _ => json!([json_key(value), amounts.count(), amounts_json(amounts)]),
    }
}

/// The sum of amounts, and how they are distributed.
fn amounts_json(amounts: &Amounts) -> Json {
    let (smallest, largest) = amounts.range();
    let of = |percent| json_integer(amounts.percentile(percent));
    json!({
        "count": amounts.count(), "sum": json_integer(amounts.sum()), "avg": amounts.average(),
        "min": json_integer(smallest), "p50": of(50), "p90": of(90), "p99": of(99), "max": json_integer(largest),
    })
}

fn json_key(value: &KeyValue) -> Json {
    match value {
        KeyValue::Several(values) => values.iter().map(json_key).collect(),
        KeyValue::Integer(number) | KeyValue::Named { number, .. } => json_integer(*number),
        KeyValue::Float(number) if number.is_finite() => Json::from(*number),
        KeyValue::Float(_) | KeyValue::Text { .. } => Json::from(value_text(value)),
        KeyValue::Null => Json::Null,
    }
}
