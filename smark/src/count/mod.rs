//! `smark count`: counts the hits of markers in the kernel.

mod answer;
mod export;
mod flames;
mod heat;
mod interval_stacks;
mod json;
mod live;
mod metrics;
mod page;
mod question;
mod rates;
mod screen;
mod split;
mod stacks;
mod table;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::plan::StackNotes;
use simple_markers_tracer::sys::Mode;

use self::export::{CountExport, StackExport};
use self::live::Live;
use self::metrics::{CountMetrics, MetricsPage};
use self::rates::RateHistory;
use self::screen::CountScreen;
use crate::address::Address;
use crate::console::Console;
use crate::hit_origin::HitOrigin;
use crate::metrics::FamilyOutput;
use crate::otlp_option::{OtlpOption, OtlpSettings};
use crate::quantity;
use crate::source::drain;
use crate::watch::{self, Buffer, STATUS, Watch, under_heading};

pub(crate) use self::answer::Answer;
pub(crate) use self::flames::{Flames, StackUnit};
pub(crate) use self::heat::HeatMap;
pub(crate) use self::page::flame_data;
pub(crate) use self::question::{Ask, Names, TimedInterval, ValueLimits, interval, names, timed};
pub(crate) use self::stacks::NamedStack;

/// Count the hits of markers, in the kernel
///
/// The operands and the choice are those of `smark trace`. The kernel counts at the sites, so no hit is lost. The table is
/// printed at the end; on a terminal it is also refreshed each second. Probes that a program records itself are counted from its
/// buffers; hits that a full buffer loses are said at the end, and with --engine bpf there are none.
///
/// --by counts the values of an argument, or stacks, --hist counts values by powers of two, --sum adds them up. --time A..B measures the time from marker A to the
/// next marker B in the same thread, or with --key, to the next B where the argument has the same value, in any thread of the
/// process. With the name of a span alone, it is the time from each begin to its end. With --time, --where chooses the hits of A, and --by tells the times apart by an argument. --split tells how much of
/// the time the thread was on a CPU, waited for one, or was blocked, --blocked on what, and --oncpu samples what it computes. What could not be counted is said at the end.
#[derive(Debug, Args)]
#[command(
    override_usage = "smark count [OPTIONS] [PATTERN]... <FILE>...\n       smark count [OPTIONS] [PATTERN]... -p <PID>\n       smark count [OPTIONS] [PATTERN]... --cgroup <PATH|ID> | --container <NAME|ID>\n       smark count [OPTIONS] [PATTERN]... [FILE]... -- <COMMAND>...",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}"),
    mut_args(under_heading)
)]
pub(crate) struct Count {
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    ask: Ask,
    /// With --time, this argument tells which A a B belongs to, or several together; otherwise it is the thread
    #[arg(long, value_name = "ARG,..", requires = "time", value_parser = question::names)]
    key: Option<Names>,
    /// With --time, tell apart how long the thread was on a CPU, waited for one (queued), or waited for something else (blocked)
    #[arg(long, requires = "time")]
    split: bool,
    /// With --time, tell what the thread was blocked on: the time by the stacks of the kernel and of the program. Implies --split
    #[arg(long, requires = "time")]
    blocked: bool,
    /// With --time, sample what the thread does on a CPU, 997 times a second: the samples by stack. Implies --split
    #[arg(long, requires = "time")]
    oncpu: bool,
    /// Print the table every so often [default: 1s on a terminal, otherwise only at the end]
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    every: Option<Duration>,
    /// Print a line of JSON for each marker
    #[arg(long)]
    json: bool,
    /// Also answer Prometheus at http://HOST:PORT/metrics with the counts since the start, a second old at most; :PORT answers this
    /// machine only. With --by, the --top most frequent values have metrics of their own
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<Address>,
    #[command(flatten)]
    otlp: OtlpOption,
    #[command(flatten)]
    export: StackExport,
    #[command(flatten)]
    buffer: Buffer,
}

