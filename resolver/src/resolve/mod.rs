//! From the bytes of a file to a [`Resolution`]: reads the records, joins them, and names what holds each site.
//!
//! `docs/design.md`. Knows nothing of printing, and does no I/O.

mod absence;
mod archive_members;
mod arguments;
mod code_bytes;
mod conversions;
mod description;
mod diagnostics;
mod exactness;
mod files;
mod folding;
mod function_symbols;
mod functions;
mod instructions;
mod interner;
mod join;
mod kept;
mod line_sites;
mod line_table_sites;
mod markers;
mod module;
mod names;
mod patched;
mod place;
mod probe;
mod reason;
mod resolution;
mod rows;
mod site_debug;
mod value;

use std::cell::OnceCell;
use std::sync::Arc;

use simple_markers_record::SITES;

use self::markers::{Descriptions, Lookup};
use crate::Error;
pub use crate::debug_files::DebugSourceKind;
use crate::debug_files::{DebugFiles, NoDebugFiles, Store};
use crate::dwarf::DebugInfo;
pub use crate::dwarf::{
    ArrayProblem, BaseTypeProblem, ConstantProblem, EntryValue, FrameBaseProblem, Malformed, NoSuchPart, Operation,
    PlaceProblem, Unsupported,
};
pub use crate::image::ImageKind;
use crate::image::{Image, archive};
use crate::text;
use arguments::TypeDetail;
use code_bytes::CodeBytes;
pub use conversions::{DataModel, GivenType, Mismatch, MismatchHelp, mismatch, star_mismatch};
pub use description::{Described, describe};
use diagnostics::Diagnostics;
pub use diagnostics::{DebugFileProblem, DebugFileRefusal, Diagnostic, DiagnosticKind, Severity, SurvivalUnknown};
pub use exactness::{EdgeKind, Exactness, ExactnessReason, FoldingUnknown, FunctionNames, PatchesUnknown, Predecessor};
use files::Files;
use folding::Folding;
use instructions::Instructions;
use join::{Joined, Sections};
pub use line_sites::{LineProblem, LineSite, LineSites};
pub use module::module_name;
use names::AddressNames;
pub use place::{PlaceError, root_of};
pub use probe::{BreaksReason, ProbeCost, ProbeReason, ProbeVerdict, RefusedReason};
pub use reason::{Nearest, Reason};
pub use resolution::*;
pub use rows::{NO_FUNCTION, Row};
use site_debug::SiteDebug;
pub use value::Bytes;

/// How much is to be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detail {
    /// Where each site is and which function holds it: debug information is read only for what no symbol names.
    Names,
    /// That, and inlined functions and what can be read at each site, from debug information: for a report.
    Places,
    /// That, and detail of the types of all arguments, for values to be read and written by.
    Everything,
}

/// Everything about the markers of a file: [`resolve_with`] in all detail.
#[must_use]
pub fn resolve(path: &str, data: &[u8]) -> Resolution {
    resolve_with(path, data, Detail::Everything)
}

/// The markers of a file: of the image that it is, or of each image in it where it is an archive.
///
/// `path` names the file in the answer, and its last component names the module. An image without markers is in the answer too,
/// a member of an archive is not. What cannot be read is among the failures; rows are numbered.
#[must_use]
pub fn resolve_with(path: &str, data: &[u8], detail: Detail) -> Resolution {
    resolve_with_debug_files(path, data, detail, &NoDebugFiles)
}

/// [`resolve_with`], with the files beside it that hold its debug information, where it has none itself.
///
/// Each is checked before it is believed, by its build id or its checksum; those that are refused are among the diagnostics, those that
/// were read are in [`ResolvedImage::debug`]. The sites of markers, which are removed with debug information, are taken from there too.
#[must_use]
pub fn resolve_with_debug_files(path: &str, data: &[u8], detail: Detail, debug_files: &dyn DebugFiles) -> Resolution {
    let mut resolution = Resolution::default();
    let module: Arc<str> = module_name(path).into();
    if archive::is_archive(data) {
        resolve_archive(path, &module, data, (detail, debug_files), &mut resolution);
    } else {
        match Image::parse(data) {
            Ok(image) => resolution.images.push(resolve_part(path, module, &image, (detail, debug_files)).finish()),
            Err(error) => resolution.fail(path, &error),
        }
    }
    resolution.number();
    resolution
}

/// How much is asked, and who opens files.
type Asked<'c> = (Detail, &'c dyn DebugFiles);

fn resolve_archive(path: &str, module: &Arc<str>, data: &[u8], asked: Asked<'_>, resolution: &mut Resolution) {
    let members = match archive::members(data) {
        Ok(members) => members,
        Err(error) => return resolution.fail(path, &error),
    };
    let mut parts = Vec::new();
    for member in members {
        let member = match member {
            Ok(member) => member,
            Err(error) => return resolution.fail(path, &error),
        };
        let path = format!("{path}({})", text::from_bytes(member.name));
        match Image::parse(member.data) {
            Ok(image) => parts.push(resolve_part(&path, Arc::clone(module), &image, asked)),
            Err(error) => resolution.fail(&path, &error),
        }
    }
    archive_members::join(&mut parts);
    let images = parts.into_iter().map(Part::finish);
    resolution.images.extend(images.filter(|image| !image.markers.is_empty() || !image.diagnostics.is_empty()));
}

impl Resolution {
    fn fail(&mut self, path: &str, error: &Error) {
        self.failures.push(Failure { path: path.to_owned(), error: error.clone() });
    }
}

