//! Tables that units share or refer to by index: abbreviations, addresses, strings, lists (DWARF 5,
//! 7.5.3 and 7.26 to 7.29).
//!
//! This module makes the checks that gimli does not: the size of a table before it is read, and
//! whether an index is in the table.

use std::sync::{Arc, PoisonError};

use gimli::{AttributeValue, Dwarf, Reader as _, Section as _, UnitOffset, constants as dw};

use super::sections::Reader;
use super::unit::{Unit, UnitValue};
use super::units::Units;
use crate::error::{DwarfProblem, Error};

/// The most attributes of an abbreviation. Compilers make about twenty. Without a limit, attributes
/// that take no bytes in the entry would make reading slow.
const ATTRIBUTES: usize = 256;

impl<'s> Units<'s> {
    /// Reads a unit without its line program. [`DebugInfo::line_program`] reads that, because its
    /// tables are large and needed at most twice.
    pub(super) fn parse(
        &self,
        dwarf: &Dwarf<Reader<'s>>,
        header: gimli::UnitHeader<Reader<'s>>,
    ) -> Result<Unit<'s>, DwarfProblem> {
        let abbreviations = self.abbreviations(dwarf, header.debug_abbrev_offset().0)?;
        let mut unit = self.parse_with(dwarf, header, abbreviations)?;
        unit.line_program = None;
        Ok(unit)
    }

    /// Reads only what the first entry of a unit needs: its abbreviation, and the header of the
    /// line program. Used to look at all units when few of them are wanted. The result is not
    /// cached.
    pub(super) fn unit_alone(&self, index: usize) -> Result<Unit<'s>, DwarfProblem> {
        let slot = self.slot(index).map_err(|_| DwarfProblem::NoSuchUnit)?;
        let dwarf = self.home(slot);
        let abbreviations = Arc::new(self.abbreviation_of_root(dwarf, &slot.header)?);
        self.parse_with(dwarf, slot.header, abbreviations)
    }

    /// The line program of a unit; `None` if it has none.
    pub(super) fn line_program(&self, index: usize) -> Result<Option<gimli::IncompleteLineProgram<Reader<'s>>>, Error> {
        let unit = self.own_unit(index)?;
        let with_program = self.parse_with(self.own_dwarf(index)?, unit.header, Arc::clone(&unit.abbreviations));
        Ok(with_program
            .map_err(|problem| Error::dwarf(None, DwarfProblem::Unit { unit: index, problem: problem.into() }))?
            .line_program)
    }

    /// Reads a unit, with the header of its line program, which is charged.
    fn parse_with(
        &self,
        dwarf: &Dwarf<Reader<'s>>,
        header: gimli::UnitHeader<Reader<'s>>,
        abbreviations: Arc<gimli::Abbreviations>,
    ) -> Result<Unit<'s>, DwarfProblem> {
        // Stops if the work limit is reached.
        self.charge(1).map_err(|_| DwarfProblem::WorkLimit)?;
        // gimli looks up the attributes of the first entry.
        let mut entries = header.entries(&abbreviations);
        if let Ok(Some((_, root))) = entries.next_dfs() {
            let mut attributes = root.attrs();
            while let Ok(Some(attribute)) = attributes.next() {
                check_index(dwarf, &attribute.value())?;
            }
        }
        let unit = Unit::new_with_abbreviations(dwarf, header, abbreviations)?;
        // Many units may refer to one large table of files, which is read for each of them.
        if let Some(program) = &unit.line_program {
            let header = program.header();
            let names = header.file_names().len().saturating_add(header.include_directories().len());
            self.charge(names as u64).map_err(|_| DwarfProblem::WorkLimit)?;
        }
        Ok(unit)
    }

    /// The abbreviations at an offset (DWARF 5, 7.5.3). They are read once for all units that use
    /// them.
    fn abbreviations(
        &self,
        dwarf: &Dwarf<Reader<'s>>,
        offset: usize,
    ) -> Result<Arc<gimli::Abbreviations>, DwarfProblem> {
        let bad = |error| malformed(offset, error);
        let mut reader = *dwarf.debug_abbrev.reader();
        reader.skip(offset).map_err(bad)?;
        // The key is the address and the size of the section in memory, because there may be
        // several files, and several parts of a package.
        let key = (reader.slice().as_ptr() as usize, reader.len());
        let known = || self.abbreviations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(&key) {
            return Ok(Arc::clone(known));
        }
        // Reads without holding the lock, because most units have a table of their own and are read
        // in parallel.
        while let Some(Declaration { length, .. }) = next_declaration(&mut reader, offset)? {
            self.charge(length as u64).map_err(|_| DwarfProblem::WorkLimit)?;
        }
        let abbreviations = dwarf.debug_abbrev.abbreviations(gimli::DebugAbbrevOffset(offset)).map_err(bad)?;
        Ok(Arc::clone(known().entry(key).or_insert_with(|| Arc::new(abbreviations))))
    }

    /// The abbreviation of a unit's first entry. The abbreviations before it are skipped.
    fn abbreviation_of_root(
        &self,
        dwarf: &Dwarf<Reader<'s>>,
        header: &gimli::UnitHeader<Reader<'s>>,
    ) -> Result<gimli::Abbreviations, DwarfProblem> {
        let offset = header.debug_abbrev_offset().0;
        let bad = |error| malformed(offset, error);
        let root = header.range_from(UnitOffset(header.header_size())..);
        let wanted = root.and_then(|mut root| root.read_uleb128())?;
        let mut table = *dwarf.debug_abbrev.reader();
        table.skip(offset).map_err(bad)?;
        loop {
            let start = table;
            let Some(Declaration { code, length }) = next_declaration(&mut table, offset)? else {
                return Err(bad(gimli::Error::UnknownAbbreviation(wanted)));
            };
            if code == wanted {
                // Makes a table with only this abbreviation.
                let one: Vec<u8> = start.slice().iter().take(length).copied().chain([0]).collect();
                let section = gimli::DebugAbbrev::from(gimli::EndianSlice::new(&one, table.endian()));
                return section.abbreviations(gimli::DebugAbbrevOffset(0)).map_err(bad);
            }
            // It is usually the first one.
            self.charge(length as u64).map_err(|_| DwarfProblem::WorkLimit)?;
        }
    }
}

