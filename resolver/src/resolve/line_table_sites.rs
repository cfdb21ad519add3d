//! The sites of markers without site records (C compiled with the macro of 2008): the line table
//! says where their lines are.
//!
//! All markers are searched in one group of units at a time, and their sites are looked up right
//! away. So each unit is read once, and its caches are dropped before the next group is read.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefMutIterator as _, ParallelIterator as _};
use simple_markers_record::DECLARATIONS;

use super::descriptions::Descriptions;
use super::diagnostics::Diagnostics;
use super::join::{RawMarker, RawMarkers, RawSite};
use super::line_sites::{LineProblem, LineSearch};
use super::lookup::SiteLookup;
use super::pc::Pc;
use super::site_answer::SiteAnswer;
use super::site_debug::{MarkerLine, OfLine, SiteDebug};
use super::{Argument, DiagnosticKind, FormatDescription, Origin};
use crate::Error;

/// How many units are read before their caches are dropped.
const UNITS: usize = 64;

/// How many markers look for the nearest line before the caches of their units are dropped.
const MARKERS: usize = 128;

/// A marker whose sites are searched for.
struct LineTableSearch<'m> {
    /// Its place among the markers.
    index: usize,
    marker: &'m mut RawMarker,
    file: Arc<str>,
    described: FormatDescription,
    /// `None` if the search is over.
    line: Option<LineSearch>,
    sites: Vec<(RawSite, SiteAnswer)>,
    problem: Option<LineProblem>,
    error: Option<Error>,
}

/// Looks up the line of each marker that has no site, and adds the sites. Adds a note for each
/// marker that is still without a site.
pub(super) fn find(
    debug: &SiteDebug<'_>,
    lookup: SiteLookup<'_>,
    joined: &mut RawMarkers<'_>,
    descriptions: &mut Descriptions,
    diagnostics: &mut Diagnostics,
) {
    let RawMarkers { texts, markers } = joined;
    let unrecorded: Vec<_> = markers.iter_mut().filter(|marker| marker.sites.is_empty() && !marker.is_ghost).collect();
    let files = || debug.find_files_of(unrecorded.iter().map(|marker| &**marker), texts);
    if let (Err(error), ()) = rayon::join(files, || lookup.prepare(!unrecorded.is_empty())) {
        return diagnostics.error(&error);
    }
    let mut searches: Vec<LineTableSearch<'_>> = Vec::with_capacity(unrecorded.len());
    for (index, marker) in unrecorded.into_iter().enumerate() {
        let (file, described) = (texts.text(marker.file), descriptions.of(texts, marker.format, marker.args));
        searches.push(LineTableSearch::start(index, marker, file, described, debug));
    }
    // Markers of one unit are next to each other.
    searches.sort_by_key(LineTableSearch::first_unit);
    let units: BTreeSet<usize> =
        searches.iter().flat_map(|search| search.line.iter().flat_map(LineSearch::units)).collect();
    let units: Vec<usize> = units.into_iter().collect();
    for units in units.chunks(UNITS) {
        let (Some(&first), Some(&last)) = (units.first(), units.last()) else { continue };
        let group = first..last.saturating_add(1);
        // One thread makes what is known of a unit and its functions; two would make it twice, or
        // wait. Only what is in the group is shared out: the rest would be one thread's half.
        let by_unit = searches.chunk_by_mut(|one, other| one.first_unit() == other.first_unit());
        let mut in_group: Vec<_> =
            by_unit.filter(|of_unit| of_unit.iter().any(|search| search.is_in(&group))).collect();
        in_group.par_iter_mut().with_max_len(1).for_each(|of_unit| {
            of_unit.iter_mut().for_each(|search| search.in_units(group.clone(), debug, lookup));
        });
        lookup.release();
    }
    for searches in searches.chunks_mut(MARKERS) {
        searches.par_iter_mut().for_each(|search| search.nearest(debug, lookup));
        lookup.release();
    }
    searches.sort_by_key(|search| search.index);
    for search in searches {
        if let Some(error) = search.error {
            diagnostics.error(&error);
            continue;
        }
        let (marker, mut sites) = (search.marker, search.sites);
        if let Some(problem) = search.problem {
            let (name, file, line) = (texts.text(marker.name), search.file, marker.line);
            diagnostics.note(DECLARATIONS, DiagnosticKind::NoSite { name, file, line, problem: problem.clone() });
            marker.problem = Some(problem);
        }
        sites.sort_by_key(|(site, _)| site.pc);
        (marker.sites, marker.found) = sites.into_iter().unzip();
    }
}

impl<'m> LineTableSearch<'m> {
    fn start(
        index: usize,
        marker: &'m mut RawMarker,
        file: Arc<str>,
        described: FormatDescription,
        debug: &SiteDebug<'_>,
    ) -> Self {
        let (line, problem, error) = match debug.search_line(&file, marker.line) {
            Ok(Ok(line)) => (Some(line), None, None),
            Ok(Err(problem)) => (None, Some(problem), None),
            Err(error) => (None, None, Some(error)),
        };
        Self { index, marker, file, described, line, sites: Vec::new(), problem, error }
    }

    /// The first unit that names the marker's file.
    fn first_unit(&self) -> Option<usize> {
        self.line.as_ref()?.units().next()
    }

    /// Whether one of these units names the marker's file.
    fn is_in(&self, units: &Range<usize>) -> bool {
        self.line.as_ref().is_some_and(|line| line.units().any(|unit| units.contains(&unit)))
    }

    /// Searches exactly the marker's line in some units.
    fn in_units(&mut self, units: Range<usize>, debug: &SiteDebug<'_>, lookup: SiteLookup<'_>) {
        let Some(line) = &mut self.line else { return };
        match debug.search_units(line, units) {
            Ok(found) => self.add(found.into_iter().map(|pc| (pc, Origin::Line)), lookup),
            Err(error) => (self.line, self.error) = (None, Some(error)),
        }
    }

    /// Searches the next line that has code, if the marker's line has none.
    fn nearest(&mut self, debug: &SiteDebug<'_>, lookup: SiteLookup<'_>) {
        let Some(line) = self.line.take().filter(LineSearch::is_empty) else { return };
        match debug.nearest_sites(&line) {
            Ok(OfLine { sites, problem }) => {
                let origin = |line: Option<u32>| line.map_or(Origin::Line, |line| Origin::Nearest { line });
                self.add(sites.into_iter().map(|(pc, line)| (pc, origin(line))), lookup);
                self.problem = problem;
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// Adds sites, with what was found there.
    fn add(&mut self, sites: impl Iterator<Item = (Pc, Origin)>, lookup: SiteLookup<'_>) {
        let wanted =
            MarkerLine { file: &self.file, line: self.marker.line, args: &self.described.args, is_entry: false };
        // No record describes the arguments.
        let mut args = Vec::new();
        for (pc, origin) in sites {
            if args.is_empty() {
                args.extend(wanted.args.iter().map(|declared| Argument::unresolved(&declared.text)));
            }
            let site = RawSite::without_record(Some(pc), origin);
            self.sites.push((site, lookup.site(&wanted, &site, &args, false)));
        }
    }
}
