//! The causes of findings: the evidence of a [`Resolution`](crate::resolve::Resolution) in
//! sentences. Unknown facts are not mentioned.

use std::path::Path;

use crate::english::sites;
use crate::resolve::{Absence, Argument, Exactness, Marker, Reason, Site, SitePlace, Survival, Verdict};

/// Why a marker is not in the image, or why that is unknown.
pub(crate) fn survival(marker: &Marker, file: &str) -> Vec<String> {
    let Some(absence) = &marker.absence else {
        return match marker.survival {
            Some(Survival::Discarded) => vec!["the linker dropped every function that holds it".to_owned()],
            _ => Vec::new(),
        };
    };
    let none = "a generic one that nothing instantiates, one that nothing uses, or one whose code vanished where it \
                was inlined";
    vec![match absence {
        Absence::DeadBranch { function, before, behind } => {
            let mut cause = format!(
                "dead branch: `{function}` is in the image with code on lines {before} and {behind} of {file}, and the \
                 compiler removed the lines between them, with the marker"
            );
            // C has no nested functions.
            if !file.ends_with(".c") {
                cause.push_str(" (or that is a closure or a function in it, which has no code)");
            }
            cause
        }
        Absence::BehindCode { function, last } => format!(
            "the last code of `{function}`, which is declared before it, is on line {last}: either the compiler removed the \
             end of that function, or the marker is in a function that has no code: {none}"
        ),
        Absence::NoCode { function } => format!(
            "`{function}`, which is declared last before it, has no code in the image: nothing uses it, or its code \
             vanished where it was inlined"
        ),
        Absence::NotCompiled => {
            format!("no function that is declared before it in {file} is described: its own has no code, {none}")
        }
        Absence::Dropped { function, into } if into.is_empty() => {
            format!("`{function}` was compiled, and the linker dropped it: nothing that is in the image refers to it")
        }
        Absence::Dropped { function, into } => format!(
            "`{function}` was inlined into {}, which the linker dropped: nothing that is in the image refers to {}",
            list(into.iter().map(|name| &**name)),
            if into.len() == 1 { "it" } else { "them" }
        ),
        Absence::Folded { function, into: Some(into), address } => {
            format!("`{function}` has the same code as `{into}`, and the linker kept that one at {address} for both")
        }
        Absence::Folded { function, into: None, address } => {
            format!("the linker folded `{function}` with another function of the same code, at {address}")
        }
        Absence::Unresolved { problem } => problem.to_string(),
        Absence::Ambiguous { files } => {
            format!("several files agree equally well with its file: {}", list(files.iter().map(|file| &**file)))
        }
    }]
}

/// Why a marker of the lock file is gone, if its language explains it.
pub(crate) fn gone(file: &str) -> Vec<String> {
    let extension = Path::new(file).extension().and_then(|extension| extension.to_str());
    match extension {
        Some("c" | "h") => vec![
            "it is not in the source any more, or in code that the compiler removed: in C nothing is left of a marker in a dead \
             branch, or in a `static` function that nothing calls"
                .to_owned(),
        ],
        _ => Vec::new(),
    }
}

/// Why a site is not exact, or why that is unknown.
pub(crate) fn exactness(site: &Site) -> Vec<String> {
    let mut causes: Vec<String> = site.exactness_reason.iter().map(ToString::to_string).collect();
    if site.exactness == Some(Exactness::Shared) {
        causes.extend(site.predecessors.iter().take(MOST).map(|way| format!("way in: {}", sites::predecessor(way))));
        causes.extend(more(site.predecessors.len(), "ways in"));
    }
    if site.scope_ended {
        causes.push(
            "the marker is the last thing in its function, so the instruction there belongs to another one".to_owned(),
        );
    }
    causes
}

