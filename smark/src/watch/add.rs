//! Adds the markers of files to the plan.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use simple_markers_resolver::export::ExportError;
use simple_markers_resolver::resolve::{Detail, ImageKind, Marker, ResolvedImage};
use simple_markers_tracer::Plan;
use simple_markers_tracer::plan::Settings;
use simple_markers_tracer::sys::Child;
use simple_markers_tracer::thread_local::ThreadLocals;

use super::{TEXT, Watching};
use crate::files::{self, Input, Unreadable};
use crate::{Console, Status, left_out};

impl Watching {
    /// Adds the markers of files to the plan.
    pub(super) fn add(&mut self, console: &Console, files: &[PathBuf]) -> anyhow::Result<()> {
        let is_first = self.known.is_empty();
        // One file may have several names. Those of mapped files are canonical.
        let unknown = files.iter().filter(|file| !self.known.contains(*file));
        let files: Vec<PathBuf> = unknown.map(|file| fs::canonicalize(file).unwrap_or_else(|_| file.clone())).collect();
        let new: Vec<PathBuf> = files.into_iter().filter(|file| self.known.insert(file.clone())).collect();
        if new.is_empty() {
            return Ok(());
        }
        let (left_out, sites) = (self.plan.left_out.len(), self.plan.sites.len());
        match self.file.is_some() {
            true => {
                self.add_planned(console, &new, is_first)?;
                self.plan.treat(sites, self.doubtful);
            }
            false => self.add_resolved(console, &new, is_first)?,
        }
        self.narrow(console, if is_first { 0 } else { sites })?;
        left_out::tell(console, &self.plan, left_out, &|marker| self.watch.question.asks_for(marker));
        Ok(())
    }

    /// Adds the markers that files have by their debug information.
    fn add_resolved(&mut self, console: &Console, new: &[PathBuf], is_first: bool) -> anyhow::Result<()> {
        let inputs: Vec<Result<Input, Unreadable>> = match is_first {
            true => files::expand(new, false),
            false => new.iter().map(|path| Ok(Input { path: path.clone(), found: true })).collect(),
        };
        // The libraries of a process need not have markers.
        let quiet =
            |input: Result<Input, Unreadable>| input.map(|it| Input { found: !self.named.contains(&it.path), ..it });
        let inputs: Vec<_> = inputs.into_iter().map(quiet).collect();
        let selected = self.watch.filters.select(console, Detail::Places, self.patterns.clone(), &inputs)?;
        let rows = selected.rows();
        let chosen = selected.chosen(&rows);
        let settings = Settings {
            export: self.watch.choice.settings(),
            text: TEXT,
            thread_pointer: self.kernel.thread_pointer,
            is_sleepable: true,
            is_recorded: self.is_recorded,
            doubtful: self.doubtful,
        };
        for image in &selected.resolution.images {
            let keep = selected.keeps(&chosen);
            if !image.markers.iter().any(&keep) {
                continue;
            }
            let number = self.plan.images.len();
            image.markers.iter().filter(|marker| keep(marker)).for_each(|marker| self.chains.add(number, marker));
            if let Err(why) = add(&mut self.plan, image, &keep, &settings) {
                console.error(&format!("{}: {why}", image.path));
                self.status = self.status.max(Status::Unreadable);
            }
        }
        if is_first {
            self.status = self.status.max(selected.report(console, &rows, &chosen));
        }
        Ok(())
    }

    /// Adds the markers that files have by the plan file.
    fn add_planned(&mut self, console: &Console, new: &[PathBuf], is_first: bool) -> anyhow::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let refused = file.add(&mut self.plan, new, &self.named, self.kernel.thread_pointer);
        let program = self.watch.command.first().and_then(|program| fs::canonicalize(Child::find(program)?).ok());
        for refused in refused {
            if is_first && program.as_ref() == Some(&refused.path) {
                bail!("{refused}");
            }
            console.error(&refused.to_string());
            self.status = self.status.max(Status::Unreadable);
        }
        if is_first {
            self.status = self.status.max(file.report(console));
        }
        Ok(())
    }
}

/// Adds the markers of an image that `keep` accepts to a plan.
pub(crate) fn add(
    plan: &mut Plan,
    image: &ResolvedImage,
    keep: &dyn Fn(&Marker) -> bool,
    settings: &Settings,
) -> Result<(), ExportError> {
    let bytes = files::map_regular(Path::new(&image.path));
    let thread_locals = match (&bytes, image.kind) {
        (None, _) => ThreadLocals::Unknown,
        (Some(bytes), ImageKind::Shared) => ThreadLocals::of_library(bytes),
        (Some(bytes), _) => ThreadLocals::of_executable(bytes),
    };
    plan.add(image, &image.path, &thread_locals, keep, settings)
}
