//! The units of the debug information (DWARF 5, 3.1, 7.5). `entries.rs` reads what is in them.
//!
//! A unit is parsed when it is first asked for. All work is charged to a budget that grows with the
//! size of the debug information: a small malformed file cannot cause endless work.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use gimli::{AttributeValue, DwTag, UnitOffset, UnitSectionOffset, constants as dw};

use super::sections::{Reader, Sections};
use super::split_files::{OpenedFiles, SplitFiles};
use super::unit::{Contribution, Die, Home, Slot, Unit, by_signature, info_offset, is_partial};
use crate::address::Vaddr;
use crate::error::{DwarfProblem, Error};
use crate::location::{InfoOffset, Processor};
use crate::ranges::RangeMap;

/// The units of an image and of its supplementary file, with their entries, and the work that may
/// be spent on them.
#[derive(Debug)]
pub(super) struct Units<'s> {
    pub(super) sections: &'s Sections<'s>,
    /// The sections of the image; its `sup` has those of the supplementary file that dwz made.
    pub(super) dwarf: gimli::Dwarf<Reader<'s>>,
    /// The units of the image, then those of the supplementary file. Where the entries of a unit
    /// are in a split file, its slot also holds the split unit once that is asked for.
    pub(super) units: Vec<Slot<'s>>,
    /// How many units are the image's.
    own: usize,
    /// The split files, with the entries of units that have only a skeleton in the image.
    pub(super) split_files: OpenedFiles<'s>,
    /// For each unit that others import, the first compiled unit that imports it: the units that
    /// dwz made have no language of their own.
    languages: OnceLock<HashMap<usize, usize>>,
    by_address: OnceLock<Addresses>,
    /// The steps that are left; negative once they are spent.
    budget: AtomicI64,
    /// The tables of abbreviations, by their place in memory; units share them.
    pub(super) abbreviations: Mutex<HashMap<(usize, usize), Arc<gimli::Abbreviations>>>,
    /// The type units of the image and of the supplementary file, by signature; the first of equal
    /// ones.
    types: OnceLock<HashMap<u64, (usize, usize)>>,
    /// What is wrong with the chain of unit headers; no unit behind that is found.
    damage: Option<DwarfProblem>,
}

/// Which unit describes an address.
#[derive(Debug)]
struct Addresses {
    /// The units by address, as `.debug_aranges` says.
    listed: RangeMap<usize>,
    /// The units by address, as those say that `.debug_aranges` does not list.
    scanned: OnceLock<UnitAddresses>,
    unlisted: Vec<usize>,
}

/// The largest charge: several threads that charge too much at once cannot make the budget wrap
/// around.
const MAX_CHARGE: i64 = i64::MAX / 4096;

/// What the units themselves say.
#[derive(Debug)]
struct UnitAddresses {
    units: RangeMap<usize>,
    /// What is wrong with the first unit that cannot be read.
    damage: Option<DwarfProblem>,
}

impl<'s> Units<'s> {
    /// Reads the unit headers of an image and of its supplementary file. Split files are read when
    /// their entries are asked for.
    pub(super) fn new(
        sections: &'s Sections<'s>,
        supplementary: Option<&'s Sections<'s>>,
        files: Option<&'s dyn SplitFiles>,
    ) -> Self {
        let mut dwarf = sections.dwarf();
        let (mut units, mut damage) = (Vec::new(), None);
        headers(&dwarf, || Home::Image, &mut units, &mut damage);
        let own = units.len();
        if let Some(supplementary) = supplementary {
            let supplementary = supplementary.dwarf();
            headers(&supplementary, || Home::Supplementary, &mut units, &mut damage);
            dwarf.set_sup(supplementary);
        }
        let work = [Some(sections), supplementary].into_iter().flatten().map(Sections::allowed_work);
        let budget = work.fold(1 << 20, u64::saturating_add);
        Self {
            sections,
            dwarf,
            units,
            own,
            split_files: OpenedFiles::new(files),
            languages: OnceLock::new(),
            by_address: OnceLock::new(),
            budget: AtomicI64::new(i64::try_from(budget).unwrap_or(i64::MAX)),
            abbreviations: Mutex::default(),
            types: OnceLock::new(),
            damage,
        }
    }

