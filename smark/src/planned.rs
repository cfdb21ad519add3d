//! `--plan`: finds the files that a plan is for, by their build ids.

use std::collections::HashSet;
use std::fmt::{self, Display};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use simple_markers_resolver::resolve::NO_FUNCTION;
use simple_markers_resolver::select::{Fields, Selection};
use simple_markers_tracer::bpf::KernelOffsets;
use simple_markers_tracer::plan::{ImageFile, LeftOut, PlannedImage};
use simple_markers_tracer::sys::mapped::{FileId, MappedFile};
use simple_markers_tracer::{Plan, elf};

use crate::console::{Console, Status};
use crate::files;
use crate::inputs::{Filters, report_selection};

/// The largest plan file in bytes.
const LARGEST: u64 = 1 << 28;

/// How many programs of a plan are named in a message.
const LISTED: usize = 8;

/// A plan file, and what is selected of it.
pub(crate) struct PlanFile {
    path: PathBuf,
    plan: Plan,
    selection: Selection,
    /// The numbers of the markers that are selected.
    markers: HashSet<usize>,
    patterns: Vec<String>,
}

/// A file that is not the program of the plan.
pub(crate) struct PlanRefusal<'p> {
    pub(crate) path: PathBuf,
    found: PlanMatch,
    plan: &'p Path,
    /// The images of the plan with the name of the file, or all.
    images: Vec<&'p PlannedImage>,
}

/// What a file has in place of the build id of the plan.
enum PlanMatch {
    Nothing,
    NoBuildId,
    OtherBuildId(String),
}

impl Display for PlanRefusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.found {
            PlanMatch::Nothing => f.write_str("it cannot be read")?,
            PlanMatch::NoBuildId => f.write_str("it has no build id")?,
            PlanMatch::OtherBuildId(id) => write!(f, "its build id is {id}")?,
        }
        write!(f, ", but {} is for {}", self.plan.display(), listed(&self.images))
    }
}

impl PlanFile {
    /// Reads a plan file, and selects markers.
    pub(crate) fn read(path: &Path, filters: &Filters, patterns: Vec<String>) -> anyhow::Result<Self> {
        let shown = || path.display().to_string();
        let mut text = Vec::new();
        let file = File::open(path).map_err(|error| anyhow::anyhow!(files::reason(&error))).with_context(shown)?;
        file.take(LARGEST + 1).read_to_end(&mut text).with_context(shown)?;
        if text.len() as u64 > LARGEST {
            bail!("{}: it is too large to be a plan", shown());
        }
        let plan = Plan::from_json(&text).with_context(shown)?;
        let selection = filters.selection(&patterns)?;
        let mut file = Self { path: path.to_owned(), plan, selection, markers: HashSet::new(), patterns };
        let sites = file.plan.sites.iter().map(|site| site.marker).zip(file.sites());
        file.markers =
            sites.filter(|(_, fields)| file.selection.matches_fields(fields)).map(|(marker, _)| marker).collect();
        Ok(file)
    }

