//! The functions, inlined instances and blocks of a unit: their addresses and their nesting (DWARF
//! 5, 3.3 to 3.5).
//!
//! `unit_pass` makes the index of a unit in one pass. `scopes` decides which of several instances
//! holds a marker, and `names` decides which variable a name means.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use gimli::constants as dw;

use super::files::SourcePath;
use super::lines::Lines;
use super::per_unit::PerUnit;
use super::unit::{Die, UnitValue, is_cxx};
use super::units::Units;
use crate::Error;
use crate::ranges::RangeMap;
use crate::text;

mod unit_functions;
mod unit_pass;

pub(super) use unit_functions::{FunctionDeclaration, Functions, Kind, ScopeNode, Variable};
use unit_functions::{Inside, OfFile, slice};

/// The functions of all units. A unit is indexed when it is first asked for.
#[derive(Debug)]
pub(super) struct FunctionIndex<'s> {
    pub(super) units: Arc<Units<'s>>,
    lines: Arc<Lines<'s>>,
    by_unit: PerUnit<Functions>,
}

impl<'s> FunctionIndex<'s> {
    pub(super) fn new(lines: &Arc<Lines<'s>>) -> Self {
        let units = Arc::clone(&lines.units);
        let by_unit = PerUnit::new(units.unit_count());
        Self { units, lines: Arc::clone(lines), by_unit }
    }

    /// The number of units that are indexed.
    pub(super) fn known_units(&self) -> usize {
        self.by_unit.count()
    }

    /// Drops the functions of all units.
    pub(super) fn clear(&self) {
        self.by_unit.clear();
    }

    /// The index of a unit.
    pub(super) fn of_unit(&self, unit: usize) -> Result<Arc<Functions>, Error> {
        self.by_unit.get_or_make(unit, || unit_pass::index_unit(&self.units, unit))
    }

    /// The addresses of a function out of line, in the order in which its entry lists them.
    pub(super) fn code_of(&self, function: Die) -> Result<Vec<Range<u64>>, Error> {
        let functions = self.of_unit(function.unit)?;
        let ranges = functions.at_offset(function.offset).map(|node| functions.ranges(node)).unwrap_or_default();
        Ok(ranges.iter().filter(|range| !range.is_empty()).cloned().collect())
    }

    /// The address at which a function is entered (`DW_AT_entry_pc`; DWARF 5, 2.18); `None` if its
    /// entry has no such attribute.
    pub(super) fn entry_of(&self, function: Die) -> Result<Option<u64>, Error> {
        let Some(value) = self.units.own_attribute(function, dw::DW_AT_entry_pc)? else { return Ok(None) };
        let address = self.units.dwarf.attr_address(self.units.unit(function.unit)?, value);
        address.map_err(|error| self.units.error(function, error))
    }

    /// The scopes of a unit that hold an address or end there: each out-of-line function with all
    /// such scopes in it, itself included, in the order of their entries.
    pub(super) fn scopes_around(&self, unit: usize, address: u64) -> Result<Vec<(usize, Vec<usize>)>, Error> {
        let functions = self.of_unit(unit)?;
        let mut around: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut known = HashSet::new();
        for function in functions.spans_at(address) {
            self.units.charge(1)?;
            let Some(function) = function.filter(|function| known.insert(*function)) else { continue };
            let Some(inside) = self.inside_of(&functions, function)? else { continue };
            let mut nodes = BTreeSet::from([function]);
            let first = inside.empty.partition_point(|&(at, _)| at < address);
            let empty = inside.empty.iter().skip(first).take_while(|&&(at, _)| at == address).map(|&(_, node)| node);
            let ends = address.checked_sub(1).and_then(|before| inside.deepest.get(before));
            for mut node in empty.chain(inside.deepest.get(address)).chain(ends) {
                // Go up to the function, or to a node that is known: all above it is known too.
                while nodes.insert(node) {
                    self.units.charge(1)?;
                    match functions.node(node).and_then(|node| node.parent) {
                        Some(parent) => node = parent,
                        None => break,
                    }
                }
            }
            around.push((function, nodes.into_iter().collect()));
        }
        Ok(around)
    }

