//! Adds the markers of files to the plan.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use simple_markers_resolver::export::ExportError;
use simple_markers_resolver::marks::TaskPoint;
use simple_markers_resolver::resolve::{Detail, DiagnosticKind, ImageKind, Marker, ResolvedImage, SurvivalUnknown};
use simple_markers_resolver::uprobe_rules::UprobeRules;
use simple_markers_tracer::arch::Platform;
use simple_markers_tracer::bpf::KernelOffsets;
use simple_markers_tracer::filter::Mismatch;
use simple_markers_tracer::planning::PlanSettings;
use simple_markers_tracer::sys::lease::Lease;
use simple_markers_tracer::sys::mapped::MappedFile;
use simple_markers_tracer::sys::{Child, Engine};
use simple_markers_tracer::thread_local::ThreadLocals;
use simple_markers_tracer::{Plan, elf};

use super::options::TEXT;
use super::pinned::{Leases, PinnedFile};
use super::watching::Watching;
use crate::console::{Console, Status};
use crate::files::{self, Input, NoteChoice, Unreadable};
use crate::left_out;
use crate::narrow::HitQuery;
use crate::planned::image_file;

/// A file to look at, or why it cannot be.
pub(super) type FoundFile = Result<MappedFile, Unreadable>;

/// The files that a user names.
pub(super) fn named(paths: &[PathBuf]) -> Vec<FoundFile> {
    let of = |input: Result<Input, Unreadable>| {
        let path = input?.path;
        MappedFile::named(&path).map_err(|why| Unreadable { path, why: files::reason(&why) })
    };
    files::expand(paths, false).into_iter().map(of).collect()
}

impl Watching {
    /// Adds the markers of files to the plan. Those that are the `first` ones are reported in full.
    pub(super) fn add(&mut self, console: &Console, files: Vec<FoundFile>, is_first: bool) -> anyhow::Result<()> {
        let is_new = |file: &FoundFile| file.as_ref().map_or(true, |file| self.known.insert(file.id));
        let new: Vec<FoundFile> = files.into_iter().filter(is_new).collect();
        if new.is_empty() {
            return Ok(());
        }
        for file in new.iter().flatten() {
            if !is_first {
                self.note_change(file);
            }
            self.find_loader(file);
        }
        let (left_out, sites) = (self.plan.left_out.len(), self.plan.sites.len());
        // They are mapped while they are read, so nobody may cut them either.
        let lease = |file: &MappedFile| Some((file.id, Arc::new(Lease::take(file)?)));
        let leases: Leases = new.iter().flatten().filter_map(lease).collect();
        let mut stripped = HashSet::new();
        match self.file.is_some() {
            true => {
                self.add_planned(console, &new, is_first, &leases)?;
                self.plan.treat(sites, self.watch.doubtful);
            }
            false => {
                // Several files may have one path. So those that are not under their paths are added one by one.
                let is_elsewhere = |file: &FoundFile| file.as_ref().is_ok_and(|file| file.opened_as().is_some());
                let (elsewhere, usual): (Vec<_>, Vec<_>) = new.into_iter().partition(is_elsewhere);
                let each = elsewhere.into_iter().map(|file| vec![file]);
                for files in [usual].into_iter().chain(each).filter(|files| !files.is_empty()) {
                    self.add_resolved(console, &files, is_first, &mut stripped, &leases)?;
                }
            }
        }
        self.narrow(console, if is_first { 0 } else { sites }, is_first)?;
        let is_wanted = |marker: &str| self.watch.question.asks_for(marker);
        left_out::tell(console, &self.plan, left_out, &stripped, &is_wanted);
        Ok(())
    }

    /// Says for the sites from the number `first` on what is counted there, and when.
    ///
    /// An argument or a filter that fits none of the first sites is an error, if they are the first that are
    /// looked at.
    pub(super) fn narrow(&mut self, console: &Console, first: usize, is_first: bool) -> anyhow::Result<()> {
        if self.plan.sites.len() == first {
            return Ok(());
        }
        let asked = HitQuery { filter: self.watch.filter.as_ref(), question: &self.watch.question, option: None };
        let names = self.plan.markers.iter().map(|marker| &*marker.name);
        if is_first && !asked.has_markers(console, "--time", names) {
            self.status = self.status.max(Status::NoMatch);
            self.plan.sites.clear();
            return Ok(());
        }
        if self.watch.notes_tasks {
            let unknown = self.plan.note_tasks(first);
            let mut images: Vec<usize> =
                unknown.iter().filter_map(|site| Some(self.plan.sites.get(*site)?.image)).collect();
            images.dedup();
            for path in images.iter().filter_map(|image| Some(&self.plan.images.get(*image)?.path)) {
                console.note(&format!("{path}: {}", Mismatch::NoTask));
            }
        }
        let refused = self.plan.narrow(first, asked.filter, asked.question);
        asked.judge(console, &refused, is_first && self.plan.sites.len() == first)
    }

