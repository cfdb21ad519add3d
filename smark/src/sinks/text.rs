//! Hits as lines for people.

use std::borrow::Cow;
use std::fmt::Write as _;

use simple_markers_resolver::text::shown;
use simple_markers_tracer::Hit;
use simple_markers_tracer::event::Texts;
use simple_markers_tracer::plan::CallSide;

use super::calls::{OpenCalls, ReturnedCall, result_text};
use super::line::HitLine;
use super::sink::Setting;
use crate::console::Console;
use crate::hit_stacks::{self, HitStacks};
use crate::hit_text::{HitText, marker_colour, seconds, task_text, thread_numbers};
use crate::units::duration;

/// Makes the line of a hit, with its stack behind it.
pub(super) struct Text {
    start: u64,
    texts: HitText,
    colour: bool,
    has_tasks: bool,
    stacks: Option<Box<dyn HitStacks>>,
    /// The system calls that have not returned, with the texts of their entries.
    calls: OpenCalls<String>,
    line: String,
}

impl Text {
    pub(super) fn new(setting: Setting) -> Self {
        let Setting { start, names, functions, colour, has_tasks, stacks } = setting;
        let texts = HitText::new(Texts::new(names), functions);
        Self { start, texts, colour, has_tasks, stacks, calls: OpenCalls::default(), line: String::new() }
    }

    /// Makes the line of a system call that returns with a hit.
    fn returned(&mut self, hit: &Hit<'_>, call: &ReturnedCall<String>) {
        self.start(hit, &call.name);
        let from = self.line.len();
        let (text, took) = match &call.entry {
            Some((took, text)) => (text.as_str(), duration(*took)),
            None => ("..", "unknown time".to_owned()),
        };
        // Writing to a String cannot fail.
        let _ = write!(self.line, "{text} = {} in {took}", result_text(call.result));
        escape(&mut self.line, from);
        self.line.push('\n');
        if let Some(stacks) = &mut self.stacks {
            hit_stacks::write(&mut **stacks, hit, &mut self.line);
        }
    }

    /// Appends what is before the text of a hit.
    fn start(&mut self, hit: &Hit<'_>, name: &str) {
        let Hit { cpu, process, thread, .. } = *hit;
        let time = hit.time.saturating_sub(self.start);
        let out = &mut self.line;
        // Writing to a String cannot fail.
        let _ = write!(out, "{} [{cpu:>2}] {:<15} ", seconds(time), shown(&hit.thread_name()));
        let _ = write!(out, "{:<15} ", thread_numbers(process, thread));
        if self.has_tasks {
            let _ = write!(out, "{:<12} ", task_text(hit));
        }
        let _ = match self.colour {
            true => write!(out, "\u{1b}[1;{}m{}\u{1b}[0m: ", marker_colour(name), shown(name)),
            false => write!(out, "{}: ", shown(name)),
        };
    }
}

impl HitLine for Text {
    fn line(&mut self, hit: &Hit<'_>) -> &str {
        self.line.clear();
        if let Some(call) = hit.marker.event.as_ref().and_then(|event| event.call.as_ref()) {
            match call.side {
                CallSide::Entry => {
                    let mut text = String::new();
                    self.texts.write(hit, &mut text);
                    self.calls.enter(hit, call, text);
                }
                CallSide::Return => {
                    if let Some(call) = self.calls.leave(hit, call) {
                        self.returned(hit, &call);
                    }
                }
            }
            return &self.line;
        }
        self.start(hit, &hit.marker.name);
        let from = self.line.len();
        self.texts.write(hit, &mut self.line);
        escape(&mut self.line, from);
        self.line.push('\n');
        if let Some(stacks) = &mut self.stacks {
            hit_stacks::write(&mut **stacks, hit, &mut self.line);
        }
        &self.line
    }

    fn tell(&self, console: &Console) {
        self.calls.tell(console);
        self.stacks.iter().for_each(|stacks| stacks.tell(console));
    }
}

/// Escapes what was appended to a text from a place on.
fn escape(text: &mut String, from: usize) {
    let Some(Cow::Owned(escaped)) = text.get(from..).map(shown) else { return };
    text.replace_range(from.., &escaped);
}
