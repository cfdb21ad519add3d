//! The answer of `smark count` and `smark report` to a question about hits.

use std::sync::Arc;

use simple_markers_resolver::text::{from_bytes, shown};
use simple_markers_tracer::Plan;
use simple_markers_tracer::aggregate::{
    AmountsOf, Counts, IntervalSubject, KeyValue, MarkerCounts, Question, RawCounts, SplitSubject, StackCounts, Tally,
    TimesOf, UnmatchedHits,
};
use simple_markers_tracer::filter::normalized;
use simple_markers_tracer::histogram::{Durations, coarse, coarse_range, fine_range};
use simple_markers_tracer::plan::Source;
use simple_markers_tracer::sys::Floor;

use super::heat::HeatMap;
use super::interval_stacks::NamedSums;
use super::question::ValueLimits;
use super::rates::RateHistory;
use super::stacks::NamedStack;
use crate::console::Console;
use crate::stacks::Stacks;
use crate::units::duration;

/// Without intervals.
static NONE: Durations = Durations { counts: Vec::new(), min: 0, max: 0 };

/// The answer to a question.
pub(crate) struct Answer {
    pub(super) counts: Counts,
    question: Question,
    kept: ValueLimits,
    /// The stacks of each marker, if they were asked for.
    pub(super) stacks: Vec<Vec<NamedStack>>,
    /// The stacks during intervals, of each moment that was asked for.
    pub(super) interval_stacks: Vec<NamedSums>,
    /// The arguments that both markers of an interval have.
    keys: Vec<String>,
    /// The shortest time that is measured between the markers, if hits are counted live. The inner value is
    /// `None` if it was not measured.
    pub(super) floor: Option<Option<Floor>>,
    /// How long intervals took over time; `None` if it is not shown.
    pub(super) heat: Option<HeatMap>,
    /// How often markers were passed of late; `None` if it is not shown.
    pub(super) rates: Option<RateHistory>,
}

impl Answer {
    /// The answer to the question that the plan was narrowed for.
    pub(crate) fn new(plan: &Plan, question: &Question, counted: &RawCounts, kept: ValueLimits) -> Self {
        let counts = Counts::new(plan, question, counted);
        let keys = common_arguments(plan, question);
        Self {
            counts,
            question: question.clone(),
            kept,
            stacks: Vec::new(),
            interval_stacks: Vec::new(),
            keys,
            floor: None,
            heat: None,
            rates: None,
        }
    }

    /// The answer with the shortest time that was measured. It is that of probes, so it does not hold if an
    /// interval begins or ends at an event of the kernel, or at a probe that a program records itself.
    pub(crate) fn with_floor(mut self, plan: &Plan, floor: Option<Floor>) -> Self {
        let has_probes = plan.sites.iter().all(|site| plan.event_of(site).is_none() && site.recorded.is_none());
        self.floor = Some(floor.filter(|_| has_probes));
        self
    }

    /// The answer with the functions of the stacks that were counted.
    pub(super) fn with_stacks(mut self, plan: &Plan, stacks: Option<&mut Stacks>) -> Self {
        let Some(stacks) = stacks else { return self };
        if let Question::Stacks { is_kernel } = &self.question {
            let named = |row| NamedStack::of(row, plan, *is_kernel, stacks);
            self.stacks = self.counts.markers.iter().map(named).collect();
        }
        self.interval_stacks = NamedSums::all(&self.counts.interval_stacks, plan, stacks);
        self
    }

    /// The answer with stacks of a recording. `of` has those of the markers with a number ([`MarkerCounts::group`]), and
    /// how many hits are in none.
    pub(crate) fn with_recorded_stacks(mut self, of: &dyn Fn(usize) -> (Vec<NamedStack>, u64)) -> Self {
        for row in &mut self.counts.markers {
            let (stacks, unread) = of(row.group);
            row.stacks = Some(StackCounts { unread, ..StackCounts::default() });
            self.stacks.push(stacks);
        }
        self
    }

    /// The answer with how long intervals took over time.
    pub(crate) fn with_heat(self, heat: Option<HeatMap>) -> Self {
        Self { heat, ..self }
    }

