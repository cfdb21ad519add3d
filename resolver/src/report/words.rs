//! Sites and arguments in words, for every report that people read. All text is escaped ([`shown`]) where it comes from an image.

use std::ops::Range;
use std::sync::Arc;

use anstyle::Style;

use super::style;
use crate::location::Source;
use crate::resolve::{
    Argument, EdgeKind, Encoding, Exactness, Inlined, Marker, Origin, Predecessor, ProbeCost, ProbeVerdict, Site,
    SitePlace, Verdict,
};
use crate::text::shown;

/// What stands for an address where there is none.
pub(super) const DROPPED: &str = "discarded by the linker";

/// Where a site is: an address, or an offset in a section.
pub(super) fn address(site: &Site) -> String {
    match &site.place {
        Some(SitePlace::Address(address)) => address.to_string(),
        Some(SitePlace::Section { section, offset }) => format!("{}+{offset}", shown(section)),
        None => DROPPED.to_owned(),
    }
}

/// The function that holds a site and how far into it; empty where none is known.
pub(super) fn symbol(site: &Site) -> String {
    match (site.function.as_deref(), site.symbol_offset) {
        (Some(function), Some(offset)) => format!("{}+{offset:#x}", shown(function)),
        (Some(function), None) => shown(function).into_owned(),
        (None, _) => String::new(),
    }
}

/// `file:line:column`, the column where it is known.
pub(super) fn source(marker: &Marker, column: Option<u32>) -> String {
    let mut source = format!("{}:{}", shown(&marker.file), marker.line);
    if let Some(column) = column {
        source.push_str(&format!(":{column}"));
    }
    source
}

/// What is unusual about a site, in a word or two each.
pub(super) fn remarks(site: &Site) -> Vec<String> {
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
                remarks.push(format!("unproven: {}", shown(&why.to_string())));
            }
            _ => remarks.push(other.as_str().to_owned()),
        },
    }
    remarks
}

