//! The answer to a question, made of what was counted.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use simple_markers_resolver::types::Names;

use super::amounts::{AmountTotals, Amounts};
use super::key::{KeyValue, bucket_of, group_of, part_of};
use super::split::{IntervalPart, PartTimes, SUM_BUCKET, SplitTimes};
use super::stack_sums::IntervalStacks;
use super::stacks::StackCounts;
use super::{Question, Tallies, Tally};
use crate::filter::{has, names_of, normalized};
use crate::histogram::{Durations, FINE, coarse_range};
use crate::plan::{Aggregate, CallExit, KeyFields, Plan, PlannedSite};

/// What was counted at the sites of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawCounts {
    /// The tallies of each site.
    pub tallies: Vec<Tallies>,
    /// The keys of values or buckets, and how often each was seen.
    pub values: Vec<(Vec<u8>, u64)>,
    /// How long the intervals were.
    pub durations: Durations,
    /// The totals of amounts.
    pub totals: AmountTotals,
    /// For how long the intervals are open that have not ended, and how many there are.
    pub open: Durations,
    /// The parts of the intervals; `None` if they are not split.
    pub split: Option<SplitTimes>,
    /// The stacks during the intervals.
    pub interval_stacks: IntervalStacks,
    /// The addresses of the stacks that were seen, by the numbers in the keys.
    pub stacks: HashMap<u32, Vec<u64>>,
}

/// The counts of the markers of one name in an image.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkerCounts {
    /// The name of the marker.
    pub marker: Arc<str>,
    /// The name of the program or shared object.
    pub module: Arc<str>,
    /// The number of the program or shared object in the plan.
    pub image: usize,
    /// The number that all of these markers have ([`Plan::group`]).
    pub group: usize,
    /// Whether it is an event of the kernel.
    pub is_event: bool,
    /// The hits for which the filter holds.
    pub hits: u64,
    /// The values with how often each was seen, the most frequent first. `None` if values were not
    /// asked for.
    pub values: Option<Vec<(KeyValue, u64)>>,
    /// The coarse buckets that are not empty, in the order of their values. `None` if they were not
    /// asked for.
    pub buckets: Option<Vec<(u32, u64)>>,
    /// The amounts, of all values, and then of each, those with the largest sum first. `None` if they were not asked
    /// for.
    pub amounts: Option<(Option<Amounts>, Vec<AmountsOf>)>,
    /// The stacks of the hits; `None` if they were not asked for.
    pub stacks: Option<StackCounts>,
    /// Names for the values of the argument that was asked for, if they are the same at all sites.
    pub names: Option<Arc<Names>>,
}

/// The amounts of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct AmountsOf {
    /// The value.
    pub value: KeyValue,
    /// Its amounts.
    pub amounts: Amounts,
}

/// The times of the intervals of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct TimesOf {
    /// The value.
    pub value: KeyValue,
    /// How long the intervals were. The shortest and the longest time are those of their buckets.
    pub durations: Durations,
    /// Their parts; `None` if they are not split.
    pub split: Option<SplitTimes>,
}

/// The hits that are in no interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnmatchedHits {
    /// The ends without a start.
    pub ends: u64,
    /// The starts that were forgotten, because too many waited for an end.
    pub repeated: u64,
    /// The starts without an end.
    pub open: u64,
    /// The starts that came while another one waited for its end.
    pub nested: u64,
}

impl UnmatchedHits {
    /// Whether so many of the hits are in no interval that the intervals may be of hits that do not belong
    /// together: more than one in a hundred of the starts or of the ends. Or, if starts come while others
    /// wait for their ends, any: in a function that calls itself, all of them get their ends.
    #[must_use]
    pub fn is_suspicious(&self, intervals: u64) -> bool {
        let starts = self.repeated.saturating_add(self.open);
        let is_much = |alone: u64| alone > 1 && alone.saturating_mul(100) > intervals.saturating_add(alone);
        let alone = starts.saturating_add(self.ends);
        is_much(starts) || is_much(self.ends) || alone > 1 && is_much(self.nested)
    }
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// The markers that have sites in the plan.
    pub markers: Vec<MarkerCounts>,
    /// How long the intervals were; `None` if they were not asked for.
    pub durations: Option<Durations>,
    /// The parts of the intervals; `None` if they were not asked for.
    pub split: Option<SplitTimes>,
    /// The stacks during the intervals.
    pub interval_stacks: IntervalStacks,
    /// The same for each value, the most frequent first. `None` if values were not asked for.
    pub times: Option<Vec<TimesOf>>,
    /// The sum of all tallies.
    pub sum: Tallies,
    /// The hits that are in no interval.
    pub unmatched: UnmatchedHits,
    /// For how long the starts without an end are open; `None` if intervals were not asked for.
    pub open: Option<Durations>,
    /// The functions that ended calls which were timed by a tail call, with how many: the most frequent first.
    /// `None` for one that only the running program knows. Empty if calls were not asked for.
    pub tail_calls: Vec<(Option<Arc<str>>, u64)>,
}

