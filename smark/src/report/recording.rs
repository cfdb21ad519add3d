//! The files of a recording, and which of its hits are wanted.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::Value as Json;
use simple_markers_resolver::marks::TaskPoint;
use simple_markers_resolver::record::span;
use simple_markers_resolver::select::{Field, Selection};
use simple_markers_tracer::Hit;
use simple_markers_tracer::ctf::{self, Description, Events, SiteSelection};
use simple_markers_tracer::plan::{DoubtfulValues, Plan, PlannedArgument, PlannedSite};
use simple_markers_tracer::recorder::recording::{self, ConvertedRecording, Metadata};

use crate::console::{Console, Status};
use crate::end::Totals;
use crate::narrow::HitQuery;
#[cfg(feature = "parquet")]
use crate::parquet::DataSetEnd;
use crate::record::newest;
use crate::sinks::Sink;
use crate::source::Source;
use crate::{files, inputs};

/// The files of a recording.
pub(super) struct Recording {
    pub(super) folder: PathBuf,
    pub(super) description: Description,
    plan: Plan,
    stream: files::Bytes,
    /// How it ended; `None` if it was cut off.
    end: Option<Json>,
    /// Its files, which are not overwritten.
    pub(super) files: Vec<PathBuf>,
    /// Whether all of it could be read so far.
    status: Status,
    /// What becomes of doubtful values.
    doubtful: DoubtfulValues,
}

impl Recording {
    pub(super) fn open(console: &Console, folder: &Path, doubtful: DoubtfulValues) -> anyhow::Result<Self> {
        let path = folder.join(ctf::DESCRIPTION);
        if folder.join(ctf::STRUCTURED).is_file() {
            bail!(
                "{}: `smark report --to ctf` wrote it for other readers, such as babeltrace2; smark report reads the recording that it was made of",
                folder.display()
            );
        }
        if !path.exists() && folder.join(ctf::METADATA).is_file() {
            return Self::of_program(console, folder, doubtful);
        }
        let text = fs::read(&path).with_context(|| format!("{}: not a recording of smark", path.display()))?;
        let description = Description::from_json(&text).with_context(|| path.display().to_string())?;
        let path = folder.join(ctf::STREAM);
        let stream = File::open(&path).and_then(|file| files::map(&file));
        let stream = stream.with_context(|| path.display().to_string())?;
        let end = fs::read(folder.join(ctf::END)).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let files = [ctf::STREAM, ctf::METADATA, ctf::DESCRIPTION, ctf::END].map(|file| folder.join(file)).into();
        Ok(Self::new(folder, description, stream, end, files, doubtful))
    }

    fn new(
        folder: &Path,
        description: Description,
        stream: files::Bytes,
        end: Option<Json>,
        files: Vec<PathBuf>,
        doubtful: DoubtfulValues,
    ) -> Self {
        let (folder, plan) = (folder.to_owned(), description.plan());
        Self { folder, description, plan, stream, end, files, status: Status::Done, doubtful }
    }

    /// Opens a recording that a program wrote itself. It has no end: it is complete at any moment.
    fn of_program(console: &Console, folder: &Path, doubtful: DoubtfulValues) -> anyhow::Result<Self> {
        let path = folder.join(ctf::METADATA);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let metadata = Metadata::parse(&text).with_context(|| {
            format!("{}: not a recording of smark, nor of a program; babeltrace2 may read it", path.display())
        })?;
        let mut files = threads(folder).with_context(|| folder.display().to_string())?;
        let maps = files.iter().map(|path| {
            let map = File::open(path).and_then(|file| files::map(&file));
            map.with_context(|| path.display().to_string())
        });
        let maps = maps.collect::<anyhow::Result<Vec<files::Bytes>>>()?;
        let bytes: Vec<&[u8]> = maps.iter().map(|map| &**map).collect();
        let ConvertedRecording { description, stream, damages } = recording::convert(&metadata, &bytes);
        let status = if damages.is_empty() { Status::Done } else { Status::Unreadable };
        for (number, damage) in damages {
            let path = files.get(number).map(|path| path.display().to_string()).unwrap_or_default();
            console.error(&format!("{path}: {damage}"));
        }
        files.push(path);
        let (stream, end) = (files::Bytes::Unpacked(stream), Some(Json::Null));
        Ok(Self { status, ..Self::new(folder, description, stream, end, files, doubtful) })
    }

