//! The whole resolution as JSON, schema 1 (`docs/schema.json`, `docs/json.md`). The order of fields
//! is fixed, absent values are null, addresses are hexadecimal strings.
//!
//! The document is written piece by piece, so that a million sites need no second copy.

use std::fmt::LowerHex;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use crate::english::{arguments, diagnostics, exactness, mismatch, probe};
use crate::resolve::{
    Absence, Argument, DebugSource, Diagnostic, Exactness, ExactnessReason, Inlined, Marker, Origin, Predecessor,
    ProbeCost, ProbeReason, ProbeVerdict, Reason, Resolution, ResolvedImage, Site, SitePlace, Survival, Switch,
    SwitchProblem, Verdict,
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

/// Serializes a value. The library's types do not implement `Serialize`, so that they do not depend
/// on one report.
struct View<'a, T: ?Sized>(&'a T);

/// A list of such values.
struct Views<'a, T>(&'a [T]);

impl<'a, T> Serialize for Views<'a, T>
where
    View<'a, T>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(View))
    }
}

struct Document<'a> {
    resolution: &'a Resolution,
    keep: &'a dyn Fn(&Marker) -> bool,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Resolution", 3)?;
        document.serialize_field("schema", &SCHEMA)?;
        document.serialize_field("tool", &Tool)?;
        document.serialize_field("images", &Images(self))?;
        document.end()
    }
}

struct Tool;

impl Serialize for Tool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tool = serializer.serialize_struct("Tool", 2)?;
        tool.serialize_field("name", "smark")?;
        tool.serialize_field("version", env!("CARGO_PKG_VERSION"))?;
        tool.end()
    }
}

struct Images<'a>(&'a Document<'a>);

impl Serialize for Images<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keep = self.0.keep;
        serializer.collect_seq(self.0.resolution.images.iter().map(|image| Image { image, keep }))
    }
}

struct Image<'a> {
    image: &'a ResolvedImage,
    keep: &'a dyn Fn(&Marker) -> bool,
}

impl Serialize for Image<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut image = serializer.serialize_struct("Image", 8)?;
        image.serialize_field("path", &self.image.path)?;
        image.serialize_field("module", &*self.image.module)?;
        image.serialize_field("build_id", &self.image.build_id)?;
        image.serialize_field("arch", self.image.arch.as_str())?;
        image.serialize_field("kind", self.image.kind.as_str())?;
        image.serialize_field("debug", &self.image.debug.as_ref().map(View))?;
        image.serialize_field("markers", &Markers(self))?;
        image.serialize_field("diagnostics", &Views(&self.image.diagnostics))?;
        image.end()
    }
}

impl Serialize for View<'_, DebugSource> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut debug = serializer.serialize_struct("Debug", 3)?;
        debug.serialize_field("source", self.0.source.as_str())?;
        debug.serialize_field("path", &self.0.path)?;
        debug.serialize_field("supplements", &Views(&self.0.supplements))?;
        debug.end()
    }
}

struct Markers<'a>(&'a Image<'a>);

impl Serialize for Markers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let markers = self.0.image.markers.iter();
        serializer.collect_seq(markers.filter(|marker| (self.0.keep)(marker)).map(View))
    }
}

impl Serialize for View<'_, Marker> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let args = Texts(self.0);
        let mut marker = serializer.serialize_struct("Marker", 14)?;
        marker.serialize_field("id", &self.0.id)?;
        marker.serialize_field("name", &*self.0.name)?;
        marker.serialize_field("file", &*self.0.file)?;
        marker.serialize_field("line", &self.0.line)?;
        marker.serialize_field("column", &self.0.column)?;
        marker.serialize_field("format", &*self.0.format)?;
        marker.serialize_field("description", &*self.0.description)?;
        marker.serialize_field("args", &args)?;
        marker.serialize_field("declared", &self.0.declared)?;
        marker.serialize_field("survival", &self.0.survival.map(Survival::as_str))?;
        marker.serialize_field("sites", &Sites(self.0))?;
        marker.serialize_field("absence", &self.0.absence.as_ref().map(View))?;
        marker.serialize_field("is_probe", &self.0.is_probe)?;
        marker.serialize_field("is_ghost", &self.0.is_ghost)?;
        marker.end()
    }
}

impl Serialize for View<'_, Absence> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut absence = serializer.serialize_struct("Absence", 2)?;
        absence.serialize_field("reason", self.0.name())?;
        absence.serialize_field("function", &self.0.function())?;
        absence.end()
    }
}

/// The arguments of a marker as written.
struct Texts<'a>(&'a Marker);

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.args.iter().map(|arg| &*arg.text))
    }
}

struct Sites<'a>(&'a Marker);

impl Serialize for Sites<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.sites.iter().map(|site| MarkerSite { marker: self.0, site }))
    }
}

/// A site, and the marker that it is of.
struct MarkerSite<'a> {
    marker: &'a Marker,
    site: &'a Site,
}

