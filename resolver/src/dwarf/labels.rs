//! The labels of a unit (DWARF 5, 3.6).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use gimli::constants as dw;

use super::debug_info::DebugInfo;
use super::entries::is_dropped;
use super::entry_walk::{EntryWalk, WalkStep};
use super::files::SourcePath;
use super::lines::Rows;
use super::tables;
use super::unit::{Die, UnitValue};
use crate::Error;
use crate::address::Vaddr;

/// The copies of one label.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// The file and line that declare it.
    pub(crate) declared: (SourcePath, u32),
    pub(crate) copies: Vec<LabelCopy>,
    /// The number of instances of its function that have code and no copy of it.
    pub(crate) missing: u32,
}

/// The entries of one label.
#[derive(Debug, Default)]
struct LabelEntries {
    /// The abstract function that it is in; `None` if there is none.
    function: Option<Die>,
    copies: Vec<LabelCopy>,
}

/// A copy of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LabelCopy {
    /// `None` if the linker dropped its code.
    pub(crate) address: Option<Vaddr>,
    /// The function instance that it is in; `None` if there is none.
    instance: Option<Die>,
    /// The out-of-line function that holds it; `None` if there is none.
    pub(crate) function: Option<Die>,
}

impl LabelCopy {
    /// Whether its function is inlined there.
    pub(crate) fn is_inlined(&self) -> bool {
        self.instance != self.function
    }
}

/// How the code at a label is related to the statement that it stands in front of, by its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeAtLabel {
    /// It may be that of the statement.
    Behind,
    /// A statement behind the label has code on both sides of it.
    Inside,
    /// It is of a statement of the same function in front of the label.
    Before,
}

/// In how many places of each function instance the lines of a unit have code, as far as they were
/// asked for. The key is a row's file number and line; an instance is the index of its node.
pub(crate) type LinePlaces = BTreeMap<(u64, u32), BTreeMap<Option<usize>, u32>>;

