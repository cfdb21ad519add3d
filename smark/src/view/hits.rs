//! The texts of hits: a row of the list, and all details of one. They are read when they are shown.

use std::borrow::Cow;
use std::fmt::Write as _;

use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::text::shown;
use simple_markers_resolver::types::write_lines;
use simple_markers_tracer::ctf::Events;
use simple_markers_tracer::plan::PlannedArgument;
use simple_markers_tracer::text::{json_value, json_why};
use simple_markers_tracer::{Hit, Missing, Value};

use super::index::RecordingIndex;
use crate::hit_stacks::{self, KnownStacks};
use crate::hit_text::{HitText, seconds, task_text, thread_numbers};
use crate::report::recording::Recording;
use crate::sources::{NumberedLine, Sources};
use crate::units::duration;

/// How many source lines are read before and after that of a marker.
const AROUND: u32 = 50;

/// The width of the names in front of details.
const WIDTH: usize = 9;

/// A hit in the list. No text has control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HitRow {
    pub(super) time: String,
    pub(super) thread: String,
    pub(super) numbers: String,
    pub(super) marker: String,
    pub(super) text: String,
}

/// What is known of a hit. No line has control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HitDetails {
    pub(super) lines: Vec<String>,
    /// The source around the marker; empty if it is not at hand.
    pub(super) source: Vec<NumberedLine>,
    /// The line of the marker, from 1.
    pub(super) line: u32,
}

/// Reads hits by their numbers.
pub(super) trait ShownHits {
    /// The row of a hit.
    fn row(&mut self, number: usize) -> HitRow;

    /// The details of a hit.
    fn details(&mut self, number: usize) -> &HitDetails;
}

/// The hits of a recording.
pub(super) struct RecordedHits<'a> {
    index: &'a RecordingIndex,
    events: Events<'a>,
    text: HitText,
    stacks: Option<KnownStacks>,
    sources: Sources,
    /// The details that were asked for last.
    last: Option<(usize, HitDetails)>,
}

impl<'a> RecordedHits<'a> {
    pub(super) fn new(recording: &'a Recording, index: &'a RecordingIndex) -> Self {
        let stacks = recording.description.stacks.clone().map(KnownStacks);
        let (events, text) = (recording.events(), recording.text());
        Self { index, events, text, stacks, sources: Sources::default(), last: None }
    }