const EXAMPLES: &str = "\
EXAMPLES
  How often each marker of a program is passed:
      smark count -- target/release/server --port 8080
  The most frequent values of an argument:
      smark count --by status queue:complete -p $(pidof server)
  Which stacks lead to a marker, the most frequent first:
      smark count --by stack queue:submit -p $(pidof server)
  How many bytes of each kind are written, and how large the writes are:
      smark count --sum size --by kind queue:complete -p $(pidof server)
  The distribution of an argument, for some hits:
      smark count --hist size --where 'status == 0' queue:complete target/release/server
  How long a system call takes, and which sizes are asked for:
      smark count -e 'syscalls:sys_*_read' --time syscalls:sys_enter_read..syscalls:sys_exit_read -p $(pidof server)
      smark count -e syscalls:sys_enter_read --hist count -p $(pidof server)
  How long requests take, told apart by their tags:
      smark count --time queue:submit..queue:complete --key tag -- ./server
  For Prometheus, until it is stopped:
      smark count --time queue:submit..queue:complete --key tag --metrics :9112 -p $(pidof server)
  The same for a collector of OpenTelemetry, every 10 seconds:
      smark count --time queue:submit..queue:complete --key tag --otlp=http://collector:4318 -p $(pidof server)
  How long the spans db:query take:
      smark count --time db:query -- ./server
  Why requests are slow: on a CPU, queued for one, or blocked:
      smark count --time request:begin..request:end --split -p $(pidof server)
  What slow requests were blocked on, by system call and stack:
      smark count --time request:begin..request:end --blocked -p $(pidof server)
  A flame graph of it, and one of what they compute:
      smark count --time request:begin..request:end --blocked --to svg -o blocked.svg -p $(pidof server)
      smark count --time request:begin..request:end --oncpu --to svg -o computing.svg -p $(pidof server)
  A page for a browser with the times, what they were blocked on, and what they compute:
      smark count --time request:begin..request:end --blocked --oncpu --to html -o requests.html -p $(pidof server)";

/// What is counted, and when it is printed.
struct CountOptions {
    watch: watch::Options,
    mode: Mode,
    kept: ValueLimits,
    every: Option<Duration>,
    json: bool,
    /// Where Prometheus is answered; `None` if it is not.
    metrics: Option<Address>,
    /// Where metrics are sent to; `None` if they are not.
    otlp: Option<Box<OtlpSettings>>,
    /// What is written besides the table.
    export: Option<CountExport>,
}

impl Count {
    fn options(self) -> anyhow::Result<CountOptions> {
        let Self { watch, ask, key, split, blocked, oncpu, every, json, metrics, otlp, export, buffer } = self;
        let notes = StackNotes { blocked, on_cpu: oncpu };
        let (kept, question) = (ask.kept(), ask.question(key.as_ref(), split, notes));
        let export = export.export(&question, json)?;
        let is_page_of_times = matches!((&export, &question), (Some(CountExport::Page(_)), Question::Time { .. }));
        let kept = if is_page_of_times { kept.with_heat(true) } else { kept };
        let every = every.filter(|_| !export.as_ref().is_some_and(CountExport::takes_stdout));
        Ok(CountOptions {
            watch: watch.options(question)?,
            mode: buffer.count(kept.most),
            kept,
            every,
            json,
            metrics,
            otlp: otlp.settings()?,
            export,
        })
    }

    pub(crate) fn run(self, console: &Console) -> anyhow::Result<ExitCode> {
        let CountOptions { watch, mode, kept, every, json, metrics, otlp, export } = self.options()?;
        // Before anything is started.
        let mut outputs: Vec<Box<dyn FamilyOutput>> = Vec::new();
        if let Some(address) = metrics {
            let page = MetricsPage::start(&address)?;
            console.note(&format!("metrics at http://{}/metrics", page.address));
            outputs.push(Box::new(page));
        }
        let program = watch.program();
        let has_table = !json && !export.as_ref().is_some_and(CountExport::takes_stdout);
        let is_terminal = io::stdout().is_terminal() && has_table;
        let every = every.or(is_terminal.then_some(Duration::from_secs(1)));
        let (question, limit, is_verbose) = (watch.question.clone(), watch.limit, watch.verbose);
        let floor = if let Question::Time { .. } = question { watch.floor() } else { None };
        let watching = watch.start(console, mode)?;
        if let Some(settings) = otlp {
            outputs.push(settings.counts(console, HitOrigin::here(program)?, watching.started)?);
        }
        let metrics = CountMetrics::new(outputs);
        let (next, screen) = (every.map(|every| Instant::now() + every), CountScreen { is_terminal, lines: 0 });
        let has_stacks = matches!(question, Question::Stacks { .. }) || question.notes().are_wanted();
        let stacks = has_stacks.then(|| watching.stacks(console));
        let heat = kept.heat.then(|| HeatMap::new(watching.started));
        let rates = is_terminal.then(RateHistory::default);
        let sink = Live {
            question,
            heat,
            rates,
            metrics,
            stacks,
            kept,
            floor,
            is_verbose,
            json,
            export,
            limit,
            every,
            next,
            screen,
        };
        drain(watching, Box::new(sink), console)
    }
}
