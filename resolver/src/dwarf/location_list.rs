//! The location attribute of a variable: one expression, or a list of them for ranges of addresses
//! (DWARF 5, 2.6.2 and 7.7.3; DWARF 4, 2.6.2, `.debug_loc`). This module reads the entries;
//! `variable_location.rs` chooses one.
//!
//! gcc writes the view numbers of a list (`DW_AT_GNU_locviews`) in front of it, where no location
//! attribute points; with `-gvariable-location-views=incompat5` they are entries of the list
//! (`DW_LLE_GNU_view_pair`).

use std::ops::Range;

use gimli::{AttributeValue, DebugAddrIndex, Expression, LocationListsOffset, Reader as _, constants as dw};

use super::expression::ExpressionRefusal;
use super::frame::Moment;
use super::locations::Locations;
use super::sections::Reader;
use super::tables;
use super::unit::Contribution;
use super::unit::{Die, Unit, UnitValue};
use super::unsupported::Unsupported;
use crate::address::Vaddr;
use crate::error::DwarfProblem;

/// One entry of a location list.
#[derive(Clone, Debug)]
pub(super) struct ListEntry<'s> {
    /// `None` for the default location, which covers every address that no other entry covers.
    pub(super) range: Option<Range<Vaddr>>,
    /// gcc's view numbers of the start and the end.
    pub(super) views: Option<(u64, u64)>,
    pub(super) expression: Expression<Reader<'s>>,
}

impl ListEntry<'_> {
    /// Whether the entry covers a moment.
    pub(super) fn holds(&self, (pc, moment): (Vaddr, Moment)) -> bool {
        let Some(Range { start, end }) = self.range.clone() else { return false };
        match (moment, self.views) {
            (Moment::First, _) => start < pc && pc <= end,
            (Moment::View(view), Some((first, last))) => {
                let at = (pc, u64::from(view));
                (start, first) <= at && at < (end, last)
            }
            (Moment::View(_) | Moment::Last, _) => start <= pc && pc < end,
        }
    }
}

/// The content of a location attribute.
pub(super) enum LocationContent<'s> {
    /// One expression for all of the scope.
    Single(Expression<Reader<'s>>),
    /// A location list.
    List(Vec<ListEntry<'s>>),
}

impl<'s> Locations<'s> {
    /// Reads a location attribute of `from`.
    pub(super) fn location_attribute(
        &self,
        from: Die,
        value: &UnitValue<'s>,
    ) -> Result<LocationContent<'s>, ExpressionRefusal> {
        let unit = self.units.unit(from.unit)?;
        match value {
            AttributeValue::Exprloc(expression) => Ok(LocationContent::Single(*expression)),
            AttributeValue::Block(block) => Ok(LocationContent::Single(Expression(*block))),
            AttributeValue::LocationListsRef(_) | AttributeValue::DebugLocListsIndex(_) => {
                let offset = match value {
                    AttributeValue::DebugLocListsIndex(index) => {
                        let lists = self.locations(from.unit, true);
                        tables::list_offset(lists, unit, unit.loclists_base.0, index.0)
                            .map(|offset| Some(LocationListsOffset(offset)))
                    }
                    value => self.units.dwarf_of(from.unit)?.attr_locations_offset(unit, *value),
                };
                let offset = offset.map_err(|error| self.units.error(from, error))?;
                let offset = offset.ok_or_else(|| self.units.error(from, DwarfProblem::LocationListOffset))?;
                self.list(from, unit, offset).map(LocationContent::List)
            }
            _ => Err(Unsupported::LocationForm.into()),
        }
    }

    /// The entries of a list, without those that cover no addresses.
    fn list(
        &self,
        from: Die,
        unit: &Unit<'s>,
        offset: LocationListsOffset,
    ) -> Result<Vec<ListEntry<'s>>, ExpressionRefusal> {
        let is_v5 = unit.encoding().version >= 5;
        let name = if is_v5 { ".debug_loclists" } else { ".debug_loc" };
        let bad = |error: gimli::Error| {
            let problem = DwarfProblem::LocationList { offset: offset.0, section: name, parser: error.to_string() };
            ExpressionRefusal::Broken(self.units.error(from, problem))
        };
        let split = self.units.contribution(from.unit);
        let reader = self.locations(from.unit, is_v5);
        let dwarf = self.units.dwarf_of(from.unit)?;
        let views = match self.units.own_attribute(from, dw::DW_AT_GNU_locviews)? {
            Some(AttributeValue::SecOffset(views)) => {
                let mut reader = reader;
                // In a split unit of DWARF 5, gcc counts from the first byte after the header.
                let base = if is_v5 && split.is_some() { unit.loclists_base.0 } else { 0 };
                reader.skip(views.saturating_add(base)).map_err(bad)?;
                Some(reader)
            }
            _ => None,
        };
        let mut list = List { reader, base: unit.low_pc, entries: Vec::new(), views, pair: None };
        list.reader.skip(offset.0).map_err(bad)?;
        if !is_v5 && split.is_none() {
            let size = unit.encoding().address_size;
            let mut start = list.reader;
            let is_zero = start.read_address(size).and_then(|begin| Ok(begin == 0 && start.read_address(size)? == 0));
            if is_zero.map_err(bad)? && self.begins_with_empty_range(from.unit, offset.0, reader, size)? {
                list.skip_empty_range(size).map_err(bad)?;
            }
        }
        loop {
            self.units.charge(1)?;
            let goes_on = match (is_v5, split) {
                (true, _) => list.next_v5(dwarf, unit),
                (false, Some(_)) => list.next_early(dwarf, unit),
                (false, None) => list.next_v4(unit),
            };
            match goes_on {
                Ok(true) => {}
                Ok(false) => return Ok(list.entries),
                Err(gimli::Error::UnknownLocListsEntry(kind)) => {
                    return Err(Unsupported::ListEntry { kind: kind.0 }.into());
                }
                Err(error) => return Err(bad(error)),
            }
        }
    }
}