    /// The answer with how often markers were passed of late.
    pub(super) fn with_rates(self, rates: Option<RateHistory>) -> Self {
        Self { rates, ..self }
    }

    /// How long all intervals were.
    pub(super) fn durations(&self) -> &Durations {
        self.counts.durations.as_ref().unwrap_or(&NONE)
    }

    /// The most stacks during intervals that are shown.
    pub(super) fn most_stacks(&self) -> usize {
        self.kept.top
    }

    /// The stacks that are shown of those of a marker, and how many hits the others have.
    pub(super) fn shown_stacks(&self, number: usize) -> Option<(&[NamedStack], &[NamedStack])> {
        let stacks = self.stacks.get(number)?;
        Some(stacks.split_at(self.kept.top.min(stacks.len())))
    }

    /// The arguments that are counted.
    pub(super) fn argument(&self) -> String {
        match &self.question {
            Question::Values(names) => joined(names),
            Question::Histogram(name) => name.to_string(),
            Question::Amounts { of, .. } => of.to_string(),
            Question::Time { key, by, .. } => joined(if by.is_empty() { key.arguments() } else { by }),
            Question::Hits | Question::Processes | Question::Stacks { .. } => String::new(),
        }
    }

    /// The arguments by whose values amounts are told apart; `None` if they are not.
    pub(super) fn amounts_by(&self) -> Option<String> {
        match &self.question {
            Question::Amounts { by, .. } if !by.is_empty() => Some(joined(by)),
            _ => None,
        }
    }

