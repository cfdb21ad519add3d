//! `smark record`: writes the hits of markers to a recording.

mod files;
mod parts;
mod recorder;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use simple_markers_tracer::ctf::Flight;
use simple_markers_tracer::ctf::description::RecordingOrigin;
use simple_markers_tracer::event::Notes;
use simple_markers_tracer::record::stack::StackSettings;
use simple_markers_tracer::sys::{Mode, signals};

pub(crate) use self::files::newest;

use self::files::Folder;
use self::parts::{Parts, RecordingStart};
use self::recorder::{NameSources, Recorder};
use crate::console::Console;
use crate::sinks::Sink as _;
use crate::source::Source as _;
use crate::watch::{self, Buffer, StackOptions, TaskOption, Watch, events, under_heading};
use crate::{machine, quantity};

/// Write the hits of markers to a recording in the Common Trace Format
///
/// The markers are chosen as in `smark trace`. The recording is a folder that `smark report`, babeltrace2 and Trace Compass read. What
/// is complete there can be read at any time, also if smark is killed or the disk is full.
///
/// With --ring only the newest hits are kept, in memory. They are written at the end, when the marker of --until is passed, and when
/// smark gets the signal USR1.
#[derive(Debug, Args)]
#[command(
    override_usage = "smark record [OPTIONS] [PATTERN]... <FILE>...\n       smark record [OPTIONS] [PATTERN]... -p <PID>\n       smark record [OPTIONS] [PATTERN]... --cgroup <PATH|ID> | --container <NAME|ID>\n       smark record [OPTIONS] [PATTERN]... [FILE]... -- <COMMAND>...",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}"),
    mut_args(under_heading)
)]
pub(crate) struct Record {
    #[command(flatten)]
    watch: Watch,
    /// The folder of the recording, which must not exist [default: smark-NAME-DATE]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Write the hits for another tool when they are recorded. Until then the recording is DIR.recording
    #[arg(long, value_name = "TOOL", requires = "output", hide = !cfg!(feature = "parquet"))]
    to: Option<RecordTarget>,
    /// With --to parquet, no file has more bytes; K, M and G mean 2^10, 2^20 and 2^30 bytes
    #[arg(long, value_name = "SIZE", value_parser = quantity::table_file, default_value = "128M", hide = !cfg!(feature = "parquet"))]
    file_size: u64,
    /// Replace a recording, or a data set, that is in the folder
    #[arg(long)]
    force: bool,
    /// Begin a new recording every so often, 10min for example: DIR has a recording for each part then, named after the time at which
    /// it begins. No hit is missing between them. With --max-size, a part that is full ends early
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration, requires = "output", conflicts_with_all = ["to", "ring", "force"])]
    parts: Option<Duration>,
    /// End before the recording has more bytes; K, M and G mean 2^10, 2^20 and 2^30 bytes
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// Keep the newest hits in memory, in so many bytes
    #[arg(long, value_name = "SIZE", value_parser = size)]
    ring: Option<u64>,
    /// End when this marker is passed
    #[arg(long, value_name = "NAME")]
    until: Option<String>,
    #[command(flatten)]
    stacks: StackOptions,
    #[command(flatten)]
    task: TaskOption,
    #[command(flatten)]
    buffer: Buffer,
}

/// A tool that reads the hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RecordTarget {
    /// A folder for DuckDB, ClickHouse, Spark and other readers of Parquet: a table for each marker
    Parquet,
}

const EXAMPLES: &str = "\
EXAMPLES
  All that a program does:
      smark record -- target/release/server --port 8080
      smark report
  Ten seconds of a running server:
      smark record -o trace --duration 10s -p $(pidof server)
  Who calls it, as a flame graph:
      smark record --stack=dwarf -o trace queue:submit -p $(pidof server)
      smark report --to svg -o submits.svg trace
  Read it with another tool:
      babeltrace2 trace
  All day, a recording for each hour:
      smark record -o today --parts 1h --duration 24h target/release/server
  The last 64 MiB before an error:
      smark record -o trace --ring 64M --until queue:failed -p $(pidof server)";

/// The section of the help about the exit status.
const STATUS: &str = "\
EXIT STATUS
  0  done, also if --max-size ended it
  1  a pattern matches nothing
  2  the probes could not be set, a file could not be read, or the recording could not be written
  With a COMMAND, its own exit status, or 128 and the number of the signal that killed it, unless the recording could not be written.";

