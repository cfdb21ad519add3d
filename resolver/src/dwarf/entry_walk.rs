//! A walk over the entries of a unit, in their order (DWARF 5, 2.3). Each entry is charged.

use gimli::{Abbreviation, AttributeValue, EntriesRaw, UnitOffset, constants as dw};

use super::sections::Reader;
use super::unit::{Die, Unit};
use super::units::Units;
use crate::Error;

/// So many steps are charged at a time.
const CHARGE_INTERVAL: u64 = 1024;

/// A walk over the entries of a unit.
pub(super) struct EntryWalk<'a, 's> {
    units: &'a Units<'s>,
    index: usize,
    pub(super) unit: &'a Unit<'s>,
    /// The caller reads the attributes of each entry from here.
    pub(super) entries: EntriesRaw<'a, 'a, Reader<'s>>,
    /// The depth at which `entries` started. It starts anew at a sibling.
    start_depth: isize,
    /// Steps that are not charged yet.
    uncharged: u64,
}

/// An entry whose attributes are not read yet.
pub(super) struct WalkStep<'a> {
    pub(super) die: Die,
    /// The depth; 0 for the first entry of the unit.
    pub(super) depth: isize,
    pub(super) abbreviation: &'a Abbreviation,
}

impl<'a, 's> EntryWalk<'a, 's> {
    pub(super) fn start(units: &'a Units<'s>, index: usize) -> Result<Self, Error> {
        let unit = units.unit(index)?;
        let entries = unit.entries_raw(None).map_err(|error| units.error(Die { unit: index, offset: 0 }, error))?;
        Ok(Self { units, index, unit, entries, start_depth: 0, uncharged: 0 })
    }

    /// The next entry; `None` at the end of the unit.
    pub(super) fn next(&mut self) -> Result<Option<WalkStep<'a>>, Error> {
        while !self.entries.is_empty() {
            self.charge(1)?;
            let die = Die { unit: self.index, offset: self.entries.next_offset().0 };
            let depth = self.start_depth.saturating_add(self.entries.next_depth());
            if let Some(abbreviation) = self.entries.read_abbreviation().map_err(|error| self.error(error))? {
                return Ok(Some(WalkStep { die, depth, abbreviation }));
            }
        }
        Ok(None)
    }

    /// Reads the attributes of an entry. Returns the offset of its sibling if it has one
    /// (`DW_AT_sibling`).
    pub(super) fn read_sibling(&mut self, abbreviation: &Abbreviation) -> gimli::Result<Option<UnitOffset>> {
        let attributes = abbreviation.attributes();
        let at = attributes.iter().position(|attribute| attribute.name() == dw::DW_AT_sibling);
        let (before, from) = attributes.split_at(at.unwrap_or(attributes.len()));
        self.entries.skip_attributes(before)?;
        let Some((attribute, behind)) = from.split_first() else { return Ok(None) };
        let sibling = match self.entries.read_attribute(*attribute)?.value() {
            AttributeValue::UnitRef(offset) => Some(offset),
            _ => None,
        };
        self.entries.skip_attributes(behind)?;
        // A sibling that lies before this entry would make an endless loop.
        let inside = self.entries.next_offset().0..self.unit.header.length_including_self();
        Ok(sibling.filter(|sibling| inside.contains(&sibling.0)))
    }

    /// Goes on at a sibling of an entry of `depth`.
    pub(super) fn continue_at(&mut self, sibling: UnitOffset, depth: isize) -> gimli::Result<()> {
        self.entries = self.unit.entries_raw(Some(sibling))?;
        self.start_depth = depth;
        Ok(())
    }

    /// Charges so many steps, now or together with later ones.
    pub(super) fn charge(&mut self, steps: u64) -> Result<(), Error> {
        self.uncharged = self.uncharged.saturating_add(steps);
        if self.uncharged >= CHARGE_INTERVAL {
            self.units.charge(std::mem::take(&mut self.uncharged))?;
        }
        Ok(())
    }

    /// Charges what is left. Fails if the work limit is reached, also if that ended the walk.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.units.charge(self.uncharged)
    }

    /// An error of the parser in this unit.
    pub(super) fn error(&self, error: gimli::Error) -> Error {
        self.units.error(Die { unit: self.index, offset: 0 }, error)
    }
}
