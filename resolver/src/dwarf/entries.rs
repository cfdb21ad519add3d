//! Entries and their attributes (DWARF 5, 2.1 to 2.3, 2.13 and 2.17). Each access is charged. An
//! attribute that an entry lacks is looked up in the entry that its `DW_AT_abstract_origin` or
//! `DW_AT_specification` names.

use std::borrow::Cow;
use std::ops::Range;

use gimli::{AttributeValue, DwAt, DwTag, RawRngListEntry, Section as _, UnitOffset, constants as dw};

use super::sections::Reader;
use super::tables;
use super::unit::{Die, Entry, Unit, UnitValue};
use super::units::Units;
use crate::error::{DwarfProblem, Error};

/// The most `DW_AT_abstract_origin` and `DW_AT_specification` links that are followed. Compilers
/// make three.
pub(super) const LINKS: usize = 16;

impl<'s> Units<'s> {
    /// The entry and its unit.
    pub(super) fn entry(&self, die: Die) -> Result<(&Unit<'s>, Entry<'_, 's>), Error> {
        self.charge(1)?;
        let unit = self.unit(die.unit)?;
        let entry = unit.entry(UnitOffset(die.offset)).map_err(|error| self.error(die, error))?;
        Ok((unit, entry))
    }

    /// The tag of an entry.
    pub(super) fn tag(&self, die: Die) -> Result<DwTag, Error> {
        Ok(self.entry(die)?.1.tag())
    }

