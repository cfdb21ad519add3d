//! `smark report --to perfetto`: writes a timeline.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use simple_markers_resolver::text::shown;
use simple_markers_tracer::Hit;
use simple_markers_tracer::ctf::SiteSelection;
use simple_markers_tracer::perfetto::{
    DrawnCounter, Flow, PollTally, SchedulerEvents, Timeline, TimelineContents, TimelineEnd,
};
use tempfile::NamedTempFile;

use super::recording::Recording;
use crate::console::{Console, Status};
use crate::end::Totals;
use crate::sinks::Sink;
use crate::{narrow, output, pair_tally};

/// How many bytes of packets are collected before they are written.
const BLOCK: usize = 1 << 16;

/// Where a timeline is written.
pub(super) struct Target {
    /// The file; stdout if there is none.
    pub(super) path: Option<PathBuf>,
    /// Whether it may exist.
    pub(super) force: bool,
}

/// Writes the hits for Perfetto.
pub(super) struct Perfetto<'a> {
    chosen: &'a SiteSelection,
    timeline: Timeline<'a>,
    /// The most open slices of a pair.
    most: u32,
    packets: Vec<u8>,
    /// The files of the recording.
    inputs: &'a [PathBuf],
    target: Target,
    output: TimelineOutput,
    hits: u64,
    unfiltered: u64,
}

impl<'a> Perfetto<'a> {
    pub(super) fn new(
        console: &Console,
        recording: &'a Recording,
        chosen: &'a SiteSelection,
        contents: TimelineContents,
        most: u32,
        target: Target,
    ) -> anyhow::Result<Self> {
        let inputs = &recording.files;
        let output = TimelineOutput::create(target.path.as_deref(), inputs, target.force)?;
        let mut packets = Vec::with_capacity(2 * BLOCK);
        let open = usize::try_from(most).unwrap_or(usize::MAX);
        let contents = TimelineContents { has_cpus: has_cpus(console, recording, chosen)?, ..contents };
        let timeline = Timeline::new(&recording.description, contents, open, &mut packets);
        Ok(Self { chosen, timeline, most, packets, inputs, target, output, hits: 0, unfiltered: 0 })
    }
}

impl Sink for Perfetto<'_> {
    fn hit(&mut self, hit: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
        let wants = self.chosen.wants(hit);
        self.hits += u64::from(wants == Some(true));
        self.unfiltered += u64::from(wants.is_none());
        self.timeline.add(hit, wants == Some(true), &mut self.packets);
        if self.packets.len() >= BLOCK {
            self.output.write(&self.packets)?;
            self.packets.clear();
        }
        Ok(ControlFlow::Continue(()))
    }

    fn end(self: Box<Self>, console: &Console, _: &Totals<'_>) -> anyhow::Result<()> {
        let Self { chosen, timeline, most, mut packets, inputs, target, mut output, hits, unfiltered } = *self;
        let TimelineEnd { contents, polls } = timeline.finish(&mut packets);
        output.write(&packets)?;
        output.finish(inputs, target.force)?;
        for pair in &contents.pairs {
            pair_tally::tell(console, [&pair.name, &pair.from, &pair.to], pair.tally(), most);
        }
        contents.flows.iter().for_each(|flow| tell_flow(console, flow, most));
        contents.counters.iter().for_each(|counter| tell_counter(console, counter));
        tell_polls(console, polls);
        narrow::tell_unfiltered(console, &chosen.plan, unfiltered);
        if let Some(path) = target.path {
            let slices: u64 = contents.pairs.iter().map(|pair| pair.tally().slices).sum();
            let and_polls = if polls.slices > 0 { format!(", and {} polls", polls.slices) } else { String::new() };
            console.note(&format!("{hits} hits and {slices} slices{and_polls} in {}", path.display()));
        }
        Ok(())
    }
}

