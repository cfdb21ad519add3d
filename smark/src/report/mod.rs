//! `smark report`: prints a recording, counts its hits, or writes it for other tools.

mod counts;
mod ctf;
mod help;
mod html;
pub(crate) mod pairs;
#[cfg(feature = "parquet")]
mod parquet;
mod perfetto;
pub(crate) mod recording;
mod sent;
mod stack_tally;
mod timeline_options;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Arg, Args, ValueEnum};
use simple_markers_resolver::marks::TaskPoint;
use simple_markers_tracer::aggregate::{IntervalSubject, Question};
use simple_markers_tracer::ctf::Description;
use simple_markers_tracer::filter::Filter;
use simple_markers_tracer::perfetto::TimelineContents;
use simple_markers_tracer::plan::{DoubtfulValues, StackNotes, TASK};

use self::counts::{CountedHits, Counts};
use self::ctf::TraceFolder;
use self::help::{EXAMPLES, STATUS};
use self::html::PageRequest;
use self::pairs::Pairs;
#[cfg(feature = "parquet")]
pub(crate) use self::parquet::{Tables, tabulate};
use self::perfetto::{Perfetto, Target};
use self::recording::Recording;
use self::stack_tally::{CountedStacks, StackTally};
use self::timeline_options::TimelineOptions;
use crate::choice::Strict;
use crate::console::{Console, Status};
use crate::count::{Ask, Flames, ValueLimits};
use crate::hit_origin::HitQuestion;
use crate::hit_stacks::{HitStacks, KnownStacks};
use crate::narrow::{self, HitQuery};
use crate::otlp_option::{OtlpOption, OtlpSettings};
use crate::pager::Pager;
use crate::quantity;
use crate::sinks::{Form, HitFilter, Setting, Sink, SlowIntervals};
use crate::source::drain;

/// Print the hits of a recording, or count them
///
/// The lines are those that `smark trace` prints, and the counts those of `smark count`. PATTERN is a glob for marker names. An operand
/// is DIR if it contains a `/` or names an existing folder. If the recording was cut off, what is complete is printed.
///
/// With --count, --by, --hist and --time the hits are counted as `smark count` does it. With --time, --where chooses the hits of A.
///
/// --to perfetto writes a timeline with a track for each thread. --pair A..B makes a slice from each marker A to the next marker B in
/// the same thread, or with a --key after it, to the next B where the argument has the same value, in any thread of the process.
/// Spans are slices without --pair.
///
/// --to html writes a page for a browser: what was recorded, rates, the times of each --pair and of spans, a timeline, and the hits.
///
/// --to ctf writes a folder with a trace of the Common Trace Format in which whole values (%p{}) are structures, sequences and variants, for
/// babeltrace2 and other readers. It is no recording: smark report does not read it.
///
/// --to parquet writes a folder with a table of Parquet files for each marker, for DuckDB, ClickHouse, Spark and other readers.
#[derive(Debug, Args)]
#[command(
    override_usage = "smark report [OPTIONS] [PATTERN]... [DIR]",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}"),
    mut_args(with_counts)
)]
pub(crate) struct Report {
    /// Globs for marker names, and the folder of the recording [default: the newest smark-NAME-DATE here]
    #[arg(value_name = "PATTERN|DIR")]
    operands: Vec<PathBuf>,
    /// Print only the hits for which this holds: arguments compared with == != < <= > >=, joined by && || ! ( )
    #[arg(long = "where", value_name = "FILTER", value_parser = narrow::filter, allow_hyphen_values = true)]
    filter: Option<Filter>,
    /// Also take arguments of this kind in filters, keys and counts
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    include: Vec<ReportInclude>,
    #[command(flatten)]
    strict: Strict,
    #[command(flatten)]
    form: Form,
    /// With --time and --key task, tell how much of each time the task was polled, had been woken and waited for a thread, and waited
    /// for something else. The recording needs --polls
    #[arg(long)]
    split: bool,
    /// The same
    #[arg(long, hide = true)]
    blocked: bool,
    /// The same
    #[arg(long, hide = true)]
    oncpu: bool,
    /// Print the number of hits of each marker
    #[arg(long, conflicts_with_all = ["by", "hist", "time", "otlp"])]
    count: bool,
    // Before `ask`, which takes the value of --time away.
    #[command(flatten)]
    pairs: Pairs,
    #[command(flatten)]
    timeline: TimelineOptions,
    #[command(flatten)]
    ask: Ask,
    /// With --time, print only the intervals that took this long or longer, each with the hits of its thread or its key. --where
    /// chooses hits before
    #[arg(long, value_name = "TIME", value_parser = quantity::time, requires = "time", conflicts_with_all = ["by", "otlp"])]
    slow: Option<Duration>,
    #[command(flatten)]
    otlp: OtlpOption,
    /// Write the hits for another tool
    #[arg(long, value_name = "TOOL", conflicts_with_all = ["json", "count", "by", "hist", "time", "otlp"])]
    to: Option<ReportTarget>,
    /// Write to this file, or for ctf and parquet to this folder, which must not exist
    #[arg(short, long, value_name = "FILE|DIR", requires = "to", required_if_eq_any([("to", "ctf"), ("to", "parquet")]))]
    output: Option<PathBuf>,
    /// With --to parquet, no file has more bytes; K, M and G mean 2^10, 2^20 and 2^30 bytes
    #[arg(long, value_name = "SIZE", value_parser = quantity::table_file, default_value = "128M", hide = !cfg!(feature = "parquet"))]
    file_size: u64,
    /// Replace the file, the trace or the data set in the folder
    #[arg(long, requires = "output")]
    force: bool,
    /// Say on stderr which files are read, and whether the recording is whole
    #[arg(short, long)]
    verbose: bool,
}