    /// What patterns are matched against for each site.
    fn sites(&self) -> impl Iterator<Item = Fields<'_>> {
        self.plan.sites.iter().filter_map(|site| {
            let marker = self.plan.markers.get(site.marker)?;
            let module = &self.plan.images.get(site.image)?.module;
            let function = site.function.as_deref().unwrap_or(NO_FUNCTION);
            Some(Fields { module, function, source_function: None, name: &marker.name })
        })
    }

    /// The same for a site that is left out, whose function is not known.
    fn left_out<'a>(&'a self, left_out: &'a LeftOut) -> Fields<'a> {
        let module = self.plan.images.get(left_out.image).map_or("", |image| &image.module);
        Fields { module, function: "<unknown>", source_function: None, name: &left_out.marker }
    }

    /// Whether a site that is left out is one of a selected marker.
    fn keeps_left_out(&self, left_out: &LeftOut) -> bool {
        let is_its = |(_, it): &(usize, &simple_markers_tracer::plan::PlannedMarker)| {
            it.image == left_out.image && it.name == left_out.marker
        };
        let mut markers = self.plan.markers.iter().enumerate().filter(is_its).peekable();
        match markers.peek() {
            Some(_) => markers.any(|(marker, _)| self.markers.contains(&marker)),
            None => self.selection.matches_fields(&self.left_out(left_out)),
        }
    }

    /// Reports patterns that match nothing in the plan.
    pub(crate) fn report(&self, console: &Console) -> Status {
        let left_out = || self.plan.left_out.iter().map(|it| self.left_out(it));
        let all: Vec<Fields<'_>> = self.sites().chain(left_out()).collect();
        let is_empty = self.markers.is_empty() && !left_out().any(|fields| self.selection.matches_fields(&fields));
        let unmatched = self.selection.unmatched_fields(&all);
        report_selection(console, &self.selection, &self.patterns, &unmatched, is_empty)
    }

    /// Adds to `plan` those of some files that the plan file has. Returns those that have the name of
    /// one that the plan file has, or that are among the `named` ones, and have another build id.
    pub(crate) fn add(
        &self,
        plan: &mut Plan,
        files: &[MappedFile],
        named: &HashSet<FileId>,
        kernel: KernelOffsets,
    ) -> Vec<PlanRefusal<'_>> {
        let mut others = Vec::new();
        for file in files {
            let path = &file.path;
            let Some(bytes) = files::map_regular(file.opened_as().as_ref().unwrap_or(path)) else {
                if named.contains(&file.id) {
                    others.push((file, PlanMatch::Nothing));
                }
                continue;
            };
            let build_id = elf::build_id(&bytes);
            let is_it = |image: &PlannedImage| build_id.is_some() && image.build_id == build_id;
            match self.plan.images.iter().position(is_it) {
                Some(number) => {
                    let keep = |marker: usize| self.markers.contains(&marker);
                    let keep_left_out = |left_out: &LeftOut| self.keeps_left_out(left_out);
                    let first = plan.images.len();
                    let path = path.display().to_string();
                    plan.adopt(&self.plan, number, &path, &keep, &keep_left_out, kernel);
                    plan.images.iter_mut().skip(first).for_each(|image| image.file = image_file(file));
                }
                None if named.contains(&file.id) || elf::is_elf(&bytes) => {
                    others.push((file, build_id.map_or(PlanMatch::NoBuildId, PlanMatch::OtherBuildId)));
                }
                // A script may have the name of the program that it starts.
                None => {}
            }
        }
        let mut refused = Vec::new();
        for (MappedFile { path, id, .. }, found) in others {
            let known = |it: &&PlannedImage| Path::new(&it.path).file_name() == path.file_name();
            // Two files of a process can have one name.
            let is_found = |it: &PlannedImage| plan.images.iter().any(|found| found.build_id == it.build_id);
            let mut images: Vec<&PlannedImage> = self.plan.images.iter().filter(known).collect();
            if !named.contains(id) && (images.is_empty() || images.iter().any(|it| is_found(it))) {
                continue;
            }
            if images.is_empty() {
                images = self.plan.images.iter().collect();
            }
            refused.push(PlanRefusal { path: path.clone(), found, plan: &self.path, images });
        }
        refused
    }

    /// What the plan is for, in words.
    pub(crate) fn programs(&self) -> String {
        listed(&self.plan.images.iter().collect::<Vec<_>>())
    }
}

/// Which file an image is.
pub(crate) fn image_file(file: &MappedFile) -> ImageFile {
    let opened = file.opened_as().map(|path| path.display().to_string());
    ImageFile { opened, number: Some(file.id.number()) }
}

/// The names and build ids of images.
fn listed(images: &[&PlannedImage]) -> String {
    let shown = images.iter().take(LISTED).map(|image| {
        let name = Path::new(&image.path).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        format!("{name} with the build id {}", image.build_id.as_deref().unwrap_or_default())
    });
    let shown: Vec<String> = shown.collect();
    match images.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
