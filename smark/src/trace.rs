//! `smark trace`: prints the hits of markers as they happen.

mod hits_to;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::Value as Json;
use simple_markers_resolver::text::shown;
use simple_markers_tracer::Hit;
use simple_markers_tracer::event::Texts;
use simple_markers_tracer::text::{self, Format};

use self::hits_to::HitsTo;
use crate::console::Console;
use crate::end::{self, Totals};
use crate::narrow;
use crate::quantity;
use crate::rates;
use crate::stacks::Stacks;
use crate::watch::{Buffer, Next, STATUS, Watch, events, under_heading};

/// Print the hits of markers as they happen, each as its format says
///
/// FILE is an executable or a shared object; every process that runs it is watched. With -p only that process is watched, with
/// -- COMMAND only the program that is started, and their children. PATTERN is a glob for marker names. An operand is a FILE if it
/// contains a `/` or names an existing file.
///
/// A line has the time in seconds since the start, the CPU, the thread's name, the process and thread numbers, the marker's name and
/// its text. A question mark follows a value that may be another one in the source (`smark explain SM038`); an argument that cannot
/// be read is shown as `<lost>`, `<doubtful>` or `<unreadable>`.
#[derive(Debug, Args)]
#[command(
    override_usage = "smark trace [OPTIONS] [PATTERN]... <FILE>...\n       smark trace [OPTIONS] [PATTERN]... -p <PID>\n       smark trace [OPTIONS] [PATTERN]... [FILE]... -- <COMMAND>...\n       smark trace [OPTIONS] -e <GLOB>",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}"),
    mut_args(under_heading)
)]
pub(crate) struct Trace {
    #[command(flatten)]
    watch: Watch,
    /// Print a line of JSON for each hit
    #[arg(long)]
    json: bool,
    /// Write the hits to this file, so that they do not mix with what the program prints
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite the output file if it exists
    #[arg(long, requires = "output")]
    force: bool,
    /// Instead of hits, print how often each marker was hit in each interval of this length, 100ms for example; for sums see
    /// `smark count --every`
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration, conflicts_with_all = ["stack", "limit", "buffer"])]
    every: Option<Duration>,
    /// Print the stack of each hit, which is followed by frame pointers: at most 64 frames
    #[arg(long)]
    stack: bool,
    #[command(flatten)]
    buffer: Buffer,
}

const EXAMPLES: &str = "\
EXAMPLES
  What a program does, from its first instruction to its last:
      smark trace -- target/release/server --port 8080
  Some markers of a running process:
      smark trace 'queue:*' -p $(pidof server)
  Ten hits of a marker in any process:
      smark trace -n 10 queue:complete target/release/server
  Only some hits, chosen in the kernel:
      smark trace --where 'tag > 100 && status != 0' queue:submit -- ./server
  Who calls it (build with -fno-omit-frame-pointer, or -C force-frame-pointers):
      smark trace --stack queue:failed -- ./server
  How often the markers are passed, ten times in a second:
      smark trace --every 100ms -p $(pidof server)
  What the kernel did in the meantime, in the same order:
      smark trace -e sched:sched_switch -e 'syscalls:sys_*_read' -- ./server
  An event of the kernel on the whole machine:
      smark trace -e sched:sched_process_exec
  For a program to read, apart from what the server prints:
      smark trace --json -o hits.json -- ./server";