/// Says what --json does here.
fn with_counts(option: Arg) -> Arg {
    match option.get_id() == "json" {
        true => option.help("Print a line of JSON for each hit, or for each marker that is counted"),
        false => option,
    }
}

/// A tool that reads the hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportTarget {
    /// A trace for ui.perfetto.dev: a track for each thread
    Perfetto,
    /// A page for a browser: rates, times, a timeline, and the hits
    Html,
    /// A folder for babeltrace2 and other readers of CTF: the hits with whole values as structures
    Ctf,
    /// A line for each stack with the number of its hits: its functions, the outermost first
    Folded,
    /// A flame graph of the stacks for a browser
    Svg,
    /// A folder for DuckDB, ClickHouse, Spark and other readers of Parquet: a table for each marker
    #[cfg_attr(not(feature = "parquet"), value(hide = true))]
    Parquet,
}

/// Which arguments filters, keys and counts take besides certain ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportInclude {
    /// Arguments that may have another value than in the source
    Doubtful,
    /// The same
    All,
}

/// Which hits of a recording are wanted, and what becomes of them.
struct ReportOptions {
    /// Globs for marker names, and the folder of the recording.
    operands: Vec<PathBuf>,
    filter: Option<Filter>,
    /// What becomes of doubtful values.
    doubtful: DoubtfulValues,
    question: Question,
    work: ReportWork,
}

enum ReportWork {
    /// Each hit is written, or those of slow intervals.
    Write { form: Form, slow: Option<SlowIntervals> },
    /// They are counted.
    Count { kept: ValueLimits, json: bool, flames: Option<Flames> },
    /// They become a timeline.
    Draw { pairs: Pairs, timeline: TimelineOptions, most: u32, to: Target },
    /// They become a page.
    Show { pairs: Pairs, kept: ValueLimits, to: Target },
    /// Their whole values become structures.
    Structure(TraceFolder),
    /// They become tables.
    #[cfg(feature = "parquet")]
    Tabulate(parquet::Tables),
    /// They are sent.
    Send(Box<OtlpSettings>, HitQuestion),
}

impl ReportWork {
    /// The intervals whose hits are wanted, which are not counted.
    fn intervals(&self) -> Option<&Question> {
        match self {
            Self::Write { slow, .. } => slow.as_ref().map(|slow| &slow.question),
            Self::Send(_, sent) => sent.intervals.as_ref(),
            _ => None,
        }
    }
}

