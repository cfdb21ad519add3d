//! Makes a trace for Perfetto (<https://perfetto.dev>) of a recording: a timeline with a track for each
//! thread.
//!
//! The packets of a slice are written when it ends, so packets are not in the order of their times.
//! Perfetto sorts them.

mod begin;
mod counters;
mod flows;
mod message;
mod nested;
mod polls;
mod sched;
mod tracks;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::marks::TaskPoint;
use simple_markers_resolver::text::from_bytes;

use self::begin::Begin;
use self::message::{
    SEQUENCE, annotation, clock, defaults, double, event as field, fixed, integer, interned, location, message, packet,
    text, trace,
};
use self::nested::nested;
use self::polls::{Poll, Polls};
use self::tracks::{Span, Tracks};
use crate::ctf::Description;
use crate::function_names::KnownFunctions;
use crate::hit::Hit;
use crate::pairs::{Pair, Role};
use crate::plan::ShownType;
use crate::text::{json_value, json_why};
use crate::value::{Missing, Value};

pub use self::begin::TimelinePair;
pub use self::counters::{CounterTally, DrawnCounter};
pub use self::flows::{Flow, FlowTally};
pub use self::polls::PollTally;
pub use self::sched::SchedulerEvents;

/// What a timeline shows besides the hits.
#[derive(Debug, Default)]
pub struct TimelineContents {
    /// The pairs that become slices.
    pub pairs: Vec<TimelinePair>,
    /// The hits that arrows connect.
    pub flows: Vec<Flow>,
    /// The arguments whose values are drawn.
    pub counters: Vec<DrawnCounter>,
    /// Whether the events of the scheduler show what ran on each CPU. No switch may be missing
    /// ([`SchedulerEvents`]).
    pub has_cpus: bool,
}

/// What became of the hits of a timeline.
#[derive(Debug)]
pub struct TimelineEnd {
    /// The contents, with what became of their hits.
    pub contents: TimelineContents,
    /// The polls of tasks.
    pub polls: PollTally,
}

/// Makes packets of events.
#[derive(Debug)]
pub struct Timeline<'d> {
    contents: TimelineContents,
    /// The number of the name of the first pair among the names of events, behind those of markers.
    first_span: u64,
    /// The most open slices of a pair, and values of a flow.
    most: usize,
    /// The number of the last flow.
    last_flow: u64,
    /// The names of arguments and markers in annotations.
    names: Names<'d>,
    functions: &'d KnownFunctions,
    tracks: Tracks,
    polls: Polls,
}

/// Names with their numbers.
#[derive(Debug, Default)]
struct Names<'d> {
    numbers: HashMap<&'d str, u64>,
    all: Vec<&'d str>,
}

impl<'d> Names<'d> {
    fn number(&mut self, name: &'d str) -> u64 {
        *self.numbers.entry(name).or_insert_with(|| {
            self.all.push(name);
            self.all.len() as u64
        })
    }

    fn of(&self, name: &str) -> u64 {
        self.numbers.get(name).copied().unwrap_or(0)
    }
}

/// The name of the track of a thread for polls that overlap other slices of the thread.
const POLLS: &str = "polls";

/// The names of annotations that are no arguments.
mod own {
    /// The group of the others.
    pub(super) const GROUP: &str = "smark";
    pub(super) const CPU: &str = "cpu";
    pub(super) const SITE: &str = "site";
    pub(super) const THREAD: &str = "tid";
    pub(super) const TASK: &str = "task";
    /// In place of a value: why there is none.
    pub(super) const WHY: &str = "why";
    /// Beside it: a doubtful value.
    pub(super) const MAYBE: &str = "maybe";
}