    /// What is wrong with the debug information as a whole; `None` if all units were found, and the
    /// addresses of those that were asked could be read.
    pub(super) fn damage(&self) -> Option<&DwarfProblem> {
        let scanned = || self.by_address.get()?.scanned.get()?.damage.as_ref();
        self.damage.as_ref().or_else(scanned)
    }

    /// The processor.
    pub(super) fn processor(&self) -> Processor {
        self.sections.processor()
    }

    /// Allows so many more steps of work: the work grows with the number of sites, not only with
    /// the debug information. Does nothing once all steps are spent: an answer may already lack a
    /// part.
    pub(super) fn allow(&self, steps: u64) {
        let steps = i64::try_from(steps).unwrap_or(i64::MAX);
        let allow = |left: i64| (left >= 0).then(|| left.saturating_add(steps));
        let _ = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, allow);
    }

    /// Charges so many steps of work: entries, rows, operations. Once the budget is spent, every
    /// later charge fails too: no answer is made from a part of the debug information.
    pub(super) fn charge(&self, steps: u64) -> Result<(), Error> {
        // One atomic subtraction, because this runs millions of times. A spent budget stays
        // negative.
        let cost = i64::try_from(steps).unwrap_or(i64::MAX).min(MAX_CHARGE);
        if self.budget.load(Ordering::Relaxed) < 0 || self.budget.fetch_sub(cost, Ordering::Relaxed) < cost {
            return Err(Error::dwarf(None, DwarfProblem::WorkLimit));
        }
        Ok(())
    }

    /// Fails if the budget is spent. Call it before passing over what could not be read: the budget
    /// must not be the reason.
    pub(super) fn check_work_left(&self) -> Result<(), Error> {
        self.charge(0)
    }

    /// How many units there are.
    pub(super) fn unit_count(&self) -> usize {
        self.units.len()
    }

    /// How many units are the image's: the compiled ones, and those that dwz made of common
    /// entries.
    pub(super) fn own_count(&self) -> usize {
        self.own
    }

    /// The units that have lines and addresses: none of the supplementary file, and none that dwz
    /// made of common entries.
    pub(super) fn compiled_units(&self) -> impl Iterator<Item = usize> {
        (0..self.own).filter(|&unit| !self.is_partial(unit))
    }

    fn is_partial(&self, unit: usize) -> bool {
        self.own_unit(unit).is_ok_and(is_partial)
    }

    /// The factor in the numbers of units of split files: such a number is that of the skeleton
    /// plus a multiple of this factor. The multiple 0 is the skeleton's own entries, the others are
    /// type units. For the type units of a package, [`Self::unit_count`] replaces the number of the
    /// skeleton.
    pub(super) fn stride(&self) -> usize {
        self.units.len().saturating_add(1)
    }

    /// A unit in its table.
    pub(super) fn slot(&self, index: usize) -> Result<&Slot<'s>, Error> {
        let slot = match index.checked_sub(self.units.len()) {
            None => self.units.get(index),
            Some(_) => {
                let (nth, of) = (index / self.stride(), index % self.stride());
                nth.checked_sub(1).and_then(|nth| self.split_types(of)?.units.get(nth))
            }
        };
        slot.ok_or_else(|| Error::dwarf(None, DwarfProblem::NoSuchUnit))
    }

    /// A unit of the image: the skeleton, if its entries are in a split file.
    pub(super) fn own_unit(&self, index: usize) -> Result<&Unit<'s>, Error> {
        let slot = self.slot(index)?;
        let unit = slot.unit.get_or_init(|| self.parse(self.home(slot), slot.header));
        unit.as_ref().map_err(|error| Error::dwarf(Some(info_offset(&slot.header).0), error.clone()))
    }

    /// A unit, parsed, without its line program.
    pub(super) fn unit(&self, index: usize) -> Result<&Unit<'s>, Error> {
        match self.split(index) {
            Some(split) => Ok(&split.unit),
            None => self.own_unit(index),
        }
    }

    /// The sections that a unit of the image refers to.
    pub(super) fn own_dwarf(&self, index: usize) -> Result<&gimli::Dwarf<Reader<'s>>, Error> {
        Ok(self.home(self.slot(index)?))
    }

    /// The sections that the entries of a unit refer to.
    pub(super) fn dwarf_of(&self, index: usize) -> Result<&gimli::Dwarf<Reader<'s>>, Error> {
        match self.split(index) {
            Some(split) => Ok(&split.of.dwarf),
            None => self.own_dwarf(index),
        }
    }

    pub(super) fn home<'a>(&'a self, slot: &'a Slot<'s>) -> &'a gimli::Dwarf<Reader<'s>> {
        match &slot.home {
            Home::Image => &self.dwarf,
            Home::Supplementary => self.dwarf.sup().unwrap_or(&self.dwarf),
            Home::Split(of) => &of.dwarf,
        }
    }

    /// The part of a split file that belongs to a unit; `None` if the unit is in no split file.
    pub(super) fn contribution(&self, index: usize) -> Option<&Contribution<'s>> {
        match (self.split(index), &self.slot(index).ok()?.home) {
            (Some(split), _) => Some(&split.of),
            (None, Home::Split(of)) => Some(of),
            (None, _) => None,
        }
    }

    /// The header of the entries of a unit.
    pub(super) fn header(&self, index: usize) -> Option<&gimli::UnitHeader<Reader<'s>>> {
        match self.split(index) {
            Some(split) => Some(&split.unit.header),
            None => Some(&self.slot(index).ok()?.header),
        }
    }

    /// The first unit that describes an address; `None` if none does.
    pub(super) fn unit_at(&self, address: Vaddr) -> Option<usize> {
        let addresses = self.by_address.get_or_init(|| self.listed());
        let scan = || self.scan(&addresses.unlisted);
        addresses.listed.get(address.0).or_else(|| addresses.scanned.get_or_init(scan).units.get(address.0))
    }

    /// The units by address, from `.debug_aranges` (DWARF 5, 6.1.2).
    fn listed(&self) -> Addresses {
        let mut ranges = Vec::new();
        let mut is_listed = vec![false; self.own];
        super::aranges::ranges(self.sections.reader(".debug_aranges"), |offset, range| {
            if let Some(unit) = self.unit_index(UnitSectionOffset::DebugInfoOffset(offset)) {
                ranges.push((range, std::cmp::Reverse(unit), unit));
                if let Some(listed) = is_listed.get_mut(unit) {
                    *listed = true;
                }
            }
        });
        let unlisted = is_listed.iter().enumerate().filter(|(_, listed)| !**listed).map(|(unit, _)| unit).collect();
        Addresses { listed: RangeMap::new(&ranges), scanned: OnceLock::new(), unlisted }
    }

    /// The units by address, from their own entries.
    fn scan(&self, units: &[usize]) -> UnitAddresses {
        let (mut ranges, mut damage) = (Vec::new(), None);
        for &index in units {
            // For a unit in a split file, the skeleton has the addresses.
            match self.unit_ranges(index) {
                Ok(found) => ranges.extend(found.into_iter().map(|range| (range, std::cmp::Reverse(index), index))),
                Err(error) => damage = damage.or_else(|| Some(DwarfProblem::UnitNotRead(error.into()))),
            }
        }
        UnitAddresses { units: RangeMap::new(&ranges), damage }
    }

    pub(super) fn unit_ranges(&self, index: usize) -> Result<Vec<Range<u64>>, Error> {
        let unit = self.own_unit(index)?;
        let root = unit.header.header_size();
        let start = info_offset(&unit.header).0.saturating_add(root as u64);
        let error = |error: gimli::Error| Error::dwarf(Some(start), error);
        let entry = unit.entry(UnitOffset(root)).map_err(error)?;
        self.entry_ranges(&self.dwarf, unit, &entry).map_err(error)
    }

    /// The unit of the image that starts at an offset.
    fn unit_index(&self, offset: UnitSectionOffset) -> Option<usize> {
        self.units.get(..self.own)?.binary_search_by_key(&offset, |slot| slot.header.offset()).ok()
    }

    /// The entry at an offset in `.debug_info` of the image or of the supplementary file; `None` if
    /// that is in no unit.
    pub(super) fn find_die(&self, in_supplementary: bool, offset: usize) -> Option<Die> {
        let wanted = UnitSectionOffset::DebugInfoOffset(gimli::DebugInfoOffset(offset));
        let first = if in_supplementary { self.own } else { 0 };
        let units = if in_supplementary { self.units.get(self.own..)? } else { self.units.get(..self.own)? };
        let unit = units.partition_point(|slot| slot.header.offset() <= wanted).checked_sub(1)?;
        let offset = wanted.as_debug_info_offset()?.to_unit_offset(&units.get(unit)?.header)?;
        Some(Die { unit: first.checked_add(unit)?, offset: offset.0 })
    }

    /// The entry at an offset in `.debug_info` of the file that a unit is in; `None` if that is in
    /// no unit.
    pub(super) fn die_in(&self, unit: usize, offset: gimli::DebugInfoOffset) -> Option<Die> {
        match (self.contribution(unit), &self.slot(unit).ok()?.home) {
            (Some(of), _) => self.split_die(unit, of, offset),
            (None, home) => self.find_die(matches!(home, Home::Supplementary), offset.0),
        }
    }

    /// The entry of an [`Self::info_offset`]; `None` if that is in no unit. It does not check that
    /// an entry starts there.
    pub(super) fn die_at(&self, offset: InfoOffset) -> Option<Die> {
        match (offset.0 >> OFFSET).checked_sub(1) {
            None => self.find_die(false, usize::try_from(offset.0).ok()?),
            Some(unit) => {
                let unit = usize::try_from(unit).ok()?;
                let start = info_offset(self.header(unit)?).0;
                let offset = (offset.0 & ((1 << OFFSET) - 1)).checked_sub(start)?;
                Some(Die { unit, offset: usize::try_from(offset).ok()? })
            }
        }
    }

    /// An entry as a number, its identity in a [`crate::location::Location`]: its offset in
    /// `.debug_info` or `.debug_types`. The bits from 40 up number the unit of an entry in another
    /// file.
    pub(super) fn info_offset(&self, die: Die) -> InfoOffset {
        let offset = self.section_offset(die);
        let is_here = die.unit < self.own && self.split(die.unit).is_none();
        let unit = if is_here { 0 } else { die.unit as u64 + 1 };
        match (offset >> OFFSET, unit.checked_mul(1 << OFFSET)) {
            (0, Some(unit)) => InfoOffset(unit | offset),
            _ => InfoOffset(u64::MAX),
        }
    }

    /// The offset of an entry in its section.
    fn section_offset(&self, die: Die) -> u64 {
        let start = self.header(die.unit).map_or(0, |header| info_offset(header).0);
        start.saturating_add(die.offset as u64)
    }

    /// An error at an entry.
    pub(super) fn error(&self, die: Die, problem: impl Into<DwarfProblem>) -> Error {
        let (offset, problem) = (self.section_offset(die), problem.into());
        match self.contribution(die.unit) {
            Some(of) => {
                let (path, problem) = (Arc::clone(&of.path), Box::new(problem));
                Error::dwarf(None, DwarfProblem::InSplitFile { path, offset, problem })
            }
            None if die.unit >= self.own => {
                Error::dwarf(None, DwarfProblem::InSupplementaryFile { offset, problem: Box::new(problem) })
            }
            None => Error::dwarf(Some(offset), problem),
        }
    }

    /// The type in a type unit that an entry of a unit refers to.
    pub(super) fn type_unit(&self, from: usize, signature: gimli::DebugTypeSignature) -> Option<Die> {
        for of in [from % self.stride(), self.unit_count()] {
            if let Some((nth, offset)) = self.split_types(of).and_then(|types| types.find(signature)) {
                return Some(Die { unit: nth.checked_add(1)?.checked_mul(self.stride())?.checked_add(of)?, offset });
            }
        }
        let types = self.types.get_or_init(|| by_signature(&self.units));
        types.get(&signature.0).map(|&(unit, offset)| Die { unit, offset })
    }

    /// The language of a unit (DWARF 5, 3.1.1); `None` if it names none. A unit that dwz made names
    /// none: it has the language of the units that import it.
    pub(super) fn unit_language(&self, unit: usize) -> Option<gimli::DwLang> {
        let said = |unit| match self.own_attribute(self.root(unit).ok()?, dw::DW_AT_language).ok()?? {
            AttributeValue::Language(language) => Some(language),
            _ => None,
        };
        said(unit).or_else(|| {
            if unit >= self.units.len() || !self.is_partial(unit) {
                return None;
            }
            said(*self.languages.get_or_init(|| self.importers()).get(&unit)?)
        })
    }

    /// For each unit that others import, the first compiled unit that imports it.
    fn importers(&self) -> HashMap<usize, usize> {
        let mut importers = HashMap::new();
        let mut left: Vec<(usize, usize)> = self.compiled_units().map(|unit| (unit, unit)).collect();
        left.reverse();
        while let Some((unit, importer)) = left.pop() {
            // dwz writes its imports before all other entries.
            let Ok(children) = self.leading(unit, dw::DW_TAG_imported_unit) else { continue };
            for die in children {
                let imported = self.own_attribute(die, dw::DW_AT_import);
                let Ok(Some(imported)) = imported.map(|value| self.reference(die, &value?).ok()) else { continue };
                if let std::collections::hash_map::Entry::Vacant(entry) = importers.entry(imported.unit) {
                    entry.insert(importer);
                    left.push((imported.unit, importer));
                }
            }
        }
        importers
    }

    /// Whether a unit imports others, which dwz made of common entries.
    pub(super) fn imports(&self, unit: usize) -> Result<bool, Error> {
        Ok(!self.leading(unit, dw::DW_TAG_imported_unit)?.is_empty())
    }

    /// The first entries below the root of a unit, up to the first with another tag.
    fn leading(&self, index: usize, tag: DwTag) -> Result<Vec<Die>, Error> {
        let unit = self.own_unit(index)?;
        let error = |error: gimli::Error| self.error(Die { unit: index, offset: 0 }, error);
        let mut entries = unit.entries();
        entries.next_entry().map_err(error)?;
        let mut leading = Vec::new();
        while entries.next_entry().map_err(error)?.is_some() {
            self.charge(1)?;
            let Some(entry) = entries.current().filter(|entry| entry.tag() == tag) else { break };
            leading.push(Die { unit: index, offset: entry.offset().0 });
        }
        Ok(leading)
    }

    /// The first entry of a unit.
    pub(super) fn root(&self, unit: usize) -> Result<Die, Error> {
        let header = self.header(unit).ok_or_else(|| Error::dwarf(None, DwarfProblem::NoSuchUnit))?;
        Ok(Die { unit, offset: header.header_size() })
    }
}

/// The headers of the units in some sections.
fn headers<'s>(
    dwarf: &gimli::Dwarf<Reader<'s>>,
    home: impl Fn() -> Home<'s>,
    units: &mut Vec<Slot<'s>>,
    damage: &mut Option<DwarfProblem>,
) {
    let mut headers = dwarf.units();
    let mut end = 0;
    loop {
        match headers.next() {
            Ok(Some(header)) => {
                end = info_offset(&header).0.saturating_add(header.length_including_self() as u64);
                units.push(Slot::new(header, home()));
            }
            Ok(None) => break,
            Err(error) => {
                *damage = Some(DwarfProblem::UnitHeader { offset: end, parser: error.to_string() });
                break;
            }
        }
    }
    let mut headers = dwarf.type_units();
    while let Ok(Some(header)) = headers.next() {
        units.push(Slot::new(header, home()));
    }
}

/// How many bits of an [`InfoOffset`] are an offset in a section.
const OFFSET: u32 = 40;
