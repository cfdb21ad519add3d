//! The options that say what is watched, and what they mean.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use clap::{Args, ValueEnum};
use simple_markers_resolver::export::ExportSettings;
use simple_markers_tracer::aggregate::{IntervalSubject, Question};
use simple_markers_tracer::filter::Filter;
use simple_markers_tracer::plan::{DoubtfulValues, TASK};
use simple_markers_tracer::planning::ValueBudget;
use simple_markers_tracer::record::stack::StackSettings;
use simple_markers_tracer::sys::groups::Group;
use simple_markers_tracer::sys::{Child, Engine, Mode};

use super::groups::GroupChoice;
use super::pids::{self, Pids};
use crate::choice::{Assist, Choice, Strict};
use crate::inputs::{Filters, operands};
use crate::values::Values;
use crate::{narrow, quantity};

/// The most bytes of a text that are read.
pub(crate) const TEXT: u16 = 256;

/// The options and operands that say what is watched.
#[derive(Debug, Args)]
#[command(mut_arg("name", |name| name.short(None::<char>)))]
pub(crate) struct Watch {
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    strict: Strict,
    #[command(flatten)]
    assist: Assist,
    #[command(flatten)]
    values: Values,
    /// Watch these processes, and the markers of every file that they have mapped or map later: numbers, separated by commas or
    /// blanks; may be given several times
    #[arg(short, long, value_name = "PID", value_parser = pids::parse)]
    pid: Vec<Pids>,
    #[command(flatten)]
    group: GroupChoice,
    /// Watch the kernel's events whose GROUP:NAME this glob matches too, beside markers; may be given several times. With a
    /// process or a control group, those that happen in it
    #[arg(short, long, value_name = "GLOB")]
    event: Vec<String>,
    /// Watch only the hits for which this holds: arguments compared with == != < <= > >=, joined by && || ! ( )
    #[arg(long = "where", value_name = "FILTER", value_parser = narrow::filter, allow_hyphen_values = true)]
    filter: Option<Filter>,
    /// Take this plan file, which `smark plan` wrote, in place of debug information; it knows a program by its build id
    #[arg(long, value_name = "FILE", conflicts_with_all = ["at", "debug_dir", "provider", "note_format", "views", "mark", "marks"])]
    plan: Option<PathBuf>,
    /// What sets the probes [default: BPF; tracefs, as root, if the kernel does not offer BPF]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<EngineName>,
    /// End after this many hits; `count` looks ten times in a second, and may count more
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Say which sites are watched
    #[arg(short, long)]
    verbose: bool,
    /// Do not watch the processes that a watched process creates
    #[arg(long)]
    no_children: bool,
    /// End after this time: 10s, 5min. The COMMAND gets SIGTERM then
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    duration: Option<Duration>,
    /// Tell `smark agent` what becomes of the hits, on the socket that is the standard input
    #[arg(long, hide = true)]
    for_agent: bool,
    /// Globs for marker names, and files
    #[arg(value_name = "PATTERN|FILE")]
    operands: Vec<PathBuf>,
    /// Start this program, watch it and end with it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The names of the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// BPF programs
    Bpf,
    /// Probes in tracefs: slower, needs root
    Tracefs,
}

impl EngineName {
    fn engine(self) -> Engine {
        match self {
            Self::Bpf => Engine::Bpf,
            Self::Tracefs => Engine::Tracefs,
        }
    }
}

/// The option of the commands that get records from the kernel.
#[derive(Debug, Args)]
pub(crate) struct Buffer {
    /// The size of the buffer between the kernel and smark, from 4K to 1G; it is rounded up to a power of two
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = buffer_size)]
    buffer: u32,
}

fn buffer_size(text: &str) -> Result<u32, String> {
    let size = u32::try_from(quantity::size(text)?).ok().filter(|size| (4 << 10..=1 << 30).contains(size));
    size.ok_or_else(|| "from 4K to 1G".to_owned())
}

impl Buffer {
    pub(crate) fn mode(&self, stacks: StackSettings) -> Mode {
        Mode::Trace { ring: self.ring(), stacks }
    }

    pub(crate) fn count(&self, most_values: u32) -> Mode {
        Mode::Count { most_values, ring: self.ring() }
    }

    fn ring(&self) -> u32 {
        self.buffer.next_power_of_two()
    }
}

/// The size in bytes of the buffer for commands without the option.
pub(crate) const RING: u32 = 8 << 20;

/// The section of the help about the exit status.
pub(crate) const STATUS: &str = "\
EXIT STATUS
  0  done
  1  a pattern matches nothing
  2  the probes could not be set, or a file could not be read
  With a COMMAND, its own exit status, or 128 and the number of the signal that killed it.";