/// Whether a file that starts with these bytes, at least 8 of them, is ELF or an archive.
#[must_use]
pub fn is_elf_or_archive(start: &[u8]) -> bool {
    start.starts_with(b"\x7fELF") || archive::is_archive(start)
}

/// An image that may be a part of something: what else is there may answer what it leaves open.
struct Part {
    image: ResolvedImage,
    /// Why the survival of markers without a site is unknown, where it is.
    why_unknown: Option<SurvivalUnknown>,
}

impl Part {
    /// The image, with a note on what is still unknown.
    fn finish(self) -> ResolvedImage {
        let Self { mut image, why_unknown } = self;
        let is_unknown = image.markers.iter().any(|marker| marker.survival.is_none());
        if let (Some(why), true) = (why_unknown, is_unknown) {
            let (severity, section) = (Severity::Note, Some(SITES.to_owned()));
            let kind = DiagnosticKind::SurvivalUnknown(why);
            image.diagnostics.push(Diagnostic { severity, section, offset: None, kind });
        }
        image
    }
}

fn resolve_part(path: &str, module: Arc<str>, image: &Image<'_>, (detail, debug_files): Asked<'_>) -> Part {
    let mut diagnostics = Diagnostics::default();
    let opened = Store::default();
    let files = Files::new(path, image, debug_files, &opened);
    let mut sections = Sections::load(image, &mut diagnostics);
    // `strip` removes sites with the debug information; `eu-strip` declarations too, then a link is all that says that there were any.
    let is_stripped = sections.sites.is_empty() && !image.has_section(".debug_info");
    if is_stripped && (!sections.declarations.is_empty() || image.debug_link().is_some()) {
        if let Some(separate) = files.separate() {
            sections = sections.with_those_of(&separate.image, &mut diagnostics);
        }
    }
    let mut joined = join::join(image, files.known_separate(), &sections, &mut diagnostics);
    // Debug information is read when it is first asked for: a list of what symbols name does without it.
    let (source, info) = (OnceCell::new(), OnceCell::new());
    let layout = image.layout();
    let (names, site_debug) = (OnceCell::new(), OnceCell::new());
    let read = || {
        let source: &files::Loaded<'_> = source.get_or_init(|| files.load());
        let with = |sections| DebugInfo::with(sections, source.alternate.as_ref(), Some(files.split()));
        Some((source, info.get_or_init(|| source.sections.as_ref().map(with)).as_ref()?))
    };
    let debug = || {
        let (_, info) = read().filter(|(source, _)| source.is_described())?;
        let names = names.get_or_init(|| AddressNames::new(files.named(), layout.as_ref(), info.processor()));
        let detail = if detail == Detail::Everything { TypeDetail::Full } else { TypeDetail::Brief };
        Some(site_debug.get_or_init(|| SiteDebug::new(image, info, layout.as_ref(), names, detail)))
    };
    let in_full = if detail != Detail::Names && !joined.markers.is_empty() { debug() } else { None };
    let code = CodeBytes::new(image, layout.as_ref());
    let instructions = match detail != Detail::Names && !joined.markers.is_empty() {
        true => {
            let info = read().map(|(_, info)| info);
            Instructions::new(&code, info, Folding::new(image, files.named(), info))
        }
        false => None,
    };
    let mut descriptions = Descriptions::default();
    if let (Some(debug), true) = (in_full, sections.sites.is_empty()) {
        let lookup = Lookup { debug: Some(debug), instructions: instructions.as_ref() };
        line_table_sites::find(debug, lookup, &mut joined, &mut descriptions, &mut diagnostics);
    }
    let named = functions::name(files.named(), &mut joined, debug, &mut diagnostics);
    let why_unknown = why_unknown(image, &sections, &joined, &diagnostics);
    let lookup = Lookup { debug: in_full, instructions: instructions.as_ref() };
    let mut markers =
        markers::markers(image, joined, named, lookup, descriptions, why_unknown.is_none(), &mut diagnostics);
    if let Some(debug) = in_full {
        absence::find(&mut markers, debug, files.named());
    }
    if let Some(loaded) = source.get() {
        loaded.errors.iter().for_each(|error| diagnostics.error(error));
    }
    if let Some(damage) = info.get().and_then(|info| info.as_ref()?.damage()) {
        diagnostics.error(&Error::dwarf(None, damage));
    }
    // Where there is no marker nothing is missed.
    for (section, problem) in files.notes().into_iter().filter(|_| !markers.is_empty()) {
        diagnostics.note(section, DiagnosticKind::DebugFile(problem));
    }
    let image = ResolvedImage {
        path: path.to_owned(),
        module,
        build_id: image.build_id(),
        arch: image.architecture(),
        kind: image.kind(),
        debug: source.get().filter(|source| source.is_described()).map(|_| files.source()),
        markers,
        diagnostics: diagnostics.finish(),
    };
    Part { image, why_unknown }
}

/// Why a marker that has no site may have survived all the same; `None` where it did not.
fn why_unknown(
    image: &Image<'_>,
    sections: &Sections<'_>,
    joined: &Joined<'_>,
    diagnostics: &Diagnostics,
) -> Option<SurvivalUnknown> {
    match () {
        () if joined.markers.is_empty() => None,
        () if diagnostics.errors() > 0 => Some(SurvivalUnknown::UnreadRecords),
        () if sections.sites.is_empty() => Some(SurvivalUnknown::NoSites),
        // rustc may put the declaration in one object of a crate and the code in another.
        () if image.kind() == ImageKind::Relocatable => Some(SurvivalUnknown::OtherObjects),
        () => None,
    }
}
