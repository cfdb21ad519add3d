//! One image, from its bytes to a [`ResolvedImage`]. The image may be a member of an archive.

use std::sync::Arc;

use simple_markers_record::{SITES, buffer};

use super::code_bytes::CodeBytes;
use super::descriptions::Descriptions;
use super::diagnostics::Diagnostics;
use super::files::Files;
use super::folding::Folding;
use super::instructions::Instructions;
use super::join::{self, RawMarker, RecordSections};
use super::lazy_debug::{LazyDebug, LazySiteDebug};
use super::lookup::SiteLookup;
use super::markers::MarkerBuilder;
use super::marks::{FoundMarks, MarkSearch};
use super::request::{Detail, Request};
use super::{Diagnostic, DiagnosticKind, DiagnosticSeverity, NoteSections, ResolvedImage, SurvivalUnknown};
use super::{absence, functions, ghosts, line_table_sites, marks, notes, same_files, tasks};
use crate::address::FileOffset;
use crate::debug_files::Store;
use crate::image::{Image, ImageKind, SDT_BASE, SDT_NOTES};
use crate::uprobe_rules::UprobeRules;

/// A resolved image. If it is a member of an archive, other members may settle what it leaves open.
pub(super) struct Part {
    pub(super) image: ResolvedImage,
    /// Why the survival of markers without a site is unknown; `None` if it is known.
    pub(super) why_unknown: Option<SurvivalUnknown>,
}

impl Part {
    /// The markers of one image. `path` names it in the answer.
    pub(super) fn resolve(path: &str, module: Arc<str>, image: &Image<'_>, request: Request<'_>) -> Self {
        let Request { detail, debug_files, rules, wants_note, notes: said, marks, views, finds_tasks } = request;
        let detail = if marks.is_empty() || detail != Detail::Names { detail } else { Detail::Places };
        let mut diagnostics = Diagnostics::default();
        let opened = Store::default();
        let files = Files::new(path, image, debug_files, &opened);
        let sections = load_sections(image, &files, &mut diagnostics);
        let notes = notes::read(image, &files, wants_note, &mut diagnostics);
        let mut joined = join::join(image, files.known_separate(), &sections, &mut diagnostics);

        let layout = image.layout();
        let debug = LazyDebug::new(&files, views);
        let site_debug = LazySiteDebug::new(layout.as_ref(), detail, &debug);
        let code = CodeBytes::new(image, layout.as_ref());
        notes::join(&notes, &mut joined, &code, &mut diagnostics);
        let looks_up = detail != Detail::Names && !(joined.markers.is_empty() && marks.is_empty());
        let in_full = if looks_up { site_debug.get() } else { None };
        let instructions =
            if looks_up { instructions(image, &files, &debug, &code, &joined.markers, rules) } else { None };
        let lookup = SiteLookup { debug: in_full, instructions: instructions.as_ref() };
        if let Some(debug) = in_full {
            same_files::merge(&mut joined, debug);
        }

        let mut descriptions = Descriptions::default();
        if let (Some(debug), true) = (in_full, sections.sites.is_empty()) {
            let lookup = SiteLookup { debug: Some(debug), ..lookup };
            line_table_sites::find(debug, lookup, &mut joined, &mut descriptions, &mut diagnostics);
        }
        if joined.markers.iter().any(|marker| marker.is_ghost) {
            if let Some(debug) = site_debug.get() {
                ghosts::find(debug, lookup, &mut joined, &mut descriptions, &mut diagnostics);
            }
        }
        let found_marks = match marks {
            [] => FoundMarks::default(),
            marks => {
                let (symbols, is_linked) = (files.named().functions(), !image.is_relocatable());
                MarkSearch { debug: in_full, lookup, symbols, is_linked }.find(marks)
            }
        };
        marks::join(&found_marks, &mut joined, lookup, &mut diagnostics);
        // A plain list does not look for separate debug files because of the name of a closure.
        let has_own = looks_up || image.has_section(".debug_info");
        let own_debug = || has_own.then(|| site_debug.get()).flatten();
        let named = functions::name(files.named(), &mut joined, || site_debug.get(), own_debug, &mut diagnostics);
        let why_unknown = why_unknown(image, &sections, &joined.markers, &diagnostics);
        let files_of = (image, files.named());
        let builder = MarkerBuilder::new(files_of, joined.texts, named, (descriptions, said), &mut diagnostics);
        let mut markers = builder.build(joined.markers, lookup, why_unknown.is_none());
        if let Some(debug) = in_full {
            absence::find(&mut markers, debug, files.named());
        }

        let tasks = match site_debug.get().filter(|_| finds_tasks && !markers.is_empty()) {
            Some(debug) => tasks::find(debug.info(), views),
            None => Vec::new(),
        };
        debug.report(&mut diagnostics);
        if let Some(problem) = image.symbol_problem() {
            diagnostics.error(problem);
        }
        // An image without markers needs no debug information, and notes need none.
        if markers.iter().any(|marker| !marker.is_note) {
            for (section, problem) in files.notes() {
                diagnostics.note(section, DiagnosticKind::DebugFile(problem));
            }
        }
        let image = ResolvedImage {
            path: path.to_owned(),
            module,
            build_id: image.build_id(),
            arch: image.architecture(),
            kind: image.kind(),
            debug: files.known_loaded().filter(|loaded| loaded.is_described()).map(|_| files.source()),
            markers,
            diagnostics: diagnostics.finish(),
            recorder: recorder(image),
            unplaced: found_marks.unplaced.clone(),
            note_sections: NoteSections {
                notes: image.has_section(SDT_NOTES),
                base: image.has_section(SDT_BASE),
                semaphores: image.has_section(".probes"),
                any: image.has_section(".text"),
            },
            tasks,
        };
        Self { image, why_unknown }
    }