/// The size of a packet.
const PACKET: u64 = 256 << 10;
/// The fewest packets of a flight recorder.
const PACKETS: u64 = 16;
/// The least size of a packet, and of a flight recorder.
const LEAST: u64 = 4 << 10;

/// Parses the size of a recording.
fn size(text: &str) -> Result<u64, String> {
    match quantity::size(text)? {
        size if size >= LEAST => Ok(size),
        _ => Err(format!("at least {LEAST} bytes")),
    }
}

/// What is recorded, and where.
struct RecordOptions {
    watch: watch::Options,
    mode: Mode,
    stacks: StackSettings,
    /// The folder of the recording.
    output: PathBuf,
    /// Whether a recording in the folder is replaced.
    force: bool,
    /// How often a new recording begins; `None` if there is one.
    parts: Option<Duration>,
    /// The most bytes of the recording.
    most: u64,
    /// The bytes of a flight recorder; `None` if all hits are written.
    ring: Option<u64>,
    /// The name of the marker at which the recording ends.
    until: Option<String>,
}

impl Record {
    fn options(self) -> anyhow::Result<RecordOptions> {
        let watch = self.watch.options_of_hits(self.task)?;
        Ok(RecordOptions {
            output: self.output.unwrap_or_else(|| files::default_folder(&watch.name())),
            watch,
            mode: self.buffer.mode(self.stacks.settings()),
            stacks: self.stacks.settings(),
            force: self.force,
            parts: self.parts,
            most: self.max_size.unwrap_or(u64::MAX),
            ring: self.ring,
            until: self.until,
        })
    }

    /// The folder of the tables that the recording becomes, whether it may replace one, and the most bytes of a file.
    /// `None` if it stays a recording.
    pub(crate) fn tables(&self) -> Option<(PathBuf, bool, u64)> {
        self.to.map(|RecordTarget::Parquet| (self.output.clone().unwrap_or_default(), self.force, self.file_size))
    }

    /// The same, with another folder for the recording.
    #[cfg(feature = "parquet")]
    pub(crate) fn with_output(self, output: PathBuf) -> Self {
        Self { output: Some(output), ..self }
    }

    pub(crate) fn run(self, console: &Console) -> anyhow::Result<ExitCode> {
        let RecordOptions { watch, mode, stacks, output, force, parts, most, ring, until } = self.options()?;
        let folder = match parts {
            None => Folder::prepare(output.clone(), force)?,
            Some(_) => {
                fs::create_dir_all(&output).with_context(|| output.display().to_string())?;
                Folder::prepare(files::part_folder(&output), false)?
            }
        };
        let program = watch.name();
        if ring.is_some() {
            signals::catch_dump();
        }
        let mut watching = match watch.start(console, mode) {
            Ok(watching) if watching.is_active() => watching,
            Ok(watching) => {
                folder.abandon();
                return watching.end(console);
            }
            Err(error) => {
                folder.abandon();
                return Err(error);
            }
        };
        let plan = &watching.plan;
        if let Some(until) = until.as_deref().filter(|name| !plan.markers.iter().any(|it| &*it.name == *name)) {
            console.error(&format!("--until {until}: no marker that is watched has this name"));
        }
        let packet = ring.map_or(PACKET, |ring| (ring / PACKETS).clamp(LEAST, PACKET));
        let recordings = RecordingStart {
            stacks,
            origin: RecordingOrigin { host: machine::host(), boot: machine::boot(), program: Some(program) },
            start: watching.started,
            packet: usize::try_from(packet).unwrap_or(usize::MAX),
            most,
        };
        let first = recordings.begin(plan, folder)?;
        let parts = parts.map(|every| Parts::new(output, every, recordings));
        let flight = ring.map(|ring| Flight::new(usize::try_from(ring).unwrap_or(usize::MAX)));
        let names = NameSources {
            notes: Notes::new(events::names(plan)),
            functions: watching.functions(console),
            stacks: stacks.is_any().then(|| watching.stacks(console)),
        };
        let mut recorder = Box::new(Recorder::new(first, names, flight, parts, until));
        // What is recorded stays readable, also if watching fails.
        let ran = watching.run(console, &mut *recorder);
        let ended = watching.totals()?.map_or(Ok(()), |totals| recorder.end(console, &totals));
        ran?;
        let status = watching.end(console)?;
        ended.map(|()| status)
    }
}
