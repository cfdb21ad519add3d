//! Units and their entries: what everything else under `dwarf/` walks on (DWARF 5, 2.1 to 2.3, 3.1, 7.5).
//!
//! A unit is parsed when it is first asked for. All walking is paid for out of a budget that grows with the debug information, so
//! that no arrangement of references makes a small file take for ever.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use gimli::{AttributeValue, DwAt, DwTag, RawRngListEntry, UnitOffset, UnitSectionOffset, constants as dw};

use super::sections::{Reader, Sections};
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

/// The debug information of an image.
#[derive(Debug)]
pub struct DebugInfo<'s> {
    pub(super) sections: &'s Sections<'s>,
    pub(super) dwarf: gimli::Dwarf<Reader<'s>>,
    units: Vec<Slot<'s>>,
    by_address: OnceLock<Addresses>,
    /// Call frame information by address.
    pub(super) frames: OnceLock<super::frame::Frames>,
    /// Steps that are left; negative once they are spent.
    budget: AtomicI64,
    /// The tables of abbreviations, by offset; units share them.
    pub(super) abbreviations: Mutex<HashMap<usize, Arc<gimli::Abbreviations>>>,
    /// The units of types, by signature; of equal ones the first.
    types: OnceLock<HashMap<u64, Die>>,
    pub(super) own_lines: Mutex<super::scopes::KnownLines>,
    caches: Vec<UnitCache<'s>>,
    pub(super) globals: OnceLock<super::names::Globals>,
    pub(super) matched: Mutex<HashMap<super::files::SourcePath, Arc<super::lines::Matched>>>,
    /// What is wrong with the chain of unit headers, after which nothing more is found.
    damage: Option<String>,
}

/// What was made of a unit, each when it was first asked for.
#[derive(Debug, Default)]
pub(super) struct UnitCache<'s> {
    pub(super) definitions: OnceLock<super::types::Definitions<'s>>,
    pub(super) functions: OnceLock<super::functions::Functions>,
    pub(super) files: OnceLock<super::files::UnitFiles>,
    pub(super) rows: OnceLock<super::lines::Rows>,
}

#[derive(Debug)]
struct Slot<'s> {
    header: gimli::UnitHeader<Reader<'s>>,
    unit: OnceLock<Result<Unit<'s>, String>>,
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
pub(super) const PAID_AT_ONCE: u64 = 1024;

/// The most that is taken off at once: so that many who take too much at the same time do not come round to having some left.
const MOST_AT_ONCE: i64 = i64::MAX / 4096;

/// What the units themselves say.
#[derive(Debug)]
struct Scanned {
    units: RangeMap<usize>,
    /// What is wrong with the first that cannot be read.
    damage: Option<String>,
}

/// How many links from an entry to the one that it completes are followed. Compilers make three.
const LINKS: usize = 16;