    /// The image, with a note if the survival of a marker is still unknown.
    pub(super) fn finish(self) -> ResolvedImage {
        let Self { mut image, why_unknown } = self;
        let is_unknown = image.markers.iter().any(|marker| marker.survival.is_none() && !marker.is_ghost);
        if let (Some(why), true) = (why_unknown, is_unknown) {
            let (severity, section) = (DiagnosticSeverity::Note, Some(SITES.to_owned()));
            let kind = DiagnosticKind::SurvivalUnknown(why);
            image.diagnostics.push(Diagnostic { severity, section, offset: None, kind });
        }
        image
    }
}

/// The offset of the control block of the recorder in a linked image.
fn recorder(image: &Image<'_>) -> Option<FileOffset> {
    image.file_offset(image.section_address(buffer::control::SECTION, None)?)
}

/// The marker sections of an image, with those that were moved to its separate debug file.
fn load_sections<'a>(image: &'a Image<'a>, files: &'a Files<'a>, diagnostics: &mut Diagnostics) -> RecordSections<'a> {
    let sections = RecordSections::load(image, diagnostics);
    // `strip` moves the sites with the debug information. `eu-strip` moves the declarations too:
    // then only a debug link shows that there may have been any.
    let is_stripped = sections.sites.is_empty() && !image.has_section(".debug_info");
    let may_be_moved = is_stripped && (!sections.declarations.is_empty() || image.debug_link().is_some());
    match if may_be_moved { files.separate() } else { None } {
        Some(separate) => sections.with_those_of(&separate.image, diagnostics),
        None => sections,
    }
}

/// The instructions of an image; `None` if its instruction set is not supported.
fn instructions<'a>(
    image: &Image<'_>,
    files: &'a Files<'a>,
    debug: &'a LazyDebug<'a>,
    code: &'a CodeBytes<'a>,
    markers: &[RawMarker],
    rules: &'a [&'a dyn UprobeRules],
) -> Option<Instructions<'a>> {
    let info = debug.info();
    let folding = Folding::new(image, files.named(), info);
    folding.prepare();
    let sites = markers.iter().flat_map(|marker| &marker.sites).filter_map(|site| site.pc);
    Instructions::new(code, info, folding, sites, rules)
}

/// Why a marker without a site may be in the program all the same; `None` if it is not.
fn why_unknown(
    image: &Image<'_>,
    sections: &RecordSections<'_>,
    markers: &[RawMarker],
    diagnostics: &Diagnostics,
) -> Option<SurvivalUnknown> {
    match () {
        () if markers.iter().all(|marker| marker.is_ghost || marker.is_mark || marker.is_note()) => None,
        () if diagnostics.errors() > 0 => Some(SurvivalUnknown::UnreadRecords),
        () if sections.sites.is_empty() => Some(SurvivalUnknown::NoSites),
        // rustc may put the declaration in one object of a crate and the code in another.
        () if image.kind() == ImageKind::Relocatable => Some(SurvivalUnknown::OtherObjects),
        () => None,
    }
}
