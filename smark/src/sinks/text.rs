//! Hits as lines for people.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use simple_markers_resolver::text::shown;
use simple_markers_tracer::Hit;
use simple_markers_tracer::event::Texts;
use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::text::{Format, word};

use super::line::HitLine;
use super::sink::Setting;
use crate::console::Console;
use crate::stacks::Stacks;

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
    stacks: Option<Stacks>,
    line: String,
}

impl Text {
    pub(super) fn new(setting: Setting) -> Self {
        let Setting { start, names, functions, colour, has_tasks, stacks } = setting;
        let texts = Texts::new(names);
        Self { start, formats: HashMap::new(), texts, functions, colour, has_tasks, stacks, line: String::new() }
    }

    /// Appends what is before the text of a hit.
    fn start(&mut self, hit: &Hit<'_>) {
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
        let (bold, plain) = if self.colour { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
        let _ = write!(out, "{bold}{}{plain}: ", shown(&hit.marker.name));
    }
}

impl HitLine for Text {
    fn line(&mut self, hit: &Hit<'_>) -> &str {
        self.line.clear();
        self.start(hit);
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
            stacks.write(hit, &mut self.line);
        }
        &self.line
    }

    fn tell(&self, console: &Console) {
        self.stacks.iter().for_each(|stacks| stacks.tell(console));
    }
}

/// Escapes what was appended to a text from a place on.
fn escape(text: &mut String, from: usize) {
    let Some(Cow::Owned(escaped)) = text.get(from..).map(shown) else { return };
    text.replace_range(from.., &escaped);
}