impl<'s> DebugInfo<'s> {
    /// Reads the unit headers.
    #[must_use]
    pub fn new(sections: &'s Sections<'s>) -> Self {
        let dwarf = sections.dwarf();
        let (mut units, mut damage) = (Vec::new(), None);
        let slot = |header| Slot { header, unit: OnceLock::new() };
        let mut headers = dwarf.units();
        loop {
            match headers.next() {
                Ok(Some(header)) => units.push(slot(header)),
                Ok(None) => break,
                Err(error) => {
                    let end = units.last().map_or(0, |slot: &Slot<'_>| {
                        info_offset(&slot.header).0.saturating_add(slot.header.length_including_self() as u64)
                    });
                    damage = Some(format!(".debug_info at {end:#x}: {error}, units from there on are not read"));
                    break;
                }
            }
        }
        let mut headers = dwarf.type_units();
        while let Ok(Some(header)) = headers.next() {
            units.push(slot(header));
        }
        let size = |names: &[&str]| names.iter().map(|name| sections.get(name).len() as u64).sum::<u64>();
        let entries = size(&[".debug_info", ".debug_types"]).saturating_mul(8);
        let others = size(&[".debug_line", ".debug_loc", ".debug_loclists", ".debug_ranges", ".debug_rnglists"]);
        let budget = entries.saturating_add(others.saturating_mul(2)).saturating_add(1 << 20);
        let caches = units.iter().map(|_| UnitCache::default()).collect();
        Self {
            sections,
            dwarf,
            units,
            by_address: OnceLock::new(),
            frames: OnceLock::new(),
            budget: AtomicI64::new(i64::try_from(budget).unwrap_or(i64::MAX)),
            abbreviations: Mutex::default(),
            types: OnceLock::new(),
            own_lines: Mutex::default(),
            caches,
            globals: OnceLock::new(),
            matched: Mutex::default(),
            damage,
        }
    }

    /// What is wrong with the debug information as a whole; `None` where all units were found, and those that were asked for their
    /// addresses told them.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        let scanned = || self.by_address.get()?.scanned.get()?.damage.as_deref();
        self.damage.as_deref().or_else(scanned)
    }

    /// The processor.
    #[must_use]
    pub fn processor(&self) -> Processor {
        self.sections.processor()
    }

    /// Allows so many more steps of work: what is asked grows with the places that are asked for, not only with the debug information.
    /// Nothing where all were spent: who waits for an answer may have been refused a part of it.
    pub fn allow(&self, steps: u64) {
        let steps = i64::try_from(steps).unwrap_or(i64::MAX);
        let allow = |left: i64| (left >= 0).then(|| left.saturating_add(steps));
        let _ = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, allow);
    }

    /// Pays for so many steps of work: entries, rows, operations. Where they are not left, nothing is: what follows fails too, and no
    /// answer comes of half of what it should be found in.
    pub(super) fn pay(&self, steps: u64) -> Result<(), Error> {
        // One subtraction, whoever else pays at the same time: it is made millions of times. Once spent, nothing is left of it.
        let cost = i64::try_from(steps).unwrap_or(i64::MAX).min(MOST_AT_ONCE);
        if self.budget.load(Ordering::Relaxed) < 0 || self.budget.fetch_sub(cost, Ordering::Relaxed) < cost {
            return Err(Error::dwarf(None, "more work than debug information of this size warrants"));
        }
        Ok(())
    }

    /// Fails where all work is spent: for who passes over what cannot be read, which must not be for that.
    pub(super) fn still_paid(&self) -> Result<(), Error> {
        self.pay(0)
    }

    /// How many units there are.
    pub(super) fn unit_count(&self) -> usize {
        self.units.len()
    }

    /// The header of a unit.
    pub(super) fn header(&self, index: usize) -> Option<gimli::UnitHeader<Reader<'s>>> {
        Some(self.units.get(index)?.header)
    }

    /// What was made of a unit so far.
    pub(super) fn cache(&self, index: usize) -> Result<&UnitCache<'s>, Error> {
        self.caches.get(index).ok_or_else(|| Error::dwarf(None, "no such unit"))
    }

    /// A unit, parsed; without its line program, which [`DebugInfo::line_program`] reads.
    pub(super) fn unit(&self, index: usize) -> Result<&Unit<'s>, Error> {
        let slot = self.units.get(index).ok_or_else(|| Error::dwarf(None, "no such unit"))?;
        let unit = slot.unit.get_or_init(|| self.parse(slot.header));
        unit.as_ref().map_err(|error| Error::dwarf(Some(info_offset(&slot.header).0), error))
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
        let mut is_listed = vec![false; self.units.len()];
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
            match self.unit_ranges(index) {
                Ok(found) => ranges.extend(found.into_iter().map(|range| (range, std::cmp::Reverse(index), index))),
                Err(error) => damage = damage.or_else(|| Some(format!("{error}, its unit is not read"))),
            }
        }
        Scanned { units: RangeMap::new(&ranges), damage }
    }

    fn unit_ranges(&self, index: usize) -> Result<Vec<Range<u64>>, Error> {
        let unit = self.unit(index)?;
        let root = self.root(index)?;
        let entry = unit.entry(UnitOffset(root.offset)).map_err(|error| self.error(root, error))?;
        self.entry_ranges(unit, &entry).map_err(|error| self.error(root, error))
    }

    /// The unit that starts at an offset.
    fn unit_index(&self, offset: UnitSectionOffset) -> Option<usize> {
        self.units.binary_search_by_key(&offset, |slot| slot.header.offset()).ok()
    }

    /// The entry at an offset in `.debug_info`; `None` where that is in no unit. That an entry starts there is not looked at.
    #[must_use]
    pub fn die_at(&self, offset: InfoOffset) -> Option<Die> {
        let wanted = UnitSectionOffset::DebugInfoOffset(gimli::DebugInfoOffset(usize::try_from(offset.0).ok()?));
        let after = self.units.partition_point(|slot| slot.header.offset() <= wanted);
        let unit = after.checked_sub(1)?;
        let offset = wanted.as_debug_info_offset()?.to_unit_offset(&self.units.get(unit)?.header)?;
        Some(Die { unit, offset: offset.0 })
    }

    /// Where an entry is in its section, `.debug_info` or `.debug_types`: for messages, and as its identity in a [`crate::location::Location`].
    #[must_use]
    pub fn info_offset(&self, die: Die) -> InfoOffset {
        let start = self.units.get(die.unit).map_or(0, |slot| info_offset(&slot.header).0);
        InfoOffset(start.saturating_add(die.offset as u64))
    }

    /// An error at an entry.
    pub(super) fn error(&self, die: Die, what: impl std::fmt::Display) -> Error {
        Error::dwarf(Some(self.info_offset(die).0), &what.to_string())
    }

    /// An entry, and the unit that it is in.
    pub(super) fn entry(&self, die: Die) -> Result<(&Unit<'s>, Entry<'_, '_, 's>), Error> {
        self.pay(1)?;
        let unit = self.unit(die.unit)?;
        let entry = unit.entry(UnitOffset(die.offset)).map_err(|error| self.error(die, error))?;
        Ok((unit, entry))
    }

    /// The tag of an entry.
    pub(super) fn tag(&self, die: Die) -> Result<DwTag, Error> {
        Ok(self.entry(die)?.1.tag())
    }

    /// An attribute of the entry itself.
    pub(super) fn own_attribute(&self, die: Die, name: DwAt) -> Result<Option<Value<'s>>, Error> {
        let (_, entry) = self.entry(die)?;
        let (mut attributes, mut passed) = (entry.attrs(), 0usize);
        while let Some(attribute) = attributes.next().map_err(|error| self.error(die, error))? {
            if attribute.name() == name {
                return Ok(Some(attribute.value()));
            }
            passed = passed.saturating_add(searched(&attribute));
        }
        self.pay_for_text(passed)?;
        Ok(None)
    }

    /// Attributes of the entry itself, in one pass over it.
    pub(super) fn own_attributes<const N: usize>(
        &self,
        die: Die,
        names: [DwAt; N],
    ) -> Result<[Option<Value<'s>>; N], Error> {
        let (_, entry) = self.entry(die)?;
        let mut values = [const { None }; N];
        let (mut attributes, mut passed) = (entry.attrs(), 0usize);
        while let Some(attribute) = attributes.next().map_err(|error| self.error(die, error))? {
            for (name, value) in names.iter().zip(&mut values) {
                if attribute.name() == *name && value.is_none() {
                    *value = Some(attribute.value());
                }
            }
            passed = passed.saturating_add(searched(&attribute));
        }
        self.pay_for_text(passed)?;
        Ok(values)
    }

    /// An attribute of the entry, or of what it completes (`DW_AT_abstract_origin`, `DW_AT_specification`; DWARF 5, 2.13.2 and 3.3.8), with
    /// the entry that has it: its unit is what strings, addresses and references in the value belong to.
    pub(super) fn attribute(&self, die: Die, name: DwAt) -> Result<Option<(Die, Value<'s>)>, Error> {
        let mut die = die;
        for _ in 0..LINKS {
            let [value, origin, specification] =
                self.own_attributes(die, [name, dw::DW_AT_abstract_origin, dw::DW_AT_specification])?;
            if let Some(value) = value {
                return Ok(Some((die, value)));
            }
            match origin.or(specification) {
                Some(origin) => die = self.reference(die, &origin)?,
                None => return Ok(None),
            }
        }
        Err(self.error(die, "a chain of DW_AT_abstract_origin and DW_AT_specification that does not end"))
    }

    /// What an entry completes; `None` for one that stands for itself.
    pub(super) fn origin(&self, die: Die) -> Result<Option<Die>, Error> {
        let [origin, specification] = self.own_attributes(die, [dw::DW_AT_abstract_origin, dw::DW_AT_specification])?;
        origin.or(specification).map(|origin| self.reference(die, &origin)).transpose()
    }

    /// The entry that everything that completes it leads to: an abstract instance or a declaration.
    pub(super) fn root_origin(&self, die: Die) -> Result<Die, Error> {
        let mut die = die;
        for _ in 0..LINKS {
            match self.origin(die)? {
                Some(origin) => die = origin,
                None => return Ok(die),
            }
        }
        Err(self.error(die, "a chain of DW_AT_abstract_origin and DW_AT_specification that does not end"))
    }

    /// The entry that a reference in an attribute of `from` means (DWARF 5, 7.5.5, class reference).
    pub(super) fn reference(&self, from: Die, value: &Value<'s>) -> Result<Die, Error> {
        let die = match value {
            AttributeValue::UnitRef(offset) => Some(Die { unit: from.unit, offset: offset.0 }),
            AttributeValue::DebugInfoRef(offset) => self.die_at(InfoOffset(offset.0 as u64)),
            AttributeValue::DebugTypesRef(signature) => self.type_unit(*signature),
            AttributeValue::DebugInfoRefSup(_) => {
                return Err(self.error(from, "a reference into a supplementary file (dwz), which is not read"));
            }
            _ => None,
        };
        die.ok_or_else(|| self.error(from, "a reference that leads nowhere"))
    }

    /// The entry of an attribute that is a reference, of the entry or of what it completes; `None` where there is no such attribute.
    pub(super) fn referred(&self, die: Die, name: DwAt) -> Result<Option<Die>, Error> {
        match self.attribute(die, name)? {
            Some((from, value)) => self.reference(from, &value).map(Some),
            None => Ok(None),
        }
    }

    /// The type of a type unit.
    fn type_unit(&self, signature: gimli::DebugTypeSignature) -> Option<Die> {
        let types = self.types.get_or_init(|| {
            let mut types = HashMap::new();
            for (unit, slot) in self.units.iter().enumerate() {
                if let gimli::UnitType::Type { type_signature, type_offset }
                | gimli::UnitType::SplitType { type_signature, type_offset } = slot.header.type_()
                {
                    types.entry(type_signature.0).or_insert(Die { unit, offset: type_offset.0 });
                }
            }
            types
        });
        types.get(&signature.0).copied()
    }

    /// Pays for bytes that are searched for the end of a text. Few cost nothing, which most are.
    fn pay_for_text(&self, bytes: usize) -> Result<(), Error> {
        match bytes as u64 / 64 {
            0 => Ok(()),
            steps => self.pay(steps),
        }
    }

    /// A string attribute of the entry, or of what it completes; `None` where there is none.
    pub(super) fn string(&self, die: Die, name: DwAt) -> Result<Option<Cow<'s, [u8]>>, Error> {
        let Some((from, value)) = self.attribute(die, name)? else { return Ok(None) };
        let unit = self.unit(from.unit)?;
        let string = self.text(unit, value).map_err(|error| self.error(from, error))?;
        self.pay_for_text(string.len().saturating_mul(8))?;
        Ok(Some(Cow::Borrowed(string.slice())))
    }

    /// `DW_AT_name` of the entry, or of what it completes.
    pub(super) fn name(&self, die: Die) -> Result<Option<Cow<'s, [u8]>>, Error> {
        self.string(die, dw::DW_AT_name)
    }

    /// An unsigned constant, of the entry or of what it completes; `None` where there is none, or one of another class.
    pub(super) fn unsigned(&self, die: Die, name: DwAt) -> Result<Option<u64>, Error> {
        Ok(self.attribute(die, name)?.and_then(|(_, value)| value.udata_value()))
    }

    /// Whether a flag is set, on the entry or on what it completes.
    pub(super) fn flag(&self, die: Die, name: DwAt) -> Result<bool, Error> {
        Ok(matches!(self.attribute(die, name)?, Some((_, AttributeValue::Flag(true)))))
    }

    /// The addresses of an entry, empty ranges too: LLVM writes those around what it does not know to be empty. Those of code that
    /// the linker dropped are left out.
    pub(super) fn entry_ranges(
        &self,
        unit: &Unit<'s>,
        entry: &Entry<'_, '_, 's>,
    ) -> Result<Vec<Range<u64>>, gimli::Error> {
        let size = unit.encoding().address_size;
        // The linkers' marks of code that they dropped: the last two addresses, and 0 or 1.
        let dropped = |address: u64| {
            address <= 1 || address >= (u64::MAX >> 64u32.saturating_sub(u32::from(size) * 8).min(63)) - 1
        };
        let (mut low, mut high, mut length, mut list) = (None, None, None, None);
        let mut attributes = entry.attrs();
        while let Some(attribute) = attributes.next()? {
            match (attribute.name(), attribute.value()) {
                (dw::DW_AT_low_pc, value) => low = self.attribute_address(unit, value)?,
                (dw::DW_AT_high_pc, AttributeValue::Udata(value)) => length = Some(value),
                (dw::DW_AT_high_pc, value) => high = self.attribute_address(unit, value)?,
                (dw::DW_AT_ranges, AttributeValue::DebugRngListsIndex(index)) => {
                    let offset = self.list_offset(unit, ".debug_rnglists", unit.rnglists_base.0, index.0)?;
                    list = Some(gimli::RangeListsOffset(offset));
                }
                (dw::DW_AT_ranges, value) => list = self.dwarf.attr_ranges_offset(unit, value)?,
                _ => {}
            }
        }
        let mut ranges = Vec::new();
        let mut push = |start: u64, end: u64| {
            if start <= end && !dropped(start) {
                ranges.push(start..end);
            }
        };
        let Some(list) = list else {
            if let Some((low, high)) =
                low.and_then(|low| Some((low, high.or(length.and_then(|length| low.checked_add(length)))?)))
            {
                push(low, high);
            }
            return Ok(ranges);
        };
        let mut base = unit.low_pc;
        let address = |index| self.address(unit, index);
        let mut raw = self.dwarf.raw_ranges(unit, list)?;
        while let Some(range) = raw.next()? {
            if self.pay(1).is_err() {
                return Err(gimli::Error::UnsupportedOffset);
            }
            match range {
                RawRngListEntry::BaseAddress { addr } => base = addr,
                RawRngListEntry::BaseAddressx { addr } => base = address(addr)?,
                RawRngListEntry::StartxEndx { begin, end } => push(address(begin)?, address(end)?),
                RawRngListEntry::StartxLength { begin, length } => {
                    let begin = address(begin)?;
                    push(begin, begin.saturating_add(length));
                }
                RawRngListEntry::AddressOrOffsetPair { begin, end } | RawRngListEntry::OffsetPair { begin, end } => {
                    // The base of dropped code: what is relative to it is dropped too. A unit of several ranges has base 0.
                    if base == 0 || !dropped(base) {
                        push(base.wrapping_add(begin), base.wrapping_add(end));
                    }
                }
                RawRngListEntry::StartEnd { begin, end } => push(begin, end),
                RawRngListEntry::StartLength { begin, length } => push(begin, begin.saturating_add(length)),
            }
        }
        Ok(ranges)
    }

    /// The entries right below one, in their order, with their tags.
    pub(super) fn children(&self, die: Die) -> Result<Vec<(Die, DwTag)>, Error> {
        let unit = self.unit(die.unit)?;
        let error = |error| self.error(die, error);
        let mut cursor = unit.entries_at_offset(UnitOffset(die.offset)).map_err(error)?;
        cursor.next_entry().map_err(error)?;
        let mut children = Vec::new();
        let Some(parent) = cursor.current() else { return Ok(children) };
        if !parent.has_children() || cursor.next_entry().map_err(error)?.is_none() {
            return Ok(children);
        }
        while let Some(child) = cursor.current() {
            self.pay(1)?;
            children.push((Die { unit: die.unit, offset: child.offset().0 }, child.tag()));
            let sibling = match child.has_children() {
                true => child.attr_value(dw::DW_AT_sibling).map_err(error)?,
                false => None,
            };
            if sibling.is_some() {
                if cursor.next_sibling().map_err(error)?.is_none() {
                    break;
                }
                continue;
            }
            // LLVM writes no DW_AT_sibling: all that is below the child is passed over, and paid for.
            let mut depth = 0isize;
            loop {
                let Some((delta, _)) = cursor.next_dfs().map_err(error)? else { return Ok(children) };
                depth = depth.saturating_add(delta);
                if depth <= 0 {
                    break;
                }
                self.pay(1)?;
            }
            if depth < 0 {
                break;
            }
        }
        Ok(children)
    }

    /// The first entry of a unit.
    pub(super) fn root(&self, unit: usize) -> Result<Die, Error> {
        let header = &self.units.get(unit).ok_or_else(|| Error::dwarf(None, "no such unit"))?.header;
        Ok(Die { unit, offset: header.header_size() })
    }
}

