//! Tables that units share or refer to by index: abbreviations, addresses, strings, lists (DWARF 5, 7.5.3 and 7.26 to 7.29).
//!
//! What gimli does not look at is looked at here: how large a table is before it is read, and whether an index is in it.

use std::sync::{Arc, PoisonError};

use gimli::{AttributeValue, Dwarf, Reader as _, Section as _, UnitOffset, constants as dw};

use super::sections::Reader;
use super::units::{Unit, Units, Value};
use crate::Error;

/// The most attributes of an abbreviation. Compilers make some twenty; one that takes no bytes costs nothing to write, and time to read.
const ATTRIBUTES: usize = 256;

impl<'s> Units<'s> {
    /// A unit, without its line program, which [`DebugInfo::line_program`] reads: its tables are large, and needed no more than twice.
    pub(super) fn parse(
        &self,
        dwarf: &Dwarf<Reader<'s>>,
        header: gimli::UnitHeader<Reader<'s>>,
    ) -> Result<Unit<'s>, String> {
        let abbreviations = self.abbreviations(dwarf, header.debug_abbrev_offset().0)?;
        let mut unit = self.parse_with(dwarf, header, abbreviations)?;
        unit.line_program = None;
        Ok(unit)
    }

    /// A unit as it stands in the image, with no more than its first entry needs: that one's abbreviation alone, and the header of its
    /// line program. It is not kept: for a look at every unit, of which few are wanted.
    pub(super) fn unit_alone(&self, index: usize) -> Result<Unit<'s>, String> {
        let slot = self.slot(index).map_err(|error| error.to_string())?;
        let dwarf = self.home(slot);
        let abbreviations = Arc::new(self.abbreviation_of_root(dwarf, &slot.header)?);
        self.parse_with(dwarf, slot.header, abbreviations)
    }

    /// The line program of a unit; `None` where it has none.
    pub(super) fn line_program(&self, index: usize) -> Result<Option<gimli::IncompleteLineProgram<Reader<'s>>>, Error> {
        let alone = self.unit_alone(index);
        Ok(alone.map_err(|error| Error::dwarf(None, &format!("unit {index}: {error}")))?.line_program)
    }

    /// A unit with the header of its line program, which is paid for.
    fn parse_with(
        &self,
        dwarf: &Dwarf<Reader<'s>>,
        header: gimli::UnitHeader<Reader<'s>>,
        abbreviations: Arc<gimli::Abbreviations>,
    ) -> Result<Unit<'s>, String> {
        // Once all is spent, nothing more is read.
        self.charge(1).map_err(|error| error.to_string())?;
        // gimli looks up what the first entry says of the unit.
        let mut entries = header.entries(&abbreviations);
        if let Ok(Some((_, root))) = entries.next_dfs() {
            let mut attributes = root.attrs();
            while let Ok(Some(attribute)) = attributes.next() {
                check_index(dwarf, &attribute.value()).map_err(|error| error.to_string())?;
            }
        }
        let unit = Unit::new_with_abbreviations(dwarf, header, abbreviations).map_err(|error| error.to_string())?;
        // Many units may refer to one large table of files, which is read for each of them.
        if let Some(program) = &unit.line_program {
            let header = program.header();
            let names = header.file_names().len().saturating_add(header.include_directories().len());
            self.charge(names as u64).map_err(|error| error.to_string())?;
        }
        Ok(unit)
    }

    /// The abbreviations at an offset (DWARF 5, 7.5.3), read once for all units that use them.
    fn abbreviations(&self, dwarf: &Dwarf<Reader<'s>>, offset: usize) -> Result<Arc<gimli::Abbreviations>, String> {
        let bad = |error: gimli::Error| format!(".debug_abbrev at {offset:#x}: {error}");
        let mut reader = *dwarf.debug_abbrev.reader();
        reader.skip(offset).map_err(bad)?;
        // Of several files, and of parts of packages: a table is where it stands in memory, and goes no further than its part.
        let key = (reader.slice().as_ptr() as usize, reader.len());
        let known = || self.abbreviations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(&key) {
            return Ok(Arc::clone(known));
        }
        // Not while the others wait: most units have a table of their own, and are read at the same time.
        while let Some(Declaration { length, .. }) = next_declaration(&mut reader, offset)? {
            self.charge(length as u64).map_err(|error| error.to_string())?;
        }
        let abbreviations = dwarf.debug_abbrev.abbreviations(gimli::DebugAbbrevOffset(offset)).map_err(bad)?;
        Ok(Arc::clone(known().entry(key).or_insert_with(|| Arc::new(abbreviations))))
    }

    /// The abbreviation of a unit's first entry, found without making anything of those before it.
    fn abbreviation_of_root(
        &self,
        dwarf: &Dwarf<Reader<'s>>,
        header: &gimli::UnitHeader<Reader<'s>>,
    ) -> Result<gimli::Abbreviations, String> {
        let offset = header.debug_abbrev_offset().0;
        let bad = |error: gimli::Error| format!(".debug_abbrev at {offset:#x}: {error}");
        let root = header.range_from(UnitOffset(header.header_size())..);
        let wanted = root.and_then(|mut root| root.read_uleb128()).map_err(|error| error.to_string())?;
        let mut table = *dwarf.debug_abbrev.reader();
        table.skip(offset).map_err(bad)?;
        loop {
            let start = table;
            let Some(Declaration { code, length }) = next_declaration(&mut table, offset)? else {
                return Err(bad(gimli::Error::UnknownAbbreviation(wanted)));
            };
            if code == wanted {
                // A table of that one.
                let one: Vec<u8> = start.slice().iter().take(length).copied().chain([0]).collect();
                let section = gimli::DebugAbbrev::from(gimli::EndianSlice::new(&one, table.endian()));
                return section.abbreviations(gimli::DebugAbbrevOffset(0)).map_err(bad);
            }
            // Mostly it is the first.
            self.charge(length as u64).map_err(|error| error.to_string())?;
        }
    }
}