    /// An attribute of the entry itself, without its origins.
    pub(super) fn own_attribute(&self, die: Die, name: DwAt) -> Result<Option<UnitValue<'s>>, Error> {
        let (_, entry) = self.entry(die)?;
        let (mut attributes, mut passed) = (entry.attrs(), 0usize);
        while let Some(attribute) = attributes.next().map_err(|error| self.error(die, error))? {
            if attribute.name() == name {
                return Ok(Some(attribute.value()));
            }
            passed = passed.saturating_add(searched(&attribute));
        }
        self.charge_for_text(passed)?;
        Ok(None)
    }

    /// Attributes of the entry itself, read in one pass.
    pub(super) fn own_attributes<const N: usize>(
        &self,
        die: Die,
        names: [DwAt; N],
    ) -> Result<[Option<UnitValue<'s>>; N], Error> {
        Ok(self.with_origin(die, names)?.0)
    }

    /// The same, and the reference to the origin of the entry; `None` if it has none.
    fn with_origin<const N: usize>(
        &self,
        die: Die,
        names: [DwAt; N],
    ) -> Result<([Option<UnitValue<'s>>; N], Option<UnitValue<'s>>), Error> {
        let (_, entry) = self.entry(die)?;
        let (mut values, mut origin, mut specification) = ([const { None }; N], None, None);
        let (mut attributes, mut passed) = (entry.attrs(), 0usize);
        while let Some(attribute) = attributes.next().map_err(|error| self.error(die, error))? {
            for (name, value) in names.iter().zip(&mut values) {
                if attribute.name() == *name && value.is_none() {
                    *value = Some(attribute.value());
                }
            }
            match attribute.name() {
                dw::DW_AT_abstract_origin if origin.is_none() => origin = Some(attribute.value()),
                dw::DW_AT_specification if specification.is_none() => specification = Some(attribute.value()),
                _ => {}
            }
            passed = passed.saturating_add(searched(&attribute));
        }
        self.charge_for_text(passed)?;
        Ok((values, origin.or(specification)))
    }

    /// An attribute of the entry or its origins (`DW_AT_abstract_origin`, `DW_AT_specification`;
    /// DWARF 5, 2.13.2 and 3.3.8), with the entry that has it. Strings, addresses and references in
    /// the value belong to the unit of that entry.
    pub(super) fn attribute(&self, die: Die, name: DwAt) -> Result<Option<(Die, UnitValue<'s>)>, Error> {
        let [found] = self.attributes(die, [name])?;
        Ok(found)
    }

    /// Some attributes, each as [`attribute`](Self::attribute) finds it, with one pass over the entry
    /// and its origins.
    pub(super) fn attributes<const N: usize>(
        &self,
        die: Die,
        names: [DwAt; N],
    ) -> Result<[Option<(Die, UnitValue<'s>)>; N], Error> {
        let (mut die, mut found) = (die, [const { None }; N]);
        for _ in 0..LINKS {
            let (values, origin) = self.with_origin(die, names)?;
            for (known, value) in found.iter_mut().zip(values) {
                *known = known.take().or(value.map(|value| (die, value)));
            }
            match origin {
                Some(origin) if found.iter().any(Option::is_none) => die = self.reference(die, &origin)?,
                _ => return Ok(found),
            }
        }
        Err(self.error(die, DwarfProblem::EndlessOrigins))
    }

    /// The entry that `DW_AT_abstract_origin` or `DW_AT_specification` names; `None` if the entry
    /// has neither.
    pub(super) fn origin(&self, die: Die) -> Result<Option<Die>, Error> {
        let ([], origin) = self.with_origin(die, [])?;
        origin.map(|origin| self.reference(die, &origin)).transpose()
    }

    /// The last origin: an abstract instance, a declaration, or the entry itself.
    pub(super) fn root_origin(&self, die: Die) -> Result<Die, Error> {
        let mut die = die;
        for _ in 0..LINKS {
            match self.origin(die)? {
                Some(origin) => die = origin,
                None => return Ok(die),
            }
        }
        Err(self.error(die, DwarfProblem::EndlessOrigins))
    }

    /// The entry that a reference in an attribute of `from` names (DWARF 5, 7.5.5, class
    /// reference).
    pub(super) fn reference(&self, from: Die, value: &UnitValue<'s>) -> Result<Die, Error> {
        let die = match value {
            AttributeValue::UnitRef(offset) => Some(Die { unit: from.unit, offset: offset.0 }),
            AttributeValue::DebugInfoRef(offset) => self.die_in(from.unit, *offset),
            AttributeValue::DebugTypesRef(signature) => self.type_unit(from.unit, *signature),
            AttributeValue::DebugInfoRefSup(offset) => self.find_die(true, offset.0),
            _ => None,
        };
        die.ok_or_else(|| self.error(from, DwarfProblem::Reference))
    }

    /// The entry that a reference attribute of the entry or its origins names; `None` if there is
    /// no such attribute.
    pub(super) fn referred(&self, die: Die, name: DwAt) -> Result<Option<Die>, Error> {
        match self.attribute(die, name)? {
            Some((from, value)) => self.reference(from, &value).map(Some),
            None => Ok(None),
        }
    }

    /// Charges for the bytes that are searched for the end of a string. Short strings, which most
    /// are, cost nothing.
    fn charge_for_text(&self, bytes: usize) -> Result<(), Error> {
        match bytes as u64 / 64 {
            0 => Ok(()),
            steps => self.charge(steps),
        }
    }

    /// A string attribute of the entry or its origins; `None` if there is no such attribute.
    pub(super) fn string(&self, die: Die, name: DwAt) -> Result<Option<Cow<'s, [u8]>>, Error> {
        let Some((from, value)) = self.attribute(die, name)? else { return Ok(None) };
        let unit = self.unit(from.unit)?;
        let string = tables::text(self.dwarf_of(from.unit)?, unit, value).map_err(|error| self.error(from, error))?;
        self.charge_for_text(string.len().saturating_mul(8))?;
        Ok(Some(Cow::Borrowed(string.slice())))
    }

    /// `DW_AT_name` of the entry or its origins.
    pub(super) fn name(&self, die: Die) -> Result<Option<Cow<'s, [u8]>>, Error> {
        self.string(die, dw::DW_AT_name)
    }

    /// An unsigned constant of the entry or its origins; `None` if there is no such attribute, or
    /// it has another class.
    pub(super) fn unsigned(&self, die: Die, name: DwAt) -> Result<Option<u64>, Error> {
        Ok(self.attribute(die, name)?.and_then(|(_, value)| value.udata_value()))
    }

    /// Whether a flag is set on the entry or its origins.
    pub(super) fn flag(&self, die: Die, name: DwAt) -> Result<bool, Error> {
        Ok(matches!(self.attribute(die, name)?, Some((_, AttributeValue::Flag(true)))))
    }

    /// The address ranges of an entry.
    pub(super) fn entry_ranges(
        &self,
        dwarf: &gimli::Dwarf<Reader<'s>>,
        unit: &Unit<'s>,
        entry: &Entry<'_, 's>,
    ) -> Result<Vec<Range<u64>>, gimli::Error> {
        let (mut addresses, mut attributes) = (AddressAttributes::default(), entry.attrs());
        while let Some(attribute) = attributes.next()? {
            addresses.add(dwarf, unit, &attribute)?;
        }
        let mut ranges = Vec::new();
        self.add_ranges(dwarf, unit, addresses, &mut ranges)?;
        Ok(ranges)
    }

    /// Adds the address ranges of an entry, including empty ones, which LLVM writes when it does not
    /// know that they are empty. Ranges of code that the linker dropped are left out.
    pub(super) fn add_ranges(
        &self,
        dwarf: &gimli::Dwarf<Reader<'s>>,
        unit: &Unit<'s>,
        addresses: AddressAttributes,
        ranges: &mut Vec<Range<u64>>,
    ) -> Result<(), gimli::Error> {
        let size = unit.encoding().address_size;
        let dropped = |address: u64| is_dropped(address, size);
        let mut push = |start: u64, end: u64| {
            if start <= end && !dropped(start) {
                ranges.push(start..end);
            }
        };
        let AddressAttributes { low, high, length, list } = addresses;
        let Some(list) = list else {
            if let Some((low, high)) =
                low.and_then(|low| Some((low, high.or(length.and_then(|length| low.checked_add(length)))?)))
            {
                push(low, high);
            }
            return Ok(());
        };
        let mut base = unit.low_pc;
        let address = |index| tables::address(dwarf, unit, index);
        let mut raw = dwarf.raw_ranges(unit, list)?;
        while let Some(range) = raw.next()? {
            if self.charge(1).is_err() {
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
                    // This is the base of dropped code, so the offsets from it are dropped too. A
                    // unit with several ranges has base 0.
                    if base == 0 || !dropped(base) {
                        push(base.wrapping_add(begin), base.wrapping_add(end));
                    }
                }
                RawRngListEntry::StartEnd { begin, end } => push(begin, end),
                RawRngListEntry::StartLength { begin, length } => push(begin, begin.saturating_add(length)),
            }
        }
        Ok(())
    }

    /// The direct children of an entry, in order, with their tags.
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
            self.charge(1)?;
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
            // LLVM writes no DW_AT_sibling. Everything below the child is read over, and charged.
            let mut depth = 0isize;
            loop {
                let Some((delta, _)) = cursor.next_dfs().map_err(error)? else { return Ok(children) };
                depth = depth.saturating_add(delta);
                if depth <= 0 {
                    break;
                }
                self.charge(1)?;
            }
            if depth < 0 {
                break;
            }
        }
        Ok(children)
    }
}

