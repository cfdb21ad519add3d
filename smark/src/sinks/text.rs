//! Hits as lines for people.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use simple_markers_resolver::text::shown;
use simple_markers_tracer::Hit;
use simple_markers_tracer::event::Texts;
use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::plan::CallSide;
use simple_markers_tracer::text::{Format, word};

use super::calls::{OpenCalls, ReturnedCall, result_text};
use super::line::HitLine;
use super::sink::Setting;
use crate::console::Console;
use crate::hit_stacks::{self, HitStacks};
use crate::units::duration;

/// Makes the line of a hit, with its stack behind it.
pub(super) struct Text {
    start: u64,
    /// By the number of the marker.
    formats: HashMap<usize, Format>,
    /// The texts of the kernel's events.
    texts: Texts,
    functions: Box<dyn FunctionNames>,
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
        let texts = Texts::new(names);
        let (formats, calls) = (HashMap::new(), OpenCalls::default());
        Self { start, formats, texts, functions, colour, has_tasks, stacks, calls, line: String::new() }
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
        let (seconds, fraction) = (time / 1_000_000_000, time % 1_000_000_000 / 1000);
        let out = &mut self.line;
        // Writing to a String cannot fail.
        let _ = write!(out, "{seconds:>4}.{fraction:06} [{cpu:>2}] {:<15} ", shown(&hit.thread_name()));
        let numbers = if process == thread { process.to_string() } else { format!("{process}/{thread}") };
        let _ = write!(out, "{numbers:<15} ");
        if self.has_tasks {
            let task = match hit.task() {
                Some(Ok(Some(number))) => format!("task {number}"),
                Some(Err(missing)) => format!("task <{}>", word(&missing)),
                Some(Ok(None)) | None => String::new(),
            };
            let _ = write!(out, "{task:<12} ");
        }
        let _ = match self.colour {
            true => write!(out, "\u{1b}[1;{}m{}\u{1b}[0m: ", colour(name), shown(name)),
            false => write!(out, "{}: ", shown(name)),
        };
    }
}

impl HitLine for Text {
    fn line(&mut self, hit: &Hit<'_>) -> &str {
        self.line.clear();
        if let Some((event, call)) = hit.marker.event.as_ref().and_then(|event| Some((event, event.call.as_ref()?))) {
            match call.side {
                CallSide::Entry => {
                    let mut text = String::new();
                    self.texts.write(event, hit, &mut text);
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
        match &hit.marker.event {
            Some(event) => self.texts.write(event, hit, &mut self.line),
            None => {
                let format = &hit.marker.format;
                let format = self.formats.entry(hit.site.marker).or_insert_with(|| Format::new(format));
                format.write_named(hit, &*self.functions, &mut self.line);
            }
        }
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

/// The colour of the name of a marker (ECMA-48, SGR): the same in each run.
fn colour(name: &str) -> u32 {
    // Red, green, yellow, blue, magenta and cyan can be read on dark and on light ground.
    31 + name.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % 6
}

/// Escapes what was appended to a text from a place on.
fn escape(text: &mut String, from: usize) {
    let Some(Cow::Owned(escaped)) = text.get(from..).map(shown) else { return };
    text.replace_range(from.., &escaped);
}