    /// The amounts of the values of a marker that are shown, and the others. `None` if they were not asked for.
    pub(super) fn amounts<'r>(&self, row: &'r MarkerCounts) -> Option<(Vec<&'r AmountsOf>, Vec<&'r AmountsOf>)> {
        let (_, each) = row.amounts.as_ref()?;
        let mut each: Vec<_> = each.iter().collect();
        if self.kept.by_average {
            each.sort_by(|a, b| b.amounts.average().total_cmp(&a.amounts.average()));
        }
        let others = each.split_off(self.kept.top.min(each.len()));
        Some((each, others))
    }

    /// The intervals by their name, if they were asked for.
    pub(super) fn intervals(&self) -> Option<(String, &Durations)> {
        let Question::Time { from, to, .. } = &self.question else { return None };
        let name = if self.is_of_calls() { from.clone() } else { format!("{from}..{to}") };
        Some((name, self.counts.durations.as_ref()?))
    }

    /// Whether the intervals are the calls of a function.
    pub(super) fn is_of_calls(&self) -> bool {
        matches!(&self.question, Question::Time { key: IntervalSubject::Call, .. })
    }

    /// The times of the values that are shown, and how many others there are. `None` if they were not asked
    /// for.
    pub(super) fn times(&self) -> Option<(&[TimesOf], &[TimesOf])> {
        let times = self.counts.times.as_deref()?;
        Some(times.split_at(self.kept.top.min(times.len())))
    }

    /// The arguments that may tell which start an end belongs to, if so many starts or ends stay alone that
    /// the times may be of hits that do not belong together. `None` if they do not.
    pub(super) fn suspicion(&self) -> Option<&[String]> {
        let (_, durations) = self.intervals().filter(|_| !self.is_of_calls())?;
        self.counts.unmatched.is_suspicious(durations.count()).then_some(&self.keys)
    }

    /// The values that are shown.
    pub(super) fn shown<'v>(&self, values: &'v [(KeyValue, u64)]) -> &'v [(KeyValue, u64)] {
        values.get(..self.kept.top).unwrap_or(values)
    }

    /// How many hits there are.
    pub(super) fn hits(&self) -> u64 {
        self.counts.sum.get(Tally::Hits)
    }

    /// How many hits could not be filtered.
    pub(crate) fn unfiltered(&self) -> u64 {
        self.counts.sum.get(Tally::Unfiltered)
    }

    /// How many hits are in no value, bucket or interval for want of space or of a value.
    pub(crate) fn uncounted(&self) -> u64 {
        let without = self.hits_without_stack();
        let samples: u64 = self.interval_stacks.iter().map(NamedSums::uncounted).sum();
        self.counts.sum.get(Tally::Unread) + self.counts.sum.get(Tally::Full) + without + samples
    }

    /// How many hits are in no stack, if stacks are counted.
    pub(super) fn hits_without_stack(&self) -> u64 {
        let of_stacks = self.counts.markers.iter().filter_map(|row| row.stacks.as_ref());
        of_stacks.map(|stacks| stacks.collided + stacks.full + stacks.unread).sum()
    }

    /// Says what was not counted.
    pub(crate) fn tell(&self, console: &Console) {
        let plural = |count: u64, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        let say = |count: u64, one: &str, many: &str| {
            if count > 0 {
                console.error(&plural(count, one, many));
            }
        };
        let (unread, full) = (self.counts.sum.get(Tally::Unread), self.counts.sum.get(Tally::Full));
        let (name, most) = (self.argument(), self.kept.most);
        let unreadable = format!("not counted: `{name}` could not be read");
        say(unread, &format!("hit is {unreadable}"), &format!("hits are {unreadable}"));
        let no_space = format!("not counted: {most} values are kept (--max-values)");
        say(full, &format!("hit is {no_space}"), &format!("hits are {no_space}"));
        let of_stacks = |get: fn(&StackCounts) -> u64| {
            self.counts.markers.iter().filter_map(|row| row.stacks.as_ref()).map(get).sum::<u64>()
        };
        let other = "in no stack: another stack has its place in the kernel's table";
        say(of_stacks(|it| it.collided), &format!("hit is {other}"), &format!("hits are {other}"));
        let no_room = "in no stack: the kernel's table is full (--max-values)";
        say(of_stacks(|it| it.full), &format!("hit is {no_room}"), &format!("hits are {no_room}"));
        let no_stack = "in no stack: there is none that could be read";
        say(of_stacks(|it| it.unread), &format!("hit is {no_stack}"), &format!("hits are {no_stack}"));
        self.tell_split(console);
        self.interval_stacks.iter().for_each(|sums| sums.tell(console));
        if let Question::Time { from, key: IntervalSubject::Call, .. } = &self.question {
            let UnmatchedHits { ends, repeated, open, .. } = self.counts.unmatched;
            let of = shown(from);
            let late = format!("of {of} was left whose entry was not seen");
            say(ends, &format!("call {late}"), &format!("calls {late}"));
            let left = format!("of {of} did not return: another one had the same frame (longjmp or an exception)");
            say(repeated, &format!("call {left}"), &format!("calls {left}"));
            let ages = self.ages();
            let open_at_end = format!("of {of} had not returned at the end (or never: longjmp or an exception){ages}");
            say(open, &format!("call {open_at_end}"), &format!("calls {open_at_end}"));
        } else if let Question::Time { from, to, .. } = &self.question {
            let UnmatchedHits { ends, repeated, open, nested } = self.counts.unmatched;
            let (from, to) = (shown(from), shown(to));
            say(ends, &format!("{to} came without a {from}"), &format!("{to} came without a {from}"));
            let followed = format!("{from} was followed by so many {from} without {to} that it was forgotten");
            say(repeated, &followed, &followed);
            let without = format!("{from} had no {to} until the end{}", self.ages());
            say(open, &without, &without);
            if let Some(keys) = self.suspicion() {
                let inner = format!("{from} came while another {from} waited for its {to}");
                say(nested, &inner, &inner);
                console.error(&self.advice(keys));
            }
        }
    }

    /// For how long the starts without an end are open.
    fn ages(&self) -> String {
        let Some(open) = self.counts.open.as_ref().filter(|open| open.count() > 0) else { return String::new() };
        match (open.count(), duration(open.max), duration(open.percentile(50).unwrap_or(0))) {
            (1, oldest, _) => format!(": open for {oldest}"),
            (_, oldest, median) => format!(": open for {median} at the median, {oldest} at most"),
        }
    }

    /// Says how many intervals are not split.
    fn tell_split(&self, console: &Console) {
        let (Some(split), Some((_, durations))) = (&self.counts.split, self.intervals()) else { return };
        let (all, whole) = (durations.count(), durations.count().saturating_sub(split.count()));
        if whole > 0 {
            let why = match split.subject {
                SplitSubject::Thread => {
                    "they began in another thread than they ended in, or in one of too many threads"
                }
                SplitSubject::Task { .. } => "the recording does not have all polls of their tasks",
            };
            console.error(&format!("--split: {whole} of {all} times are not split: {why}"));
        }
    }

    /// What to do if the times may be of hits that do not belong together.
    fn advice(&self, keys: &[String]) -> String {
        let why = "the times may be of hits that do not belong together";
        let keys: Vec<String> = keys.iter().map(|key| format!("`{}`", shown(key))).collect();
        match (&self.question, keys.as_slice()) {
            (Question::Time { key: IntervalSubject::Arguments(keys), .. }, _) => {
                format!("{why}: not each value of `{}` is in both", shown(&joined(keys)))
            }
            (_, []) => format!("{why}, as where work goes from thread to thread; no argument is in both, for --key"),
            (_, keys) => {
                format!("{why}, as where work goes from thread to thread: try --key with {}", keys.join(" or "))
            }
        }
    }

    /// How many values are not shown, and how often they were seen. `None` if all are shown.
    pub(super) fn other(&self, values: &[(KeyValue, u64)]) -> Option<(usize, u64)> {
        let rest = values.get(self.kept.top..).filter(|rest| !rest.is_empty())?;
        Some((rest.len(), rest.iter().map(|(_, count)| count).sum()))
    }
}

