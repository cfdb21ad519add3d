//! The files of a recording, and which of its hits are wanted.

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::Value as Json;
use simple_markers_resolver::marks::TaskPoint;
use simple_markers_resolver::select::{Field, Selection};
use simple_markers_tracer::Hit;
use simple_markers_tracer::ctf::{self, Description, Events, ReadError, SiteSelection};
use simple_markers_tracer::event::Texts;
use simple_markers_tracer::pairs::spans;
use simple_markers_tracer::plan::{DoubtfulValues, Plan, PlannedSite};
use simple_markers_tracer::recorder::recording::{self, ConvertedRecording, Metadata};

use crate::console::{Console, Status};
use crate::end::Totals;
use crate::hit_origin::HitOrigin;
use crate::hit_text::HitText;
use crate::narrow::HitQuery;
#[cfg(feature = "parquet")]
use crate::parquet::DataSetEnd;
use crate::record::newest;
use crate::sinks::{Setting, Sink};
use crate::source::Source;
use crate::{files, inputs};

/// What is said of a recording without an end.
pub(crate) const CUT_OFF: &str = "the recording was cut off: smark record did not end it, or is not at its end yet";

/// The files of a recording.
pub(crate) struct Recording {
    pub(crate) folder: PathBuf,
    pub(crate) description: Description,
    plan: Plan,
    stream: files::Bytes,
    /// How it ended; `None` if it was cut off.
    end: Option<Json>,
    /// Its files, which are not overwritten.
    pub(crate) files: Vec<PathBuf>,
    /// What could not be read so far.
    damages: Vec<String>,
    /// What becomes of doubtful values.
    doubtful: DoubtfulValues,
}

impl Recording {
    pub(crate) fn open(console: &Console, folder: &Path, doubtful: DoubtfulValues) -> anyhow::Result<Self> {
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
        Self { folder, description, plan, stream, end, files, damages: Vec::new(), doubtful }
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
        let damage = |(number, damage)| {
            let path = files.get(number).map(|path: &PathBuf| path.display().to_string()).unwrap_or_default();
            format!("{path}: {damage}")
        };
        let damages: Vec<String> = damages.into_iter().map(damage).collect();
        damages.iter().for_each(|damage| console.error(damage));
        files.push(path);
        let (stream, end) = (files::Bytes::Unpacked(stream), Some(Json::Null));
        Ok(Self { damages, ..Self::new(folder, description, stream, end, files, doubtful) })
    }

    /// Says with `--verbose` which files are read, and how large they are.
    pub(crate) fn tell(&self, console: &Console) {
        for path in &self.files {
            match fs::metadata(path) {
                Ok(file) => console.detail(&format!("{}: {} bytes", path.display(), file.len())),
                Err(_) => console.detail(&format!("{}: no such file", path.display())),
            }
        }
    }

    /// The markers that a pattern matches. Says which patterns match nothing.
    pub(crate) fn select(
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

    /// What its hits are shown with, without stacks.
    pub(super) fn setting(&self, colour: bool) -> Setting {
        Setting {
            start: self.description.start,
            names: Box::new(self.description.kernel.clone()),
            functions: Box::new(self.description.functions.clone()),
            colour,
            has_tasks: self.has_tasks(),
            stacks: None,
        }
    }

    /// Where it was made.
    pub(super) fn origin(&self) -> HitOrigin {
        let Description { uuid, clock_offset, origin, images, .. } = &self.description;
        let origin = origin.clone().unwrap_or_default();
        // One that a program wrote does not say its name. What it wrote is in the program, or in a library of it.
        let image = || images.first().map_or_else(|| "unknown_service".to_owned(), |image| image.module.to_string());
        // Without the boot, the recording tells its clock from others.
        let identity = || uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        HitOrigin {
            program: origin.program.unwrap_or_else(image),
            host: origin.host,
            boot: origin.boot.unwrap_or_else(identity),
            instance: *uuid,
            clock_offset: *clock_offset,
        }
    }

    /// Its sites.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How it ended, as the file says it; null if a program wrote it itself. `None` if it was cut off.
    pub(crate) fn end(&self) -> Option<&Json> {
        self.end.as_ref()
    }

    /// Whether hits note the task that the thread ran.
    pub(crate) fn has_tasks(&self) -> bool {
        self.plan.sites.iter().any(|site| site.notes_task)
    }

    /// Whether it has places of async runtimes where tasks do this.
    pub(crate) fn has(&self, what: TaskPoint) -> bool {
        let markers = &self.plan.markers;
        self.plan.sites.iter().any(|site| markers.get(site.marker).is_some_and(|it| it.task_point == Some(what)))
    }

    /// Whether a marker has an argument of this name.
    pub(crate) fn has_argument(&self, name: &str) -> bool {
        self.plan.sites.iter().flat_map(PlannedSite::own_arguments).any(|argument| *argument.text == *name)
    }

    /// How many hits were lost, as its end says; `None` if it was cut off.
    #[cfg(feature = "parquet")]
    pub(crate) fn lost_at_end(&self) -> Option<u64> {
        self.end.as_ref()?.get("lost")?.as_u64()
    }

    /// How it ended. `lost` is how many hits were lost, as far as they were read.
    #[cfg(feature = "parquet")]
    pub(crate) fn data_set_end(&self, lost: u64) -> DataSetEnd {
        let member = |name: &str| self.end.as_ref().and_then(|end| end.get(name));
        let stopped = member("stopped").and_then(Json::as_str).map(str::to_owned);
        DataSetEnd { lost, is_complete: self.end.is_some(), exit: member("exit").and_then(Json::as_i64), stopped }
    }

    /// Its hits. `status` is what is known so far.
    pub(crate) fn hits(&self, status: Status) -> Hits<'_> {
        let damaged = if self.damages.is_empty() { Status::Done } else { Status::Unreadable };
        Hits { recording: self, lost: 0, is_whole: false, status: status.max(damaged) }
    }