/// Refuses an index that is no place in its table: gimli multiplies without looking, and what wraps around is read at another place.
fn check_index(dwarf: &Dwarf<Reader<'_>>, value: &Value<'_>) -> gimli::Result<()> {
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

/// An address of `.debug_addr` (DWARF 5, 7.27).
pub(super) fn address<'s>(
    dwarf: &Dwarf<Reader<'s>>,
    unit: &Unit<'s>,
    index: gimli::DebugAddrIndex<usize>,
) -> gimli::Result<u64> {
    check_index(dwarf, &AttributeValue::DebugAddrIndex(index))?;
    dwarf.address(unit, index)
}

/// The address that an attribute is; `None` for one of another class.
pub(super) fn attribute_address<'s>(
    dwarf: &Dwarf<Reader<'s>>,
    unit: &Unit<'s>,
    value: Value<'s>,
) -> gimli::Result<Option<u64>> {
    check_index(dwarf, &value)?;
    dwarf.attr_address(unit, value)
}

/// The text that an attribute is.
pub(super) fn text<'s>(dwarf: &Dwarf<Reader<'s>>, unit: &Unit<'s>, value: Value<'s>) -> gimli::Result<Reader<'s>> {
    check_index(dwarf, &value)?;
    dwarf.attr_string(unit, value)
}

/// Where a list starts, by its index in the table at `base` of a section (DWARF 5, 7.28 and 7.29).
pub(super) fn list_offset(mut section: Reader<'_>, unit: &Unit<'_>, base: usize, index: usize) -> gimli::Result<usize> {
    let format = unit.encoding().format;
    let bad = gimli::Error::UnsupportedOffset;
    let at = index.checked_mul(usize::from(format.word_size())).and_then(|at| at.checked_add(base)).ok_or(bad)?;
    section.skip(at)?;
    section.read_offset(format)?.checked_add(base).ok_or(bad)
}

/// An abbreviation as it stands in its table.
struct Declaration {
    code: u64,
    /// In bytes.
    length: usize,
}

/// Reads over an abbreviation of the table at `offset`; `None` at the end.
fn next_declaration(reader: &mut Reader<'_>, offset: usize) -> Result<Option<Declaration>, String> {
    let bad = |error: gimli::Error| format!(".debug_abbrev at {offset:#x}: {error}");
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
            return Err(format!(".debug_abbrev at {offset:#x}: an abbreviation of more than {ATTRIBUTES} attributes"));
        }
    }
}
