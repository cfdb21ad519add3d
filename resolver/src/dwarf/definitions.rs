//! Which functions of given names the debug information defines, and which of them the linker
//! dropped (DWARF 5, 2.17 and 3.3).
//!
//! This reads all units. Only the few images with several functions at one address need it.

use std::collections::{HashMap, HashSet};

use gimli::{Abbreviation, AttributeValue, EntriesRaw, constants as dw};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::entries::is_dropped;
use super::entry_walk::{EntryWalk, WalkStep};
use super::scopes::Scopes;
use super::sections::Reader;
use super::tables;
use super::unit::{Die, Unit};
use crate::Error;

/// A function that a unit defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Definition {
    /// Where it starts; `None` if the linker dropped it.
    pub(crate) start: Option<u64>,
    /// Its size in bytes; `None` if its code is in several pieces.
    pub(crate) size: Option<u64>,
}

/// Which functions are meant: those of these linkage names that start at one of these addresses, or
/// that the linker dropped.
#[derive(Debug)]
pub(crate) struct DefinitionFilter<'n> {
    pub(crate) names: HashSet<&'n [u8]>,
    pub(crate) starts: HashSet<u64>,
}

impl<'s> Scopes<'s> {
    /// The concrete out-of-line instances by name: those that are wanted, or all. A unit that cannot
    /// be read contributes none.
    ///
    /// # Errors
    ///
    /// The work limit for debug information of this size is reached.
    pub(super) fn definitions_of(
        &self,
        wanted: Option<&DefinitionFilter<'_>>,
    ) -> Result<HashMap<Vec<u8>, Vec<Definition>>, Error> {
        let by_unit = (0..self.units.own_count()).into_par_iter().map(|unit| self.definitions_in(unit, wanted));
        let mut found: HashMap<Vec<u8>, Vec<Definition>> = HashMap::new();
        for (name, definition) in by_unit.collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
            found.entry(name).or_default().push(definition);
        }
        Ok(found)
    }

    /// The wanted functions of a unit.
    fn definitions_in(
        &self,
        index: usize,
        wanted: Option<&DefinitionFilter<'_>>,
    ) -> Result<Vec<(Vec<u8>, Definition)>, Error> {
        let mut found = Vec::new();
        let Ok(mut walk) = EntryWalk::start(&self.units, index) else {
            self.units.check_work_left()?;
            return Ok(found);
        };
        // This runs once, in addition to the work for the sites, so it gets work of its own.
        self.units.allow(walk.unit.header.length_including_self() as u64);
        while let Ok(Some(WalkStep { die, abbreviation, .. })) = walk.next() {
            let Ok(is_meant) = self.is_meant(index, walk.unit, &mut walk.entries, abbreviation, wanted) else { break };
            if is_meant {
                match self.definition(die, wanted) {
                    Ok(definition) => found.extend(definition),
                    Err(_) => self.units.check_work_left()?,
                }
            }
        }
        walk.finish()?;
        Ok(found)
    }

    /// Reads the attributes of an entry. Whether it is a function with code, and may be wanted. Names
    /// are not read here: most functions start elsewhere.
    fn is_meant(
        &self,
        index: usize,
        unit: &Unit<'s>,
        entries: &mut EntriesRaw<'_, '_, Reader<'s>>,
        abbreviation: &Abbreviation,
        wanted: Option<&DefinitionFilter<'_>>,
    ) -> gimli::Result<bool> {
        let attributes = abbreviation.attributes();
        let has = |name| attributes.iter().any(|attribute| attribute.name() == name);
        let (has_start, has_ranges) = (has(dw::DW_AT_low_pc), has(dw::DW_AT_ranges));
        let is_function = abbreviation.tag() == dw::DW_TAG_subprogram && (has_start || has_ranges);
        let (Some(wanted), true, false) = (wanted, is_function, has_ranges) else {
            entries.skip_attributes(attributes)?;
            return Ok(is_function);
        };
        let mut start = None;
        for attribute in attributes {
            let attribute = entries.read_attribute(*attribute)?;
            if attribute.name() == dw::DW_AT_low_pc {
                start = Some(attribute.value());
            }
        }
        let (Some(start), Ok(dwarf)) = (start, self.units.dwarf_of(index)) else { return Ok(false) };
        // A malformed address is reported when the definition is read.
        let Ok(Some(start)) = tables::attribute_address(dwarf, unit, start) else { return Ok(true) };
        Ok(wanted.starts.contains(&start) || is_dropped(start, unit.encoding().address_size))
    }

    fn definition(
        &self,
        die: Die,
        wanted: Option<&DefinitionFilter<'_>>,
    ) -> Result<Option<(Vec<u8>, Definition)>, Error> {
        let name = match self.units.string(die, dw::DW_AT_linkage_name)? {
            Some(name) => Some(name),
            None => match self.units.string(die, dw::DW_AT_MIPS_linkage_name)? {
                Some(name) => Some(name),
                None => self.units.name(die)?,
            },
        };
        let Some(name) = name.filter(|name| wanted.is_none_or(|wanted| wanted.names.contains(&**name))) else {
            return Ok(None);
        };
        let (dwarf, unit) = (self.units.dwarf_of(die.unit)?, self.units.unit(die.unit)?);
        let error = |error| self.units.error(die, error);
        let entry = unit.entry(gimli::UnitOffset(die.offset)).map_err(error)?;
        let ranges = self.units.entry_ranges(dwarf, unit, &entry).map_err(error)?;
        let [low, high] = self.units.own_attributes(die, [dw::DW_AT_low_pc, dw::DW_AT_high_pc])?;
        let address = |value| tables::attribute_address(dwarf, unit, value).map_err(error);
        let size = match (low, high) {
            (Some(_), Some(AttributeValue::Udata(size))) => Some(size),
            (Some(low), Some(high)) => match (address(low)?, address(high)?) {
                (Some(low), Some(high)) => high.checked_sub(low),
                _ => None,
            },
            _ => None,
        };
        let start = ranges.first().map(|range| range.start);
        Ok(Some((name.into_owned(), Definition { start, size })))
    }

    /// The start of the code of the unit that holds an address; `None` if that code is in several
    /// pieces.
    pub(super) fn one_piece_around(&self, address: u64) -> Option<u64> {
        let unit = self.units.unit_at(crate::address::Vaddr(address))?;
        let own = self.units.own_unit(unit).ok()?;
        let entry = own.entry(gimli::UnitOffset(own.header.header_size())).ok()?;
        let mut attributes = entry.attrs();
        while let Some(attribute) = attributes.next().ok()? {
            if attribute.name() == dw::DW_AT_ranges {
                return None;
            }
        }
        let ranges = self.units.unit_ranges(unit).ok()?;
        ranges.first().filter(|range| range.contains(&address)).map(|range| range.start)
    }
}