impl<'d> Timeline<'d> {
    /// Appends the first packets. At most `most` slices of each pair can be open at once; events that are in no slice
    /// become instants.
    #[must_use]
    pub fn new(description: &'d Description, contents: TimelineContents, most: usize, out: &mut Vec<u8>) -> Self {
        let mut names = Names::default();
        for name in [own::GROUP, own::CPU, own::SITE, own::THREAD, own::TASK, own::WHY, own::MAYBE] {
            names.number(name);
        }
        description.markers.iter().for_each(|marker| _ = names.number(&marker.name));
        for argument in description.sites.iter().flat_map(|site| &site.arguments) {
            names.number(&argument.text);
        }
        start(description, &contents.pairs, &names, out);
        let first_span = description.markers.len() as u64 + 1;
        let (tracks, polls) = (Tracks::default(), Polls::default());
        let functions = &description.functions;
        Self { contents, first_span, most, last_flow: 0, names, functions, tracks, polls }
    }

    /// Appends the packets of a hit. `is_wanted` says whether the user wants to see it. If not, it
    /// may still be the end of a slice, and a slice that it begins is not shown. The polls of tasks are
    /// shown in any case.
    pub fn add(&mut self, hit: &Hit<'_>, is_wanted: bool, out: &mut Vec<u8>) {
        match hit.marker.task_point {
            Some(TaskPoint::PollBegin) => {
                self.tracks.thread(hit, out);
                return self.polls.begin(hit);
            }
            Some(TaskPoint::PollEnd) => return self.end_poll(hit, out),
            Some(TaskPoint::Wake) | None => {}
        }
        if is_wanted && self.contents.has_cpus && sched::write(hit, out) {
            return;
        }
        let pairs = self.contents.pairs.iter_mut();
        let roles: Vec<Option<Role<Rc<Begin>>>> = pairs.map(|pair| pair.role(hit, is_wanted)).collect();
        if !is_wanted && roles.iter().all(Option::is_none) {
            return;
        }
        let thread = self.tracks.thread(hit, out);
        let (track, is_of_task) = match hit.task() {
            Some(Ok(Some(task))) => (self.tracks.task(hit.process, task.get(), out), true),
            _ => (thread, false),
        };
        if is_wanted {
            self.count(hit, out);
        }
        let flows = if is_wanted { self.flows(hit, &roles) } else { Vec::new() };
        let (mut is_written, mut begins) = (false, Vec::new());
        for (number, role) in roles.into_iter().enumerate() {
            match role {
                Some(Role::End(begin)) => {
                    is_written |= begin.is_wanted;
                    self.slice(number, &begin, hit, out);
                }
                Some(Role::Begin(key)) => begins.push((number, key)),
                Some(Role::Nothing) | None => {}
            }
        }
        if begins.is_empty() {
            if is_wanted && !is_written {
                let mut fields = Vec::new();
                self.fields(hit, is_of_task, &mut fields);
                flows.iter().for_each(|flow| fixed(field::FLOW_IDS, *flow, &mut fields));
                one(hit.time, field::INSTANT, track, &fields, out);
            }
            return;
        }
        let mut fields = Vec::new();
        self.fields(hit, true, &mut fields);
        flows.iter().for_each(|flow| fixed(field::FLOW_IDS, *flow, &mut fields));
        let (time, process, thread) = (hit.time, hit.process, hit.thread);
        let is_written = Cell::new(is_written);
        let begin = Rc::new(Begin { time, process, thread, track, fields, is_wanted, is_written });
        for (number, key) in begins {
            let pair = self.contents.pairs.get_mut(number);
            if let Some(over) = pair.and_then(|pair| pair.open(key, Rc::clone(&begin), self.most)) {
                // The event itself is dropped below, if no other pair has it.
                if !Rc::ptr_eq(&over, &begin) {
                    drop_begin(over, out);
                }
            }
        }
        drop_begin(begin, out);
    }

    /// Appends a value of each counter of a hit.
    fn count(&mut self, hit: &Hit<'_>, out: &mut Vec<u8>) {
        for (number, counter) in self.contents.counters.iter_mut().enumerate() {
            let Some(value) = counter.value(hit) else { continue };
            let track = self.tracks.counter(hit, number, &counter.name, out);
            let mut fields = Vec::new();
            match i64::try_from(value) {
                Ok(value) => integer(field::COUNTER_VALUE, value as u64, &mut fields),
                Err(_) => double(field::DOUBLE_COUNTER_VALUE, value as f64, &mut fields),
            }
            one(hit.time, field::COUNTER, track, &fields, out);
        }
    }