impl<'s> Locations<'s> {
    /// The section of location lists for a unit: `.debug_loclists`, or `.debug_loc` before DWARF 5.
    fn locations(&self, unit: usize, is_v5: bool) -> Reader<'s> {
        match (self.units.contribution(unit), is_v5) {
            (Some(Contribution { locations: [_, lists], .. }), true) => *lists,
            (Some(Contribution { locations: [lists, _], .. }), false) => *lists,
            (None, true) => self.units.sections.reader(".debug_loclists"),
            (None, false) => self.units.sections.reader(".debug_loc"),
        }
    }
}

/// The format that gcc and clang wrote into `.debug_loc.dwo` for DWARF 4. It is an early form of
/// the lists of DWARF 5: lengths have four bytes, and the length of an expression has two.
mod early {
    pub(super) const END: u8 = 0;
    pub(super) const BASE: u8 = 1;
    pub(super) const START_END: u8 = 2;
    pub(super) const START_LENGTH: u8 = 3;
    pub(super) const VIEW_PAIR: u8 = gimli::constants::DW_LLE_GNU_view_pair.0;
}

/// A list that is being read.
struct List<'s> {
    reader: Reader<'s>,
    base: u64,
    entries: Vec<ListEntry<'s>>,
    /// The pairs of view numbers, one for each entry with a range (`DW_AT_GNU_locviews`).
    views: Option<Reader<'s>>,
    /// The pair that an entry of the list itself gives for the next one.
    pair: Option<(u64, u64)>,
}

impl<'s> List<'s> {
    /// Reads an entry of `.debug_loclists`; false at the end of the list.
    fn next_v5(&mut self, dwarf: &gimli::Dwarf<Reader<'s>>, unit: &Unit<'s>) -> gimli::Result<bool> {
        let size = unit.encoding().address_size;
        let reader = &mut self.reader;
        let indexed = |reader: &mut Reader<'s>| indexed(dwarf, unit, reader);
        let (begin, end) = match gimli::DwLle(reader.read_u8()?) {
            dw::DW_LLE_end_of_list => return Ok(false),
            dw::DW_LLE_base_addressx => {
                self.base = indexed(reader)?;
                return Ok(true);
            }
            dw::DW_LLE_base_address => {
                self.base = reader.read_address(size)?;
                return Ok(true);
            }
            dw::DW_LLE_GNU_view_pair => {
                self.pair = Some((reader.read_uleb128()?, reader.read_uleb128()?));
                return Ok(true);
            }
            dw::DW_LLE_startx_endx => (indexed(reader)?, indexed(reader)?),
            dw::DW_LLE_startx_length => {
                let begin = indexed(reader)?;
                (begin, begin.wrapping_add(reader.read_uleb128()?))
            }
            dw::DW_LLE_offset_pair => {
                let (begin, end) = (reader.read_uleb128()?, reader.read_uleb128()?);
                self.based(begin, end, size)
            }
            dw::DW_LLE_default_location => {
                let expression = expression(reader)?;
                self.entries.push(ListEntry { range: None, views: None, expression });
                return Ok(true);
            }
            dw::DW_LLE_start_end => (reader.read_address(size)?, reader.read_address(size)?),
            dw::DW_LLE_start_length => {
                let begin = reader.read_address(size)?;
                (begin, begin.wrapping_add(reader.read_uleb128()?))
            }
            kind => return Err(gimli::Error::UnknownLocListsEntry(kind)),
        };
        let expression = expression(&mut self.reader)?;
        self.push(begin, end, size, expression)?;
        Ok(true)
    }

