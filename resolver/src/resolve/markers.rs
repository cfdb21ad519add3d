//! Joined records as plain values: sites in order, verdicts, text put together.

use std::collections::HashMap;
use std::sync::Arc;

use object::SectionIndex;
use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use simple_markers_record::SITES;

use super::diagnostics::Diagnostics;
use super::functions::Named;
use super::instructions::{Asked, Instructions, Probed};
use super::interner::TextId;
use super::join::{Joined, Pc, RawMarker, RawSite};
use super::site_debug::{SiteDebug, Surroundings};
use super::{
    Absence, Argument, DeclaredArgument, Described, Exactness, ExactnessReason, LineProblem, Marker, Origin, Site,
    SitePlace, Survival, describe, kept,
};
use crate::Error;
use crate::address::{SectionOffset, Vaddr};
use crate::dwarf::Die;
use crate::image::Image;
use crate::location::Location;
use crate::text;

/// The markers of an image. `sites_are_known`: a marker without a site has none anywhere.
pub(super) fn markers(
    image: &Image<'_>,
    mut joined: Joined<'_>,
    named: HashMap<Pc, Named>,
    debug: Option<&SiteDebug<'_, '_>>,
    instructions: Option<&Instructions<'_, '_, '_, '_>>,
    sites_are_known: bool,
    diagnostics: &mut Diagnostics,
) -> Vec<Marker> {
    let mut markers = std::mem::take(&mut joined.markers).into_iter();
    let (described, section_names) = (HashMap::new(), HashMap::new());
    let holders = HashMap::new();
    let mut finish = Finish { image, joined, named, described, section_names, holders, diagnostics };
    let mut finished = Vec::with_capacity(markers.len());
    loop {
        let begun: Vec<Begun> = markers.by_ref().take(TOGETHER).map(|raw| finish.begin(raw)).collect();
        if begun.is_empty() {
            finish.fold(&mut finished);
            return finished;
        }
        let around: Vec<Vec<Found>> = match (debug, instructions) {
            (None, None) => Vec::new(),
            _ => begun.par_iter().map(|marker| marker.surroundings(debug, instructions)).collect(),
        };
        let mut around = around.into_iter();
        for begun in begun {
            let around = around.next().unwrap_or_default();
            let marker = finish.marker(begun, finished.len(), around, sites_are_known);
            finished.push(marker);
        }
    }
}

/// What the debug information says of a site, and what its instructions say.
type Found = (Result<Surroundings, Error>, Probed);

/// What is said of a marker that the line table has no place for.
fn unplaced(problem: LineProblem) -> Absence {
    match problem {
        LineProblem::SeveralFiles(files) => Absence::Ambiguous { files },
        problem => Absence::Unresolved { problem },
    }
}

/// Whether the place of a site is in its function.
fn is_inside(probed: &Probed) -> bool {
    !matches!(probed.exactness, None | Some(Exactness::Outside))
}

/// Finds how many copies of a marker stand at each address, of what one file has there.
fn count_copies(sites: &mut [RawSite]) {
    if sites.len() < 2 {
        return;
    }
    let mut runs: HashMap<(Pc, u32), u32> = HashMap::new();
    for site in sites.iter() {
        if let Some(pc) = site.pc {
            let count = runs.entry((pc, site.run)).or_default();
            *count = count.saturating_add(1);
        }
    }
    // The most of a run, and all.
    let mut most: HashMap<Pc, (u32, u32)> = HashMap::new();
    for ((pc, _), count) in runs {
        let (most, all) = most.entry(pc).or_default();
        (*most, *all) = (count.max(*most), all.saturating_add(count));
    }
    for site in sites {
        (site.copies, site.records) = site.pc.and_then(|pc| most.get(&pc).copied()).unwrap_or((1, 1));
    }
}

/// So many markers are looked up in the debug information at once. What was begun of them is kept meanwhile.
const TOGETHER: usize = 1024;

/// A marker of which everything is known but what the debug information says of its sites, which is asked for all of them in parallel.
struct Begun {
    raw: RawMarker,
    file: Arc<str>,
    described: Described,
    /// Of each site, the arguments as far as its record says, and what is wrong with that.
    kept: Vec<(Vec<Argument>, Vec<Error>)>,
}