impl Report {
    fn options(self) -> anyhow::Result<ReportOptions> {
        let mut question = self.ask.question(self.pairs.key.as_ref(), self.split, StackNotes::default());
        let is_by_task =
            matches!(&question, Question::Time { key, .. } if matches!(key.arguments(), [key] if **key == *TASK));
        let of_count = [(self.split && !is_by_task, "--split"), (self.blocked, "--blocked"), (self.oncpu, "--oncpu")];
        if let Some((_, option)) = of_count.into_iter().find(|(is_given, _)| *is_given) {
            let with_task = if option == "--split" { ". With --key task it says what the task did" } else { "" };
            bail!(
                "{option}: a recording does not say when a thread was on a CPU; smark count --time A..B {option} does{with_task}"
            );
        }
        let kept = self.ask.kept();
        let doubtful = self.strict.values(self.include.contains(&ReportInclude::Doubtful), !self.include.is_empty())?;
        if self.to != Some(ReportTarget::Perfetto) && !self.timeline.is_empty() {
            bail!("--flow and --counter belong to --to perfetto");
        }
        if let Some(settings) = self.otlp.settings()? {
            let sent = sent::question(std::mem::take(&mut question), doubtful, self.form.json)?;
            let work = ReportWork::Send(settings, sent);
            return Ok(ReportOptions { operands: self.operands, filter: self.filter, doubtful, question, work });
        }
        let work = match self.to {
            Some(ReportTarget::Perfetto) => {
                let to = Target { path: self.output, force: self.force };
                ReportWork::Draw { pairs: self.pairs, timeline: self.timeline, most: kept.most, to }
            }
            Some(ReportTarget::Html) => {
                let to = Target { path: self.output, force: self.force };
                ReportWork::Show { pairs: self.pairs, kept, to }
            }
            Some(ReportTarget::Ctf) => {
                if !self.pairs.is_empty() {
                    bail!("--pair makes slices of a timeline: it belongs to --to perfetto and --to html");
                }
                let path = self.output.context("--to ctf writes a folder: name it with -o DIR")?;
                ReportWork::Structure(TraceFolder::prepare(path, self.force)?)
            }
            Some(to @ (ReportTarget::Folded | ReportTarget::Svg)) => {
                if !self.pairs.is_empty() {
                    bail!("--pair makes slices of a timeline: it belongs to --to perfetto");
                }
                let flames = Flames::of_hits(to == ReportTarget::Svg, self.output, self.force)?;
                question = Question::Stacks { is_kernel: false };
                ReportWork::Count { kept, json: false, flames: Some(flames) }
            }
            Some(ReportTarget::Parquet) => {
                if !self.pairs.is_empty() {
                    bail!("--pair makes slices of a timeline: it belongs to --to perfetto");
                }
                let path = self.output.context("--to parquet writes a folder: name it with -o DIR")?;
                tables(path, self.force, self.file_size)?
            }
            None if self.slow.is_some() => {
                let least = self.slow.unwrap_or_default();
                let intervals = SlowIntervals { question: std::mem::take(&mut question), least, doubtful };
                if let Question::Time { key: IntervalSubject::Call, .. } = &intervals.question {
                    bail!("--slow: write two names of markers as A..B, or the name of a span");
                }
                ReportWork::Write { form: self.form, slow: Some(intervals) }
            }
            None if self.count || question != Question::Hits => {
                ReportWork::Count { kept, json: self.form.json, flames: None }
            }
            None => ReportWork::Write { form: self.form, slow: None },
        };
        Ok(ReportOptions { operands: self.operands, filter: self.filter, doubtful, question, work })
    }