/// The arguments that can be read at both markers of an interval, as their markers have them, without the
/// one that is the key already.
fn common_arguments(plan: &Plan, question: &Question) -> Vec<String> {
    let Question::Time { from, to, key, .. } = question else { return Vec::new() };
    let is_key = |text: &str| key.arguments().iter().any(|key| normalized(key) == normalized(text));
    let of = |name: &str| {
        let sites = plan.sites.iter().enumerate();
        let sites = sites.filter(|(site, _)| plan.marker_of(*site).is_some_and(|marker| *marker.name == *name));
        let arguments = sites.flat_map(|(_, site)| &site.arguments);
        let readable = arguments.filter(|argument| matches!(argument.source, Source::Read(_)));
        readable.map(|argument| argument.text.to_string()).collect::<Vec<_>>()
    };
    let (mut common, ends) = (Vec::new(), of(to));
    for argument in of(from) {
        if ends.contains(&argument) && !common.contains(&argument) && !is_key(&argument) {
            common.push(argument);
        }
    }
    common
}

/// A value as text, without quotes.
pub(super) fn value_text(value: &KeyValue) -> String {
    match value {
        KeyValue::Integer(number) => number.to_string(),
        KeyValue::Named { name, .. } => name.to_string(),
        KeyValue::Float(number) => number.to_string(),
        KeyValue::Text { bytes, is_cut } => format!("{}{}", from_bytes(bytes), if *is_cut { ".." } else { "" }),
        KeyValue::Null => "(null)".to_owned(),
        KeyValue::Several(values) => values.iter().map(value_text).collect::<Vec<_>>().join(", "),
    }
}

/// Names of arguments, as one.
fn joined(names: &[Arc<str>]) -> String {
    names.join(", ")
}

/// The durations by powers of two: the smallest and the largest of each, and how many there are.
pub(super) fn powers(durations: &Durations) -> Vec<(u64, u64, u64)> {
    let mut powers: Vec<(u32, u64)> = Vec::new();
    for (fine, count) in (0..).zip(&durations.counts).filter(|(_, count)| **count > 0) {
        let bucket = coarse(fine_range(fine).0.into());
        match powers.last_mut() {
            Some((last, sum)) if *last == bucket => *sum += count,
            _ => powers.push((bucket, *count)),
        }
    }
    let range = |bucket| {
        let (low, high) = coarse_range(bucket);
        (u64::try_from(low).unwrap_or(0), u64::try_from(high).unwrap_or(u64::MAX))
    };
    powers.into_iter().map(|(bucket, count)| (range(bucket).0, range(bucket).1, count)).collect()
}
