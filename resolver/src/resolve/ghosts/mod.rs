//! The sites of ghosts, which are facts of the debug information alone (`docs/section-format.md`,
//! "Ghosts").
//!
//! The units that name a ghost's file are asked, each in the way of the compiler that wrote it:
//! `labels` for clang, `statements` for gcc, `blocks` for rustc. A finder says how far its places can be
//! trusted ([`Certainty`]); the instructions then say whether other paths lead to them.

mod blocks;
mod certainty;
mod labels;
mod statements;
mod unit_ghosts;

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator as _, IntoParallelRefMutIterator as _, ParallelIterator as _};
use simple_markers_record::ghost::Hash;

use self::certainty::{Certainty, OfUnit};
use self::unit_ghosts::{Ghost, UnitGhosts};
use super::descriptions::Descriptions;
use super::diagnostics::Diagnostics;
use super::interner::TextId;
use super::join::{RawMarker, RawMarkers, RawSite};
use super::line_sites::LineProblem;
use super::lookup::SiteLookup;
use super::site_answer::{SiteAnswer, Surroundings};
use super::site_debug::{MarkerLine, SiteDebug};
use super::{Argument, FormatDescription, GhostProblem, LikelyReason};
use crate::Error;
use crate::address::Vaddr;
use crate::dwarf::files::SourcePath;
use crate::dwarf::lines::FileMatch;
use crate::dwarf::{DebugInfo, Frontiers, Producer};

/// How many units are asked before their caches are dropped.
const UNITS: usize = 32;

/// How many ghosts are looked up before the caches of their units are dropped.
const GHOSTS: usize = 128;

/// The rows and entries that may be read for each ghost, in addition to the budget of the debug
/// information as a whole.
const STEPS: u64 = 2048;

/// How much the units that name a ghost's file describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum UnitDetail {
    /// There is no such unit.
    Nothing,
    Lines,
    /// It was compiled without optimisation, and then has no places of ghosts.
    Unoptimized,
    /// The options of gcc switched the rows of statements off.
    NoStatements,
    Everything,
    /// One of them cannot be read.
    Unreadable,
}

/// A ghost whose sites are searched for.
struct GhostSearch<'m> {
    marker: &'m mut RawMarker,
    file: Arc<str>,
    described: FormatDescription,
    ghost: Ghost,
    described_as: UnitDetail,
    of_units: OfUnit,
    found: Vec<(RawSite, SiteAnswer)>,
}

/// Looks up all ghosts, and adds their sites.
pub(super) fn find<'a>(
    debug: &SiteDebug<'a>,
    lookup: SiteLookup<'a>,
    joined: &mut RawMarkers<'_>,
    descriptions: &mut Descriptions,
    diagnostics: &mut Diagnostics,
) {
    let RawMarkers { texts, markers } = joined;
    let ghosts: Vec<_> = markers.iter_mut().filter(|marker| marker.is_ghost).collect();
    let mut on_line: BTreeMap<(TextId, u32), usize> = BTreeMap::new();
    for ghost in &ghosts {
        *on_line.entry((ghost.file, ghost.line)).or_default() += 1;
    }
    if let Err(error) = debug.find_files_of(ghosts.iter().map(|marker| &**marker), texts) {
        ghosts.into_iter().for_each(|marker| marker.ghost = Some(GhostProblem::Unreadable));
        return diagnostics.error(&error);
    }
    let mut searches = Vec::with_capacity(ghosts.len());
    for marker in ghosts {
        let shares_line = on_line.get(&(marker.file, marker.line)).is_some_and(|&count| count > 1);
        let (file, described) = (texts.text(marker.file), descriptions.of(texts, marker.format, marker.args));
        let hash = Hash::new(texts.bytes(marker.name), texts.bytes(marker.format), texts.bytes(marker.args));
        let path = SourcePath::new(&file);
        let ghost = Ghost { file: path.clone(), path, line: marker.line, hash, shares_line };
        let (described_as, of_units, found) = (UnitDetail::Nothing, OfUnit::default(), Vec::new());
        searches.push(GhostSearch { marker, file, described, ghost, described_as, of_units, found });
    }
    ask_units(debug, lookup, &mut searches, diagnostics);
    for searches in searches.chunks_mut(GHOSTS) {
        searches.par_iter_mut().for_each(|search| search.look_up(debug, lookup));
        lookup.release();
    }
    for GhostSearch { marker, found, .. } in searches {
        (marker.sites, marker.found) = found.into_iter().unzip();
    }
}

