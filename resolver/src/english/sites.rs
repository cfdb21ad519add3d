//! Sites in English. All text from an image is escaped ([`shown`]).

use std::sync::Arc;

use super::exactness;
use crate::resolve::{
    EdgeKind, Exactness, InlinedFunction, Marker, Origin, Predecessor, ProbeCost, ProbeVerdict, Site, SitePlace,
    Switch, source_name,
};
use crate::text::shown;

/// Written instead of the address of a dead site.
pub(crate) const DROPPED: &str = "discarded by the linker";

/// Where a site is: an address, or an offset in a section.
pub(crate) fn address(site: &Site) -> String {
    place(site.place.as_ref())
}

/// Where a site or a switch is.
pub(super) fn place(place: Option<&SitePlace>) -> String {
    match place {
        Some(SitePlace::Address(address)) => address.to_string(),
        Some(SitePlace::Section { section, offset }) => format!("{}+{offset}", shown(section)),
        None => DROPPED.to_owned(),
    }
}

/// How a probe can be armed.
pub(crate) const ARMED_BY: &str =
    "asleep until armed: by smark trace, count and record while they watch it, or as exported";

/// Where the switch of a probe is, and why the kernel cannot arm it.
pub(crate) fn switch(switch: &Switch) -> String {
    let mut words = place(switch.place.as_ref());
    match switch.file_offset {
        Some(offset) => words.push_str(&format!(", at {offset} of the file")),
        None if switch.place.is_some() => words.push_str(", not in the file"),
        None => {}
    }
    if let Some(problem) = switch.problem {
        words.push_str(&format!("; uprobes cannot arm it: {}", super::probe::switch(problem)));
    }
    words
}

/// The function that holds a site, and the offset in it; empty if it is not known.
pub(crate) fn symbol(site: &Site) -> String {
    match (site.source_function.as_deref().or(site.function.as_deref()), site.symbol_offset) {
        (Some(function), Some(offset)) => format!("{}+{offset:#x}", shown(function)),
        (Some(function), None) => shown(function).into_owned(),
        (None, _) => String::new(),
    }
}

/// What stands for the source of a note without debug information, or with copies in several places.
const UNKNOWN_SOURCE: &str = "no source line";

/// `file:line:column`; without the column if it is not known.
pub(crate) fn source(marker: &Marker, column: Option<u32>) -> String {
    if marker.file.is_empty() {
        return UNKNOWN_SOURCE.to_owned();
    }
    let mut source = format!("{}:{}", shown(&marker.file), marker.line);
    if let Some(column) = column {
        source.push_str(&format!(":{column}"));
    }
    source
}

/// What is unusual about a site, a few words each.
pub(crate) fn remarks(site: &Site) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Origin::Nearest { line } = site.origin {
        remarks.push(format!("nearest, line {line}"));
    }
    if site.anchored {
        remarks.push("anchored".to_owned());
    }
    if site.scope_ended {
        remarks.push("scope ended".to_owned());
    }
    match site.exactness {
        None | Some(Exactness::Exact) => {}
        Some(Exactness::Shared) => remarks.push(format!("shared: {} ways in", site.predecessors.len())),
        Some(other) => match &site.exactness_reason {
            Some(why) if other == Exactness::Unproven => {
                remarks.push(format!("unproven: {}", shown(&exactness::reason(why))));
            }
            _ => remarks.push(other.as_str().to_owned()),
        },
    }
    remarks
}

/// A predecessor of a site: where it is, how it leads there, and its line.
pub(crate) fn predecessor(way: &Predecessor) -> String {
    let how = match way.kind {
        EdgeKind::Entry => "entered there",
        EdgeKind::FallThrough => "falls through",
        EdgeKind::CallReturn => "a call returns",
        EdgeKind::Jump => "a jump",
        EdgeKind::Conditional => "a conditional jump",
        EdgeKind::JumpTable { .. } => "a jump table's entry",
        EdgeKind::LandingPad => "the unwinder",
        EdgeKind::Patched => "a jump that is patched in",
        EdgeKind::Fixup => "where the kernel goes on after a fault",
        EdgeKind::OtherFunction => "another function",
    };
    let line = match (way.file.as_deref(), way.line) {
        (Some(file), Some(line)) => format!(", {}:{line}", shown(file)),
        _ => String::new(),
    };
    format!("{:#x} {how}{line}", way.address)
}

/// What a uprobe there does, with the other address where a probe costs less, or is taken at all.
pub(crate) fn probe(probe: &ProbeVerdict) -> String {
    let why = probe.reason.map(|reason| format!(" ({})", super::probe::reason(reason))).unwrap_or_default();
    let verdict = match (probe.accepted, probe.cost) {
        (false, _) => "not taken",
        (true, Some(ProbeCost::Called)) => "called",
        (true, Some(ProbeCost::Emulated)) => "emulated",
        (true, Some(ProbeCost::Stepped)) => "stepped",
        (true, None) => "taken, and not to be used",
    };
    let less = if probe.cost.is_some() { "for less" } else { "instead" };
    let best = probe.best_address.map(|at| format!(", {less} at {at:#x}")).unwrap_or_default();
    format!("{verdict}{why}{best}")
}

/// A function of the debug information, as the source names it.
pub(super) fn named(described: &str) -> String {
    source_name(described).into_owned()
}

/// Each inlined function of a site, innermost first, with the function that it was inlined into and
/// the place of the call.
pub(crate) fn inlined(site: &Site) -> Vec<(String, String)> {
    inlined_through(&site.inlined, site.function.as_ref())
}

/// The same for a chain of inlined functions in `function`.
pub(super) fn inlined_through(chain: &[InlinedFunction], function: Option<&Arc<str>>) -> Vec<(String, String)> {
    let outer = chain.iter().skip(1).map(|inlined| Some(&inlined.function)).chain([function]);
    let sentence = |(inlined, outer): (&InlinedFunction, Option<&Arc<str>>)| {
        let into =
            outer.map_or_else(|| "a function without a name".to_owned(), |outer| shown(&named(outer)).into_owned());
        let at = match (inlined.call_file.as_deref(), inlined.call_line) {
            (Some(file), Some(line)) => format!(" at {}:{line}", shown(file)),
            (Some(file), None) => format!(" somewhere in {}", shown(file)),
            (None, Some(line)) => format!(" at line {line}"),
            (None, None) => String::new(),
        };
        (shown(&named(&inlined.function)).into_owned(), format!("into {into}{at}"))
    };
    chain.iter().zip(outer).map(sentence).collect()
}