impl DebugInfo<'_> {
    /// The labels of a unit whose names start with `prefix`.
    ///
    /// # Errors
    ///
    /// The unit is malformed.
    pub(crate) fn labels(&self, unit: usize, prefix: &[u8]) -> Result<Vec<Label>, Error> {
        let mut by_origin: BTreeMap<Die, LabelEntries> = BTreeMap::new();
        // The functions around the current entry, outermost first, with their depths, and whether
        // they are inlined.
        let mut around: Vec<(isize, Die, bool)> = Vec::new();
        let mut walk = EntryWalk::start(&self.units, unit)?;
        while let Some(WalkStep { die, depth, abbreviation }) = walk.next()? {
            let skipped = walk.entries.skip_attributes(abbreviation.attributes());
            skipped.map_err(|error| walk.error(error))?;
            while around.last().is_some_and(|(last, ..)| *last >= depth) {
                around.pop();
            }
            match abbreviation.tag() {
                dw::DW_TAG_subprogram => around.push((depth, die, false)),
                dw::DW_TAG_inlined_subroutine => around.push((depth, die, true)),
                dw::DW_TAG_label if self.units.name(die)?.is_some_and(|name| name.starts_with(prefix)) => {
                    let instance = around.last().map(|&(_, instance, _)| instance);
                    let function = around.iter().rev().find(|(.., is_inlined)| !is_inlined).map(|&(_, die, _)| die);
                    let entries = by_origin.entry(self.units.root_origin(die)?).or_default();
                    match self.units.own_attribute(die, dw::DW_AT_low_pc)? {
                        Some(low) => {
                            let copy = |address| LabelCopy { address, instance, function };
                            entries.copies.extend(self.label_address(die, low)?.map(copy));
                        }
                        None => entries.function = entries.function.or(instance),
                    }
                }
                _ => {}
            }
        }
        walk.finish()?;
        let mut labels = Vec::new();
        for (origin, LabelEntries { function, copies }) in by_origin {
            let Some(declared) = self.lines.declared(origin)? else { continue };
            let missing = match function {
                Some(function) => self.instances_without_label(unit, function, &copies)?,
                None => 0,
            };
            labels.push(Label { declared, copies, missing });
        }
        Ok(labels)
    }

    /// How many instances of a function have code and no copy of its label.
    fn instances_without_label(&self, unit: usize, function: Die, copies: &[LabelCopy]) -> Result<u32, Error> {
        let functions = self.scopes.functions.of_unit(unit)?;
        let with: BTreeSet<usize> = copies.iter().filter_map(|copy| Some(copy.instance?.offset)).collect();
        let mut missing = 0u32;
        for &node in self.scopes.functions.instances_of(unit, function)?.iter() {
            self.units.charge(1)?;
            let has_copy = functions.node(node).is_some_and(|node| with.contains(&node.offset));
            missing = missing.saturating_add(u32::from(!has_copy));
        }
        Ok(missing)
    }

    /// The address of a label. The inner value is `None` if the linker dropped its code.
    fn label_address(&self, die: Die, low: UnitValue<'_>) -> Result<Option<Option<Vaddr>>, Error> {
        let units = &self.units;
        let unit = units.unit(die.unit)?;
        let address = tables::attribute_address(units.dwarf_of(die.unit)?, unit, low);
        let address = address.map_err(|error| units.error(die, error))?;
        let is_dropped = |address| is_dropped(address, unit.encoding().address_size);
        Ok(address.map(|address| (!is_dropped(address)).then_some(Vaddr(address))))
    }

    /// In how many places of its function instance the line of an instruction has code: a place is a
    /// run of rows with no other line between them. 0 if the line is not known. `known` has the lines
    /// of the unit that were asked for before.
    ///
    /// # Errors
    ///
    /// The unit is malformed.
    pub(crate) fn places_of_line_at(&self, known: &mut LinePlaces, unit: usize, address: Vaddr) -> Result<u32, Error> {
        let rows = self.rows(unit)?;
        let Some(row) = rows.at(address.0).filter(|row| row.line != 0) else { return Ok(0) };
        let position = (row.file(), row.line);
        let places = match known.entry(position) {
            Entry::Occupied(places) => places.into_mut(),
            Entry::Vacant(places) => places.insert(self.places_of_line(unit, &rows, position)?),
        };
        let instance = self.scopes.functions.instance_at(unit, address.0)?;
        Ok(places.get(&instance).copied().unwrap_or(0))
    }

    /// In how many places of each function instance a line has code.
    fn places_of_line(
        &self,
        unit: usize,
        rows: &Rows,
        (file, line): (u64, u32),
    ) -> Result<BTreeMap<Option<usize>, u32>, Error> {
        // For each instance also the last row of the line.
        let mut by_instance: BTreeMap<Option<usize>, (u32, usize)> = BTreeMap::new();
        for index in rows.of_line(file, line) {
            self.units.charge(1)?;
            let Some(row) = rows.get(index) else { continue };
            let instance = self.scopes.functions.instance_at(unit, row.address)?;
            let (places, last) = by_instance.entry(instance).or_insert((0, index));
            if *places == 0 || !rows.is_one_run(*last, index) {
                *places = places.saturating_add(1);
            }
            *last = index;
        }
        Ok(by_instance.into_iter().map(|(instance, (places, _))| (instance, places)).collect())
    }

    /// Whether an address is in the function instance of a label.
    ///
    /// # Errors
    ///
    /// The unit is malformed.
    pub(crate) fn is_in_instance(&self, unit: usize, copy: &LabelCopy, address: Vaddr) -> Result<bool, Error> {
        let Some(index) = self.scopes.functions.instance_at(unit, address.0)? else { return Ok(false) };
        let functions = self.scopes.functions.of_unit(unit)?;
        Ok(functions.node(index).map(|node| node.offset) == copy.instance.map(|instance| instance.offset))
    }

    /// What the line table says of the code at an address, seen from a label in a line of a file.
    ///
    /// # Errors
    ///
    /// The unit is malformed.
    pub(crate) fn code_at_label(
        &self,
        unit: usize,
        (file, line): &(SourcePath, u32),
        address: Vaddr,
    ) -> Result<CodeAtLabel, Error> {
        self.units.charge(1)?;
        let rows = self.rows(unit)?;
        let Some(row) = rows.at(address.0).filter(|row| row.line != 0) else { return Ok(CodeAtLabel::Behind) };
        let files = self.lines.unit_files(unit)?;
        if files.get(row.file()).is_none_or(|of_row| !of_row.has_last_of(file)) {
            return Ok(CodeAtLabel::Behind);
        }
        if row.line > *line {
            return Ok(if row.address < address.0 { CodeAtLabel::Inside } else { CodeAtLabel::Behind });
        }
        let declared = self.scopes.functions.declared_in(unit, file)?;
        // The function of a line is the one that is declared last before it.
        let function = |line: u32| declared.partition_point(|declared| declared.line <= line);
        let is_before = row.line < *line && function(row.line) == function(*line);
        Ok(if is_before { CodeAtLabel::Before } else { CodeAtLabel::Behind })
    }

    /// Whether link-time optimisation made a unit together with another one: both are from one file,
    /// and so they have their abbreviations in common.
    pub(crate) fn is_from_link_time(&self, unit: usize) -> bool {
        let table = |unit| Some(self.units.header(unit)?.debug_abbrev_offset());
        let neighbours = [unit.checked_sub(1), unit.checked_add(1)].into_iter().flatten();
        table(unit).is_some_and(|of_unit| neighbours.map(table).any(|other| other == Some(of_unit)))
    }
}
