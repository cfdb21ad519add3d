//! The options and operands that say what is watched.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, ValueEnum};
use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::filter::Filter;
use simple_markers_tracer::sys::{Child, Engine, Floor, Kernel, Mode};

use super::pids::{self, Pids};
use crate::choice::{Choice, Strict};
use crate::inputs::{Filters, operands};
use crate::{narrow, quantity};

/// The most bytes of a text that are read.
pub(crate) const TEXT: u16 = 256;

/// The options and operands that say what is watched.
#[derive(Debug, Args)]
#[command(mut_arg("name", |name| name.short(None::<char>)))]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(super) filters: Filters,
    #[command(flatten)]
    pub(super) choice: Choice,
    #[command(flatten)]
    pub(super) strict: Strict,
    /// Watch these processes, and the markers of every file that they have mapped or map later: numbers, separated by commas or
    /// blanks; may be given several times
    #[arg(short, long, value_name = "PID", value_parser = pids::parse)]
    pub(super) pid: Vec<Pids>,
    /// Watch the kernel's events whose GROUP:NAME this glob matches too, beside markers; may be given several times. With a
    /// process, those that happen in it
    #[arg(short, long, value_name = "GLOB")]
    pub(super) event: Vec<String>,
    /// Watch only the hits for which this holds: arguments compared with == != < <= > >=, joined by && || ! ( )
    #[arg(long = "where", value_name = "FILTER", value_parser = narrow::filter, allow_hyphen_values = true)]
    pub(crate) filter: Option<Filter>,
    /// Take this plan file, which `smark plan` wrote, in place of debug information; it knows a program by its build id
    #[arg(long, value_name = "FILE", conflicts_with_all = ["at", "debug_dir"])]
    pub(super) plan: Option<PathBuf>,
    /// What is counted.
    #[arg(skip)]
    pub(crate) question: Question,
    /// What sets the probes [default: BPF; tracefs, as root, if the kernel does not offer BPF]
    #[arg(long, value_name = "ENGINE")]
    pub(super) engine: Option<EngineName>,
    /// End after this many hits; `count` looks ten times in a second, and may count more
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Say which sites are watched
    #[arg(short, long)]
    pub(super) verbose: bool,
    /// Do not watch the processes that a watched process creates
    #[arg(long)]
    pub(super) no_children: bool,
    /// End after this time: 10s, 5min. The COMMAND gets SIGTERM then
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    pub(super) duration: Option<Duration>,
    /// Globs for marker names, and files
    #[arg(value_name = "PATTERN|FILE")]
    pub(super) operands: Vec<PathBuf>,
    /// Start this program, watch it and end with it
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// The names of the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum EngineName {
    /// BPF programs
    Bpf,
    /// Probes in tracefs: slower, needs root
    Tracefs,
}

/// The options and operands alone.
#[derive(Debug, Parser)]
struct Alone {
    #[command(flatten)]
    watch: Watch,
}

impl Watch {
    /// What counts the hits of markers by process, with the defaults of all options.
    pub(crate) fn of_processes(patterns: &[String], files: &[PathBuf], pids: &[u32]) -> anyhow::Result<Self> {
        let Alone { mut watch } = Alone::try_parse_from(["smark"])?;
        watch.question = Question::Processes;
        watch.filters.add_names(patterns);
        watch.operands = files.to_vec();
        watch.pid = vec![Pids(pids.to_vec())];
        watch.no_children = true;
        Ok(watch)
    }

    /// The files that are named, and the program that is started.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        let (_, named) = operands(&self.operands);
        named.into_iter().chain(self.command.first().and_then(|program| Child::find(program))).collect()
    }

    /// Whether programs record their probes themselves. Their records are of processes that are named,
    /// and have no stacks.
    pub(super) fn is_recorded(&self, mode: Mode) -> bool {
        let has_processes = !self.pid.is_empty() || !self.command.is_empty();
        let is_possible = match mode {
            Mode::Trace { with_stack, .. } => !with_stack,
            // `smark top` asks now and then, and a buffer has to be read all the time.
            Mode::Count { .. } => self.question != Question::Processes,
            Mode::Nothing => false,
        };
        has_processes && self.engine.is_none() && is_possible
    }

    /// What a recording is named after: the program, the first file, or the first process.
    pub(crate) fn name(&self) -> String {
        let file = || self.operands.iter().find(|operand| operand.is_file()).map(|file| file.as_os_str());
        let path = self.command.first().map(OsString::as_os_str).or_else(file);
        let name = path.and_then(|path| Path::new(path).file_name()).map(|name| name.to_string_lossy().into_owned());
        let process = || pids::all(&self.pid).first().map(|pid| format!("pid-{pid}"));
        name.or_else(process).unwrap_or_else(|| "hits".to_owned())
    }

    /// The shortest time that is measured between two markers. `None` if it cannot be measured.
    pub(crate) fn floor(&self) -> Option<Floor> {
        let engine = if self.engine == Some(EngineName::Tracefs) { Engine::Tracefs } else { Engine::Bpf };
        Floor::measure(engine, Kernel::new())
    }
}
