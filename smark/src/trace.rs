//! `smark trace`: prints the hits of markers as they happen.

mod hits_to;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use simple_markers_tracer::plan::StackNotes;
use simple_markers_tracer::record::stack::StackSettings;
use simple_markers_tracer::sys::Mode;

use self::hits_to::HitsTo;
use crate::console::Console;
use crate::count::{Names, TimedInterval, names, timed};
use crate::hit_origin::{HitOrigin, HitQuestion};
use crate::hit_stacks::HitStacks;
use crate::moving_spans::MovingSpans;
use crate::otlp_option::{OtlpOption, OtlpSettings};
use crate::quantity;
use crate::rates;
use crate::sinks::{Form, Setting, SlowIntervals};
use crate::source::drain;
use crate::watch::{self, Buffer, STATUS, StackOptions, TaskOption, Watch, under_heading};

/// Print the hits of markers as they happen, each as its format says
///
/// FILE is an executable or a shared object; every process that runs it is watched. With -p only that process is watched, with --
/// COMMAND only the program that is started, and their children, with --cgroup or
/// --container what runs in a control group or a container. PATTERN is a glob for
/// marker names. An operand is a FILE if it contains a `/` or names an existing file.
///
/// A line has the time in seconds since the start, the CPU, the thread's name, the process and thread numbers, the marker's name and
/// its text. A question mark follows a value that may be another one in the source (`smark explain SM038`); an argument that cannot
/// be read is shown as `<lost>`, `<doubtful>` or `<unreadable>`.
#[derive(Debug, Args)]
#[command(
    override_usage = "smark trace [OPTIONS] [PATTERN]... <FILE>...\n       smark trace [OPTIONS] [PATTERN]... -p <PID>\n       smark trace [OPTIONS] [PATTERN]... --cgroup <PATH|ID> | --container <NAME|ID>\n       smark trace [OPTIONS] [PATTERN]... [FILE]... -- <COMMAND>...\n       smark trace [OPTIONS] -e <GLOB>",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}"),
    mut_args(under_heading)
)]
pub(crate) struct Trace {
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    form: Form,
    /// Write the hits to this file, so that they do not mix with what the program prints
    #[arg(short, long, value_name = "FILE", conflicts_with = "otlp")]
    output: Option<PathBuf>,
    /// Overwrite the output file if it exists
    #[arg(long, requires = "output")]
    force: bool,
    /// Instead of hits, print how often each marker was hit in each interval of this length, 100ms for example; for sums see
    /// `smark count --every`
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration, conflicts_with_all = ["stack", "kstack", "task", "polls", "limit", "buffer", "otlp"])]
    every: Option<Duration>,
    #[command(flatten)]
    stacks: StackOptions,
    /// With --slow or --otlp, the intervals: from marker A to the next marker B in the same thread, or the spans of a name
    #[arg(long, value_name = "A..B|SPAN", value_parser = marker_interval, requires = "of_intervals", conflicts_with = "every")]
    time: Option<TimedInterval>,
    /// With --time, these arguments tell which A a B belongs to, in any thread of the process
    #[arg(long, value_name = "ARG,..", requires = "time", value_parser = names)]
    key: Option<Names>,
    /// Print only the intervals of --time that take this long or longer, each with the hits of its thread or its key
    #[arg(long, value_name = "TIME", value_parser = quantity::time, requires = "time", group = "of_intervals")]
    slow: Option<Duration>,
    #[command(flatten)]
    otlp: OtlpOption,
    #[command(flatten)]
    task: TaskOption,
    #[command(flatten)]
    buffer: Buffer,
}

