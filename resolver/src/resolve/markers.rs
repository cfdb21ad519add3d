//! Joined records as plain values: sites in order, verdicts, text put together.

use std::collections::HashMap;
use std::sync::Arc;

use object::SectionIndex;
use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelRefIterator as _, IntoParallelRefMutIterator as _, ParallelIterator as _,
};
use simple_markers_record::SITES;

use super::diagnostics::Diagnostics;
use super::functions::Named;
use super::instructions::{Asked, Instructions, Probed};
use super::interner::{Interner, TextId};
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
    lookup: Lookup<'_, '_, '_>,
    descriptions: Descriptions,
    sites_are_known: bool,
    diagnostics: &mut Diagnostics,
) -> Vec<Marker> {
    let mut markers: Vec<(usize, RawMarker)> = std::mem::take(&mut joined.markers).into_iter().enumerate().collect();
    // Many markers are looked up by address, so that those of one unit are together and what was made of it can be dropped then.
    let is_sorted = markers.len() > TOGETHER;
    if is_sorted {
        let first = |marker: &RawMarker| marker.sites.iter().filter_map(|site| site.pc).min();
        markers.sort_by_cached_key(|(_, marker)| first(marker));
    }
    let (section_names, holders) = (HashMap::new(), HashMap::new());
    let mut finish = Finish { image, joined, named, descriptions, section_names, holders, diagnostics };
    let mut finished = Vec::with_capacity(markers.len());
    let mut markers = markers.into_iter();
    loop {
        let batch = markers.by_ref().take(TOGETHER);
        let mut begun: Vec<(usize, Begun)> = batch.map(|(index, raw)| (index, finish.begin(raw))).collect();
        if begun.is_empty() {
            break;
        }
        begun.par_iter_mut().for_each(|(_, marker)| marker.look_up(lookup));
        for (index, begun) in begun {
            finished.push((index, finish.marker(begun, index, sites_are_known)));
        }
        if let Some(debug) = lookup.debug {
            debug.release();
        }
    }
    if is_sorted {
        finished.sort_unstable_by_key(|(index, _)| *index);
    }
    let mut finished = finished.into_iter().map(|(_, marker)| marker).collect::<Vec<_>>();
    finish.fold(&mut finished);
    finished
}

/// What the debug information says of a site, and what its instructions say.
pub(super) type Found = (Result<Surroundings, Error>, Probed);

/// What sites are looked up in.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'l, 'd, 's> {
    pub(super) debug: Option<&'l SiteDebug<'d, 's>>,
    pub(super) instructions: Option<&'l Instructions<'l, 'l, 'l, 'l>>,
}

/// Formats of markers with their arguments, each put together once.
#[derive(Default)]
pub(super) struct Descriptions {
    known: HashMap<(TextId, TextId), Described>,
}

impl Descriptions {
    /// The description of a marker.
    pub(super) fn of(&mut self, texts: &mut Interner<'_>, raw: &RawMarker) -> Described {
        let described = self.known.entry((raw.format, raw.args)).or_insert_with(|| {
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
}

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
    /// Finds what there is at each site, where that is not known yet.
    fn look_up(&mut self, lookup: Lookup<'_, '_, '_>) {
        if !self.raw.found.is_empty() || (lookup.debug.is_none() && lookup.instructions.is_none()) {
            return;
        }
        let has_dead = self.raw.sites.iter().any(|site| site.pc.is_none());
        let wanted = Wanted { file: &self.file, line: self.raw.line, args: &self.described.args };
        let sites = self.raw.sites.par_iter().zip(&self.kept);
        self.raw.found = sites.map(|(site, (args, _))| lookup.site(&wanted, site, args, has_dead)).collect();
    }
}

/// A marker, as its sites are asked for it.
pub(super) struct Wanted<'w> {
    pub(super) file: &'w str,
    pub(super) line: u32,
    pub(super) args: &'w [DeclaredArgument],
}

impl Lookup<'_, '_, '_> {
    /// What there is at a site. `args` are the arguments as far as the site's record says, `has_dead`: a site of the marker was
    /// dropped.
    pub(super) fn site(self, wanted: &Wanted<'_>, site: &RawSite, args: &[Argument], has_dead: bool) -> Found {
        let Some(pc) = site.pc else { return (Ok(Surroundings::default()), Probed::default()) };
        let is_kept = |index: usize| args.get(index).is_none_or(|arg: &Argument| arg.is_kept);
        let around = match self.debug {
            Some(debug) => debug.site(pc, wanted.file, wanted.line, wanted.args, self.instructions, is_kept),
            None => Ok(Surroundings::default()),
        };
        let Some(instructions) = self.instructions else { return (around, Probed::default()) };
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
    }
}

/// Turns joined records into plain values.
struct Finish<'i, 'data, 'a> {
    image: &'i Image<'data>,
    joined: Joined<'a>,
    named: HashMap<Pc, Named>,
    descriptions: Descriptions,
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
        let described = self.descriptions.of(&mut self.joined.texts, &raw);
        let size = described.args.len().saturating_mul(size_of::<Argument>());
        let kept = raw.sites.iter().map(|site| match self.joined.texts.pay(size) {
            true => self.arguments(site, &described.args),
            false => (Vec::new(), Vec::new()),
        });
        let kept = kept.collect();
        Begun { file: self.joined.texts.text(raw.file), raw, described, kept }
    }

    fn marker(&mut self, begun: Begun, index: usize, sites_are_known: bool) -> Marker {
        let Begun { raw, file, described, kept } = begun;
        let survival = match (raw.sites.first(), sites_are_known) {
            (Some(RawSite { pc: Some(_), .. }), _) => Some(Survival::Live),
            (Some(_), _) => Some(Survival::Discarded),
            (None, true) => Some(Survival::Eliminated),
            (None, false) => None,
        };
        let mut around = raw.found.into_iter();
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
