//! The whole resolution as JSON, schema 1 (`docs/schema.json`, `docs/json.md`). The order of fields
//! is fixed, absent values are null, addresses are hexadecimal strings.
//!
//! The document is written piece by piece, so that a million sites need no second copy.

use std::fmt::LowerHex;
use std::io::{self, BufWriter, Write};

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::english::{arguments, diagnostics, exactness, mismatch, probe};
use crate::resolve::{
    Absence, Argument, DebugSource, Diagnostic, EntryProblem, EntryReading, Exactness, ExactnessReason, FrameEntry,
    InlinedFunction, Marker, NoteParameter, Origin, Predecessor, ProbeCost, ProbeReason, ProbeVerdict, Reason,
    Resolution, ResolvedImage, Site, SitePlace, Survival, Switch, SwitchProblem, Verdict,
};

/// The version of the fields. Fields may be added to a version, but not changed.
const SCHEMA: u32 = 1;

/// Writes the images of `resolution` with the markers that `keep` selects, indented, and a newline.
///
/// # Errors
///
/// Those of `out`.
pub fn write(out: &mut dyn Write, resolution: &Resolution, keep: &dyn Fn(&Marker) -> bool) -> io::Result<()> {
    // A document is millions of short pieces, and `out` is called for each block of them only.
    let mut out = BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer_pretty(&mut out, &Document { resolution, keep })?;
    writeln!(out)?;
    out.flush()
}

/// Implements `Serialize`: an object of these members, in this order. Those behind `if let` are missing
/// if it does not match.
macro_rules! object {
    ($type:ty, $pattern:pat => {
        $($name:literal: $value:expr,)*
        $(if let $some:pat = $option:expr => { $($more:literal: $of:expr,)* })*
    }) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $pattern = self;
                let mut object = serializer.serialize_map(None)?;
                $(object.serialize_entry($name, &$value)?;)*
                $(if let $some = $option {
                    $(object.serialize_entry($more, &$of)?;)*
                })*
                object.end()
            }
        }
    };
}

/// Serializes a value. The library's types do not implement `Serialize`, so that they do not depend
/// on one report.
struct View<'a, T: ?Sized>(&'a T);

/// A list whose items are made while it is written.
struct ListDocument<F>(F);

impl<F: Fn() -> I, I: IntoIterator<Item: Serialize>> Serialize for ListDocument<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// A list of values that are serialized by [`View`].
fn views<'a, T>(values: &'a [T]) -> impl Serialize + use<'a, T>
where
    View<'a, T>: Serialize,
{
    ListDocument(|| values.iter().map(View))
}

struct Document<'a> {
    resolution: &'a Resolution,
    keep: &'a dyn Fn(&Marker) -> bool,
}

object! { Document<'_>, Document { resolution, keep } => {
    "schema": SCHEMA,
    "tool": ToolDocument,
    "images": ListDocument(|| resolution.images.iter().map(|image| ImageDocument { image, keep })),
}}

struct ToolDocument;

object! { ToolDocument, ToolDocument => {
    "name": "smark",
    "version": env!("CARGO_PKG_VERSION"),
}}

struct ImageDocument<'a> {
    image: &'a ResolvedImage,
    keep: &'a dyn Fn(&Marker) -> bool,
}

object! { ImageDocument<'_>, ImageDocument { image, keep } => {
    "path": image.path,
    "module": &*image.module,
    "build_id": image.build_id,
    "arch": image.arch.as_str(),
    "kind": image.kind.as_str(),
    "debug": image.debug.as_ref().map(View),
    "markers": ListDocument(|| image.markers.iter().filter(|marker| keep(marker)).map(View)),
    "diagnostics": views(&image.diagnostics),
}}

object! { View<'_, DebugSource>, View(debug) => {
    "source": debug.source.as_str(),
    "path": debug.path,
    "supplements": views(&debug.supplements),
}}

object! { View<'_, Marker>, View(marker) => {
    "id": marker.id,
    "name": &*marker.name,
    "file": known(marker).map(|marker| &*marker.file),
    "line": known(marker).map(|marker| marker.line),
    "column": marker.column,
    "format": &*marker.format,
    "description": &*marker.description,
    "args": ListDocument(|| marker.args.iter().map(|arg| &*arg.text)),
    "declared": marker.declared,
    "survival": marker.survival.map(Survival::as_str),
    "sites": ListDocument(|| marker.sites.iter().map(|site| SiteDocument { marker, site })),
    "absence": marker.absence.as_ref().map(View),
    "is_probe": marker.is_probe,
    "is_ghost": marker.is_ghost,
    "is_note": marker.is_note,
    "is_mark": marker.is_mark,
    if let Some(note) = marker.note.as_deref() => {
        "format_from": note.format_from.as_str(),
        "note_args": ListDocument(|| note.parameters.iter().map(View)),
    }
}}

object! { View<'_, NoteParameter>, View(parameter) => {
    "index": parameter.index,
    "type": parameter.type_name.as_deref(),
    "name_from": parameter.name_from.as_str(),
    "type_from": parameter.type_from.as_str(),
    "type_size": parameter.type_size,
}}

object! { View<'_, Absence>, View(absence) => {
    "reason": absence.name(),
    "function": absence.function(),
}}