/// How many bytes are searched to find the end of an attribute.
fn searched(attribute: &gimli::Attribute<Reader<'_>>) -> usize {
    match attribute.raw_value() {
        AttributeValue::String(string) => string.len(),
        _ => 0,
    }
}

/// Reads over the attributes of an entry: the offset behind all that is in it, where it says that (`DW_AT_sibling`).
pub(super) fn behind<'s>(
    unit: &Unit<'s>,
    entries: &mut gimli::EntriesRaw<'_, '_, Reader<'s>>,
    abbreviation: &gimli::Abbreviation,
) -> Result<Option<UnitOffset>, gimli::Error> {
    let attributes = abbreviation.attributes();
    if !attributes.iter().any(|attribute| attribute.name() == dw::DW_AT_sibling) {
        entries.skip_attributes(attributes)?;
        return Ok(None);
    }
    let mut sibling = None;
    for attribute in attributes {
        let read = entries.read_attribute(*attribute)?;
        if let (dw::DW_AT_sibling, AttributeValue::UnitRef(offset)) = (read.name(), read.value()) {
            sibling = Some(offset);
        }
    }
    // One that leads back would lead round and round.
    let inside = entries.next_offset().0..unit.header.length_including_self();
    Ok(sibling.filter(|sibling| inside.contains(&sibling.0)))
}

fn info_offset(header: &gimli::UnitHeader<Reader<'_>>) -> SectionOffset {
    match header.offset() {
        UnitSectionOffset::DebugInfoOffset(offset) => SectionOffset(offset.0 as u64),
        UnitSectionOffset::DebugTypesOffset(offset) => SectionOffset(offset.0 as u64),
    }
}