    /// The innermost scope at an address, in the out-of-line function around `node`; `None` if that
    /// function does not hold the address.
    pub(super) fn deepest(&self, unit: usize, node: usize, address: u64) -> Result<Option<usize>, Error> {
        let functions = self.of_unit(unit)?;
        let Some(function) = self.out_of_line(&functions, node)? else { return Ok(None) };
        Ok(self.inside_of(&functions, function)?.and_then(|inside| inside.deepest.get(address)))
    }

    /// The out-of-line function around a node, or the node itself; `None` if there is none.
    pub(super) fn out_of_line(&self, functions: &Functions, node: usize) -> Result<Option<usize>, Error> {
        let mut at = Some(node);
        while let Some((index, found)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            self.units.charge(1)?;
            if found.kind == Kind::Function {
                return Ok(Some(index));
            }
            at = found.parent;
        }
        Ok(None)
    }

    /// The innermost function instance whose code holds an address; `None` if there is none.
    pub(super) fn instance_at(&self, unit: usize, address: u64) -> Result<Option<usize>, Error> {
        let functions = self.of_unit(unit)?;
        for function in functions.spans_at(address) {
            self.units.charge(1)?;
            let Some(function) = function else { continue };
            let inside = self.inside_of(&functions, function)?;
            if let Some(node) = inside.and_then(|inside| inside.deepest.get(address)) {
                return Ok(functions.instance(node));
            }
        }
        Ok(None)
    }

