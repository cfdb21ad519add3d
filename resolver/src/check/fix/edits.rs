//! Which edits the findings of a report need.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{Edits, FixRefusal, SourceLanguage};
use super::keepable::{is_text, keepable};
use crate::check::{CanKeep, Finding, Problem};
use crate::image::{Architecture, ImageKind};
use crate::resolve::{Marker, Reason, Resolution, ResolvedImage, Site, Verdict};
use crate::verdicts::{Code, Group};

/// The edits that the findings about one marker need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remedy {
    /// The edits that are possible.
    pub edits: Edits,
    /// The reasons why other edits are not possible, without repetitions.
    pub refused: Vec<FixRefusal>,
    /// Whether the marker is in async code of Rust at all live sites: its variables have no place there.
    pub is_async: bool,
    /// Why it cannot become a probe; `None` if it can.
    pub no_probe: Option<FixRefusal>,
}

/// The edits that the findings of a report need, by image and marker as in [`Finding::index`].
///
/// A marker is included if at least one edit would help, even a refused one.
#[must_use]
pub fn wanted<'f>(
    resolution: &Resolution,
    findings: impl IntoIterator<Item = &'f Finding>,
) -> BTreeMap<(usize, usize), Remedy> {
    let mut all: BTreeMap<(usize, usize), Remedy> = BTreeMap::new();
    // The markers that need an anchor to be exact.
    let mut inexact: BTreeSet<(usize, usize)> = BTreeSet::new();
    for finding in findings {
        let Some((index, (edits, refused))) = finding.index.zip(of_finding(resolution, finding)) else { continue };
        if edits.anchor && finding.argument.is_none() {
            inexact.insert(index);
        }
        let wanted = all.entry(index).or_default();
        wanted.edits.keep.extend(edits.keep);
        wanted.edits.anchor |= edits.anchor;
        wanted.edits.plain |= edits.plain;
        if let Some(refusal) = refused.filter(|refusal| !wanted.refused.contains(refusal)) {
            wanted.refused.push(refusal);
        }
    }
    for (index, wanted) in &mut all {
        let marker = resolution.images.get(index.0).and_then(|image| image.markers.get(index.1));
        let is_c = marker.is_some_and(|marker| SourceLanguage::of(&marker.file) == Some(SourceLanguage::C));
        // C keeps all arguments, so none of them needs the anchor.
        if is_c && !wanted.edits.keep.is_empty() && !inexact.contains(index) {
            wanted.edits.anchor = false;
        }
        wanted.is_async = marker.is_some_and(is_in_async);
        let image = resolution.images.get(index.0);
        wanted.no_probe = image.zip(marker).and_then(|(image, marker)| no_probe(image, marker));
    }
    all
}

/// The edits that one finding needs; `None` if no edit of the marker helps.
#[must_use]
pub fn edits_for(resolution: &Resolution, finding: &Finding) -> Option<Result<Edits, FixRefusal>> {
    let (edits, refused) = of_finding(resolution, finding)?;
    Some(refused.map_or(Ok(edits), Err))
}

/// Whether `keep` helps the argument of a finding.
pub(in crate::check) fn can_keep(resolution: &Resolution, finding: &Finding) -> CanKeep {
    match of_argument(resolution, finding) {
        Some((_, Some(FixRefusal::CannotKeep { argument, type_name }))) => {
            let is_text = SourceLanguage::of(&finding.file) == Some(SourceLanguage::Rust)
                && Some(&argument) == finding.argument.as_ref()
                && type_name.is_some_and(|name| is_text(&name));
            if is_text { CanKeep::PointerAndLength } else { CanKeep::No }
        }
        Some((_, Some(FixRefusal::WholeValue))) => CanKeep::No,
        _ => CanKeep::Yes,
    }
}

/// Whether the marker of a finding is in async code at all live sites.
pub(in crate::check) fn is_async(resolution: &Resolution, finding: &Finding) -> bool {
    marker(resolution, finding).is_some_and(is_in_async)
}

fn is_in_async(marker: &Marker) -> bool {
    let mut live = sites(marker).peekable();
    live.peek().is_some() && live.all(Site::is_async)
}