    pub(crate) fn run(self, console: &Console) -> anyhow::Result<ExitCode> {
        let console = &Console { verbose: self.verbose, ..*console };
        let ReportOptions { operands, filter, doubtful, question, work } = self.options()?;
        let (patterns, folder) = recording::operands(console, &operands)?;
        let recording = Recording::open(console, &folder, doubtful)?;
        recording.tell(console);
        let is_keyed = match &work {
            ReportWork::Draw { pairs, timeline, .. } => pairs.names(TASK) || timeline.names(TASK),
            ReportWork::Show { pairs, .. } => pairs.names(TASK),
            work => work.intervals().is_some_and(|question| question.names(TASK)),
        };
        let needs_task = is_keyed || question.names(TASK) || filter.as_ref().is_some_and(|filter| filter.names(TASK));
        if needs_task && !recording.has_tasks() && !recording.has_argument(TASK) {
            bail!("task: the recording has no tasks; smark record --task notes them");
        }
        if question.is_split() && recording.has_argument(TASK) {
            bail!("--split: a marker has an argument `task`, which is no task of an async runtime");
        }
        if question.is_split() && !recording.has(TaskPoint::PollBegin) {
            bail!("--split: the recording has no polls; smark record --polls notes them");
        }
        let asked = HitQuery { filter: filter.as_ref(), question: &question, option: None };
        let (selected, status) = recording.select(console, &patterns)?;
        if selected.is_nothing() || !asked.has_markers(console, "--time", selected.names()) {
            return Ok(Status::NoMatch.into());
        }
        if let Some(question) = work.intervals() {
            if !(HitQuery { filter: None, question, option: None }).has_markers(console, "--time", selected.names()) {
                return Ok(Status::NoMatch.into());
            }
        }
        let chosen = selected.choose(console, &asked)?;
        let sink: Box<dyn Sink> = match work {
            ReportWork::Draw { pairs, timeline, most, to } => {
                let Some(pairs) = pairs.choose(console, &selected)? else { return Ok(Status::NoMatch.into()) };
                let contents = TimelineContents { pairs, ..timeline.choose(console, &selected)? };
                Box::new(Perfetto::new(console, &recording, &chosen, contents, most, to)?)
            }
            ReportWork::Show { pairs, kept, to } => {
                let Some(questions) = pairs.questions(console, &selected) else { return Ok(Status::NoMatch.into()) };
                let (filter, patterns) = (filter.as_ref(), patterns.as_slice());
                let request = PageRequest { questions, kept, filter, patterns, doubtful, to };
                return html::write(console, &recording, &selected, &chosen, &request, status);
            }
            ReportWork::Structure(folder) => return ctf::write(console, &recording, &chosen, folder, status),
            #[cfg(feature = "parquet")]
            ReportWork::Tabulate(tables) => return tables.write(console, &recording, &chosen, doubtful, status),
            ReportWork::Count { kept, json, flames } => {
                let flames = flames.map(|flames| flames.sparing(&recording.files)).transpose()?;
                let (start, has_wakes) = (recording.description.start, recording.has(TaskPoint::Wake));
                let stacks = match &question {
                    Question::Stacks { is_kernel } => {
                        let one = flames.is_none().then_some(*is_kernel);
                        Some(stack_tally(&recording.description, one)?)
                    }
                    _ => None,
                };
                let counted = CountedHits::new(&chosen, &question, kept, start, has_wakes).with_stacks(stacks);
                Box::new(Counts::new(counted, json, flames))
            }
            ReportWork::Send(settings, mut sent) => {
                sent.moving = sent::moving(recording.plan(), &sent, recording.hits(status))?;
                let sink = settings.hits(console, recording.setting(false), recording.origin(), sent)?;
                Box::new(HitFilter::new(&chosen, sink, None))
            }
            ReportWork::Write { form, slow } => {
                let pager = if form.json { None } else { Pager::start(console) };
                let stacks = recording.description.stacks.clone();
                let stacks = stacks.map(|table| Box::new(KnownStacks(table)) as Box<dyn HitStacks>);
                let setting = Setting { stacks, ..recording.setting(console.colour) };
                let out = Box::new(io::stdout().lock());
                let sink = match slow {
                    Some(intervals) => form.slow(out, setting, intervals),
                    None => form.sink(out, setting),
                };
                Box::new(HitFilter::new(&chosen, sink, pager))
            }
        };
        drain(recording.hits(status), sink, console)
    }
}

/// Counts the stacks of a recording: those of the kernel or of the program, or all of them.
fn stack_tally(description: &Description, is_kernel: Option<bool>) -> anyhow::Result<StackTally<'_>> {
    let table = description.stacks.as_ref().context("the recording has no stacks; smark record --stack notes them")?;
    let counted = match is_kernel {
        Some(true) if !table.has_kernel => {
            bail!("--by kstack: the recording has no stacks of the kernel; smark record --kstack notes them")
        }
        Some(false) if !table.has_program => {
            bail!("--by stack: the recording has no stacks of programs; smark record --stack notes them")
        }
        Some(true) => CountedStacks::Kernel,
        Some(false) => CountedStacks::Program,
        None => CountedStacks::Both,
    };
    Ok(StackTally::new(table, counted))
}

/// The tables that are written to a folder.
#[cfg(feature = "parquet")]
fn tables(path: PathBuf, force: bool, file_size: u64) -> anyhow::Result<ReportWork> {
    Ok(ReportWork::Tabulate(parquet::Tables::prepare(path, force, file_size)?))
}

#[cfg(not(feature = "parquet"))]
fn tables(_: PathBuf, _: bool, _: u64) -> anyhow::Result<ReportWork> {
    bail!("--to parquet: {}", crate::features::without("parquet"))
}