    /// Says with `--verbose` which files are read, and how large they are.
    pub(super) fn tell(&self, console: &Console) {
        for path in &self.files {
            match fs::metadata(path) {
                Ok(file) => console.detail(&format!("{}: {} bytes", path.display(), file.len())),
                Err(_) => console.detail(&format!("{}: no such file", path.display())),
            }
        }
    }

    /// The markers that a pattern matches. Says which patterns match nothing.
    pub(super) fn select(
        &self,
        console: &Console,
        patterns: &[String],
    ) -> anyhow::Result<(RecordedMarkers<'_>, Status)> {
        let mut selection = Selection::default();
        for pattern in patterns {
            selection.add(Field::Name, pattern)?;
        }
        let names: Vec<&str> = self.description.markers.iter().map(|marker| &*marker.name).collect();
        let unmatched = selection.unmatched_names(&names);
        unmatched.iter().for_each(|unmatched| console.error(&inputs::no_match(unmatched, patterns)));
        let status = if unmatched.is_empty() { Status::Done } else { Status::NoMatch };
        Ok((RecordedMarkers { plan: &self.plan, selection, doubtful: self.doubtful }, status))
    }

    /// Its sites.
    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How it ended, as the file says it; null if a program wrote it itself. `None` if it was cut off.
    pub(super) fn end(&self) -> Option<&Json> {
        self.end.as_ref()
    }

    /// Whether hits note the task that the thread ran.
    pub(super) fn has_tasks(&self) -> bool {
        self.plan.sites.iter().any(|site| site.notes_task)
    }

    /// Whether it has places of async runtimes where tasks do this.
    pub(super) fn has(&self, what: TaskPoint) -> bool {
        let markers = &self.plan.markers;
        self.plan.sites.iter().any(|site| markers.get(site.marker).is_some_and(|it| it.task_point == Some(what)))
    }

    /// Whether a marker has an argument of this name.
    pub(super) fn has_argument(&self, name: &str) -> bool {
        self.plan.sites.iter().flat_map(PlannedSite::own_arguments).any(|argument| *argument.text == *name)
    }

    /// How many hits were lost, as its end says; `None` if it was cut off.
    #[cfg(feature = "parquet")]
    pub(super) fn lost_at_end(&self) -> Option<u64> {
        self.end.as_ref()?.get("lost")?.as_u64()
    }

    /// How it ended. `lost` is how many hits were lost, as far as they were read.
    #[cfg(feature = "parquet")]
    pub(super) fn data_set_end(&self, lost: u64) -> DataSetEnd {
        let member = |name: &str| self.end.as_ref().and_then(|end| end.get(name));
        let stopped = member("stopped").and_then(Json::as_str).map(str::to_owned);
        DataSetEnd { lost, is_complete: self.end.is_some(), exit: member("exit").and_then(Json::as_i64), stopped }
    }

    /// Its hits. `status` is what is known so far.
    pub(super) fn hits(&self, status: Status) -> Hits<'_> {
        Hits { recording: self, lost: 0, is_whole: false, status: status.max(self.status) }
    }
}

/// The hits of a recording.
pub(super) struct Hits<'a> {
    recording: &'a Recording,
    /// How many were lost while it was recorded.
    lost: u64,
    /// Whether all of them were read.
    is_whole: bool,
    status: Status,
}

impl Hits<'_> {
    /// Hands on each hit, with the number of those that were lost before the end of its packet, until no
    /// more are wanted. Says what cannot be read if there is a console.
    pub(super) fn each(
        &mut self,
        console: Option<&Console>,
        take: &mut dyn FnMut(&Hit<'_>, u64) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        let Recording { folder, description, plan, stream, doubtful, .. } = self.recording;
        let mut events = Events::new(description, plan, stream).with_doubtful(*doubtful);
        loop {
            match events.next_event() {
                Ok(Some(hit)) if take(&hit, events.lost())?.is_continue() => {}
                Ok(last) => {
                    self.is_whole = last.is_none();
                    break;
                }
                Err(error) => {
                    if let Some(console) = console {
                        console.error(&format!("{}: {error}", folder.join(ctf::STREAM).display()));
                    }
                    self.status = self.status.max(Status::Unreadable);
                }
            }
        }
        self.lost = events.lost();
        Ok(())
    }

    /// How many were lost while they were recorded, as far as they were read.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether all of them could be read.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole && self.status != Status::Unreadable
    }
}