impl Begun {
    fn surroundings(
        &self,
        debug: Option<&SiteDebug<'_, '_>>,
        instructions: Option<&Instructions<'_, '_, '_, '_>>,
    ) -> Vec<Found> {
        let has_dead = self.raw.sites.iter().any(|site| site.pc.is_none());
        let site = |(site, (args, _)): (&RawSite, &(Vec<Argument>, Vec<Error>))| {
            let Some(pc) = site.pc else { return (Ok(Surroundings::default()), Probed::default()) };
            let is_kept = |index: usize| args.get(index).is_none_or(|arg: &Argument| arg.is_kept);
            let around = match debug {
                Some(debug) => debug.site(pc, &self.file, self.raw.line, &self.described.args, instructions, is_kept),
                None => Ok(Surroundings::default()),
            };
            let Some(instructions) = instructions else { return (around, Probed::default()) };
            let found = around.as_ref().ok();
            let resolved = found.into_iter().flat_map(|around| &around.args).filter(|arg| !arg.is_kept);
            let locations = args.iter().chain(resolved).filter_map(|arg| arg.location.as_ref());
            let registers: Vec<_> = locations.flat_map(Location::registers).collect();
            let probed = instructions.site(&Asked {
                pc,
                anchored: site.anchored,
                copies: site.copies,
                may_be_elsewhere: has_dead || site.records > 1 || site.origin != Origin::Record,
                function: found.and_then(|around| around.instance),
                is_not_there: found.is_some_and(|around| around.is_not_there),
                registers: &registers,
            });
            (around, probed)
        };
        self.raw.sites.par_iter().zip(&self.kept).map(site).collect()
    }
}

/// Turns joined records into plain values.
struct Finish<'i, 'data, 'a> {
    image: &'i Image<'data>,
    joined: Joined<'a>,
    named: HashMap<Pc, Named>,
    described: HashMap<(TextId, TextId), Described>,
    section_names: HashMap<usize, Arc<str>>,
    /// The functions that the debug information has for the markers at a place, and the sites there, by their indices.
    holders: HashMap<Pc, Vec<(Option<Die>, usize, usize)>>,
    diagnostics: &'i mut Diagnostics,
}