    /// Where the kernel has what programs need, without what tells processes apart if no values are
    /// noted at the entries of functions.
    fn offsets(&self) -> KernelOffsets {
        let KernelOffsets { thread_pointer, identity } = self.kernel.offsets;
        let identity = identity.filter(|_| self.watch.at_entry && self.watch.engine != Some(Engine::Tracefs));
        KernelOffsets { thread_pointer, identity }
    }

    /// Notes the loader of programs, which tells when it maps libraries.
    fn find_loader(&mut self, file: &MappedFile) {
        let is_loader = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b"ld");
        if !file.path.file_name().is_some_and(is_loader) {
            return;
        }
        let place = file.opened_as().unwrap_or_else(|| file.path.clone());
        let offset = files::map_regular(&place).and_then(|bytes| elf::loader_state(&bytes));
        self.loaders.extend(offset.map(|offset| (place.display().to_string(), offset)));
    }

    /// Adds the markers that files have by their debug information. Notes the images that are `stripped`.
    fn add_resolved(
        &mut self,
        console: &Console,
        new: &[FoundFile],
        is_first: bool,
        stripped: &mut HashSet<usize>,
        leases: &Leases,
    ) -> anyhow::Result<()> {
        // The libraries of a process need not have markers.
        let input = |file: &FoundFile| match file {
            Ok(file) => Ok(Input {
                path: file.path.clone(),
                found: !self.named.contains(&file.id),
                opened: file.opened_as(),
                beside: file.beside.clone(),
                // The user did not ask for those of the C library. A program makes images for its own notes.
                notes: match self.named.contains(&file.id) || self.programs.contains(&file.id) || file.is_in_memory() {
                    true => NoteChoice::All,
                    false => NoteChoice::ByName,
                },
            }),
            Err(Unreadable { path, why }) => Err(Unreadable { path: path.clone(), why: why.clone() }),
        };
        let inputs: Vec<_> = new.iter().map(input).collect();
        let request: (_, &[&dyn UprobeRules]) = (Detail::Places, &[&self.running]);
        let (patterns, before) = (self.watch.patterns.clone(), self.matching.unplaced.take());
        let mut selected = self.watch.filters.select(console, request, patterns, &inputs, before)?;
        let without_sites = forget_stripped(&mut selected.resolution.images);
        let rows = selected.rows();
        let chosen = selected.chosen(&rows);
        let settings = PlanSettings {
            export: self.watch.sites.clone(),
            text: TEXT,
            values: self.watch.values,
            kernel: self.offsets(),
            is_sleepable: true,
            is_recorded: self.is_recorded,
            doubtful: self.watch.doubtful,
        };
        for image in &selected.resolution.images {
            if let Some(why) = selected.without_polls(image) {
                console.error(&format!("{}: its polls are not watched: {why}", image.path));
            }
            let keep = selected.keeps(&chosen);
            if !image.markers.iter().any(&keep) {
                continue;
            }
            for marker in image.markers.iter().filter(|marker| keep(marker) && marker.inlined_copies > 0) {
                let (name, copies) = (&marker.name, marker.inlined_copies);
                let are = if copies == 1 { "1 inlined copy has" } else { &format!("{copies} inlined copies have") };
                match marker.task_point {
                    None => console.note(&format!("{name}: {are} no return, and the calls there are not timed")),
                    Some(TaskPoint::PollBegin) => {
                        console.note(&format!("{name}: {are} no return, and the polls there are not watched"));
                    }
                    Some(TaskPoint::PollEnd | TaskPoint::Wake) => {}
                }
            }
            let number = self.plan.images.len();
            if without_sites.contains(&image.path) {
                stripped.insert(number);
            }
            image.markers.iter().filter(|marker| keep(marker)).for_each(|marker| self.chains.add(number, marker));
            let file = new.iter().flatten().find(|file| file.path == Path::new(&image.path));
            if let (Some(theirs), Some(ours)) = (Platform::of(image.arch), Platform::HOST) {
                if theirs != ours {
                    let (theirs, ours) = (theirs.architecture(), ours.architecture());
                    console.error(&format!("{}: it is a program for {theirs}, and this machine is {ours}", image.path));
                    self.status = self.status.max(Status::Unreadable);
                    continue;
                }
            }
            if let Err(why) = add(&mut self.plan, image, file, &keep, &settings) {
                console.error(&format!("{}: {why}", image.path));
                self.status = self.status.max(Status::Unreadable);
            }
            self.pinned.extend(file.and_then(|file| PinnedFile::new(number, file, leases)));
        }
        self.matching.add(selected.unmatched(&rows), chosen.is_empty(), rows.is_empty());
        self.matching.unplaced = Some(selected.unplaced.clone());
        let is_named = |file: &FoundFile| file.as_ref().is_ok_and(|file| self.named.contains(&file.id));
        if is_first || new.iter().any(is_named) {
            self.status = self.status.max(selected.report_files(console));
        }
        Ok(())
    }

    /// Adds the markers that files have by the plan file.
    fn add_planned(
        &mut self,
        console: &Console,
        new: &[FoundFile],
        is_first: bool,
        leases: &Leases,
    ) -> anyhow::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let files: Vec<MappedFile> = new.iter().flatten().cloned().collect();
        let first = self.plan.images.len();
        let offsets = self.offsets();
        let refused = file.add(&mut self.plan, &files, &self.named, offsets);
        let program = self.watch.command.first().and_then(|program| MappedFile::named(&Child::find(program)?).ok());
        for Unreadable { path, why } in new.iter().filter_map(|file| file.as_ref().err()) {
            console.error(&format!("{}: {why}", path.display()));
            self.status = self.status.max(Status::Unreadable);
        }
        for refused in refused {
            if is_first && program.as_ref().is_some_and(|program| program.path == refused.path) {
                bail!("{refused}");
            }
            console.error(&refused.to_string());
            self.status = self.status.max(Status::Unreadable);
        }
        if is_first {
            self.status = self.status.max(file.report(console));
        }
        for (number, image) in self.plan.images.iter().enumerate().skip(first) {
            let file = files.iter().find(|file| Some(file.id.number()) == image.file.number);
            self.pinned.extend(file.and_then(|file| PinnedFile::new(number, file, leases)));
        }
        Ok(())
    }
}

