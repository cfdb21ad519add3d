//! From the bytes of a file to a [`Resolution`] (`docs/design.md`): reads the records, joins them,
//! and finds out about each site. Prints nothing, and does no I/O.

mod absence;
mod archive_members;
mod argument_description;
mod arguments;
mod at_entry;
mod captures;
mod casts;
mod class_members;
mod code_bytes;
mod conversions;
mod description;
mod descriptions;
mod diagnostics;
mod doubt;
mod exactness;
mod exits;
mod files;
mod folded_markers;
mod folding;
mod frame_entry;
mod function_symbols;
mod functions;
mod ghosts;
mod instructions;
mod interner;
mod join;
mod kept;
mod lazy_debug;
mod line_sites;
mod line_table_sites;
mod lookup;
mod mark_problem;
mod markers;
mod marks;
mod module;
mod names;
mod note_arguments;
mod note_description;
mod note_facts;
mod notes;
mod operand_variables;
mod part;
mod patched;
mod path;
mod pc;
mod place;
mod probe;
mod proof;
mod raw_sites;
mod reason;
mod refusal;
mod request;
mod resolution;
mod returned;
mod rows;
mod same_files;
mod shared_places;
mod site_answer;
mod site_debug;
mod site_place;
mod source_names;
mod switch;
mod tasks;
mod value;
mod value_members;
mod words;
mod words_mistake;

use std::sync::Arc;

use crate::Error;
pub use crate::arch::returned_value::ResultProblem;
pub use crate::code::ExitGap;
pub use crate::debug_files::DebugSourceKind;
pub use crate::dwarf::{
    ArrayProblem, BaseTypeProblem, ConstantProblem, EntryValue, ExceptionTableProblem, FrameBaseProblem, Malformed,
    NoSuchPart, Operation, PlaceProblem, Unsupported,
};
pub use crate::image::{Architecture, ImageKind};
use crate::image::{Image, archive};
use crate::text;
pub use conversions::{DataModel, GivenType, Mismatch, MismatchHelp, mismatch, star_mismatch};
pub use description::{FormatDescription, describe};
pub use diagnostics::{
    DebugFileProblem, DebugFileRefusal, Diagnostic, DiagnosticKind, DiagnosticSeverity, SurvivalUnknown,
};
pub use exactness::{
    ApproximateReason, EdgeKind, Exactness, ExactnessReason, FoldingUnknown, FunctionNames, LikelyReason, MarkReason,
    PatchesUnknown, Predecessor,
};
pub use frame_entry::{EntryProblem, EntryReading, FrameEntry};
pub use line_sites::{LineProblem, LineSite, LineSites};
pub use mark_problem::{FunctionCandidate, MarkProblem, UnplacedMark};
pub use module::module_name;
pub use note_facts::{NoteDescription, NoteParameter, NoteProblem, NoteSections, NoteSource};
use part::Part;
pub use place::{PlaceError, root_of};
pub use probe::{BreaksReason, ProbeCost, ProbeReason, ProbeVerdict, RefusedReason};
pub use reason::{Nearest, Reason};
pub use request::{Detail, Request};
pub use resolution::{
    Absence, Argument, DebugSource, DeclaredArgument, DeclaredWords, Encoding, Failure, GhostProblem, InlinedFunction,
    LocationEnd, Marker, Origin, Resolution, ResolvedImage, Site, Survival, Verdict,
};
pub use rows::{NO_FUNCTION, Row};
pub use site_place::SitePlace;
pub(crate) use source_names::is_async;
pub use source_names::source_name;
pub use switch::{Switch, SwitchProblem};
pub use tasks::RuntimeTask;
pub use value::Bytes;
pub use words::{format_with_names, names_of};
pub use words_mistake::WordsMistake;

/// Everything about the markers of a file: [`resolve_with`] in all detail.
#[must_use]
pub fn resolve(path: &str, data: &[u8]) -> Resolution {
    resolve_with(path, data, Detail::Everything)
}

/// The markers of a file: of one image, or of each member of an archive.
///
/// `path` names the file in the result, and its last component names the module. An image without
/// markers is in the result; a member of an archive without markers is not. A file or member that
/// cannot be read is among the failures. Rows are numbered.
#[must_use]
pub fn resolve_with(path: &str, data: &[u8], detail: Detail) -> Resolution {
    resolve_request(path, data, Request::new(detail))
}

/// [`resolve_with`], with all that can be asked for.
///
/// The build id or checksum of each separate debug file is checked. A file that does not match is in
/// the diagnostics; the files that were read are in [`ResolvedImage::debug`]. `strip` removes site
/// records with the debug information, so these are read from the separate debug file too.
#[must_use]
pub fn resolve_request(path: &str, data: &[u8], request: Request<'_>) -> Resolution {
    let mut resolution = Resolution::default();
    let module: Arc<str> = module_name(path).into();
    if archive::is_archive(data) {
        resolve_archive(path, &module, data, request, &mut resolution);
    } else {
        match Image::parse(data) {
            Ok(image) => resolution.images.push(Part::resolve(path, module, &image, request).finish()),
            Err(error) => resolution.fail(path, &error),
        }
    }
    resolution.number();
    resolution
}

fn resolve_archive(path: &str, module: &Arc<str>, data: &[u8], request: Request<'_>, resolution: &mut Resolution) {
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
            Ok(image) => parts.push(Part::resolve(&path, Arc::clone(module), &image, request)),
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

/// Whether a file that starts with these bytes is an ELF file or an archive. At least 8 bytes are
/// needed.
#[must_use]
pub fn is_elf_or_archive(start: &[u8]) -> bool {
    start.starts_with(b"\x7fELF") || archive::is_archive(start)
}