impl Trace {
    pub(crate) fn run(self, console: &Console) -> anyhow::Result<ExitCode> {
        let mut hits_to = HitsTo::open(self.output.as_deref(), &self.watch.inputs(), self.force)?;
        let colour = console.colour && self.output.is_none();
        if let Some(every) = self.every {
            let result = rates::run(self.watch, every, self.json, colour, console, &mut hits_to);
            return hits_to.keep_if(result);
        }
        let (limit, json) = (self.watch.limit.unwrap_or(u64::MAX), self.json);
        let started = self.watch.start(console, self.buffer.mode(self.stack));
        let mut watching = hits_to.keep_if(started)?;
        let mut stacks = self.stack.then(|| watching.stacks(console));
        let mut out = BufWriter::with_capacity(1 << 16, &mut hits_to.out);
        let mut lines = Lines::new(watching.started, events::names(&watching.plan), colour);
        let (mut count, mut result) = (0u64, Ok(()));
        let mut text = String::new();
        let printed = std::cell::RefCell::new(&mut out);
        let mut each = |hit: &Hit<'_>| {
            if count < limit {
                count += 1;
                text.clear();
                match json {
                    true => text.push_str(&with_stack(lines.json(hit), hit, stacks.as_mut()).to_string()),
                    false => lines.write(hit, &mut text),
                }
                text.push('\n');
                if let (Some(stacks), false) = (&mut stacks, json) {
                    stacks.write(hit, &mut text);
                }
                result = printed.borrow_mut().write_all(text.as_bytes());
            }
            count < limit && result.is_ok()
        };
        let mut pause = |_: &_, _: &_| Ok(printed.borrow_mut().flush().map(|()| Next::Wait)?);
        let ran = watching.run(console, &mut each, &mut pause);
        result?;
        ran?;
        if json && watching.is_active() {
            let lost = watching.lost()?;
            let mut out = printed.borrow_mut();
            end::write_lost(&mut **out, lost)?;
            let unfiltered = watching.session().map_or(Ok(0), narrow::unfiltered)?;
            let (hits, exit) = (Some(count + lost), watching.exit().into());
            end::write(&mut **out, Totals { hits, lost, unfiltered, uncounted: None, exit })?;
        }
        if let Some(cut) = stacks.map(|stacks| stacks.cut).filter(|cut| *cut > 0) {
            console.note(&format!("{cut} stacks have more than 64 frames"));
        }
        watching.end(console)
    }
}

/// The object of a hit with its stack, if stacks are asked for.
fn with_stack(mut object: Json, hit: &Hit<'_>, stacks: Option<&mut Stacks>) -> Json {
    if let (Some(stacks), Some(fields)) = (stacks, object.as_object_mut()) {
        let (frames, is_cut) = stacks.json(hit);
        fields.insert("stack".to_owned(), frames);
        fields.insert("stack_cut".to_owned(), is_cut.into());
    }
    object
}

/// Writes hits as lines for people, or as JSON.
pub(crate) struct Lines {
    start: u64,
    /// By the number of the marker.
    formats: HashMap<usize, Format>,
    /// The texts of the kernel's events.
    texts: Texts,
    colour: bool,
}

impl Lines {
    /// `start` is the time that counts as 0, `names` are those that the texts of the kernel's events use.
    pub(crate) fn new(start: u64, names: Box<dyn simple_markers_events::Names>, colour: bool) -> Self {
        Self { start, formats: HashMap::new(), texts: Texts::new(names), colour }
    }

    /// The object of a hit.
    pub(crate) fn json(&mut self, hit: &Hit<'_>) -> Json {
        let Some(event) = &hit.marker.event else { return text::json(hit) };
        let mut text = String::new();
        self.texts.write(event, hit, &mut text);
        text::json_event(hit, &text)
    }

    /// Appends the line of a hit.
    pub(crate) fn write(&mut self, hit: &Hit<'_>, out: &mut String) {
        self.start(hit, out);
        let from = out.len();
        match &hit.marker.event {
            Some(event) => self.texts.write(event, hit, out),
            None => {
                let format = &hit.marker.format;
                self.formats.entry(hit.site.marker).or_insert_with(|| Format::new(format)).write(hit, out);
            }
        }
        escape(out, from);
    }

    /// Appends what is before the text of a hit.
    fn start(&self, hit: &Hit<'_>, out: &mut String) {
        use std::fmt::Write as _;
        let Hit { cpu, process, thread, .. } = *hit;
        let time = hit.time.saturating_sub(self.start);
        let (seconds, fraction) = (time / 1_000_000_000, time % 1_000_000_000 / 1000);
        // Writing to a String cannot fail.
        let _ = write!(out, "{seconds:>4}.{fraction:06} [{cpu:>2}] {:<15} ", shown(&hit.thread_name()));
        let numbers = if process == thread { process.to_string() } else { format!("{process}/{thread}") };
        let _ = write!(out, "{numbers:<15} ");
        let (bold, plain) = if self.colour { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
        let _ = write!(out, "{bold}{}{plain}: ", shown(&hit.marker.name));
    }
}

/// Escapes what was appended to a text from a place on.
fn escape(text: &mut String, from: usize) {
    let Some(Cow::Owned(escaped)) = text.get(from..).map(shown) else { return };
    text.replace_range(from.., &escaped);
}