impl Serialize for MarkerSite<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { marker, site: of } = self;
        let (section, address) = place(of.place.as_ref());
        let line = match of.origin {
            Origin::Record | Origin::Line | Origin::Label | Origin::Statement | Origin::Block => marker.line,
            Origin::Nearest { line } => line,
        };
        let mut site = serializer.serialize_struct("Site", 20)?;
        site.serialize_field("address", &address)?;
        site.serialize_field("file_offset", &of.file_offset.map(|offset| hex(offset.0)))?;
        site.serialize_field("symbol", &of.symbol.as_deref())?;
        site.serialize_field("symbol_offset", &of.symbol_offset.map(hex))?;
        site.serialize_field("function", &of.function.as_deref())?;
        site.serialize_field("inlined", &Views(&of.inlined))?;
        site.serialize_field("origin", of.origin.as_str())?;
        site.serialize_field("anchored", &of.anchored)?;
        site.serialize_field("exactness", &of.exactness.map(Exactness::as_str))?;
        site.serialize_field("ways_in", &Views(&of.predecessors))?;
        site.serialize_field("instruction", &of.instruction.as_deref())?;
        site.serialize_field("probe", &of.probe.as_ref().map(View))?;
        site.serialize_field("args", &Views(&of.args))?;
        site.serialize_field("line", &line)?;
        site.serialize_field("section", &section)?;
        site.serialize_field("scope_ended", &of.scope_ended)?;
        site.serialize_field("exactness_code", &of.exactness.map(|exactness| exactness.code().as_str()))?;
        site.serialize_field("exactness_why", &of.exactness_reason.as_ref().map(exactness::reason))?;
        site.serialize_field("exactness_reason", &of.exactness_reason.as_ref().map(ExactnessReason::name))?;
        site.serialize_field("switch", &of.switch.as_ref().map(View))?;
        site.end()
    }
}

impl Serialize for View<'_, Predecessor> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut way = serializer.serialize_struct("WayIn", 4)?;
        way.serialize_field("address", &hex(self.0.address))?;
        way.serialize_field("file", &self.0.file.as_deref())?;
        way.serialize_field("line", &self.0.line)?;
        way.serialize_field("kind", self.0.kind.name())?;
        way.end()
    }
}

impl Serialize for View<'_, ProbeVerdict> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut probe = serializer.serialize_struct("Probe", 5)?;
        probe.serialize_field("accepted", &self.0.accepted)?;
        probe.serialize_field("cost", &self.0.cost.map(ProbeCost::as_str))?;
        probe.serialize_field("best_address", &self.0.best_address.map(hex))?;
        probe.serialize_field("why", &self.0.reason.map(probe::reason))?;
        probe.serialize_field("reason", &self.0.reason.map(ProbeReason::name))?;
        probe.end()
    }
}

impl Serialize for View<'_, Switch> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (section, address) = place(self.0.place.as_ref());
        let mut switch = serializer.serialize_struct("Switch", 5)?;
        switch.serialize_field("address", &address)?;
        switch.serialize_field("file_offset", &self.0.file_offset.map(|offset| hex(offset.0)))?;
        switch.serialize_field("section", &section)?;
        switch.serialize_field("problem", &self.0.problem.map(SwitchProblem::name))?;
        switch.serialize_field("shares_page", &self.0.shares_page)?;
        switch.end()
    }
}

impl Serialize for View<'_, Inlined> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut inlined = serializer.serialize_struct("Inlined", 3)?;
        inlined.serialize_field("function", &*self.0.function)?;
        inlined.serialize_field("call_file", &self.0.call_file.as_deref())?;
        inlined.serialize_field("call_line", &self.0.call_line)?;
        inlined.end()
    }
}

impl Serialize for View<'_, Argument> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut argument = serializer.serialize_struct("Argument", 13 + 2 * usize::from(self.0.names.is_some()))?;
        argument.serialize_field("text", &*self.0.text)?;
        argument.serialize_field("name", &*self.0.name)?;
        argument.serialize_field("type", &self.0.type_name.as_deref())?;
        argument.serialize_field("size", &self.0.size)?;
        argument.serialize_field("verdict", &self.0.verdict.map(Verdict::as_str))?;
        argument.serialize_field("location", &self.0.location_text.as_deref())?;
        argument.serialize_field("code", &self.0.verdict.map(|verdict| verdict.code().as_str()))?;
        argument.serialize_field("why", &self.0.reason.as_ref().map(arguments::reason))?;
        argument.serialize_field("ranges", &Ranges(&self.0.ranges))?;
        argument.serialize_field("format_mismatch", &self.0.mismatch.as_ref().map(mismatch::mismatch))?;
        argument.serialize_field("reason", &self.0.reason.as_ref().map(Reason::name))?;
        argument.serialize_field("before", &self.0.reason.as_ref().and_then(Reason::location_before))?;
        argument.serialize_field("vector_register", &self.0.vector_register.as_deref())?;
        if let Some(names) = self.0.names.as_deref() {
            argument.serialize_field("names", &Pairs(&names.pairs))?;
            argument.serialize_field("flags", &names.is_flags)?;
        }
        argument.end()
    }
}

/// The names for the values of an argument. A value has at most 64 bits.
struct Pairs<'a>(&'a [(i128, Arc<str>)]);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(value, name)| (&**name, value.to_string())))
    }
}

struct Ranges<'a>(&'a [Range<u64>]);

impl Serialize for Ranges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|range| [hex(range.start), hex(range.end)]))
    }
}

impl Serialize for View<'_, Diagnostic> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut diagnostic = serializer.serialize_struct("Diagnostic", 3)?;
        diagnostic.serialize_field("section", &self.0.section)?;
        diagnostic.serialize_field("offset", &self.0.offset.map(|offset| hex(offset.0)))?;
        diagnostic.serialize_field("message", &diagnostics::kind(&self.0.kind))?;
        diagnostic.end()
    }
}

/// The section, in a relocatable object, and the address or the offset in that section.
fn place(place: Option<&SitePlace>) -> (Option<&str>, Option<String>) {
    match place {
        Some(SitePlace::Address(address)) => (None, Some(hex(address.0))),
        Some(SitePlace::Section { section, offset }) => (Some(&**section), Some(hex(offset.0))),
        None => (None, None),
    }
}

fn hex(value: impl LowerHex) -> String {
    format!("{value:#x}")
}