    /// Reads an entry of `.debug_loc.dwo`; false at the end of the list.
    fn next_early(&mut self, dwarf: &gimli::Dwarf<Reader<'s>>, unit: &Unit<'s>) -> gimli::Result<bool> {
        let size = unit.encoding().address_size;
        let reader = &mut self.reader;
        let (begin, end) = match reader.read_u8()? {
            early::END => return Ok(false),
            early::BASE => {
                self.base = indexed(dwarf, unit, reader)?;
                return Ok(true);
            }
            early::VIEW_PAIR => {
                self.pair = Some((reader.read_uleb128()?, reader.read_uleb128()?));
                return Ok(true);
            }
            early::START_END => (indexed(dwarf, unit, reader)?, indexed(dwarf, unit, reader)?),
            early::START_LENGTH => {
                let begin = indexed(dwarf, unit, reader)?;
                (begin, begin.wrapping_add(reader.read_u32()?.into()))
            }
            kind => return Err(gimli::Error::UnknownLocListsEntry(gimli::DwLle(kind))),
        };
        let length = self.reader.read_u16()?;
        let expression = Expression(self.reader.split(length.into())?);
        self.push(begin, end, size, expression)?;
        Ok(true)
    }

    /// Reads an entry of `.debug_loc`; false at the end of the list.
    fn next_v4(&mut self, unit: &Unit<'s>) -> gimli::Result<bool> {
        let size = unit.encoding().address_size;
        let (begin, end) = (self.reader.read_address(size)?, self.reader.read_address(size)?);
        if begin == 0 && end == 0 {
            return Ok(false);
        }
        if begin == highest(size) {
            self.base = end;
            return Ok(true);
        }
        let length = self.reader.read_u16()?;
        let expression = Expression(self.reader.split(length.into())?);
        let (begin, end) = self.based(begin, end, size);
        self.push(begin, end, size, expression)?;
        Ok(true)
    }

    /// Skips an entry of `.debug_loc` for an empty range.
    fn skip_empty_range(&mut self, size: u8) -> gimli::Result<()> {
        self.reader.skip(2 * usize::from(size))?;
        let length = self.reader.read_u16()?;
        self.reader.skip(length.into())?;
        if let Some(views) = &mut self.views {
            views.read_uleb128()?;
            views.read_uleb128()?;
        }
        Ok(())
    }

    /// Converts offsets from the base address to addresses; an empty range if the linker dropped
    /// the base.
    fn based(&self, begin: u64, end: u64, size: u8) -> (u64, u64) {
        if is_tombstone(self.base, size) {
            return (0, 0);
        }
        let address = |offset: u64| self.base.wrapping_add(offset) & highest(size);
        (address(begin), address(end))
    }

    /// Adds an entry if it covers an address, or views of one.
    fn push(&mut self, begin: u64, end: u64, size: u8, expression: Expression<Reader<'s>>) -> gimli::Result<()> {
        let views = match (self.pair.take(), &mut self.views) {
            (Some(pair), _) => Some(pair),
            (None, Some(views)) => Some((views.read_uleb128()?, views.read_uleb128()?)),
            (None, None) => None,
        };
        let is_empty = views.map_or(begin >= end, |(first, last)| (begin, first) >= (end, last));
        if !is_empty && !is_tombstone(begin, size) {
            self.entries.push(ListEntry { range: Some(Vaddr(begin)..Vaddr(end)), views, expression });
        }
        Ok(())
    }
}

/// The address at an index.
fn indexed<'s>(dwarf: &gimli::Dwarf<Reader<'s>>, unit: &Unit<'s>, reader: &mut Reader<'s>) -> gimli::Result<u64> {
    let index = reader.read_uleb128()?;
    tables::address(dwarf, unit, DebugAddrIndex(usize::try_from(index).unwrap_or(usize::MAX)))
}