impl RawCounts {
    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let has_none = |tallies: &Tallies| tallies.0.iter().all(|count| *count == 0);
        let no_interval = self.open.count() == 0 && self.durations.counts.iter().all(|count| *count == 0);
        no_interval && self.values.is_empty() && self.totals.is_empty() && self.tallies.iter().all(has_none)
    }

    /// Adds what was counted elsewhere of the same plan. No interval begins in one and ends in the other.
    pub fn add(&mut self, other: Self) {
        self.tallies.resize(self.tallies.len().max(other.tallies.len()), Tallies::default());
        self.tallies.iter_mut().zip(&other.tallies).for_each(|(sum, more)| sum.add(more));
        let mut values: HashMap<Vec<u8>, u64> = std::mem::take(&mut self.values).into_iter().collect();
        for (key, count) in other.values {
            let sum = values.entry(key).or_default();
            *sum = sum.saturating_add(count);
        }
        self.values = values.into_iter().collect();
        self.durations.add(&other.durations);
        self.totals.extend(other.totals);
        self.open.add(&other.open);
        if let Some(other) = other.split {
            self.split.get_or_insert_default().add(&other);
        }
    }
}

impl Counts {
    /// The answer to the question that the plan was narrowed for.
    #[must_use]
    pub fn new(plan: &Plan, question: &Question, counted: &RawCounts) -> Self {
        let (mut markers, mut sum, mut unmatched) = (Vec::new(), Tallies::default(), UnmatchedHits::default());
        let groups: Vec<usize> = plan.sites.iter().map(|site| plan.group(site.marker)).collect();
        for (group, marker) in plan.markers.iter().enumerate() {
            let sites = || groups.iter().enumerate().filter(|(_, of)| **of == group).map(|(site, _)| site);
            let Some(first) = sites().next().and_then(|site| plan.sites.get(site)) else { continue };
            let mut tallies = Tallies::default();
            sites().filter_map(|site| counted.tallies.get(site)).for_each(|of_site| tallies.add(of_site));
            sum.add(&tallies);
            unmatched.nested += tallies.get(Tally::Nested);
            match first.aggregate {
                Aggregate::End(_) => unmatched.ends += tallies.get(Tally::Unmatched),
                _ => unmatched.repeated += tallies.get(Tally::Unmatched),
            }
            let names = names(question, sites().filter_map(|site| plan.sites.get(site)));
            let decode = |fields: &KeyFields, key: &[u8]| fields.decode(key, &names);
            let of_group = || counted.values.iter().filter(|(key, _)| group_of(key) == Some(group));
            markers.push(MarkerCounts {
                marker: Arc::clone(&marker.name),
                module: plan.images.get(marker.image).map_or_else(|| Arc::from(""), |image| Arc::clone(&image.module)),
                image: marker.image,
                group,
                is_event: marker.event.is_some(),
                hits: tallies.get(Tally::Hits),
                values: if let Aggregate::Values(fields) = &first.aggregate {
                    let decoded = of_group().filter_map(|(key, count)| Some((decode(fields, key)?, *count)));
                    let mut decoded: Vec<_> = decoded.collect();
                    decoded.sort_by(|(a, count_a), (b, count_b)| count_b.cmp(count_a).then_with(|| order(a, b)));
                    Some(decoded)
                } else {
                    None
                },
                amounts: if let Aggregate::Amounts { by, .. } = &first.aggregate {
                    Some(amounts(group, by.as_ref(), counted, &names))
                } else {
                    None
                },
                buckets: matches!(question, Question::Histogram(_)).then(|| {
                    let buckets = of_group().filter_map(|(key, count)| Some((bucket_of(key)?, *count)));
                    let mut buckets: Vec<_> = buckets.collect();
                    buckets.sort_by_key(|(bucket, _)| coarse_range(*bucket));
                    buckets
                }),
                stacks: matches!(question, Question::Stacks { .. })
                    .then(|| StackCounts::new(of_group().map(|(key, count)| (&key[..], *count)), &counted.stacks)),
                names: names.into_iter().next().flatten(),
            });
        }
        let is_time = matches!(question, Question::Time { .. });
        unmatched.open = if is_time { counted.open.count() } else { 0 };
        let open = is_time.then(|| counted.open.clone());
        let durations = is_time.then(|| counted.durations.clone());
        let tail_calls = tail_calls(plan, counted);
        let split = question.is_split().then(|| counted.split.clone().unwrap_or_default());
        Self {
            markers,
            durations,
            split,
            interval_stacks: counted.interval_stacks.clone(),
            times: times(plan, question, counted),
            sum,
            unmatched,
            open,
            tail_calls,
        }
    }
}