    /// The numbers of the arrows of a hit. A hit that ends a pair with the key of a flow ends its arrows.
    fn flows(&mut self, hit: &Hit<'_>, roles: &[Option<Role<Rc<Begin>>>]) -> Vec<u64> {
        let TimelineContents { pairs, flows, .. } = &mut self.contents;
        let mut numbers = Vec::new();
        for flow in flows {
            let Some(key) = flow.key(hit) else { continue };
            let mut ended = pairs.iter().zip(roles).filter(|(_, role)| matches!(role, Some(Role::End(_))));
            if ended.any(|(pair, _)| pair.has_keys(&flow.names)) {
                flow.end(&key);
                continue;
            }
            numbers.extend(flow.number(key, self.most, &mut self.last_flow));
        }
        numbers
    }

    /// Appends the begins that had no end, and the last poll of each task.
    pub fn finish(mut self, out: &mut Vec<u8>) -> TimelineEnd {
        let mut left: Vec<Rc<Begin>> = self.contents.pairs.iter_mut().flat_map(Pair::close).collect();
        left.sort_by_key(|begin| (begin.time, begin.process, begin.thread));
        left.into_iter().for_each(|begin| drop_begin(begin, out));
        let (polls, tally) = std::mem::take(&mut self.polls).finish();
        polls.iter().for_each(|poll| self.write_poll(poll, out));
        TimelineEnd { contents: self.contents, polls: tally }
    }

    /// Takes the end of a poll, and appends the slices of the poll that can be written.
    fn end_poll(&mut self, hit: &Hit<'_>, out: &mut Vec<u8>) {
        self.tracks.thread(hit, out);
        let Some(poll) = self.polls.end(hit) else { return };
        let Poll { process, thread, begin, end, .. } = poll;
        // No pair has this number.
        let track = self.tracks.of_thread(Span { process, thread, begin, end }, usize::MAX, POLLS, out);
        let written = self.polls.keep(Poll { track, ..poll });
        written.iter().for_each(|poll| self.write_poll(poll, out));
    }

    /// Appends the slices of a poll.
    fn write_poll(&mut self, poll: &Poll, out: &mut Vec<u8>) {
        let mut fields = Vec::new();
        match poll.task {
            Some(task) => text(field::NAME, &format!("task {task}"), &mut fields),
            None => text(field::NAME, "task", &mut fields),
        }
        poll.to.iter().for_each(|flow| fixed(field::FLOW_IDS, *flow, &mut fields));
        poll.from.iter().for_each(|flow| fixed(field::TERMINATING_FLOW_IDS, *flow, &mut fields));
        one(poll.begin, field::SLICE_BEGIN, poll.track, &fields, out);
        one(poll.end, field::SLICE_END, poll.track, &[], out);
        let Some(task) = poll.task else { return };
        let track = self.tracks.task(poll.process, task, out);
        let mut fields = Vec::new();
        text(field::NAME, "poll", &mut fields);
        message(field::DEBUG_ANNOTATIONS, &mut fields, |out| {
            message(annotation::DICT_ENTRIES, out, |out| {
                integer(annotation::NAME_IID, self.names.of(own::THREAD), out);
                integer(annotation::UINT_VALUE, poll.thread.into(), out);
            });
            integer(annotation::NAME_IID, self.names.of(own::GROUP), out);
        });
        one(poll.begin, field::SLICE_BEGIN, track, &fields, out);
        one(poll.task_end, field::SLICE_END, track, &[], out);
    }

