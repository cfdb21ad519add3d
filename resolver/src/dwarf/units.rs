//! Units: what everything else under `dwarf/` walks on (DWARF 5, 3.1, 7.5). What is in them is for `entries.rs`.
//!
//! A unit is parsed when it is first asked for. All walking is paid for out of a budget that grows with the debug information, so
//! that no arrangement of references makes a small file take for ever.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use gimli::{AttributeValue, DwTag, UnitOffset, UnitSectionOffset, constants as dw};

use super::sections::{Reader, Sections};
use super::split::{Split, SplitFiles};
use crate::Error;
use crate::address::{SectionOffset, Vaddr};
use crate::location::{InfoOffset, Processor};
use crate::ranges::RangeMap;

pub(super) type Unit<'s> = gimli::Unit<Reader<'s>>;
pub(super) type Value<'s> = AttributeValue<Reader<'s>>;
pub(super) type Entry<'abbrev, 'unit, 's> = gimli::DebuggingInformationEntry<'abbrev, 'unit, Reader<'s>>;

/// An entry: its unit, by index, and its offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Die {
    pub(super) unit: usize,
    pub(super) offset: usize,
}

/// The units of an image and of its supplementary file, with their entries, and the work that may be spent on them.
#[derive(Debug)]
pub(super) struct Units<'s> {
    pub(super) sections: &'s Sections<'s>,
    /// That of the image itself; its `sup` is what dwz moved to a file of its own.
    pub(super) dwarf: gimli::Dwarf<Reader<'s>>,
    /// Those of the image, then those of the supplementary file. In the place of a unit that has its entries in a file of its own stands the
    /// one of that file, when it is first asked for.
    pub(super) units: Vec<Slot<'s>>,
    /// How many of them are the image's.
    own: usize,
    /// The files with entries of units that have but a skeleton in the image.
    pub(super) files: Option<&'s dyn SplitFiles>,
    /// Which of those files were paid for.
    pub(super) credited: Mutex<HashSet<(bool, u64)>>,
    /// The units of types of a package of such files (`.dwp`).
    pub(super) package_types: OnceLock<super::split::Types<'s>>,
    pub(super) package: OnceLock<Option<super::split::Package<'s>>>,
    pub(super) skeletons: OnceLock<HashMap<u64, usize>>,
    /// Of the units without a language, which dwz made, the one of the units that import them.
    languages: OnceLock<HashMap<usize, usize>>,
    by_address: OnceLock<Addresses>,
    /// Steps that are left; negative once they are spent.
    budget: AtomicI64,
    /// The tables of abbreviations, by where they stand in memory; units share them.
    pub(super) abbreviations: Mutex<HashMap<(usize, usize), Arc<gimli::Abbreviations>>>,
    /// The units of types of the image and of the supplementary file, by signature; of equal ones the first.
    types: OnceLock<HashMap<u64, (usize, usize)>>,
    /// What is wrong with the chain of unit headers, after which nothing more is found.
    damage: Option<String>,
}

/// A unit of a table.
#[derive(Debug)]
pub(super) struct Slot<'s> {
    pub(super) header: gimli::UnitHeader<Reader<'s>>,
    pub(super) home: Home<'s>,
    unit: OnceLock<Result<Unit<'s>, String>>,
    /// Its entries, where they are in another file; `None` where they are not, or that file was not found.
    pub(super) split: OnceLock<Option<Split<'s>>>,
}

impl<'s> Slot<'s> {
    pub(super) fn new(header: gimli::UnitHeader<Reader<'s>>, home: Home<'s>) -> Self {
        Self { header, home, unit: OnceLock::new(), split: OnceLock::new() }
    }
}

/// The sections that a unit is in.
#[derive(Debug)]
pub(super) enum Home<'s> {
    /// The image's.
    Image,
    /// Those of the supplementary file.
    Supplementary,
    /// Those of a file of split units: of types.
    Split(Arc<super::split::Contribution<'s>>),
}

/// Which unit describes an address.
#[derive(Debug)]
struct Addresses {
    /// As `.debug_aranges` says.
    listed: RangeMap<usize>,
    /// As the units themselves say, those that `.debug_aranges` does not speak of.
    scanned: OnceLock<Scanned>,
    unlisted: Vec<usize>,
}

/// Where a whole unit is read, its entries are paid for so many at a time.
pub(super) const CHARGE_INTERVAL: u64 = 1024;

/// The most that is taken off at once: so that many who take too much at the same time do not come round to having some left.
const MAX_CHARGE: i64 = i64::MAX / 4096;

