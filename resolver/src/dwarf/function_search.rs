//! The functions of some names, with all their instances (DWARF 5, 3.3).
//!
//! The names of all units are read. The instances are then looked up in units that have such a name, and in
//! those whose instances may refer to another unit, as link-time optimisation makes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::{AttributeValue, constants as dw};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::debug_info::DebugInfo;
use super::entry_walk::{EntryWalk, WalkStep};
use super::files::SourcePath;
use super::functions::Kind;
use super::producer::{Frontiers, Producer};
use super::tables;
use super::unit::{Die, is_c};
use crate::Error;
use crate::address::Vaddr;
use crate::text;

/// A function as its source declares it, with its instances.
#[derive(Clone, Debug)]
pub(crate) struct FoundFunction {
    /// Its name with the namespaces and types around it.
    pub(crate) path: Arc<str>,
    /// Where it is declared; `None` if its entry does not say.
    pub(crate) declared: Option<(SourcePath, u32)>,
    /// The line of its last parameter, if that is behind the line of the declaration.
    pub(crate) last_line: u32,
    /// Its instances that have code.
    pub(crate) instances: Vec<FunctionInstance>,
}

/// An instance of a function: its code out of line, or a place where it is inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionInstance {
    pub(crate) die: Die,
    pub(crate) is_inlined: bool,
    /// Where it is entered, as far as its entry says (`DW_AT_entry_pc`), else where its first range starts.
    pub(crate) entry: Vaddr,
}

/// Whether an entry other than a function may have functions inside.
fn has_functions(tag: gimli::DwTag, is_c: bool) -> bool {
    match tag {
        dw::DW_TAG_structure_type | dw::DW_TAG_union_type => !is_c,
        dw::DW_TAG_enumeration_type
        | dw::DW_TAG_subroutine_type
        | dw::DW_TAG_array_type
        | dw::DW_TAG_call_site
        | dw::DW_TAG_GNU_call_site => false,
        _ => true,
    }
}

/// What the names of a unit say.
#[derive(Default)]
struct UnitNames {
    /// The entries with a name that is wanted.
    found: Vec<Die>,
    /// Whether instances in the unit refer to functions of others.
    refers_to_others: bool,
}