/// Why an argument cannot be read at a site.
pub(crate) fn argument(site: &Site, argument: &Argument) -> Vec<String> {
    let mut causes = Vec::new();
    match &argument.reason {
        // The sentence about what ended the nearest range follows, and gives the distance.
        Some(Reason::NotDescribedHere { .. }) if argument.ended.is_some() => {
            causes.push(Reason::NotDescribedHere { nearest: None }.to_string());
        }
        Some(reason) => causes.push(reason.to_string()),
        None => {}
    }
    if let Some(ended) = &argument.ended {
        let distance = match ended.distance {
            0 => "right at the site".to_owned(),
            1 => "1 byte before the site".to_owned(),
            bytes => format!("{bytes} bytes before the site"),
        };
        let place = match (ended.file.as_deref(), ended.line) {
            (Some(file), Some(line)) => format!(" ({}:{line})", file.rsplit('/').next().unwrap_or(file)),
            _ => String::new(),
        };
        let by = match ended.instruction.as_deref() {
            Some(instruction) => format!(", with `{}`{place}", one_space(instruction)),
            None => String::new(),
        };
        causes.push(format!("its live range ends {distance}{by}"));
        if let Some(shared) = &ended.shared {
            causes.push(format!(
                "folded into another variable: up to there it was where `{shared}` was, which goes on without it and may have \
                 another value by now"
            ));
        }
    }
    if argument.verdict == Some(Verdict::Lost) && argument.ranges.is_empty() && argument.ended.is_none() {
        if let Some(function) = site.inlined.first() {
            causes
                .push(format!("`{}` was inlined here, and the copy has no place of its own for it", function.function));
        }
    }
    causes
}

/// Why the marker has several copies. The chains of inlined calls are given only if some copies do
/// not have the finding.
pub(crate) fn copies(marker: &Marker, affected: &[&Site]) -> Vec<String> {
    let live: Vec<&Site> = marker.sites.iter().filter(|site| site.place.is_some()).collect();
    if live.len() < 2 {
        return Vec::new();
    }
    let mut causes = Vec::new();
    // A fact about all copies does not depend on how one of them was inlined.
    let some = if affected.len() < live.len() { affected } else { &[] };
    for site in some.iter().take(MOST) {
        let inlined = sites::inlined(site);
        if !inlined.is_empty() {
            let chain: Vec<String> =
                inlined.iter().map(|(function, into)| format!("`{function}` inlined {into}")).collect();
            causes.push(format!("in this copy: {}", chain.join(", ")));
        }
    }
    let is_same = |one: &&Site, other: &&Site| {
        one.inlined == other.inlined && start(one).is_some_and(|start_of_one| start(other) == Some(start_of_one))
    };
    let twins = |site: &&Site| live.iter().filter(|other| is_same(site, other)).count();
    if let Some((count, site)) = affected.iter().map(|site| (twins(site), site)).find(|(count, _)| *count > 1) {
        let of = site.function.as_deref().map(|function| format!(" in `{function}`")).unwrap_or_default();
        // Different calls have different lines.
        causes.push(match site.inlined.is_empty() {
            true => format!(
                "the compiler made {count} copies of the code around it{of}: a loop unrolled, or a block doubled"
            ),
            false => format!(
                "{count} copies{of} were inlined through the same lines: a loop unrolled, a block doubled, or several calls on one line"
            ),
        });
    }
    causes.dedup();
    causes
}

/// Where the function of a site starts, by its symbol. Several files may have functions of the same
/// name, such as those from a header.
fn start(site: &Site) -> Option<(Option<&str>, u64)> {
    match site.place.as_ref()? {
        SitePlace::Address(address) => Some((None, address.0.checked_sub(site.symbol_offset?)?)),
        SitePlace::Section { section, offset } => Some((Some(&**section), offset.0.checked_sub(site.symbol_offset?)?)),
    }
}

/// The highest number of items listed.
const MOST: usize = 4;

fn more(count: usize, what: &str) -> Option<String> {
    (count > MOST).then(|| format!("{} more {what}", count - MOST))
}

/// A list of names, quoted.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let shown = names.get(..names.len().min(MOST)).unwrap_or_default().join(", ");
    match names.len().checked_sub(MOST) {
        Some(rest) if rest > 0 => format!("{shown} and {rest} more"),
        _ => shown,
    }
}

fn one_space(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