/// The attributes of an entry that say which addresses it has (DWARF 5, 2.17).
#[derive(Clone, Copy, Default)]
pub(super) struct AddressAttributes {
    low: Option<u64>,
    high: Option<u64>,
    length: Option<u64>,
    list: Option<gimli::RangeListsOffset>,
}

impl AddressAttributes {
    /// Whether an entry with these attributes has addresses.
    pub(super) fn are_in(attributes: &[gimli::AttributeSpecification]) -> bool {
        attributes.iter().any(|attribute| matches!(attribute.name(), dw::DW_AT_low_pc | dw::DW_AT_ranges))
    }

    /// Adds an attribute, if it is one of these.
    pub(super) fn add<'s>(
        &mut self,
        dwarf: &gimli::Dwarf<Reader<'s>>,
        unit: &Unit<'s>,
        attribute: &gimli::Attribute<Reader<'s>>,
    ) -> gimli::Result<()> {
        match attribute.name() {
            dw::DW_AT_low_pc => self.low = tables::attribute_address(dwarf, unit, attribute.value())?,
            dw::DW_AT_high_pc => match attribute.value() {
                AttributeValue::Udata(value) => self.length = Some(value),
                value => self.high = tables::attribute_address(dwarf, unit, value)?,
            },
            dw::DW_AT_ranges => match attribute.value() {
                AttributeValue::DebugRngListsIndex(index) => {
                    let lists = *dwarf.ranges.debug_rnglists().reader();
                    let offset = tables::list_offset(lists, unit, unit.rnglists_base.0, index.0)?;
                    self.list = Some(gimli::RangeListsOffset(offset));
                }
                value => self.list = dwarf.attr_ranges_offset(unit, value)?,
            },
            _ => {}
        }
        Ok(())
    }
}

/// Whether an address of `size` bytes is that of dropped code. Linkers mark it with one of the last
/// two addresses, or with 0 or 1.
pub(super) fn is_dropped(address: u64, size: u8) -> bool {
    address <= 1 || address >= (u64::MAX >> 64u32.saturating_sub(u32::from(size) * 8).min(63)) - 1
}

impl<'s> Units<'s> {
    /// Passes the attributes of all entries of a unit, up to an entry that cannot be read.
    pub(super) fn each_attribute(
        &self,
        index: usize,
        mut each: impl FnMut(&gimli::Attribute<Reader<'s>>),
    ) -> Result<(), Error> {
        let unit = self.unit(index)?;
        let Ok(mut entries) = unit.entries_raw(None) else { return Ok(()) };
        while !entries.is_empty() {
            self.charge(1)?;
            let Ok(abbreviation) = entries.read_abbreviation() else { return Ok(()) };
            let Some(abbreviation) = abbreviation else { continue };
            for specification in abbreviation.attributes() {
                let Ok(attribute) = entries.read_attribute(*specification) else { return Ok(()) };
                each(&attribute);
            }
        }
        Ok(())
    }
}

/// How many bytes are searched to find the end of an attribute's value.
fn searched(attribute: &gimli::Attribute<Reader<'_>>) -> usize {
    match attribute.raw_value() {
        AttributeValue::String(string) => string.len(),
        _ => 0,
    }
}