/// Says which hits of a flow have no arrows.
fn tell_flow(console: &Console, flow: &Flow, most: u32) {
    let (tally, name) = (flow.tally(), shown(&flow.names.join(",")).into_owned());
    let lines = [
        (tally.unread, "hits at which a value could not be read".to_owned()),
        (tally.full, format!("hits while {most} other values were kept (--max-values)")),
    ];
    for (count, what) in lines.iter().filter(|(count, _)| *count > 0) {
        console.error(&format!("--flow {name}: without arrows: {count} {what}"));
    }
}

/// Says which hits of a counter have no value.
fn tell_counter(console: &Console, counter: &DrawnCounter) {
    if counter.tally().unread > 0 {
        let name = shown(&counter.name);
        console
            .error(&format!("--counter {name}: not drawn: {} values that could not be read", counter.tally().unread));
    }
}

/// Whether the wanted events of the scheduler show what ran on each CPU. Says why they do not, if there are some.
fn has_cpus(console: &Console, recording: &Recording, chosen: &SiteSelection) -> anyhow::Result<bool> {
    if !recording.plan().markers.iter().any(|marker| marker.event.is_some() && *marker.name == *"sched:sched_switch") {
        return Ok(false);
    }
    let mut events = SchedulerEvents::default();
    let mut hits = recording.hits(Status::Done);
    hits.each(None, &mut |hit, _| {
        if chosen.wants(hit) == Some(true) {
            events.add(hit);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let (missing, lost) = (events.missing(), hits.lost());
    if missing > 0 || lost > 0 {
        let why = match (lost, missing) {
            (0, 1) => "a switch is missing".to_owned(),
            (0, _) => format!("{missing} switches are missing"),
            _ => format!("{lost} hits were lost"),
        };
        let all = "record the events of the whole machine: without -p, -- COMMAND or --cgroup";
        console.note(&format!("no tracks of CPUs: {why} ({all})"));
    }
    Ok(events.is_whole() && lost == 0)
}

/// Says which hits of polls are in no slice.
fn tell_polls(console: &Console, tally: PollTally) {
    let lines = [
        (tally.begins, "polls that did not end while it was recorded have no slice"),
        (tally.ends, "ends of polls that began before it was recorded have no slice"),
        (tally.unknown, "polls are on the tracks of their threads only: the number of the task could not be read"),
    ];
    for (count, what) in lines.iter().filter(|(count, _)| *count > 0) {
        console.note(&format!("{count} {what}"));
    }
}

/// Where the timeline is written.
enum TimelineOutput {
    Standard(BufWriter<io::StdoutLock<'static>>),
    /// A temporary file, which gets its name when it is complete.
    File(NamedTempFile, PathBuf),
}

impl TimelineOutput {
    fn create(path: Option<&Path>, inputs: &[PathBuf], force: bool) -> anyhow::Result<Self> {
        let Some(path) = path else {
            if io::stdout().is_terminal() {
                bail!("--to perfetto writes binary data: name a file with -o FILE, or write to a pipe");
            }
            return Ok(Self::Standard(BufWriter::new(io::stdout().lock())));
        };
        output::check(path, inputs, force)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (mut file, permissions) = (tempfile::Builder::new(), Permissions::from_mode(0o666));
        let file = file.prefix(".smark-").permissions(permissions).tempfile_in(folder);
        let file = file.with_context(|| path.display().to_string())?;
        Ok(Self::File(file, path.to_owned()))
    }

    fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Self::Standard(out) => Ok(out.write_all(bytes)?),
            Self::File(file, path) => {
                File::write_all(file.as_file_mut(), bytes).with_context(|| path.display().to_string())
            }
        }
    }

    fn finish(self, inputs: &[PathBuf], force: bool) -> anyhow::Result<()> {
        match self {
            Self::Standard(mut out) => Ok(out.flush()?),
            Self::File(file, path) => {
                output::check(&path, inputs, force)?;
                let persisted = if force { file.persist(&path) } else { file.persist_noclobber(&path) };
                persisted.map(|_| ()).map_err(|error| error.error).with_context(|| path.display().to_string())
            }
        }
    }
}