/// A way to a site: how, from where, and on which line.
pub(crate) fn way_in(way: &Predecessor) -> String {
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

/// What comes of a uprobe, with the cheapest address that stands for the same.
pub(super) fn probe(probe: &ProbeVerdict) -> (Style, String) {
    let why = probe.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let (style, verdict) = match (probe.accepted, probe.cost) {
        (false, _) => (style::GONE, "not taken"),
        (true, Some(ProbeCost::Emulated)) => (style::PLAIN, "emulated"),
        (true, Some(ProbeCost::Stepped)) => (style::PLAIN, "stepped"),
        (true, None) => (style::GONE, "taken, and not to be used"),
    };
    let best = probe.best_address.map(|at| format!(", for less at {at:#x}")).unwrap_or_default();
    (style, format!("{verdict}{why}{best}"))
}

/// Each inlined function of a site, innermost first, and `into` which function it was inlined, and where the call stood.
pub(crate) fn inlined(site: &Site) -> Vec<(String, String)> {
    let outer = site.inlined.iter().skip(1).map(|inlined| Some(&inlined.function)).chain([site.function.as_ref()]);
    let sentence = |(inlined, outer): (&Inlined, Option<&Arc<str>>)| {
        let into = outer.map_or_else(|| "a function without a name".into(), |outer| shown(outer));
        let at = match (inlined.call_file.as_deref(), inlined.call_line) {
            (Some(file), Some(line)) => format!(" at {}:{line}", shown(file)),
            (Some(file), None) => format!(" somewhere in {}", shown(file)),
            (None, Some(line)) => format!(" at line {line}"),
            (None, None) => String::new(),
        };
        (shown(&inlined.function).into_owned(), format!("into {into}{at}"))
    };
    site.inlined.iter().zip(outer).map(sentence).collect()
}

/// Where an argument is, in words that say how to read it; `None` where it is nowhere.
pub(super) fn place(argument: &Argument) -> Option<String> {
    let location = shown(argument.location.as_deref()?);
    let is_computed = matches!(argument.value.as_ref().and_then(|value| value.source()), Some(Source::Value(_)));
    Some(match argument.verdict? {
        Verdict::Constant => format!("constant {location}"),
        _ if argument.is_kept => format!("kept in {location}"),
        _ if is_computed => format!("computed as {location}"),
        _ => format!("in {location}"),
    })
}

/// Size and how the bytes are to be read; `None` where not resolved.
pub(super) fn size(argument: &Argument) -> Option<String> {
    let size = argument.size?;
    let encoding = match argument.encoding {
        Some(Encoding::Signed) => ", signed",
        Some(Encoding::Unsigned) => ", unsigned",
        Some(Encoding::Float) => ", float",
        None => "",
    };
    Some(format!("{}{encoding}", bytes(size)))
}

fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// Why an argument's verdict is not better; empty where there is nothing to say.
pub(super) fn why(argument: &Argument) -> String {
    if let Some(why) = argument.why.as_deref() {
        return shown(why).into_owned();
    }
    let why = match argument.verdict {
        Some(Verdict::Live | Verdict::Constant) => "",
        Some(Verdict::Partial) => "some pieces of it are gone",
        Some(Verdict::Entry) => "only known as what a register held when the function was entered",
        Some(Verdict::Lost) => "optimised out",
        Some(Verdict::Absent) => "no such variable in scope",
        Some(Verdict::Unsupported) => "described in a way that smark cannot stand for",
        None => "there is no debug information, or it was not read",
    };
    why.to_owned()
}

/// An argument in one line: where it is and its type, or the verdict and why; `None` where nothing was asked.
pub(super) fn short(argument: &Argument) -> Option<String> {
    let verdict = argument.verdict?;
    let mut words = match (verdict, place(argument)) {
        (Verdict::Live | Verdict::Constant, Some(place)) => place,
        (Verdict::Partial | Verdict::Entry, Some(place)) => format!("{}: {place}; {}", verdict.as_str(), why(argument)),
        _ => [verdict.as_str(), &why(argument)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(": "),
    };
    let type_name = argument.type_name.as_deref().map(|name| shown(name).into_owned());
    if let (true, Some(of)) = (argument.location.is_some(), type_name.or_else(|| size(argument))) {
        words.push_str(&format!(" ({of})"));
    }
    if argument.mismatch.is_some() {
        words.push_str(", not what its conversion expects");
    }
    Some(words)
}

/// How a verdict is coloured.
pub(super) fn style(verdict: Option<Verdict>) -> Style {
    match verdict {
        Some(Verdict::Live | Verdict::Constant) => style::READABLE,
        Some(Verdict::Partial | Verdict::Entry) | None => style::UNKNOWN,
        Some(Verdict::Lost | Verdict::Absent | Verdict::Unsupported) => style::GONE,
    }
}

/// Where a variable is described, as seen from an address that is in none of its ranges: the nearest one on each side, and how far.
/// Empty where there is none.
pub(super) fn nearest(ranges: &[Range<u64>], address: u64) -> String {
    let ranges: Vec<&Range<u64>> = ranges.iter().filter(|range| range.start < range.end).collect();
    let before = ranges.iter().filter(|range| range.end <= address).max_by_key(|range| range.end);
    let after = ranges.iter().filter(|range| range.start > address).min_by_key(|range| range.start);
    let mut words = Vec::new();
    if let Some(range) = before {
        words.push(match address.saturating_sub(range.end) {
            0 => format!("{:#x}..{:#x}, which ends right here", range.start, range.end),
            gap => format!("{:#x}..{:#x}, which ends {gap:#x} before", range.start, range.end),
        });
    }
    if let Some(range) = after {
        let gap = range.start.saturating_sub(address);
        words.push(format!("{:#x}..{:#x}, which starts {gap:#x} after", range.start, range.end));
    }
    let more = ranges.len().saturating_sub(words.len());
    if more > 0 && !words.is_empty() {
        words.push(format!("{more} more"));
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_ranges_are_told_with_their_distance() {
        let nearest = |ranges: &[(u64, u64)], address| {
            nearest(&ranges.iter().map(|(start, end)| *start..*end).collect::<Vec<_>>(), address)
        };
        assert_eq!(nearest(&[], 5), "");
        assert_eq!(nearest(&[(3, 3)], 5), "");
        assert_eq!(nearest(&[(0x10, 0x20)], 0x20), "0x10..0x20, which ends right here");
        assert_eq!(nearest(&[(0x10, 0x20)], 0x24), "0x10..0x20, which ends 0x4 before");
        assert_eq!(nearest(&[(0x10, 0x20)], 0xc), "0x10..0x20, which starts 0x4 after");
        assert_eq!(
            nearest(&[(0, 1), (0x10, 0x20), (0x30, 0x40), (0x50, 0x60)], 0x24),
            "0x10..0x20, which ends 0x4 before; 0x30..0x40, which starts 0xc after; 2 more"
        );
        // A range that holds the address is none that is near.
        assert_eq!(nearest(&[(0x10, 0x20)], 0x14), "");
    }
}
