//! The functions, inlined instances and blocks of a unit: their addresses and their nesting (DWARF
//! 5, 3.3 to 3.5).
//!
//! `unit_pass` makes the index of a unit in one pass. `scopes` decides which of several instances
//! holds a marker, and `names` decides which variable a name means.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gimli::{DwTag, constants as dw};

use super::files::SourcePath;
use super::lines::Lines;
use super::per_unit::PerUnit;
use super::unit::{Die, is_cxx};
use super::units::Units;
use crate::Error;
use crate::ranges::RangeMap;
use crate::text;

mod unit_pass;

/// What kind of scope a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The unit itself: file scope.
    Unit,
    /// A namespace or module.
    Namespace,
    /// A type that has something in it.
    Type,
    /// A subprogram: out of line, abstract or a declaration.
    Function,
    /// An inlined instance.
    Inlined,
    /// A block of a function.
    Block,
}

impl Kind {
    fn of(tag: DwTag) -> Option<Self> {
        match tag {
            dw::DW_TAG_compile_unit | dw::DW_TAG_partial_unit | dw::DW_TAG_type_unit | dw::DW_TAG_skeleton_unit => {
                Some(Self::Unit)
            }
            dw::DW_TAG_namespace | dw::DW_TAG_module => Some(Self::Namespace),
            dw::DW_TAG_structure_type
            | dw::DW_TAG_class_type
            | dw::DW_TAG_union_type
            | dw::DW_TAG_interface_type
            | dw::DW_TAG_enumeration_type => Some(Self::Type),
            dw::DW_TAG_subprogram => Some(Self::Function),
            dw::DW_TAG_inlined_subroutine => Some(Self::Inlined),
            dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block | dw::DW_TAG_with_stmt => {
                Some(Self::Block)
            }
            _ => None,
        }
    }

    /// Whether it is an instance of a function.
    pub(super) fn is_instance(self) -> bool {
        matches!(self, Self::Function | Self::Inlined)
    }
}

/// A scope of a unit.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) offset: usize,
    pub(super) kind: Kind,
    pub(super) parent: Option<usize>,
    /// The function instance around it, or itself if it is one.
    instance: Option<usize>,
    /// One past the last node below this one.
    pub(super) end: usize,
    ranges: Range<u32>,
    variables: Range<u32>,
}

/// A variable, as its entry and its abstract entry describe it.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) die: Die,
    /// Its abstract entry, or itself.
    pub(super) origin: Die,
    /// Empty for the object of a structured binding whose names are not described.
    pub(super) name: Box<[u8]>,
    pub(super) declared: Option<(SourcePath, u32)>,
}

/// A function out of line, by address.
#[derive(Debug)]
struct Span {
    range: Range<u64>,
    /// The greatest end of this span and of all that start before it.
    reach: u64,
    function: usize,
}

/// The scopes in an out-of-line function, by address.
#[derive(Debug)]
struct Inside {
    deepest: RangeMap<usize>,
    /// The scopes without code bytes, by address, ascending.
    empty: Vec<(u64, usize)>,
}

/// A function, as its source declares it.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    /// The abstract entry, which all its instances refer to.
    pub(super) origin: Die,
    pub(super) line: u32,
    /// The name, without generic arguments.
    pub(super) name: Box<[u8]>,
    /// The names of the namespaces around it, innermost first.
    within: Vec<Box<[u8]>>,
    /// Whether its entry is below that of another function.
    pub(super) is_nested: bool,
}

impl Declared {
    /// Whether `inner` is written inside this function. rustc puts a closure, and every other item
    /// of a function, in a namespace with the name of the function.
    pub(super) fn is_around(&self, inner: &Self) -> bool {
        let depth = inner.within.len().checked_sub(self.within.len().saturating_add(1));
        depth.and_then(|depth| inner.within.get(depth)) == Some(&self.name) && inner.within.ends_with(&self.within)
    }
}

/// The functions that a unit declares in a file.
#[derive(Debug, Default)]
struct OfFile {
    /// Their lines and nodes.
    places: Vec<(u32, usize)>,
    declared: OnceLock<Arc<[Declared]>>,
}

/// What is known of some nodes of a unit; made when it is asked for.
#[derive(Debug)]
struct Cells<T>(Box<[(usize, OnceLock<T>)]>);

impl<T> Cells<T> {
    /// Empty cells of nodes, which ascend.
    fn new(nodes: impl Iterator<Item = usize>) -> Self {
        let mut cells: Vec<_> = nodes.map(|node| (node, OnceLock::new())).collect();
        cells.dedup_by_key(|(node, _)| *node);
        Self(cells.into())
    }

    fn get(&self, node: usize) -> Option<&OnceLock<T>> {
        let index = self.0.binary_search_by_key(&node, |(node, _)| *node).ok()?;
        self.0.get(index).map(|(_, cell)| cell)
    }
}