    fn inside_of<'f>(&self, functions: &'f Functions, function: usize) -> Result<Option<&'f Inside>, Error> {
        let Some(cell) = functions.inside.get(function) else { return Ok(None) };
        if let Some(inside) = cell.get() {
            return Ok(Some(inside));
        }
        let inside = self.inside(functions, function)?;
        Ok(Some(cell.get_or_init(|| inside)))
    }

    fn inside(&self, functions: &Functions, function: usize) -> Result<Inside, Error> {
        let (mut ranges, mut empty) = (Vec::new(), Vec::new());
        let below = functions.below(function);
        let mut next = function;
        while next < below.end {
            self.units.charge(1)?;
            let index = next;
            let Some(node) = functions.node(index) else { break };
            // A nested function or type is no part of this function.
            let is_part = index == function || matches!(node.kind, Kind::Inlined | Kind::Block);
            next = if is_part { index.saturating_add(1) } else { node.end };
            if !is_part {
                continue;
            }
            for range in functions.ranges(index) {
                match range.is_empty() {
                    true => empty.push((range.start, index)),
                    // A node below another one has the greater index.
                    false => ranges.push((range.clone(), index, index)),
                }
            }
        }
        empty.sort_unstable();
        Ok(Inside { deepest: RangeMap::new(&ranges), empty })
    }

    /// The parameters and variables directly in a scope that have a name, in the order of their
    /// entries.
    pub(super) fn variables(&self, unit: usize, node: usize) -> Result<Arc<[Variable]>, Error> {
        let functions = self.of_unit(unit)?;
        let (Some(cell), Some(range)) =
            (functions.described.get(node), functions.node(node).map(|node| node.variables.clone()))
        else {
            return Ok(Arc::from([]));
        };
        if let Some(variables) = cell.get() {
            return Ok(Arc::clone(variables));
        }
        let mut variables = Vec::new();
        for &offset in slice(&functions.variables, &range).unwrap_or_default() {
            let die = Die { unit, offset };
            let name = match self.units.name(die)? {
                Some(name) => name,
                None if self.is_binding(die)? => Default::default(),
                None => continue,
            };
            let (origin, declared) = (self.units.root_origin(die)?, self.lines.declared(die)?);
            variables.push(Variable { die, origin, name: (*name).into(), declared });
        }
        Ok(Arc::clone(cell.get_or_init(|| variables.into())))
    }

    /// Whether a variable without a name is the object of a structured binding of C++. The members of
    /// an anonymous union have names of their own.
    fn is_binding(&self, variable: Die) -> Result<bool, Error> {
        if self.units.tag(variable)? != dw::DW_TAG_variable
            || !self.units.unit_language(variable.unit).is_some_and(is_cxx)
            || self.units.flag(variable, dw::DW_AT_artificial)?
        {
            return Ok(false);
        }
        Ok(match self.units.referred(variable, dw::DW_AT_type)? {
            Some(of) => self.units.tag(of)? != dw::DW_TAG_union_type,
            None => false,
        })
    }

    /// The functions that a unit declares in a file, by line.
    pub(super) fn declared_in(&self, unit: usize, file: &SourcePath) -> Result<Arc<[FunctionDeclaration]>, Error> {
        let functions = self.of_unit(unit)?;
        let by_file = match functions.declared.get() {
            Some(by_file) => by_file,
            None => {
                let by_file = self.declared_by_file(unit, &functions)?;
                functions.declared.get_or_init(|| by_file)
            }
        };
        let Some(OfFile { places, declared: cached }) = by_file.get(file) else { return Ok(Arc::from([])) };
        if let Some(declared) = cached.get() {
            return Ok(Arc::clone(declared));
        }
        let place = |&(line, node): &(u32, usize)| self.declaration(unit, &functions, node, line);
        let mut declared: Vec<FunctionDeclaration> = places.iter().map(place).collect::<Result<_, _>>()?;
        declared.sort_by_key(|declared| declared.line);
        Ok(Arc::clone(cached.get_or_init(|| declared.into())))
    }

    fn declared_by_file(&self, unit: usize, functions: &Functions) -> Result<BTreeMap<SourcePath, OfFile>, Error> {
        let mut by_file: BTreeMap<SourcePath, OfFile> = BTreeMap::new();
        for (index, node) in functions.nodes.iter().enumerate().filter(|(_, node)| node.kind == Kind::Function) {
            let die = Die { unit, offset: node.offset };
            let names = [dw::DW_AT_abstract_origin, dw::DW_AT_decl_file, dw::DW_AT_decl_line];
            let [origin, file, line] = self.units.own_attributes(die, names)?;
            // An instance declares nothing that its abstract entry does not declare.
            let is_part = match origin {
                Some(value) => self.units.reference(die, &value)?.unit == unit,
                None => false,
            };
            if is_part {
                continue;
            }
            let declared = match (file, line) {
                (Some(file), Some(line)) => self.lines.source_place(unit, &file, line.udata_value()),
                _ => self.lines.declared(die)?,
            };
            let Some((file, line)) = declared else { continue };
            by_file.entry(file).or_default().places.push((line, index));
        }
        Ok(by_file)
    }

    /// The instances of a function in a unit that have code.
    pub(super) fn instances_of(&self, unit: usize, origin: Die) -> Result<Arc<[usize]>, Error> {
        let functions = self.of_unit(unit)?;
        let by_origin = match functions.by_origin.get() {
            Some(by_origin) => by_origin,
            None => {
                let mut by_origin: HashMap<Die, Vec<usize>> = HashMap::new();
                for (index, node) in functions.nodes.iter().enumerate().filter(|(_, node)| node.kind.is_instance()) {
                    if !node.ranges.is_empty() {
                        by_origin
                            .entry(self.units.root_origin(Die { unit, offset: node.offset })?)
                            .or_default()
                            .push(index);
                    }
                }
                let by_origin = by_origin.into_iter().map(|(origin, nodes)| (origin, nodes.into())).collect();
                functions.by_origin.get_or_init(|| by_origin)
            }
        };
        Ok(by_origin.get(&origin).map_or_else(|| Arc::from([]), Arc::clone))
    }

    /// The inlined instances of a unit that have code and are called at a line, by the number of its file
    /// in the unit's table (DWARF 5, 3.3.8.2).
    pub(super) fn called_at(&self, unit: usize, file: u64, line: u32) -> Result<Arc<[usize]>, Error> {
        let functions = self.of_unit(unit)?;
        let by_call = match functions.by_call.get() {
            Some(by_call) => by_call,
            None => {
                let mut by_call: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
                for (index, node) in functions.nodes.iter().enumerate().filter(|(_, node)| node.kind == Kind::Inlined) {
                    if node.ranges.is_empty() {
                        continue;
                    }
                    let names = [dw::DW_AT_call_file, dw::DW_AT_call_line];
                    let call = self.units.own_attributes(Die { unit, offset: node.offset }, names)?;
                    let number = |value: Option<UnitValue<'_>>| match value? {
                        gimli::AttributeValue::FileIndex(number) => Some(number),
                        other => other.udata_value(),
                    };
                    if let [Some(file), Some(line)] = call.map(number) {
                        by_call.entry((file, line)).or_default().push(index);
                    }
                }
                let by_call = by_call.into_iter().map(|(call, nodes)| (call, nodes.into())).collect();
                functions.by_call.get_or_init(|| by_call)
            }
        };
        Ok(by_call.get(&(file, u64::from(line))).map_or_else(|| Arc::from([]), Arc::clone))
    }

    fn declaration(
        &self,
        unit: usize,
        functions: &Functions,
        index: usize,
        line: u32,
    ) -> Result<FunctionDeclaration, Error> {
        let die = Die { unit, offset: functions.node(index).map_or(0, |node| node.offset) };
        let name = self.units.name(die)?.map(|name| without_arguments(&name).into()).unwrap_or_default();
        let (mut within, mut is_nested) = (Vec::new(), false);
        let root = self.units.root_origin(die)?;
        let of_root = self.of_unit(root.unit)?;
        let root_node = of_root.at_offset(root.offset);
        for (unit, functions, index) in [(unit, functions, Some(index)), (root.unit, &*of_root, root_node)] {
            let is_root = index == root_node && unit == root.unit;
            let mut at = index.and_then(|index| functions.node(index)?.parent);
            while let Some(node) = at.and_then(|at| functions.node(at)) {
                self.units.charge(1)?;
                let name = match node.kind {
                    Kind::Namespace if is_root => self.units.name(Die { unit, offset: node.offset })?,
                    Kind::Function => {
                        is_nested = true;
                        None
                    }
                    _ => None,
                };
                // The items in a method are below `{impl#0}`, the method itself is below its type.
                within.extend(name.filter(|name| !name.starts_with(b"{impl")).map(|name| (*name).into()));
                at = node.parent;
            }
            if is_root {
                break;
            }
        }
        Ok(FunctionDeclaration { origin: root, line, name, within, is_nested })
    }

    /// The name of a function in the source, with the namespaces and types around it; `None` if it
    /// has none.
    pub(super) fn qualified_name(&self, die: Die) -> Result<Option<String>, Error> {
        let Some(name) = self.units.name(die)? else { return Ok(None) };
        let root = self.units.root_origin(die)?;
        let functions = self.of_unit(root.unit)?;
        let mut parts = vec![text::from_bytes(&name)];
        let mut at = functions.at_offset(root.offset).and_then(|at| functions.node(at)?.parent);
        while let Some(node) = at.and_then(|at| functions.node(at)) {
            self.units.charge(1)?;
            if !matches!(node.kind, Kind::Namespace | Kind::Type | Kind::Function) || parts.len() > 64 {
                break;
            }
            if let Some(name) = self.units.name(Die { unit: root.unit, offset: node.offset })? {
                parts.push(text::from_bytes(&name));
            }
            at = node.parent;
        }
        parts.reverse();
        Ok(Some(parts.join("::")))
    }
}

/// A name without its generic arguments: `spawn<F, T>` is `spawn`.
fn without_arguments(name: &[u8]) -> &[u8] {
    let end = name.iter().position(|byte| *byte == b'<').filter(|end| *end > 0).unwrap_or(name.len());
    name.get(..end).unwrap_or(name)
}