/// The functions that ended calls by a tail call, with how many.
fn tail_calls(plan: &Plan, counted: &RawCounts) -> Vec<(Option<Arc<str>>, u64)> {
    let mut found: HashMap<Option<Arc<str>>, u64> = HashMap::new();
    for (site, tallies) in plan.sites.iter().zip(&counted.tallies) {
        let (Some(CallExit::TailCall { function }), Aggregate::End(interval)) = (&site.exit, &site.aggregate) else {
            continue;
        };
        let alone = tallies.get(Tally::Unmatched).saturating_add(tallies.get(Tally::Unread));
        let ended = tallies.get(Tally::Hits).saturating_sub(alone);
        if interval.key.is_frame() && ended > 0 {
            *found.entry(function.clone()).or_default() += ended;
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    found
}

/// The counts of the fine buckets of times, and their sum.
#[derive(Default)]
struct BucketCounts {
    counts: Vec<u64>,
    sum: u64,
}

impl BucketCounts {
    fn add(&mut self, bucket: usize, count: u64) {
        self.counts.resize(FINE as usize, 0);
        let sum = if bucket == SUM_BUCKET as usize { Some(&mut self.sum) } else { self.counts.get_mut(bucket) };
        if let Some(sum) = sum {
            *sum = sum.saturating_add(count);
        }
    }

    fn times(self) -> PartTimes {
        PartTimes { durations: Durations::of_buckets(self.counts), sum: self.sum }
    }
}

/// The times of each value. `None` if they were not asked for.
fn times(plan: &Plan, question: &Question, counted: &RawCounts) -> Option<Vec<TimesOf>> {
    let by = plan.sites.iter().find_map(|site| match &site.aggregate {
        Aggregate::End(interval) => interval.by.fields(),
        _ => None,
    })?;
    let names = names(question, plan.sites.iter());
    // The whole intervals, and their parts.
    let mut found: HashMap<&[u8], [BucketCounts; 1 + IntervalPart::ALL.len()]> = HashMap::new();
    for (key, count) in &counted.values {
        let (Some(bucket), Some(part), Some(value)) = (group_of(key), part_of(key), key.get(8..)) else { continue };
        if let Some(of_part) = found.entry(value).or_default().get_mut(part) {
            of_part.add(bucket, *count);
        }
    }
    let subject = counted.split.as_ref().map(|split| split.subject).unwrap_or_default();
    let decoded = |(value, [whole, on_cpu, queued, blocked]): (&[u8], [BucketCounts; 4])| {
        let key = [&[0; 8], value].concat();
        let value = by.decode(&key, &names)?;
        let parts = [on_cpu, queued, blocked].map(BucketCounts::times);
        Some(TimesOf {
            value,
            durations: whole.times().durations,
            split: question.is_split().then_some(SplitTimes { wall: None, parts, subject }),
        })
    };
    let mut times: Vec<_> = found.into_iter().filter_map(decoded).collect();
    times.sort_by(|a, b| b.durations.count().cmp(&a.durations.count()).then_with(|| order(&a.value, &b.value)));
    Some(times)
}

/// The amounts of a group: of all values, and of each.
fn amounts(
    group: usize,
    by: Option<&KeyFields>,
    counted: &RawCounts,
    names: &[Option<Arc<Names>>],
) -> (Option<Amounts>, Vec<AmountsOf>) {
    let mut buckets: HashMap<&[u8], Vec<(u32, u64)>> = HashMap::new();
    for (key, count) in counted.values.iter().filter(|(key, _)| group_of(key) == Some(group)) {
        if let (Some(bucket), Some(value)) = (bucket_of(key), key.get(8..)) {
            buckets.entry(value).or_default().push((bucket, *count));
        }
    }
    let (mut all, mut each) = (None::<Amounts>, Vec::new());
    for (key, total) in counted.totals.iter().filter(|(key, _)| group_of(key) == Some(group)) {
        let Some(buckets) = key.get(8..).and_then(|value| buckets.remove(value)) else { continue };
        let amounts = Amounts::new(*total, buckets.into_iter());
        match &mut all {
            Some(all) => all.add(&amounts),
            None => all = Some(amounts.clone()),
        }
        if let Some(value) = by.and_then(|by| by.decode(key, names)) {
            each.push(AmountsOf { value, amounts });
        }
    }
    each.sort_by(|a, b| b.amounts.sum().cmp(&a.amounts.sum()).then_with(|| order(&a.value, &b.value)));
    (all, each)
}

/// For each argument that is asked for, the names for its values, if they are the same at all sites.
fn names<'p>(question: &Question, sites: impl Iterator<Item = &'p PlannedSite>) -> Vec<Option<Arc<Names>>> {
    let names = match question {
        Question::Values(names) | Question::Time { by: names, .. } | Question::Amounts { by: names, .. } => names,
        Question::Histogram(name) => std::slice::from_ref(name),
        Question::Hits | Question::Processes | Question::Stacks { .. } => &[],
    };
    let is_time = matches!(question, Question::Time { .. });
    let sites: Vec<_> = sites.collect();
    let of_name = |name: &Arc<str>| {
        let name = normalized(name);
        let mut sites = sites.iter().filter(|site| !is_time || has(&name, site));
        let names = names_of(&name, sites.next()?)?;
        sites.all(|site| names_of(&name, site).as_ref() == Some(&names)).then_some(names)
    };
    names.iter().map(of_name).collect()
}

/// The order of values that were seen equally often.
fn order(a: &KeyValue, b: &KeyValue) -> Ordering {
    // Null pointers are among texts, and sorting needs a total order.
    let kind = |value: &KeyValue| match value {
        KeyValue::Null => 0,
        KeyValue::Integer(_) | KeyValue::Named { .. } => 1,
        KeyValue::Float(_) => 2,
        KeyValue::Text { .. } => 3,
        KeyValue::Several(_) => 4,
    };
    match (a, b) {
        (
            KeyValue::Integer(a) | KeyValue::Named { number: a, .. },
            KeyValue::Integer(b) | KeyValue::Named { number: b, .. },
        ) => a.cmp(b),
        (KeyValue::Float(a), KeyValue::Float(b)) => a.total_cmp(b),
        (KeyValue::Text { bytes: a, is_cut }, KeyValue::Text { bytes: b, is_cut: other }) => {
            a.cmp(b).then_with(|| is_cut.cmp(other))
        }
        (KeyValue::Several(a), KeyValue::Several(b)) => {
            let parts = a.iter().zip(b).map(|(a, b)| order(a, b));
            parts.fold(Ordering::Equal, Ordering::then)
        }
        _ => kind(a).cmp(&kind(b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_one_lone_hit_in_a_hundred_is_suspicious() {
        let lone = |ends, repeated, open, nested| UnmatchedHits { ends, repeated, open, nested };
        // 10 of 1,000 are one in a hundred, and 11 of 1,001 are more.
        assert!(!lone(10, 0, 0, 0).is_suspicious(990));
        assert!(lone(11, 0, 0, 0).is_suspicious(990));
        assert!(lone(10, 0, 0, 0).is_suspicious(989));
        // Starts and ends are not added up, but both kinds of starts are.
        assert!(!lone(10, 4, 6, 0).is_suspicious(990));
        assert!(lone(0, 5, 6, 0).is_suspicious(990));
        // The program may end between a start and its end, and one may begin before it was watched.
        assert!(!lone(1, 0, 1, 0).is_suspicious(0));
        assert!(lone(2, 0, 0, 0).is_suspicious(0));
        // Where starts come while others wait, a few are enough.
        assert!(!lone(0, 0, 0, 900).is_suspicious(990));
        assert!(lone(1, 0, 1, 11).is_suspicious(990));
        assert!(!lone(1, 0, 1, 10).is_suspicious(990));
    }
}