/// What is timed without counting: no calls, whose frames are not in hits.
pub(crate) fn marker_interval(text: &str) -> Result<TimedInterval, String> {
    match timed(text)? {
        TimedInterval::Calls(_) => Err("write two names of markers as A..B, or the name of a span".to_owned()),
        timed => Ok(timed),
    }
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
  The same without frame pointers, from a copy of the stack:
      smark trace --stack=dwarf queue:failed -- ./server
  Why a thread leaves the CPU: the stack of the kernel:
      smark trace --kstack -e sched:sched_switch -p $(pidof server)
  How often the markers are passed, ten times in a second:
      smark trace --every 100ms -p $(pidof server)
  The requests that take 10 ms or longer, each with what its thread passed, and what the kernel did in it:
      smark trace --time request:begin..request:end --slow 10ms -e sched:sched_switch -p $(pidof server)
  Which task of tokio passes a marker:
      smark trace --task http:request -p $(pidof server)
  To OpenTelemetry: the hits as log records, and each request as a span:
      smark trace --otlp=http://collector:4318 -p $(pidof server)
      smark trace --time request:begin..request:end --otlp=http://collector:4318 -p $(pidof server)
  What happens in a container:
      smark trace --container web
  What the kernel did in the meantime, in the same order:
      smark trace -e sched:sched_switch -e 'syscalls:sys_*_read' -- ./server
  An event of the kernel on the whole machine:
      smark trace -e sched:sched_process_exec
  For a program to read, apart from what the server prints:
      smark trace --json -o hits.json -- ./server";

/// What is traced, and how it is printed.
struct TraceOptions {
    watch: watch::Options,
    /// The file of the output; stdout if there is none.
    output: Option<PathBuf>,
    force: bool,
    print: Print,
}

enum Print {
    /// Each hit.
    Hits { form: Form, mode: Mode, stacks: StackSettings, slow: Option<SlowIntervals> },
    /// Nothing: the hits are sent.
    Sent { settings: Box<OtlpSettings>, mode: Mode, question: HitQuestion },
    /// How often each marker was hit in each interval.
    Rates { every: Duration, json: bool },
}

impl Trace {
    fn options(self) -> anyhow::Result<TraceOptions> {
        let Self { watch, form, output, force, every, stacks, task, time, key, slow, otlp, buffer } = self;
        let intervals = time.map(|time| time.question(key.as_ref(), Vec::new(), false, StackNotes::default()));
        let otlp = otlp.settings()?;
        let watch = watch.options_of_hits(task)?;
        let (doubtful, stacks) = (watch.doubtful(), stacks.settings());
        let print = match (every, otlp) {
            (Some(every), _) => Print::Rates { every, json: form.json },
            (None, Some(settings)) => {
                if stacks.is_any() {
                    bail!("--otlp: stacks are not sent");
                }
                let moving = MovingSpans::default();
                let question = HitQuestion { intervals, moving, doubtful, is_json: form.json, is_live: true };
                Print::Sent { settings, mode: buffer.mode(StackSettings::NONE), question }
            }
            (None, None) => {
                let slow = slow.zip(intervals).map(|(least, question)| SlowIntervals { question, least, doubtful });
                Print::Hits { form, mode: buffer.mode(stacks), stacks, slow }
            }
        };
        Ok(TraceOptions { watch, output, force, print })
    }

    pub(crate) fn run(self, console: &Console) -> anyhow::Result<ExitCode> {
        let TraceOptions { watch, output, force, print } = self.options()?;
        let mut hits_to = HitsTo::open(output.as_deref(), &watch.inputs(), force)?;
        let colour = console.colour && output.is_none();
        match print {
            Print::Rates { every, json } => {
                let result = rates::run(watch, every, json, colour, console, &mut hits_to);
                hits_to.keep_if(result)
            }
            Print::Sent { settings, mode, question } => {
                let origin = HitOrigin::here(watch.program())?;
                let watching = watch.start(console, mode)?;
                let sink = settings.hits(console, watching.setting(console, colour), origin, question)?;
                drain(watching, sink, console)
            }
            Print::Hits { form, mode, stacks, slow } => {
                let started = watch.start(console, mode);
                let watching = hits_to.keep_if(started)?;
                let stacks = stacks.is_any().then(|| Box::new(watching.stacks(console)) as Box<dyn HitStacks>);
                let setting = Setting { stacks, ..watching.setting(console, colour) };
                let sink = match slow {
                    Some(intervals) => form.slow(hits_to.out, setting, intervals),
                    None => form.sink(hits_to.out, setting),
                };
                drain(watching, sink, console)
            }
        }
    }
}