/// Why a marker of an image cannot become a probe that a tool arms.
fn no_probe(image: &ResolvedImage, marker: &Marker) -> Option<FixRefusal> {
    if SourceLanguage::of(&marker.file) != Some(SourceLanguage::Rust) {
        return Some(FixRefusal::ProbeLanguage);
    }
    match (image.kind, image.arch) {
        (ImageKind::Kernel | ImageKind::Module, _) => Some(FixRefusal::ProbeInKernel),
        (_, Architecture::X86_64 | Architecture::Aarch64 | Architecture::Riscv64) => None,
        (_, arch) => Some(FixRefusal::ProbeTarget { arch: arch.as_str() }),
    }
}

fn of_finding(resolution: &Resolution, finding: &Finding) -> Option<(Edits, Option<FixRefusal>)> {
    let anchor = || Some((Edits { anchor: true, ..Edits::default() }, None));
    let marker = marker(resolution, finding)?;
    match (finding.code, finding.argument.as_deref()) {
        (Code::Eliminated | Code::Likely | Code::Approximate, _) if marker.is_ghost => {
            Some((Edits { plain: true, ..Edits::default() }, None))
        }
        (Code::Shared | Code::Unproven | Code::Refused, _) => {
            let has_anchor = sites(marker).all(|site| site.anchored);
            if has_anchor { None } else { anchor() }
        }
        (_, Some(text)) if is_doubtful(finding) && is_parted_by_anchor(marker, text) => anchor(),
        _ => of_argument(resolution, finding),
    }
}

/// The edits that keep the argument of a finding; `None` if `keep` does not help.
fn of_argument(resolution: &Resolution, finding: &Finding) -> Option<(Edits, Option<FixRefusal>)> {
    let marker = marker(resolution, finding)?;
    match (finding.code, finding.argument.as_deref()) {
        (code, Some(text)) if code.group() == Group::Arguments || code == Code::Worse => keep(marker, text),
        _ => None,
    }
}

fn marker<'r>(resolution: &'r Resolution, finding: &Finding) -> Option<&'r Marker> {
    let (image, marker) = finding.index?;
    resolution.images.get(image)?.markers.get(marker)
}

/// Whether a finding is about a doubtful argument.
fn is_doubtful(finding: &Finding) -> bool {
    match finding.problem {
        Problem::Worse { found, .. } => found.code() == Code::Doubtful,
        _ => finding.code == Code::Doubtful,
    }
}

/// Whether an instruction at the marker settles each doubt about an argument.
fn is_parted_by_anchor(marker: &Marker, text: &str) -> bool {
    let doubtful = sites(marker).flat_map(|site| site.args.iter().map(move |argument| (site, argument)));
    let mut doubtful = doubtful
        .filter(|(_, argument)| *argument.text == *text && argument.verdict == Some(Verdict::Doubtful))
        .peekable();
    doubtful.peek().is_some()
        && doubtful
            .all(|(site, argument)| !site.anchored && argument.reason.as_ref().is_some_and(Reason::is_change_at_site))
}

fn sites(marker: &Marker) -> impl Iterator<Item = &Site> {
    marker.sites.iter().filter(|site| site.place.is_some())
}

/// The edits that keep every argument with this text.
fn keep(marker: &Marker, text: &str) -> Option<(Edits, Option<FixRefusal>)> {
    let Some(language) = SourceLanguage::of(&marker.file) else {
        return Some((Edits::default(), Some(FixRefusal::UnknownLanguage)));
    };
    let at = |index: usize| sites(marker).filter_map(move |site| site.args.get(index));
    // One copy of the code may know the type if another does not.
    let known = |index: usize| at(index).find(|it| it.type_name.is_some()).or_else(|| at(index).next());
    let mut edits = Edits::default();
    let declared = || marker.args.iter().enumerate();
    let of_text = declared().filter(|(_, argument)| *argument.text == *text);
    for (index, argument) in of_text.filter(|(index, _)| !at(*index).any(|argument| argument.is_kept)) {
        match keepable(language, argument, known(index)) {
            Ok(keep) => edits.keep.insert(index, keep),
            Err(refusal) => return Some((Edits::default(), Some(refusal))),
        };
    }
    if edits.keep.is_empty() {
        return None;
    }
    if language == SourceLanguage::C {
        // Keeps all arguments or none.
        for (index, argument) in declared() {
            if let Err(refusal) = keepable(language, argument, known(index)) {
                return Some((Edits::default(), Some(refusal)));
            }
        }
    }
    Some((edits, None))
}