/// Refuses an index outside of its table. gimli does not check for overflow when it multiplies the
/// index, and would then read elsewhere.
fn check_index(dwarf: &Dwarf<Reader<'_>>, value: &UnitValue<'_>) -> gimli::Result<()> {
    let (index, table) = match value {
        AttributeValue::DebugAddrIndex(index) => (index.0, dwarf.debug_addr.reader()),
        AttributeValue::DebugStrOffsetsIndex(index) => (index.0, dwarf.debug_str_offsets.reader()),
        _ => return Ok(()),
    };
    match index < table.len() {
        true => Ok(()),
        false => Err(gimli::Error::UnsupportedOffset),
    }
}

/// The address at an index of `.debug_addr` (DWARF 5, 7.27).
pub(super) fn address<'s>(
    dwarf: &Dwarf<Reader<'s>>,
    unit: &Unit<'s>,
    index: gimli::DebugAddrIndex<usize>,
) -> gimli::Result<u64> {
    check_index(dwarf, &AttributeValue::DebugAddrIndex(index))?;
    dwarf.address(unit, index)
}

/// The address in an attribute; `None` if the attribute has another class.
pub(super) fn attribute_address<'s>(
    dwarf: &Dwarf<Reader<'s>>,
    unit: &Unit<'s>,
    value: UnitValue<'s>,
) -> gimli::Result<Option<u64>> {
    check_index(dwarf, &value)?;
    dwarf.attr_address(unit, value)
}

/// The text in an attribute.
pub(super) fn text<'s>(dwarf: &Dwarf<Reader<'s>>, unit: &Unit<'s>, value: UnitValue<'s>) -> gimli::Result<Reader<'s>> {
    check_index(dwarf, &value)?;
    dwarf.attr_string(unit, value)
}

/// The offset of a list from its index in the table at `base` of a section (DWARF 5, 7.28 and
/// 7.29).
pub(super) fn list_offset(mut section: Reader<'_>, unit: &Unit<'_>, base: usize, index: usize) -> gimli::Result<usize> {
    let format = unit.encoding().format;
    let bad = gimli::Error::UnsupportedOffset;
    let at = index.checked_mul(usize::from(format.word_size())).and_then(|at| at.checked_add(base)).ok_or(bad)?;
    section.skip(at)?;
    section.read_offset(format)?.checked_add(base).ok_or(bad)
}

/// An error of the parser in the table of abbreviations at `offset`.
fn malformed(offset: usize, error: gimli::Error) -> DwarfProblem {
    DwarfProblem::Abbreviations { offset, parser: error.to_string() }
}

/// The abbreviation in its encoded form.
struct Declaration {
    code: u64,
    /// Its size in bytes.
    length: usize,
}

/// Skips an abbreviation of the table at `offset`; `None` at the end of the table.
fn next_declaration(reader: &mut Reader<'_>, offset: usize) -> Result<Option<Declaration>, DwarfProblem> {
    let bad = |error| malformed(offset, error);
    let start = reader.len();
    if start == 0 {
        return Ok(None);
    }
    let code = reader.read_uleb128().map_err(bad)?;
    if code == 0 {
        return Ok(None);
    }
    let (_tag, _has_children) = (reader.read_uleb128().map_err(bad)?, reader.read_u8().map_err(bad)?);
    let mut count = 0;
    loop {
        let (name, form) = (reader.read_uleb128().map_err(bad)?, reader.read_uleb128().map_err(bad)?);
        if form == u64::from(dw::DW_FORM_implicit_const.0) {
            reader.read_sleb128().map_err(bad)?;
        }
        if (name, form) == (0, 0) {
            return Ok(Some(Declaration { code, length: start.saturating_sub(reader.len()) }));
        }
        count += 1;
        if count > ATTRIBUTES {
            return Err(DwarfProblem::ManyAttributes { offset, most: ATTRIBUTES });
        }
    }
}