impl DebugInfo<'_> {
    /// The functions whose names may be wanted, each once, in the order of their entries. A unit that cannot be
    /// read has none.
    ///
    /// # Errors
    ///
    /// It is more work than debug information of this size warrants.
    pub(crate) fn functions_called(
        &self,
        is_wanted: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FoundFunction>, Error> {
        let names = (0..self.units.unit_count()).into_par_iter().map(|unit| self.names_in(unit, is_wanted));
        let names = names.collect::<Result<Vec<UnitNames>, _>>()?;
        let mut roots: Vec<Die> = Vec::new();
        for &die in names.iter().flat_map(|names| &names.found) {
            roots.extend(self.units.root_origin(die).ok());
        }
        roots.sort_unstable();
        roots.dedup();
        if roots.is_empty() {
            return Ok(Vec::new());
        }
        let mut instances: BTreeMap<Die, Vec<FunctionInstance>> = BTreeMap::new();
        for (unit, names) in names.iter().enumerate() {
            if names.found.is_empty() && !names.refers_to_others {
                continue;
            }
            for &root in roots.iter().filter(|root| root.unit == unit || names.refers_to_others) {
                match self.instances_in(unit, root) {
                    Ok(found) => instances.entry(root).or_default().extend(found),
                    Err(_) => self.units.check_work_left()?,
                }
            }
        }
        let found = roots.into_iter().map(|root| self.found(root, instances.remove(&root).unwrap_or_default()));
        Ok(found.filter_map(Result::ok).flatten().collect())
    }

    /// Where the code behind the prologue of a function without optimisation begins: at the second row of its
    /// code that is a statement, as in gdb. `None` if there is no such row.
    ///
    /// # Errors
    ///
    /// The line program of the unit is malformed.
    pub(crate) fn behind_prologue(&self, function: Die, entry: Vaddr) -> Result<Option<Vaddr>, Error> {
        let ranges = self.code_of(function)?;
        let Some(range) = ranges.iter().find(|range| range.contains(&entry.0)) else { return Ok(None) };
        let rows = self.rows(function.unit)?;
        let behind = rows.within(range).map(|(_, row)| row).find(|row| row.is_statement && row.address > entry.0);
        Ok(behind.map(|row| Vaddr(row.address)))
    }

    /// Whether a function was compiled without optimisation, as far as it shows.
    ///
    /// # Errors
    ///
    /// The unit cannot be read.
    pub(crate) fn is_code_unoptimized(&self, function: Die) -> Result<bool, Error> {
        match self.producer(function.unit) {
            Producer::Gcc => Ok(self.frontiers(function.unit) == Frontiers::Unoptimized),
            _ => self.is_unoptimized(function),
        }
    }

    fn names_in(&self, index: usize, is_wanted: &(dyn Fn(&str) -> bool + Sync)) -> Result<UnitNames, Error> {
        let mut names = UnitNames::default();
        let (Ok(mut walk), Ok(dwarf)) = (EntryWalk::start(&self.units, index), self.units.dwarf_of(index)) else {
            self.units.check_work_left()?;
            return Ok(names);
        };
        // This runs once, in addition to the work for the sites, so it gets work of its own.
        self.units.allow(walk.unit.header.length_including_self() as u64);
        let is_c = self.units.unit_language(index).is_some_and(is_c);
        while let Ok(Some(WalkStep { die, depth, abbreviation })) = walk.next() {
            let attributes = abbreviation.attributes();
            if !matches!(abbreviation.tag(), dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine) {
                let next = match has_functions(abbreviation.tag(), is_c) {
                    true => walk.entries.skip_attributes(attributes).map(|()| None),
                    false => walk.read_sibling(abbreviation),
                };
                let is_read = next.is_ok_and(|next| next.is_none_or(|next| walk.continue_at(next, depth).is_ok()));
                if !is_read {
                    break;
                }
                continue;
            }
            let mut is_read = true;
            for attribute in attributes {
                let Ok(attribute) = walk.entries.read_attribute(*attribute) else {
                    is_read = false;
                    break;
                };
                match (attribute.name(), attribute.value()) {
                    (dw::DW_AT_name, value) => {
                        let name = tables::text(dwarf, walk.unit, value);
                        if name.is_ok_and(|name| is_wanted(&text::from_bytes(name.slice()))) {
                            names.found.push(die);
                        }
                    }
                    (
                        dw::DW_AT_abstract_origin | dw::DW_AT_specification,
                        AttributeValue::DebugInfoRef(_) | AttributeValue::DebugInfoRefSup(_),
                    ) => names.refers_to_others = true,
                    _ => {}
                }
            }
            if !is_read {
                break;
            }
        }
        walk.finish()?;
        Ok(names)
    }

    fn instances_in(&self, unit: usize, root: Die) -> Result<Vec<FunctionInstance>, Error> {
        let functions = self.scopes.functions.of_unit(unit)?;
        let mut found = Vec::new();
        for &node in self.scopes.functions.instances_of(unit, root)?.iter() {
            self.units.charge(1)?;
            let Some(of) = functions.node(node) else { continue };
            let die = Die { unit, offset: of.offset };
            let first = functions.ranges(node).iter().find(|range| !range.is_empty()).map(|range| range.start);
            let Some(entry) = self.entry_of(die)?.or(first) else { continue };
            found.push(FunctionInstance { die, is_inlined: of.kind == Kind::Inlined, entry: Vaddr(entry) });
        }
        Ok(found)
    }

    fn found(&self, root: Die, instances: Vec<FunctionInstance>) -> Result<Option<FoundFunction>, Error> {
        let Some(path) = self.function_name(root)? else { return Ok(None) };
        let declared = self.lines.declared(root)?;
        let mut last_line = declared.as_ref().map_or(0, |(_, line)| *line);
        // A declaration in a class has the parameters without their names.
        let definition = instances.first().map_or(root, |instance| instance.die);
        for of in [root, definition] {
            for (child, tag) in self.units.children(of)? {
                if tag == dw::DW_TAG_formal_parameter {
                    let at = self.lines.declared(child)?;
                    let is_here = |(file, _): &(SourcePath, u32)| declared.as_ref().is_some_and(|(of, _)| of == file);
                    last_line = last_line.max(at.filter(is_here).map_or(0, |(_, line)| line));
                }
            }
        }
        Ok(Some(FoundFunction { path, declared, last_line, instances }))
    }
}