/// What the units themselves say.
#[derive(Debug)]
struct Scanned {
    units: RangeMap<usize>,
    /// What is wrong with the first that cannot be read.
    damage: Option<String>,
}

impl<'s> Units<'s> {
    /// Reads the unit headers of an image, and of the file that dwz moved to what several images have in common. Entries that are in
    /// files of their own are read when they are asked for.
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
            files,
            credited: Mutex::default(),
            package_types: OnceLock::new(),
            package: OnceLock::new(),
            skeletons: OnceLock::new(),
            languages: OnceLock::new(),
            by_address: OnceLock::new(),
            budget: AtomicI64::new(i64::try_from(budget).unwrap_or(i64::MAX)),
            abbreviations: Mutex::default(),
            types: OnceLock::new(),
            damage,
        }
    }

    /// What is wrong with the debug information as a whole; `None` where all units were found, and those that were asked for their
    /// addresses told them.
    pub(super) fn damage(&self) -> Option<&str> {
        let scanned = || self.by_address.get()?.scanned.get()?.damage.as_deref();
        self.damage.as_deref().or_else(scanned)
    }

    /// The processor.
    pub(super) fn processor(&self) -> Processor {
        self.sections.processor()
    }

    /// Allows so many more steps of work: what is asked grows with the places that are asked for, not only with the debug information.
    /// Nothing where all were spent: who waits for an answer may have been refused a part of it.
    pub(super) fn allow(&self, steps: u64) {
        let steps = i64::try_from(steps).unwrap_or(i64::MAX);
        let allow = |left: i64| (left >= 0).then(|| left.saturating_add(steps));
        let _ = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, allow);
    }

    /// Pays for so many steps of work: entries, rows, operations. Where they are not left, nothing is: what follows fails too, and no
    /// answer comes of half of what it should be found in.
    pub(super) fn charge(&self, steps: u64) -> Result<(), Error> {
        // One subtraction, whoever else pays at the same time: it is made millions of times. Once spent, nothing is left of it.
        let cost = i64::try_from(steps).unwrap_or(i64::MAX).min(MAX_CHARGE);
        if self.budget.load(Ordering::Relaxed) < 0 || self.budget.fetch_sub(cost, Ordering::Relaxed) < cost {
            return Err(Error::dwarf(None, "more work than debug information of this size warrants"));
        }
        Ok(())
    }

    /// Fails where all work is spent: for who passes over what cannot be read, which must not be for that.
    pub(super) fn check_work_left(&self) -> Result<(), Error> {
        self.charge(0)
    }

    /// How many units there are.
    pub(super) fn unit_count(&self) -> usize {
        self.units.len()
    }

    /// How many of them are the image's: those that have lines and addresses, and those that dwz made of what others had in common.
    pub(super) fn own_count(&self) -> usize {
        self.own
    }

    /// The units that have lines and addresses: neither those of the supplementary file, nor those that it made of what others had in common.
    pub(super) fn compiled_units(&self) -> impl Iterator<Item = usize> {
        (0..self.own).filter(|&unit| !self.is_partial(unit))
    }

    fn is_partial(&self, unit: usize) -> bool {
        self.own_unit(unit).is_ok_and(is_partial)
    }

    /// How a unit in a file of split units is numbered: the number of its skeleton, and a multiple of this. 0 times are the entries of
    /// the skeleton, the rest are types. What is a skeleton's number for those of a package is [`Self::unit_count`].
    pub(super) fn stride(&self) -> usize {
        self.units.len().saturating_add(1)
    }

    /// A unit as its table has it.
    pub(super) fn slot(&self, index: usize) -> Result<&Slot<'s>, Error> {
        let slot = match index.checked_sub(self.units.len()) {
            None => self.units.get(index),
            Some(_) => {
                let (nth, of) = (index / self.stride(), index % self.stride());
                nth.checked_sub(1).and_then(|nth| self.split_types(of)?.units.get(nth))
            }
        };
        slot.ok_or_else(|| Error::dwarf(None, "no such unit"))
    }

    /// A unit as it stands in the image: where its entries are in another file, the skeleton.
    pub(super) fn own_unit(&self, index: usize) -> Result<&Unit<'s>, Error> {
        let slot = self.slot(index)?;
        let unit = slot.unit.get_or_init(|| self.parse(self.home(slot), slot.header));
        unit.as_ref().map_err(|error| Error::dwarf(Some(info_offset(&slot.header).0), error))
    }

    /// A unit, parsed; without its line program, which [`DebugInfo::line_program`] reads.
    pub(super) fn unit(&self, index: usize) -> Result<&Unit<'s>, Error> {
        match self.split(index) {
            Some(split) => Ok(&split.unit),
            None => self.own_unit(index),
        }
    }

    /// The sections that a unit as it stands in the image refers to.
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

    /// What a file of split units has of a unit; `None` where the unit is not of such a file.
    pub(super) fn contribution(&self, index: usize) -> Option<&super::split::Contribution<'s>> {
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

    /// The unit that describes an address; `None` where none does. Where several say so, the first.
    pub(super) fn unit_at(&self, address: Vaddr) -> Option<usize> {
        let addresses = self.by_address.get_or_init(|| self.listed());
        let scan = || self.scan(&addresses.unlisted);
        addresses.listed.get(address.0).or_else(|| addresses.scanned.get_or_init(scan).units.get(address.0))
    }

    /// What `.debug_aranges` says (DWARF 5, 6.1.2).
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

    /// What the units say.
    fn scan(&self, units: &[usize]) -> Scanned {
        let (mut ranges, mut damage) = (Vec::new(), None);
        for &index in units {
            // The skeleton says it where the entries are in another file.
            match self.unit_ranges(index) {
                Ok(found) => ranges.extend(found.into_iter().map(|range| (range, std::cmp::Reverse(index), index))),
                Err(error) => damage = damage.or_else(|| Some(format!("{error}, its unit is not read"))),
            }
        }
        Scanned { units: RangeMap::new(&ranges), damage }
    }

    pub(super) fn unit_ranges(&self, index: usize) -> Result<Vec<Range<u64>>, Error> {
        let unit = self.own_unit(index)?;
        let root = unit.header.header_size();
        let start = info_offset(&unit.header).0.saturating_add(root as u64);
        let error = |error: gimli::Error| Error::dwarf(Some(start), &error.to_string());
        let entry = unit.entry(UnitOffset(root)).map_err(error)?;
        self.entry_ranges(&self.dwarf, unit, &entry).map_err(error)
    }

    /// The unit of the image that starts at an offset.
    fn unit_index(&self, offset: UnitSectionOffset) -> Option<usize> {
        self.units.get(..self.own)?.binary_search_by_key(&offset, |slot| slot.header.offset()).ok()
    }

    /// The entry at an offset in `.debug_info` of the image, or of the supplementary file; `None` where that is in no unit.
    pub(super) fn find_die(&self, in_supplementary: bool, offset: usize) -> Option<Die> {
        let wanted = UnitSectionOffset::DebugInfoOffset(gimli::DebugInfoOffset(offset));
        let first = if in_supplementary { self.own } else { 0 };
        let units = if in_supplementary { self.units.get(self.own..)? } else { self.units.get(..self.own)? };
        let unit = units.partition_point(|slot| slot.header.offset() <= wanted).checked_sub(1)?;
        let offset = wanted.as_debug_info_offset()?.to_unit_offset(&units.get(unit)?.header)?;
        Some(Die { unit: first.checked_add(unit)?, offset: offset.0 })
    }

    /// The entry at an offset in `.debug_info` of the file that a unit is in; `None` where that is in no unit.
    pub(super) fn die_in(&self, unit: usize, offset: gimli::DebugInfoOffset) -> Option<Die> {
        match (self.contribution(unit), &self.slot(unit).ok()?.home) {
            (Some(of), _) => self.split_die(unit, of, offset),
            (None, home) => self.find_die(matches!(home, Home::Supplementary), offset.0),
        }
    }

    /// The entry of an [`Self::info_offset`]; `None` where that is in no unit. That an entry starts there is not looked at.
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

    /// An entry as a number, its identity in a [`crate::location::Location`]: where it is in `.debug_info` or `.debug_types` of the
    /// image; of one in another file the unit stands above bit 40.
    pub(super) fn info_offset(&self, die: Die) -> InfoOffset {
        let offset = self.section_offset(die);
        let is_here = die.unit < self.own && self.split(die.unit).is_none();
        let unit = if is_here { 0 } else { die.unit as u64 + 1 };
        match (offset >> OFFSET, unit.checked_mul(1 << OFFSET)) {
            (0, Some(unit)) => InfoOffset(unit | offset),
            _ => InfoOffset(u64::MAX),
        }
    }

    /// Where an entry is in its section.
    fn section_offset(&self, die: Die) -> u64 {
        let start = self.header(die.unit).map_or(0, |header| info_offset(header).0);
        start.saturating_add(die.offset as u64)
    }

    /// An error at an entry.
    pub(super) fn error(&self, die: Die, what: impl std::fmt::Display) -> Error {
        let offset = self.section_offset(die);
        match self.contribution(die.unit) {
            Some(of) => Error::dwarf(None, &format!("{} at {offset:#x}: {what}", of.path)),
            None if die.unit >= self.own => Error::dwarf(None, &format!("supplementary file at {offset:#x}: {what}")),
            None => Error::dwarf(Some(offset), &what.to_string()),
        }
    }

    /// The type of a unit of types that an entry of a unit means.
    pub(super) fn type_unit(&self, from: usize, signature: gimli::DebugTypeSignature) -> Option<Die> {
        for of in [from % self.stride(), self.unit_count()] {
            if let Some((nth, offset)) = self.split_types(of).and_then(|types| types.find(signature)) {
                return Some(Die { unit: nth.checked_add(1)?.checked_mul(self.stride())?.checked_add(of)?, offset });
            }
        }
        let types = self.types.get_or_init(|| by_signature(&self.units));
        types.get(&signature.0).map(|&(unit, offset)| Die { unit, offset })
    }

    /// The language of a unit (DWARF 5, 3.1.1); `None` where it says none. dwz makes units without one of what others had in common,
    /// which are of the language of those.
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

    /// Of each unit that others import the first of those that is compiled.
    fn importers(&self) -> HashMap<usize, usize> {
        let mut importers = HashMap::new();
        let mut left: Vec<(usize, usize)> = self.compiled_units().map(|unit| (unit, unit)).collect();
        left.reverse();
        while let Some((unit, importer)) = left.pop() {
            // What dwz imports stands before everything else.
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

    /// Whether a unit imports others: what dwz made of what several have in common.
    pub(super) fn imports(&self, unit: usize) -> Result<bool, Error> {
        Ok(!self.leading(unit, dw::DW_TAG_imported_unit)?.is_empty())
    }

    /// The first entries below the root of a unit, as far as they have a tag.
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
        let header = self.header(unit).ok_or_else(|| Error::dwarf(None, "no such unit"))?;
        Ok(Die { unit, offset: header.header_size() })
    }
}