    /// The events of its stream.
    pub(crate) fn events(&self) -> Events<'_> {
        Events::new(&self.description, &self.plan, &self.stream).with_doubtful(self.doubtful)
    }

    /// What writes the texts of its hits.
    pub(crate) fn text(&self) -> HitText {
        let Description { kernel, functions, .. } = &self.description;
        HitText::new(Texts::new(Box::new(kernel.clone())), Box::new(functions.clone()))
    }

    /// What an error in the stream is called.
    pub(crate) fn error_text(&self, error: &ReadError) -> String {
        format!("{}: {error}", self.folder.join(ctf::STREAM).display())
    }

    /// What could not be read when it was opened.
    #[cfg(feature = "view")]
    pub(crate) fn damages(&self) -> &[String] {
        &self.damages
    }
}

/// The hits of a recording.
pub(crate) struct Hits<'a> {
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
    pub(crate) fn each(
        &mut self,
        console: Option<&Console>,
        take: &mut dyn FnMut(&Hit<'_>, u64) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        let mut events = self.recording.events();
        loop {
            match events.next_event() {
                Ok(Some(hit)) if take(&hit, events.lost())?.is_continue() => {}
                Ok(last) => {
                    self.is_whole = last.is_none();
                    break;
                }
                Err(error) => {
                    if let Some(console) = console {
                        console.error(&self.recording.error_text(&error));
                    }
                    self.status = self.status.max(Status::Unreadable);
                }
            }
        }
        self.lost = events.lost();
        Ok(())
    }

    /// How many were lost while they were recorded, as far as they were read.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether all of them could be read.
    pub(crate) fn is_whole(&self) -> bool {
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
            console.note(CUT_OFF);
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
pub(crate) struct RecordedMarkers<'a> {
    plan: &'a Plan,
    selection: Selection,
    doubtful: DoubtfulValues,
}

impl<'a> RecordedMarkers<'a> {
    /// Their names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        let names = self.plan.markers.iter().map(|marker| &*marker.name);
        names.filter(|name| self.selection.matches_name(name))
    }

    /// The names of the spans.
    pub(crate) fn spans(&self) -> Vec<String> {
        spans(self.plan, &|name| self.selection.matches_name(name))
    }

    /// Whether a pattern was given, and none of them matches.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.selection.is_empty() && self.names().next().is_none()
    }

    /// Their sites where the filter and the question apply. Says which are left out.
    pub(crate) fn choose(&self, console: &Console, asked: &HitQuery<'_>) -> anyhow::Result<SiteSelection> {
        let markers = &self.plan.markers;
        let keep = |marker: usize| markers.get(marker).is_some_and(|it| self.selection.matches_name(&it.name));
        let (chosen, refused) = SiteSelection::new(self.plan, &keep, asked.filter, asked.question, self.doubtful);
        asked.judge(console, &refused, chosen.plan.sites.is_empty())?;
        Ok(chosen)
    }
}

/// The patterns and the one folder among some operands; without one, the newest recording here that was not
/// given a name.
pub(crate) fn operands(console: &Console, operands: &[PathBuf]) -> anyhow::Result<(Vec<String>, PathBuf)> {
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