/// What is to be watched.
#[derive(Default)]
pub(crate) struct Options {
    /// The options that select markers.
    pub(super) filters: Filters,
    /// Globs for the names of markers.
    pub(super) patterns: Vec<String>,
    /// The files that the user named.
    pub(super) files: Vec<PathBuf>,
    pub(super) pids: Vec<u32>,
    /// The control group whose processes are watched.
    pub(super) group: Option<Group>,
    /// The program that is started, with its arguments; empty if there is none.
    pub(super) command: Vec<OsString>,
    /// Globs for events of the kernel.
    pub(super) events: Vec<String>,
    /// The hits that are wanted; `None` for all.
    pub(crate) filter: Option<Filter>,
    /// What is counted.
    pub(crate) question: Question,
    /// The plan file.
    pub(super) plan: Option<PathBuf>,
    /// Which sites are taken, and where their probes go.
    pub(super) sites: ExportSettings,
    /// What becomes of doubtful arguments.
    pub(super) doubtful: DoubtfulValues,
    /// Whether arguments are read at the entries of functions.
    pub(super) at_entry: bool,
    /// What sets the probes; `None` for what the kernel offers.
    pub(super) engine: Option<Engine>,
    /// The most hits.
    pub(crate) limit: Option<u64>,
    /// Whether it is said which sites are watched.
    pub(crate) verbose: bool,
    /// Whether the processes are watched that a watched one creates.
    pub(super) with_children: bool,
    /// When to end.
    pub(super) duration: Option<Duration>,
    /// How much of whole values is read.
    pub(super) values: ValueBudget,
    /// Whether `smark agent` is told what becomes of the hits.
    pub(super) for_agent: bool,
    /// Whether each hit notes the task of an async runtime that the thread runs.
    pub(crate) notes_tasks: bool,
}

/// The option of the commands that show or record each hit.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct TaskOption {
    /// Also read which task of an async runtime (tokio) the thread runs: `task 17` in each line, and `task` in JSON
    #[arg(long)]
    task: bool,
    /// Also watch when each task is polled: the calls of the runtime's function that polls. It has two probes in each poll
    #[arg(long)]
    polls: bool,
}

impl Watch {
    /// What the options mean, if this is counted.
    pub(crate) fn options(self, question: Question) -> anyhow::Result<Options> {
        if !self.command.is_empty() && !self.pid.is_empty() {
            bail!("-p PID and -- COMMAND cannot be given together");
        }
        if let Some(name) = self.group.name() {
            if !self.command.is_empty() || !self.pid.is_empty() {
                bail!(
                    "{name} cannot be given together with -p PID or -- COMMAND: it says itself which processes are watched"
                );
            }
            if self.no_children {
                bail!(
                    "{name} cannot be given together with --no-children: what a process creates is in its control group"
                );
            }
        }
        if self.plan.is_some() && self.choice.is_of_sites() {
            bail!("--include of sites cannot be used with --plan: the plan file says which sites are watched");
        }
        let (patterns, files) = operands(&self.operands);
        let mut filters = self.filters;
        if let (Question::Time { from, to, key: IntervalSubject::Call, .. }, None) = (&question, &self.plan) {
            filters.add_calls(from, to)?;
        }
        filters.finds_tasks = question.names(TASK) || self.filter.as_ref().is_some_and(|filter| filter.names(TASK));
        Ok(Options {
            doubtful: self.choice.doubtful(self.strict)?,
            sites: self.choice.settings(),
            at_entry: self.assist.at_entry(),
            filters,
            patterns,
            files,
            pids: pids::all(&self.pid),
            group: self.group.find()?,
            command: self.command,
            events: self.event,
            filter: self.filter,
            question,
            plan: self.plan,
            engine: self.engine.map(EngineName::engine),
            limit: self.limit,
            verbose: self.verbose,
            with_children: !self.no_children,
            duration: self.duration,
            values: self.values.budget(),
            for_agent: self.for_agent,
            notes_tasks: false,
        })
    }

    /// The same for hits that are shown or recorded, which may note their tasks.
    pub(crate) fn options_of_hits(self, TaskOption { task, polls }: TaskOption) -> anyhow::Result<Options> {
        if polls && self.plan.is_some() {
            bail!("--polls cannot be used with --plan: a plan file does not name the functions that poll");
        }
        let task = task || polls;
        let mut options = self.options(Question::Hits)?;
        options.filters.finds_tasks |= task;
        options.filters.finds_polls = polls;
        Ok(Options { notes_tasks: task, ..options })
    }
}

impl Options {
    /// What counts the hits of markers by process.
    pub(crate) fn of_processes(names: &[String], files: &[PathBuf], pids: &[u32], group: Option<Group>) -> Self {
        let (patterns, files) = operands(files);
        let mut filters = Filters::default();
        filters.add_names(names);
        let (pids, question) = (pids.to_vec(), Question::Processes);
        Self { filters, patterns, files, pids, group, question, ..Self::default() }
    }

    /// What becomes of doubtful arguments.
    pub(crate) fn doubtful(&self) -> DoubtfulValues {
        self.doubtful
    }

    /// The files that are named, and the program that is started.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        let program = self.command.first().and_then(|program| Child::find(program));
        self.files.iter().cloned().chain(program).collect()
    }

    /// The program that is watched; what a recording is named after if it is not known.
    pub(crate) fn program(&self) -> String {
        let pid = self.pids.first().filter(|_| self.command.is_empty() && self.files.is_empty());
        let path = pid.and_then(|pid| fs::read_link(format!("/proc/{pid}/exe")).ok());
        let name = path.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| self.name())
    }

    /// What a recording is named after: the program, the first file, the first process, or the control
    /// group.
    pub(crate) fn name(&self) -> String {
        let file = || self.files.iter().find(|file| file.is_file()).map(|file| file.as_os_str());
        let path = self.command.first().map(OsString::as_os_str).or_else(file);
        let name = path.and_then(|path| Path::new(path).file_name()).map(|name| name.to_string_lossy().into_owned());
        let process = || self.pids.first().map(|pid| format!("pid-{pid}"));
        let group = || Some(self.group.as_ref()?.path.file_name()?.to_string_lossy().into_owned());
        name.or_else(process).or_else(group).unwrap_or_else(|| "hits".to_owned())
    }
}