/// A site, and the marker that it is of.
struct SiteDocument<'a> {
    marker: &'a Marker,
    site: &'a Site,
}

object! { SiteDocument<'_>, SiteDocument { marker, site } => {
    "address": address(site.place.as_ref()),
    "file_offset": site.file_offset.map(|offset| hex(offset.0)),
    "symbol": site.symbol.as_deref(),
    "symbol_offset": site.symbol_offset.map(hex),
    "function": site.function.as_deref(),
    "inlined": views(&site.inlined),
    "origin": site.origin.as_str(),
    "anchored": site.anchored,
    "exactness": site.exactness.map(Exactness::as_str),
    "ways_in": views(&site.predecessors),
    "instruction": site.instruction.as_deref(),
    "probe": site.probe.as_ref().map(View),
    "args": views(&site.args),
    "line": match site.origin {
        Origin::Nearest { line } => Some(line),
        _ => known(marker).map(|marker| marker.line),
    },
    "section": section(site.place.as_ref()),
    "scope_ended": site.scope_ended,
    "exactness_code": site.exactness.map(|exactness| exactness.code().as_str()),
    "exactness_why": site.exactness_reason.as_ref().map(exactness::reason),
    "exactness_reason": site.exactness_reason.as_ref().map(ExactnessReason::name),
    "switch": site.switch.as_ref().map(View),
    if let Some(entry) = site.frame_entry.as_ref() => {
        "frame_entry": View(entry),
    }
}}

object! { View<'_, Predecessor>, View(way) => {
    "address": hex(way.address),
    "file": way.file.as_deref(),
    "line": way.line,
    "kind": way.kind.name(),
}}

object! { View<'_, ProbeVerdict>, View(probe) => {
    "accepted": probe.accepted,
    "cost": probe.cost.map(ProbeCost::as_str),
    "best_address": probe.best_address.map(hex),
    "why": probe.reason.map(probe::reason),
    "reason": probe.reason.map(ProbeReason::name),
}}

object! { View<'_, Switch>, View(switch) => {
    "address": address(switch.place.as_ref()),
    "file_offset": switch.file_offset.map(|offset| hex(offset.0)),
    "section": section(switch.place.as_ref()),
    "problem": switch.problem.map(SwitchProblem::name),
    "shares_page": switch.shares_page,
}}

object! { View<'_, InlinedFunction>, View(inlined) => {
    "function": &*inlined.function,
    "call_file": inlined.call_file.as_deref(),
    "call_line": inlined.call_line,
}}

object! { View<'_, Argument>, View(argument) => {
    "text": &*argument.text,
    "name": &*argument.name,
    "type": argument.type_name.as_deref(),
    "size": argument.size,
    "verdict": argument.verdict.map(Verdict::as_str),
    "location": argument.location_text.as_deref(),
    "code": argument.verdict.map(|verdict| verdict.code().as_str()),
    "why": argument.reason.as_ref().map(arguments::reason),
    "ranges": ListDocument(|| argument.ranges.iter().map(|range| [hex(range.start), hex(range.end)])),
    "format_mismatch": argument.mismatch.as_ref().map(mismatch::mismatch),
    "reason": argument.reason.as_ref().map(Reason::name),
    "before": argument.reason.as_ref().and_then(Reason::location_before),
    "vector_register": argument.vector_register.as_deref(),
    if let Some(names) = argument.names.as_deref() => {
        // A value has at most 64 bits.
        "names": ListDocument(|| names.pairs.iter().map(|(value, name)| (&**name, value.to_string()))),
        "flags": names.is_flags,
    }
    if let Some(reading) = argument.at_entry.as_ref() => {
        "at_entry": View(reading),
    }
}}

object! { View<'_, EntryReading>, View(reading) => {
    "location": reading.text(),
    "why": reading.problem().map(arguments::entry_problem),
    "reason": reading.problem().map(EntryProblem::name),
}}

object! { View<'_, FrameEntry>, View(entry) => {
    "address": address(Some(&entry.place)),
    "file_offset": entry.file_offset.map(|offset| hex(offset.0)),
    "function": entry.function.as_deref(),
    "probe": View(&entry.probe),
}}

object! { View<'_, Diagnostic>, View(diagnostic) => {
    "section": diagnostic.section,
    "offset": diagnostic.offset.map(|offset| hex(offset.0)),
    "message": diagnostics::kind(&diagnostic.kind),
}}

/// The marker, if its source is known.
fn known(marker: &Marker) -> Option<&Marker> {
    Some(marker).filter(|marker| !marker.file.is_empty())
}

/// The section, in a relocatable object.
fn section(place: Option<&SitePlace>) -> Option<&str> {
    match place? {
        SitePlace::Section { section, .. } => Some(section),
        SitePlace::Address(_) => None,
    }
}

/// The address, or the offset in the section.
fn address(place: Option<&SitePlace>) -> Option<String> {
    place.map(|place| match place {
        SitePlace::Address(address) => hex(address.0),
        SitePlace::Section { offset, .. } => hex(offset.0),
    })
}

fn hex(value: impl LowerHex) -> String {
    format!("{value:#x}")
}