impl Finish<'_, '_, '_> {
    fn begin(&mut self, mut raw: RawMarker) -> Begun {
        count_copies(&mut raw.sites);
        // Live ones first, by address; two records of one place that keep the same are one site.
        raw.sites.sort_by_key(|site| (site.pc.is_none(), site.pc, site.column, site.operands, site.offset));
        raw.sites.dedup_by_key(|site| (site.pc, site.column, site.operands, site.pc.is_none().then_some(site.offset)));
        let described = self.describe(&raw);
        let size = described.args.len().saturating_mul(size_of::<Argument>());
        let kept = raw.sites.iter().map(|site| match self.joined.texts.pay(size) {
            true => self.arguments(site, &described.args),
            false => (Vec::new(), Vec::new()),
        });
        let kept = kept.collect();
        Begun { file: self.joined.texts.text(raw.file), raw, described, kept }
    }

    fn marker(&mut self, begun: Begun, index: usize, around: Vec<Found>, sites_are_known: bool) -> Marker {
        let Begun { raw, file, described, kept } = begun;
        let survival = match (raw.sites.first(), sites_are_known) {
            (Some(RawSite { pc: Some(_), .. }), _) => Some(Survival::Live),
            (Some(_), _) => Some(Survival::Discarded),
            (None, true) => Some(Survival::Eliminated),
            (None, false) => None,
        };
        let mut around = around.into_iter();
        let mut sites = Vec::with_capacity(raw.sites.len());
        for (site, (args, errors)) in raw.sites.iter().zip(kept) {
            errors.iter().for_each(|error| self.diagnostics.error(error));
            let (around, probed) = around.next().unwrap_or_else(|| (Ok(Surroundings::default()), Probed::default()));
            let around = around.unwrap_or_else(|error| {
                self.diagnostics.error(&error);
                Surroundings::default()
            });
            if let (Some(pc), Some(_)) = (site.pc, around.instance.filter(|_| is_inside(&probed))) {
                let function = around.instance.filter(|_| !around.is_not_there);
                self.holders.entry(pc).or_default().push((function, index, sites.len()));
            }
            sites.push(self.site(site, args, around, probed));
        }
        let text = |id| self.joined.texts.text(id);
        Marker {
            id: 0,
            name: text(raw.name),
            file,
            line: raw.line,
            column: sites.iter().find_map(|site| site.column),
            format: text(raw.format),
            description: described.description,
            args: described.args,
            declared: raw.declared,
            survival,
            sites,
            absence: raw.problem.map(unplaced),
        }
    }

    fn describe(&mut self, raw: &RawMarker) -> Described {
        let texts = &mut self.joined.texts;
        let described = self.described.entry((raw.format, raw.args)).or_insert_with(|| {
            let (format, args) = (texts.bytes(raw.format), texts.bytes(raw.args));
            // A bound for what comes out: each `%d` takes one argument.
            if texts.pay(format.len().saturating_add(args.len().saturating_mul(16))) {
                describe(format, args)
            } else {
                Described { description: texts.text(raw.format), args: Arc::from([]) }
            }
        });
        described.clone()
    }

    fn site(&mut self, raw: &RawSite, mut args: Vec<Argument>, around: Surroundings, probed: Probed) -> Site {
        let (place, file_offset) = match raw.pc {
            None => (None, None),
            Some(Pc { section: None, address }) => {
                (Some(SitePlace::Address(Vaddr(address))), self.image.file_offset(Vaddr(address)))
            }
            Some(Pc { section: Some(index), address }) => {
                let offset = SectionOffset(address);
                let name = self.section_names.entry(index);
                let section = Arc::clone(name.or_insert_with(|| self.image.section_name(SectionIndex(index)).into()));
                let file_offset = self.image.section_file_offset(SectionIndex(index), offset);
                (Some(SitePlace::Section { section, offset }), file_offset)
            }
        };
        let named = raw.pc.and_then(|pc| self.named.get(&pc)).cloned();
        let (symbol, symbol_offset) = named.as_ref().and_then(|named| named.symbol.clone()).unzip();
        for (argument, resolved) in args.iter_mut().zip(around.args) {
            if !argument.is_kept {
                *argument = resolved;
            }
        }
        Site {
            place,
            file_offset,
            symbol,
            symbol_offset,
            function: named.map(|named| named.function).or(around.function),
            inlined: around.inlined,
            scope_ended: around.scope_ended,
            column: (raw.column != 0).then_some(raw.column),
            origin: raw.origin,
            anchored: raw.anchored,
            exactness: probed.exactness,
            exactness_reason: probed.reason,
            predecessors: probed.predecessors,
            instruction: probed.instruction,
            probe: probed.probe,
            args,
        }
    }

    /// Says of sites at one place whose functions are different ones that these are folded.
    fn fold(&mut self, markers: &mut [Marker]) {
        for sites in self.holders.values() {
            let first = sites.first().map(|(function, _, _)| *function);
            if sites.iter().all(|(function, _, _)| Some(*function) == first) {
                continue;
            }
            for &(_, marker, site) in sites {
                if let Some(site) = markers.get_mut(marker).and_then(|marker| marker.sites.get_mut(site)) {
                    // The names of the functions say more.
                    if site.exactness != Some(Exactness::Folded) {
                        site.exactness_reason = Some(ExactnessReason::FoldedMarkers);
                    }
                    site.exactness = Some(Exactness::Folded);
                }
            }
        }
    }

    /// The arguments of a site as far as its record says, and what is wrong with that.
    fn arguments(&self, raw: &RawSite, declared: &[DeclaredArgument]) -> (Vec<Argument>, Vec<Error>) {
        let operands = raw.operands.map_or(&[][..], |id| self.joined.texts.bytes(id));
        let mut errors = Vec::new();
        let args = kept::arguments(declared, operands, self.image.processor(), |entry| {
            let (offset, entry) = (SectionOffset(raw.offset as u64), text::from_bytes(entry));
            errors.push(Error::Operand { section: SITES, offset, entry });
        });
        (args, errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_records_of_one_run() {
        let site = |address, run| RawSite {
            offset: 0,
            pc: Some(Pc { section: None, address }),
            column: 0,
            anchored: false,
            operands: None,
            run,
            copies: 1,
            records: 1,
            origin: Origin::Record,
        };
        // Three of an unrolled loop; the one of a function that two files have.
        let mut sites =
            [site(16, 1), site(16, 1), site(16, 1), site(32, 2), site(32, 4), RawSite { pc: None, ..site(0, 5) }];
        count_copies(&mut sites);
        assert_eq!(sites.map(|site| site.copies), [3, 3, 3, 1, 1, 1]);
        assert_eq!(sites.map(|site| site.records), [3, 3, 3, 2, 2, 1]);
    }
}