/// Asks each unit that names the file of a ghost. If one cannot be read, no places are known of the
/// ghosts in its files.
fn ask_units<'a>(
    debug: &SiteDebug<'a>,
    lookup: SiteLookup<'a>,
    searches: &mut [GhostSearch<'_>],
    diagnostics: &mut Diagnostics,
) {
    let info = debug.info();
    let mut by_unit: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut errors: Vec<Error> = Vec::new();
    for (index, search) in searches.iter_mut().enumerate() {
        info.allow(STEPS);
        match info.match_file(&search.ghost.file).as_deref() {
            Ok(FileMatch::File { path, units }) => {
                search.ghost.path = path.clone();
                units.iter().for_each(|(unit, _)| by_unit.entry(*unit).or_default().push(index));
            }
            Ok(FileMatch::None) => {}
            Ok(FileMatch::Several(paths)) => {
                let paths = paths.iter().map(|path| Arc::clone(path.as_str()));
                search.marker.problem = Some(LineProblem::SeveralFiles(paths.collect()));
            }
            Err(error) => {
                errors.push(error.clone());
                search.described_as = UnitDetail::Unreadable;
            }
        }
    }
    let by_unit: Vec<(usize, Vec<usize>)> = by_unit.into_iter().collect();
    for units in by_unit.chunks(UNITS) {
        let ask = |(unit, indices): &(usize, Vec<usize>)| {
            let ghosts = indices.iter().filter_map(|&index| Some(&searches.get(index)?.ghost));
            Answer::of(info, lookup, *unit, &UnitGhosts::new(ghosts.collect()))
        };
        let answers: Vec<Result<Answer, Error>> = units.par_iter().map(ask).collect();
        lookup.release();
        for ((_, indices), answer) in units.iter().zip(answers) {
            let Answer { described_as, of_ghosts } = answer.unwrap_or_else(|error| {
                errors.push(error);
                Answer::nothing(UnitDetail::Unreadable, indices.len())
            });
            for (&index, of_unit) in indices.iter().zip(of_ghosts) {
                let Some(search) = searches.get_mut(index) else { continue };
                search.described_as = search.described_as.max(described_as);
                search.of_units.places.extend(of_unit.places);
                search.of_units.missing = search.of_units.missing.saturating_add(of_unit.missing);
                search.of_units.is_dropped |= of_unit.is_dropped;
                search.of_units.is_ambiguous |= of_unit.is_ambiguous;
            }
        }
    }
    // Once too much work was done, every unit says so.
    errors.dedup();
    errors.iter().for_each(|error| diagnostics.error(error));
    for search in searches.iter_mut().filter(|search| search.marker.problem.is_none()) {
        search.marker.ghost = match search.described_as {
            UnitDetail::Unreadable => {
                search.of_units = OfUnit::default();
                Some(GhostProblem::Unreadable)
            }
            UnitDetail::Nothing => Some(GhostProblem::NoDebugInfo),
            UnitDetail::Lines => Some(GhostProblem::LinesOnly),
            UnitDetail::Unoptimized => Some(GhostProblem::Unoptimized),
            UnitDetail::NoStatements => Some(GhostProblem::NoStatements),
            UnitDetail::Everything if !search.of_units.places.is_empty() => None,
            UnitDetail::Everything if search.of_units.is_dropped => Some(GhostProblem::NoPlace),
            UnitDetail::Everything if search.ghost.shares_line => Some(GhostProblem::SharedLine),
            UnitDetail::Everything => search.of_units.is_ambiguous.then_some(GhostProblem::CodeOnLine),
        };
    }
}