fn expression<'s>(reader: &mut Reader<'s>) -> gimli::Result<Expression<Reader<'s>>> {
    let length = reader.read_uleb128()?;
    Ok(Expression(reader.split(usize::try_from(length).unwrap_or(usize::MAX))?))
}

fn highest(address_size: u8) -> u64 {
    if address_size >= 8 { u64::MAX } else { (1u64 << (u32::from(address_size) * 8)) - 1 }
}

/// Whether a linker marks dropped code with this address (lld: the highest address, or in lists the
/// one before it).
pub(super) fn is_tombstone(address: u64, size: u8) -> bool {
    address >= highest(size) - 1
}

#[cfg(test)]
mod tests {
    use images::dwarf::{DwarfBuilder, FUNCTION};
    use simple_markers_record::ByteOrder;

    use super::super::test_dwarf::{frame, with};
    use super::super::test_machine::Fake;
    use super::super::variable_location::VariableLocation;
    use super::*;

    /// A location as text, and the end of its range.
    #[derive(Clone, Debug, PartialEq)]
    enum Said {
        Words(String),
        Refused(Unsupported),
    }

    /// What is found for a variable with a list at offsets in the function, and the ranges where it
    /// is described.
    fn said(version: u16, address_size: u8, list: &[u8], at: &[u64]) -> (Vec<Said>, Vec<(u64, u64)>) {
        let mut build = DwarfBuilder::with_encoding(version, address_size, ByteOrder::Little);
        let function = build.function(&[0x56]);
        // View numbers. No attribute points at them.
        let lists = if version >= 5 { ".debug_loclists" } else { ".debug_loc" };
        build.append(lists, &[9, 1, 2, 0xff]);
        let offset = build.append(lists, list);
        let variable = build.listed(function, offset);
        with(build, |info, die| {
            let say = |at: &u64| match info.variable(die(variable), &frame(die(function), *at)) {
                Ok(VariableLocation::At { location, range, .. }) => {
                    let range = range.map(|range| format!(" to {:#x}", range.end.0.wrapping_sub(FUNCTION)));
                    Said::Words(location.text(&Fake { address_size: 8 }) + &range.unwrap_or_default())
                }
                Ok(VariableLocation::Entry { value, .. }) => {
                    Said::Words(crate::english::dwarf::entry_value(&value, &Fake { address_size: 8 }))
                }
                Ok(VariableLocation::Lost { .. }) => Said::Words("lost".to_owned()),
                Ok(VariableLocation::Never) => Said::Words("never".to_owned()),
                Ok(VariableLocation::Dropped) => Said::Words("dropped".to_owned()),
                Ok(VariableLocation::Unsupported { why }) => Said::Refused(why),
                Err(error) => Said::Words(error.to_string()),
            };
            let ranges = info.variable_ranges(die(variable)).unwrap_or_default();
            let ranges = ranges.iter().map(|range| (range.start.0, range.end.0)).collect();
            (at.iter().map(say).collect(), ranges)
        })
    }

    fn words<const N: usize>(words: [&str; N]) -> Vec<Said> {
        words.map(|words| Said::Words(words.to_owned())).to_vec()
    }