    /// The hit with a number; `None` if the file has other bytes now.
    pub(super) fn hit(&self, number: usize) -> Option<Hit<'a>> {
        self.events.event_at(*self.index.offsets.get(number)?).ok()
    }

    /// Whether a hit has a text: in the name of its thread or its marker, or in what it says. `lower` is in lower case.
    pub(super) fn has(&mut self, number: usize, lower: &str) -> bool {
        let Some(hit) = self.hit(number) else { return false };
        let mut text = format!("{} {}: ", hit.thread_name(), hit.marker.name);
        self.text.write(&hit, &mut text);
        text.make_ascii_lowercase();
        text.contains(lower)
    }

    fn read(&mut self, number: usize) -> HitDetails {
        let Some(hit) = self.hit(number) else {
            return HitDetails { lines: vec![GONE.to_owned()], ..HitDetails::default() };
        };
        let mut text = String::new();
        self.text.write(&hit, &mut text);
        let mut lines = vec![named("marker", &hit.marker.name), named("text", &text)];
        self.add_arguments(&hit, &mut lines);
        let time = self.index.times.get(number).copied().unwrap_or(0);
        lines.push(named("time", &format!("{}.{:09} s", time / 1_000_000_000, time % 1_000_000_000)));
        let (name, numbers, task) = (hit.thread_name(), thread_numbers(hit.process, hit.thread), task_text(&hit));
        lines.push(named("thread", format!("{name} {numbers} on CPU {} {task}", hit.cpu).trim_end()));
        if let Some(mate) = self.index.mate(number) {
            let other = self.index.times.get(mate).copied().unwrap_or(0);
            let side = if mate > number { "to" } else { "since" };
            lines.push(named("pair", &format!("{} {side} hit {}", duration(time.abs_diff(other)), mate + 1)));
        }
        let marker = hit.marker;
        if !marker.file.is_empty() {
            let function = hit.site.function.as_deref().map_or(String::new(), |name| format!(" in {name}"));
            lines.push(named("place", &format!("{}:{}{function}", marker.file, marker.line)));
        }
        lines.push(named("module", &hit.image.module));
        if let Some(stacks) = &mut self.stacks {
            let mut stack = String::new();
            hit_stacks::write(stacks, &hit, &mut stack);
            if !stack.is_empty() {
                lines.push("stack".to_owned());
                lines.extend(stack.lines().map(|frame| shown(&format!("  {}", frame.trim_start())).into_owned()));
            }
        }
        let source = self.sources.around(&marker.file, marker.line, AROUND, &hit.image.path);
        HitDetails { lines, source, line: marker.line }
    }

    fn add_arguments(&self, hit: &Hit<'_>, lines: &mut Vec<String>) {
        let arguments: Vec<_> = hit.arguments().collect();
        if arguments.is_empty() {
            return;
        }
        lines.push(if hit.marker.event.is_some() { "fields" } else { "arguments" }.to_owned());
        let width = arguments.iter().map(|(argument, _)| argument.text.chars().count()).max().unwrap_or(0).min(20);
        for (argument, value) in arguments {
            let value = match &value {
                Ok(value) => self.value_text(hit, argument, value),
                Err(missing @ Missing::Doubtful(Some(maybe))) => {
                    format!("{}? ({})", self.value_text(hit, argument, maybe), json_why(missing))
                }
                Err(missing) => format!("<{}>", json_why(missing)),
            };
            let mut of_value = value.split('\n');
            let first = of_value.next().unwrap_or_default();
            lines.push(shown(&format!("  {:width$}  {first}", argument.text)).into_owned());
            lines.extend(of_value.map(|line| shown(line).into_owned()));
        }
    }

    /// A value; a long whole value has several lines.
    fn value_text(&self, hit: &Hit<'_>, argument: &PlannedArgument, value: &Value<'_>) -> String {
        let tree = argument.shown.as_ref().and_then(|shown| {
            let tree = shown.named_tree(value, hit, &*self.text.functions)?;
            let mut text = String::new();
            write_lines(&tree, shown.language, 4, &mut text);
            Some(text)
        });
        let mut text = tree.unwrap_or_else(|| match (value, value.integer()) {
            (Value::Number { bits, kind: NumberKind::Pointer, .. }, _) => format!("{bits:#x}"),
            (_, Some(number)) => number.to_string(),
            (value, None) => json_value(value).to_string(),
        });
        if let Some(name) = argument.names.as_ref().and_then(|names| value.name(names)) {
            // Writing to a String cannot fail.
            let _ = write!(text, " ({name})");
        }
        if value.is_cut() {
            text.push_str("..");
        }
        if value.is_changing() {
            text.push_str(" <changing>");
        }
        text
    }
}

/// What is said of a hit that cannot be read again.
const GONE: &str = "the file has other bytes now: open the recording again";

impl ShownHits for RecordedHits<'_> {
    fn row(&mut self, number: usize) -> HitRow {
        let Some(hit) = self.hit(number) else { return HitRow { text: GONE.to_owned(), ..HitRow::default() } };
        let mut text = String::new();
        self.text.write(&hit, &mut text);
        let own = |text: &str| shown(text).into_owned();
        let task = task_text(&hit);
        let numbers = thread_numbers(hit.process, hit.thread);
        HitRow {
            time: seconds(self.index.times.get(number).copied().unwrap_or(0)),
            thread: own(&hit.thread_name()),
            numbers: if task.is_empty() { numbers } else { format!("{numbers} {task}") },
            marker: own(&hit.marker.name),
            text: own(&text),
        }
    }

    fn details(&mut self, number: usize) -> &HitDetails {
        let details = match self.last.take() {
            Some((of, details)) if of == number => details,
            _ => self.read(number),
        };
        &self.last.insert((number, details)).1
    }
}

/// A line of details.
fn named(name: &str, value: &str) -> String {
    let value: Cow<'_, str> = shown(value);
    format!("{name:WIDTH$} {value}")
}