/// Removes from images that were stripped of their sites what says so. Returns their paths.
fn forget_stripped(images: &mut [ResolvedImage]) -> Vec<String> {
    let mut paths = Vec::new();
    for image in images {
        let before = image.diagnostics.len();
        let is_it = |kind: &DiagnosticKind| *kind == DiagnosticKind::SurvivalUnknown(SurvivalUnknown::NoSites);
        image.diagnostics.retain(|diagnostic| !is_it(&diagnostic.kind));
        if image.diagnostics.len() < before {
            paths.push(image.path.clone());
        }
    }
    paths
}

/// Adds the markers of an image that `keep` accepts to a plan. `file` is that of the image, if it may be
/// elsewhere than under its path.
pub(crate) fn add(
    plan: &mut Plan,
    image: &ResolvedImage,
    file: Option<&MappedFile>,
    keep: &dyn Fn(&Marker) -> bool,
    settings: &PlanSettings,
) -> Result<(), ExportError> {
    let opened = file.and_then(MappedFile::opened_as);
    let bytes = files::map_regular(opened.as_deref().unwrap_or(Path::new(&image.path)));
    let thread_locals = match (&bytes, image.kind) {
        (None, _) => ThreadLocals::Unknown,
        (Some(bytes), ImageKind::Shared) => ThreadLocals::of_library(bytes),
        (Some(bytes), _) => ThreadLocals::of_executable(bytes),
    };
    let first = plan.images.len();
    let result = plan.add(image, &image.path, &thread_locals, keep, settings);
    if let Some(file) = file {
        plan.images.iter_mut().skip(first).for_each(|image| image.file = image_file(file));
    }
    result
}