/// Whether a language is C, of any year.
pub(super) fn is_c(language: gimli::DwLang) -> bool {
    matches!(language, dw::DW_LANG_C89 | dw::DW_LANG_C | dw::DW_LANG_C99 | dw::DW_LANG_C11 | dw::DW_LANG_C17)
}

/// Whether a unit is one that others import (DWARF 5, 3.1.1).
pub(super) fn is_partial(unit: &Unit<'_>) -> bool {
    let mut entries = unit.entries();
    matches!(entries.next_dfs(), Ok(Some((_, root))) if root.tag() == dw::DW_TAG_partial_unit)
}

/// The headers of the units in some sections.
fn headers<'s>(
    dwarf: &gimli::Dwarf<Reader<'s>>,
    home: impl Fn() -> Home<'s>,
    units: &mut Vec<Slot<'s>>,
    damage: &mut Option<String>,
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
                *damage = Some(format!(".debug_info at {end:#x}: {error}, units from there on are not read"));
                break;
            }
        }
    }
    let mut headers = dwarf.type_units();
    while let Ok(Some(header)) = headers.next() {
        units.push(Slot::new(header, home()));
    }
}

/// Bits of an [`InfoOffset`] that are an offset in a section.
const OFFSET: u32 = 40;

/// The units of types, by signature, each with the offset of its type; of equal ones the first.
pub(super) fn by_signature(units: &[Slot<'_>]) -> HashMap<u64, (usize, usize)> {
    let mut types = HashMap::new();
    for (unit, slot) in units.iter().enumerate() {
        if let gimli::UnitType::Type { type_signature, type_offset }
        | gimli::UnitType::SplitType { type_signature, type_offset } = slot.header.type_()
        {
            types.entry(type_signature.0).or_insert((unit, type_offset.0));
        }
    }
    types
}

pub(super) fn info_offset(header: &gimli::UnitHeader<Reader<'_>>) -> SectionOffset {
    match header.offset() {
        UnitSectionOffset::DebugInfoOffset(offset) => SectionOffset(offset.0 as u64),
        UnitSectionOffset::DebugTypesOffset(offset) => SectionOffset(offset.0 as u64),
    }
}