/// What a unit says.
struct Answer {
    described_as: UnitDetail,
    /// For each ghost that it was asked for, in their order.
    of_ghosts: Vec<OfUnit>,
}

impl Answer {
    fn of<'a>(
        info: &'a DebugInfo<'a>,
        lookup: SiteLookup<'a>,
        unit: usize,
        asked: &UnitGhosts<'_>,
    ) -> Result<Self, Error> {
        info.charge(asked.ghosts.len() as u64)?;
        let count = asked.ghosts.len();
        let of_ghosts = match info.producer(unit) {
            Producer::Other => labels::find(info, lookup.instructions, unit, asked)?,
            Producer::Gcc => match info.frontiers(unit) {
                Frontiers::Written => statements::find(info, unit, asked)?,
                Frontiers::LinesOnly => return Ok(Self::nothing(UnitDetail::Lines, count)),
                Frontiers::Unoptimized => return Ok(Self::nothing(UnitDetail::Unoptimized, count)),
                Frontiers::Off => return Ok(Self::nothing(UnitDetail::NoStatements, count)),
            },
            Producer::Rust => blocks::find(info, lookup.instructions, unit, asked)?,
        };
        let is_full = of_ghosts.iter().any(|of| !of.places.is_empty() || of.missing > 0) || info.has_variables(unit)?;
        Ok(Self { described_as: if is_full { UnitDetail::Everything } else { UnitDetail::Lines }, of_ghosts })
    }

    fn nothing(described_as: UnitDetail, count: usize) -> Self {
        Self { described_as, of_ghosts: (0..count).map(|_| OfUnit::default()).collect() }
    }
}

impl GhostSearch<'_> {
    /// Makes the sites, by address, with what there is at each.
    fn look_up(&mut self, debug: &SiteDebug<'_>, lookup: SiteLookup<'_>) {
        let Self { marker, file, described, of_units: OfUnit { places, missing, .. }, found, .. } = self;
        let wanted = MarkerLine { file, line: marker.line, args: &described.args, is_entry: false };
        let args: Vec<Argument> = wanted.args.iter().map(|declared| Argument::unresolved(&declared.text)).collect();
        let has_dead = places.iter().any(|place| place.address.is_none());
        places.sort_by_key(|place| (place.address.is_none(), place.address));
        for places in places.chunk_by(|one, other| one.address.is_some() && one.address == other.address) {
            let Some(place) = places.iter().max_by_key(|place| place.certainty.rank()) else { continue };
            let copies = u32::try_from(places.len()).unwrap_or(u32::MAX);
            let pc = place.address.and_then(|address| debug.pc(address));
            let site = RawSite { copies, records: copies, ..RawSite::without_record(pc, place.origin) };
            let (surroundings, mut probed) = lookup.site(&wanted, &site, &args, has_dead);
            let certainty = match place.certainty {
                Certainty::Likely(LikelyReason::RemovableCode) if *missing > 0 => {
                    Certainty::Likely(LikelyReason::MissingCopies { count: *missing })
                }
                Certainty::Statement(before) => before.certainty(block(lookup, &surroundings, place.address)),
                certainty => certainty,
            };
            let judged = probed.exactness.zip(probed.reason.as_ref());
            if let Some((exactness, reason)) = judged.and_then(|(exactness, why)| certainty.judge(exactness, why)) {
                (probed.exactness, probed.reason) = (Some(exactness), Some(reason));
            }
            found.push((site, (surroundings, probed)));
        }
    }
}

/// Where the block of straight code around an address begins; `None` if it is not known.
fn block(lookup: SiteLookup<'_>, surroundings: &Result<Surroundings, Error>, address: Option<Vaddr>) -> Option<Vaddr> {
    let (address, function) = (address?, surroundings.as_ref().ok()?.instance?);
    Some(lookup.instructions?.function(function)?.block(address)?.before.last().copied().unwrap_or(address))
}