impl Source for Hits<'_> {
    fn run(&mut self, console: &Console, sink: &mut dyn Sink) -> anyhow::Result<()> {
        self.each(Some(console), &mut |hit, _| sink.hit(hit))
    }

    fn totals(&mut self) -> anyhow::Result<Option<Totals<'_>>> {
        let end = self.recording.end.as_ref();
        let exit = end.and_then(|end| end.get("exit")).cloned().unwrap_or_default();
        Ok(Some(Totals { lost: self.lost, unfiltered: 0, exit, live: None }))
    }

    fn end(self, console: &Console) -> anyhow::Result<ExitCode> {
        if self.lost > 0 {
            console.error(&format!("{} hits were lost while it was recorded", self.lost));
        } else if self.is_whole {
            console.detail("no hits were lost while it was recorded");
        }
        if self.recording.end.is_none() {
            console.note("the recording was cut off: smark record did not end it, or is not at its end yet");
        }
        Ok(self.status.into())
    }
}

/// The files of the threads that a program recorded. The names of those that are not to be read yet start
/// with a point.
fn threads(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if name != ctf::METADATA && !name.as_encoded_bytes().starts_with(b".") {
            files.push(folder.join(name));
        }
    }
    files.sort();
    Ok(files)
}

/// The markers that the user wants.
pub(super) struct RecordedMarkers<'a> {
    plan: &'a Plan,
    selection: Selection,
    doubtful: DoubtfulValues,
}

impl<'a> RecordedMarkers<'a> {
    /// Their names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        let names = self.plan.markers.iter().map(|marker| &*marker.name);
        names.filter(|name| self.selection.matches_name(name))
    }

    /// The names of the spans: those with a begin and an end whose sites have the id first.
    pub(super) fn spans(&self) -> Vec<&'a str> {
        let has_id = |name: &str| {
            let is_named = |marker: usize| self.plan.markers.get(marker).is_some_and(|it| *it.name == *name);
            let mut sites = self.plan.sites.iter().filter(|site| is_named(site.marker)).peekable();
            let is_id = |argument: &PlannedArgument| *argument.text == *span::ID;
            sites.peek().is_some() && sites.all(|site| site.own_arguments().first().is_some_and(is_id))
        };
        let names: BTreeSet<&str> = self.names().collect();
        let spans = names.iter().filter_map(|begin| span::of_begin(begin));
        spans
            .filter(|name| names.contains(&*span::end(name)) && has_id(&span::begin(name)) && has_id(&span::end(name)))
            .collect()
    }

    /// Whether a pattern was given, and none of them matches.
    pub(super) fn is_nothing(&self) -> bool {
        !self.selection.is_empty() && self.names().next().is_none()
    }

    /// Their sites where the filter and the question apply. Says which are left out.
    pub(super) fn choose(&self, console: &Console, asked: &HitQuery<'_>) -> anyhow::Result<SiteSelection> {
        let markers = &self.plan.markers;
        let keep = |marker: usize| markers.get(marker).is_some_and(|it| self.selection.matches_name(&it.name));
        let (chosen, refused) = SiteSelection::new(self.plan, &keep, asked.filter, asked.question, self.doubtful);
        asked.judge(console, &refused, chosen.plan.sites.is_empty())?;
        Ok(chosen)
    }
}

/// The patterns and the one folder among some operands; without one, the newest recording here that was not
/// given a name.
pub(super) fn operands(console: &Console, operands: &[PathBuf]) -> anyhow::Result<(Vec<String>, PathBuf)> {
    let (patterns, folders) = inputs::operands(operands);
    match <[PathBuf; 1]>::try_from(folders) {
        Ok([folder]) => Ok((patterns, folder)),
        Err(folders) if folders.is_empty() => {
            if let Some(newest) = newest().context("the current folder cannot be read")? {
                console.note(&format!("reading {}", newest.display()));
                return Ok((patterns, newest));
            }
            if patterns.is_empty() {
                bail!("no DIR given, and no recording smark-NAME-DATE is here");
            }
            let taken: Vec<String> = patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
            bail!("no DIR given: {} is not an existing folder, so it was taken as a PATTERN", taken.join(", "))
        }
        Err(folders) => {
            let named: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            bail!("one recording is read at a time: {}", named.join(", "))
        }
    }
}