    /// Appends a slice that a hit ends.
    fn slice(&mut self, number: usize, begin: &Begin, hit: &Hit<'_>, out: &mut Vec<u8>) {
        let Some(pair) = self.contents.pairs.get(number) else { return };
        if !begin.is_wanted {
            return;
        }
        begin.is_written.set(true);
        let end = hit.time.max(begin.time);
        let span = Span { process: begin.process, thread: begin.thread, begin: begin.time, end };
        let nested = (pair.is_span() && begin.thread == hit.thread).then(|| self.tracks.nested(span)).flatten();
        let track = match pair.has_key() {
            _ if nested.is_some() => nested.unwrap_or_default(),
            true => self.tracks.of_process(span, number, &pair.name, out),
            false => self.tracks.of_thread(span, number, &pair.name, out),
        };
        let mut fields = Cow::Borrowed(&begin.fields);
        if pair.is_span() {
            // The name of the begin is in front, and the last one counts.
            integer(field::NAME_IID, self.first_span + number as u64, fields.to_mut());
        }
        one(begin.time, field::SLICE_BEGIN, track, &fields, out);
        // Perfetto merges the annotations of both, so those of the end have a group of their own.
        let mut fields = Vec::new();
        message(field::DEBUG_ANNOTATIONS, &mut fields, |out| {
            integer(annotation::NAME_IID, self.names.of(&hit.marker.name), out);
            self.annotations(annotation::DICT_ENTRIES, hit, true, out);
        });
        one(end, field::SLICE_END, track, &fields, out);
    }

    /// Appends the fields of a hit but its type and track.
    fn fields(&self, hit: &Hit<'_>, has_thread: bool, out: &mut Vec<u8>) {
        let iid = |number: usize| number as u64 + 1;
        integer(field::CATEGORY_IIDS, iid(hit.site.image), out);
        integer(field::NAME_IID, iid(hit.site.marker), out);
        integer(field::SOURCE_LOCATION_IID, iid(hit.number), out);
        self.annotations(field::DEBUG_ANNOTATIONS, hit, has_thread, out);
    }

    /// Appends an annotation for each argument, and one with what else is known of the hit.
    fn annotations(&self, number: u32, hit: &Hit<'_>, has_thread: bool, out: &mut Vec<u8>) {
        for (argument, value) in hit.arguments() {
            message(number, out, |out| {
                integer(annotation::NAME_IID, self.names.of(&argument.text), out);
                self.value(&value, hit, argument.shown.as_deref(), out);
            });
        }
        message(number, out, |out| {
            let mut entry = |name, number, value: u64| {
                message(annotation::DICT_ENTRIES, out, |out| {
                    integer(annotation::NAME_IID, self.names.of(name), out);
                    integer(number, value, out);
                });
            };
            entry(own::CPU, annotation::UINT_VALUE, hit.cpu.into());
            if let Some(address) = hit.address {
                entry(own::SITE, annotation::POINTER_VALUE, address.0);
            }
            if has_thread {
                entry(own::THREAD, annotation::UINT_VALUE, hit.thread.into());
            }
            if let Some(Ok(Some(task))) = hit.task() {
                entry(own::TASK, annotation::UINT_VALUE, task.get());
            }
            integer(annotation::NAME_IID, self.names.of(own::GROUP), out);
        });
    }

    fn value(
        &self,
        value: &Result<Value<'_>, Missing<'_>>,
        hit: &Hit<'_>,
        shown: Option<&ShownType>,
        out: &mut Vec<u8>,
    ) {
        let value = match value {
            Ok(value) => value,
            Err(missing) => {
                if let Missing::Doubtful(Some(maybe)) = missing {
                    message(annotation::DICT_ENTRIES, out, |out| {
                        integer(annotation::NAME_IID, self.names.of(own::MAYBE), out);
                        self.value(&Ok(*maybe), hit, shown, out);
                    });
                }
                return message(annotation::DICT_ENTRIES, out, |out| {
                    integer(annotation::NAME_IID, self.names.of(own::WHY), out);
                    text(annotation::STRING_VALUE, &json_why(missing), out);
                });
            }
        };
        match (value, value.float(), value.integer()) {
            (_, Some(number), _) => double(annotation::DOUBLE_VALUE, number, out),
            (Value::Number { kind: NumberKind::Signed, .. }, _, Some(number)) => {
                integer(annotation::INT_VALUE, number as u64, out);
            }
            (Value::Number { bits, kind: NumberKind::Pointer, .. }, ..) => {
                integer(annotation::POINTER_VALUE, *bits, out);
            }
            (Value::Number { bits, .. }, ..) => integer(annotation::UINT_VALUE, *bits, out),
            (Value::Text { bytes, .. }, ..) => text(annotation::STRING_VALUE, &from_bytes(bytes), out),
            (Value::Null, ..) => integer(annotation::POINTER_VALUE, 0, out),
            (Value::Array { .. }, ..) => text(annotation::STRING_VALUE, &json_value(value).to_string(), out),
            (Value::Whole(_), ..) => {
                if let Some(whole) = shown.and_then(|shown| shown.json(value, hit, self.functions)) {
                    nested(&whole, out);
                }
            }
        }
    }
}