/// The index of a unit.
#[derive(Debug)]
pub(super) struct Functions {
    nodes: Vec<Node>,
    ranges: Vec<Range<u64>>,
    /// The offsets of the variables; those of one node are next to each other.
    variables: Vec<usize>,
    /// The imports and enumerations of C and C++, with the node that each is directly in, ascending.
    names: Vec<(usize, usize)>,
    codeless_with_names: Vec<usize>,
    spaces_with_names: Vec<usize>,
    /// The variables of each node that has some; made when they are asked for.
    described: Cells<Arc<[Variable]>>,
    /// The blocks without an address, ascending. In strict DWARF 2, GCC writes a block of several
    /// ranges like this.
    bare: Vec<usize>,
    spans: Vec<Span>,
    inside: Cells<Inside>,
    declared: OnceLock<BTreeMap<SourcePath, OfFile>>,
    by_origin: OnceLock<HashMap<Die, Arc<[usize]>>>,
    /// The instances whose code the linker dropped, by abstract entry; `line_absence` fills it.
    pub(super) dropped: OnceLock<HashMap<Die, Arc<[usize]>>>,
    /// Whether the unit was compiled without optimisation; `unoptimized` fills it.
    pub(super) unoptimized: OnceLock<bool>,
}

impl Functions {
    /// All nodes, in the order of their entries.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The offsets of all variables and parameters; those of one node are next to each other.
    pub(super) fn variables(&self) -> &[usize] {
        &self.variables
    }

    /// Whether any parameter or variable is described.
    pub(super) fn has_variables(&self) -> bool {
        !self.variables.is_empty()
    }

    pub(super) fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)
    }

    /// The node of an entry.
    pub(super) fn at_offset(&self, offset: usize) -> Option<usize> {
        self.nodes.binary_search_by_key(&offset, |node| node.offset).ok()
    }

    /// The last node that starts before an offset.
    pub(super) fn before(&self, offset: usize) -> Option<usize> {
        self.nodes.partition_point(|node| node.offset < offset).checked_sub(1)
    }

    /// The address ranges of a node, also the empty ones.
    pub(super) fn ranges(&self, index: usize) -> &[Range<u64>] {
        self.nodes.get(index).and_then(|node| slice(&self.ranges, &node.ranges)).unwrap_or_default()
    }

    /// The offsets of the variables directly in a node.
    pub(super) fn variables_of(&self, index: usize) -> &[usize] {
        self.nodes.get(index).and_then(|node| slice(&self.variables, &node.variables)).unwrap_or_default()
    }

    /// The offsets of the imports and enumerations directly in a node; none in languages other than C
    /// and C++.
    pub(super) fn names_of(&self, index: usize) -> impl Iterator<Item = usize> {
        let first = self.names.partition_point(|&(node, _)| node < index);
        let from_first = self.names.iter().skip(first);
        from_first.take_while(move |(node, _)| *node == index).map(|&(_, offset)| offset)
    }

    /// The functions without code that have imports or enumerations directly in them, ascending.
    pub(super) fn codeless_with_names(&self) -> &[usize] {
        &self.codeless_with_names
    }

    /// The namespaces, and the unit itself, that have imports or enumerations directly in them, ascending.
    pub(super) fn spaces_with_names(&self) -> &[usize] {
        &self.spaces_with_names
    }

    /// The nodes below one, at any depth, in the order of their entries.
    pub(super) fn below(&self, index: usize) -> Range<usize> {
        let end = self.nodes.get(index).map_or(0, |node| node.end);
        index.saturating_add(1)..end
    }

    /// The blocks without an address below a node, ascending.
    pub(super) fn bare_below(&self, index: usize) -> &[usize] {
        let below = self.below(index);
        let first = self.bare.partition_point(|&node| node < below.start);
        let end = self.bare.partition_point(|&node| node < below.end);
        self.bare.get(first..end).unwrap_or_default()
    }

    /// The function instance of a node: the node itself, or the nearest function or inlined
    /// instance around it.
    pub(super) fn instance(&self, index: usize) -> Option<usize> {
        self.nodes.get(index)?.instance
    }

    /// The out-of-line functions that hold an address or end there. `None` is a function that does
    /// neither: the caller charges for it too.
    fn spans_at(&self, address: u64) -> impl Iterator<Item = Option<usize>> {
        let after = self.spans.partition_point(|span| span.range.start <= address);
        let before = self.spans.get(..after).unwrap_or_default();
        let near = before.iter().rev().take_while(move |span| span.reach >= address);
        near.map(move |span| (span.range.end >= address).then_some(span.function))
    }
}

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
    pub(super) fn declared_in(&self, unit: usize, file: &SourcePath) -> Result<Arc<[Declared]>, Error> {
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
        let mut declared: Vec<Declared> = places.iter().map(place).collect::<Result<_, _>>()?;
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

    fn declaration(&self, unit: usize, functions: &Functions, index: usize, line: u32) -> Result<Declared, Error> {
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
        Ok(Declared { origin: root, line, name, within, is_nested })
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

/// A range of indices in half the memory: a large program has millions of them. `None` if they do
/// not fit.
fn narrow(range: Range<usize>) -> Option<Range<u32>> {
    Some(u32::try_from(range.start).ok()?..u32::try_from(range.end).ok()?)
}

fn slice<'v, T>(values: &'v [T], range: &Range<u32>) -> Option<&'v [T]> {
    values.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

/// A name without its generic arguments: `spawn<F, T>` is `spawn`.
fn without_arguments(name: &[u8]) -> &[u8] {
    let end = name.iter().position(|byte| *byte == b'<').filter(|end| *end > 0).unwrap_or(name.len());
    name.get(..end).unwrap_or(name)
}