    #[test]
    fn every_kind_of_entry_is_read() {
        let mut list = Vec::new();
        list.extend([4, 0, 0x10, 1, 0x55]); // offset_pair: %rdi
        list.extend([9, 1, 2, 4, 0x10, 0x10, 1, 0x50]); // view_pair, offset_pair of no addresses
        list.extend([4, 0x10, 0x20, 3, 0xa3, 1, 0x55]); // entry value without stack_value: an address
        list.extend([6, 0, 0x20, 0, 0, 0, 0, 0, 0]); // base_address 0x2000
        list.extend([4, 0, 8, 1, 0x54]); // 0x2000 to 0x2008: %rsi
        list.extend([7, 0x20, 0x10, 0, 0, 0, 0, 0, 0, 0x30, 0x10, 0, 0, 0, 0, 0, 0, 1, 0x53]); // start_end: %rbx
        list.extend([8, 0x30, 0x10, 0, 0, 0, 0, 0, 0, 0x10, 0]); // start_length, no expression
        list.extend([8, 0x40, 0x10, 0, 0, 0, 0, 0, 0, 0x10, 5, 0x75, 0, 0x28, 0, 0]); // DW_OP_bra
        list.extend([8, 0x48, 0x10, 0, 0, 0, 0, 0, 0, 0x10, 1, 0x51]); // overlaps it: %rdx
        list.extend([5, 1, 0x52, 0]); // default: %rcx
        let at = [0, 0xf, 0x10, 0x20, 0x2f, 0x30, 0x40, 0x48, 0x57, 0x58, 0x1000];
        let (said, ranges) = said(5, 8, &list, &at);
        let mut expected = words([
            "%rdi to 0x10",
            "%rdi to 0x10",
            "%rdi on entry",
            "%rbx to 0x30",
            "%rbx to 0x30",
            "lost",
            "refused",
            "%rdx to 0x58",
            "%rdx to 0x58",
            "%rcx",
            "%rsi to 0x1008",
        ]);
        expected[6] = Said::Refused(Unsupported::Branch);
        assert_eq!(said, expected);
        assert_eq!(ranges, [(0, u64::MAX)]);
        let (refused, ranges) = self::said(5, 8, &[4, 0, 8, 1, 0x55, 0x77], &[0]);
        assert_eq!((refused, ranges), (vec![Said::Refused(Unsupported::ListEntry { kind: 0x77 })], vec![]));
        let (broken, _) = self::said(5, 8, &[4, 0, 8, 9, 0x55], &[0]);
        let [Said::Words(broken)] = &broken[..] else { panic!("{broken:?}") };
        assert!(broken.contains("the location list at 0x4 of .debug_loclists: "), "{broken}");
    }

    #[test]
    fn lists_of_dwarf_4_count_from_the_unit_or_a_base() {
        for address_size in [8, 4] {
            let size = usize::from(address_size);
            let pair = |begin: u64, end: u64, expression: &[u8]| {
                let mut bytes = begin.to_le_bytes()[..size].to_vec();
                bytes.extend(&end.to_le_bytes()[..size]);
                if begin != u64::MAX && end != 0 {
                    bytes.extend((expression.len() as u16).to_le_bytes());
                    bytes.extend(expression);
                }
                bytes
            };
            let list = [
                pair(0x10, 0x20, &[0x31, 0x9f]),
                pair(0, 0x10, &[0x32, 0x9f]),
                pair(0x20, 0x20, &[0x33, 0x9f]),
                pair(u64::MAX, 0x1080, &[]),
                pair(0, 8, &[0x34, 0x9f]),
                // lld's mark for dropped code.
                pair(u64::MAX, u64::MAX - 1, &[]),
                pair(0, 8, &[0x35, 0x9f]),
                pair(0, 0, &[]),
            ]
            .concat();
            let (said, ranges) = said(4, address_size, &list, &[0, 0xf, 0x10, 0x20, 0x80, 0x87, 0x88]);
            let expected =
                words(["= 2 to 0x10", "= 2 to 0x10", "= 1 to 0x20", "lost", "= 4 to 0x88", "= 4 to 0x88", "lost"]);
            assert_eq!(said, expected);
            assert_eq!(ranges, [(0x1000, 0x1020), (0x1080, 0x1088)]);
        }
    }

    #[test]
    fn two_zeros_at_the_start_are_an_empty_range_if_the_bytes_up_to_the_next_list_show_it() {
        let entry = |begin: u64, end: u64, literal: u8| {
            let mut bytes = [begin.to_le_bytes(), end.to_le_bytes()].concat();
            bytes.extend([2, 0, 0x30 + literal, 0x9f]);
            bytes
        };
        let list = [entry(0, 0, 1), entry(0x10, 0x20, 2), vec![0; 16]].concat();
        for is_followed in [true, false] {
            let mut build = DwarfBuilder::with_encoding(4, 8, ByteOrder::Little);
            let function = build.function(&[0x56]);
            let offset = build.append(".debug_loc", &list);
            let next = build.append(".debug_loc", &[entry(0, 8, 3), vec![0; 16]].concat());
            let variable = build.listed(function, offset);
            if is_followed {
                build.listed(function, next);
            }
            with(build, |info, die| {
                let ranges = info.variable_ranges(die(variable)).unwrap_or_default();
                let expected = [Vaddr(FUNCTION + 0x10)..Vaddr(FUNCTION + 0x20)];
                assert_eq!(ranges, if is_followed { &expected[..] } else { &[] });
            });
        }
    }
}