/// Appends a begin as an instant, if it is in no slice and no pair waits for its end.
fn drop_begin(begin: Rc<Begin>, out: &mut Vec<u8>) {
    if let Ok(begin) = Rc::try_unwrap(begin) {
        if begin.is_wanted && !begin.is_written.get() {
            one(begin.time, field::INSTANT, begin.track, &begin.fields, out);
        }
    }
}

/// Appends the packet of an event.
fn one(time: u64, kind: u64, track: u64, fields: &[u8], out: &mut Vec<u8>) {
    message(trace::PACKET, out, |out| {
        integer(packet::TIMESTAMP, time, out);
        integer(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE, out);
        integer(packet::SEQUENCE_FLAGS, packet::NEEDS_STATE, out);
        message(packet::TRACK_EVENT, out, |out| {
            integer(field::TYPE, kind, out);
            integer(field::TRACK_UUID, track, out);
            out.extend_from_slice(fields);
        });
    });
}

/// Appends the packets with the clocks and the names.
fn start(description: &Description, pairs: &[TimelinePair], names: &Names<'_>, out: &mut Vec<u8>) {
    message(trace::PACKET, out, |out| {
        integer(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE, out);
        message(packet::CLOCK_SNAPSHOT, out, |out| {
            let epoch = description.clock_offset.saturating_add(description.start);
            // Perfetto takes the times of the kernel's events as those of CLOCK_BOOTTIME, which differs from CLOCK_MONOTONIC
            // by how long the machine has slept. They have one clock here.
            let (start, boot) = (description.start, clock::BOOTTIME);
            for (id, time) in [(clock::MONOTONIC, start), (boot, start), (clock::REALTIME, epoch)] {
                message(clock::CLOCKS, out, |out| {
                    integer(clock::CLOCK_ID, id, out);
                    integer(clock::TIMESTAMP, time, out);
                });
            }
            integer(clock::PRIMARY_TRACE_CLOCK, clock::MONOTONIC, out);
        });
    });
    message(trace::PACKET, out, |out| {
        integer(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE, out);
        integer(packet::SEQUENCE_FLAGS, packet::CLEARED, out);
        message(packet::TRACE_PACKET_DEFAULTS, out, |out| {
            integer(defaults::TIMESTAMP_CLOCK_ID, clock::MONOTONIC, out);
        });
        message(packet::INTERNED_DATA, out, |out| {
            let mut named = |number, all: &mut dyn Iterator<Item = &str>| {
                for (iid, name) in (1..).zip(all) {
                    message(number, out, |out| {
                        integer(interned::IID, iid, out);
                        text(interned::NAME, name, out);
                    });
                }
            };
            let Description { images, markers, sites, .. } = description;
            named(interned::EVENT_CATEGORIES, &mut images.iter().map(|image| &*image.module));
            let events = markers.iter().map(|marker| &*marker.name).chain(pairs.iter().map(|pair| &*pair.name));
            named(interned::EVENT_NAMES, &mut events.into_iter());
            named(interned::DEBUG_ANNOTATION_NAMES, &mut names.all.iter().copied());
            for (iid, site) in (1..).zip(sites) {
                let Some(marker) = markers.get(site.marker) else { continue };
                message(interned::SOURCE_LOCATIONS, out, |out| {
                    integer(interned::IID, iid, out);
                    if !marker.file.is_empty() {
                        text(location::FILE_NAME, &marker.file, out);
                    }
                    if let Some(function) = &site.function {
                        text(location::FUNCTION_NAME, function, out);
                    }
                    integer(location::LINE_NUMBER, marker.line.into(), out);
                });
            }
        });
    });
}
