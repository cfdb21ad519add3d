//! The functions, inlined instances and blocks of a unit, by address, and who is nested in whom (DWARF 5, 3.3 to 3.5).
//!
//! One pass over the unit makes the index, however many markers ask. It leaves to `scopes` which of several instances a marker is in, and
//! to `names` which variable a name means.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gimli::{DwTag, constants as dw};

use super::entries::behind;
use super::files::SourcePath;
use super::scopes::Scopes;
use super::units::{CHARGE_INTERVAL, Die, is_c};
use crate::Error;
use crate::ranges::RangeMap;
use crate::text;

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

/// Whether the parameters and variables in such an entry are none of the scope around it, so that nothing in it matters: an entry point (Fortran)
/// repeats those of the subprogram that it enters, a call site has the callee's.
fn is_opaque(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_entry_point
            | dw::DW_TAG_subroutine_type
            | dw::DW_TAG_call_site
            | dw::DW_TAG_GNU_call_site
            | dw::DW_TAG_template_alias
    )
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
    /// The instance of a function that it is in, itself where it is one.
    instance: Option<usize>,
    /// One past the last node below this one.
    pub(super) end: usize,
    ranges: Range<u32>,
    variables: Range<u32>,
}

/// A variable, as its entry and what it completes describe it.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) die: Die,
    /// What it completes, or itself.
    pub(super) origin: Die,
    pub(super) name: Box<[u8]>,
    pub(super) declared: Option<(SourcePath, u32)>,
}

/// A function out of line, by address.
#[derive(Debug)]
struct Span {
    range: Range<u64>,
    /// The greatest end of this and all that start before it.
    reach: u64,
    function: usize,
}

/// The scopes in an out-of-line function, by address.
#[derive(Debug)]
struct Inside {
    deepest: RangeMap<usize>,
    /// Scopes without a byte, with where they are; ascending.
    empty: Vec<(u64, usize)>,
}

/// A function, as its source declares it.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    /// The entry that everything that completes it leads to.
    pub(super) origin: Die,
    pub(super) line: u32,
    /// The name, without generic arguments.
    pub(super) name: Box<[u8]>,
    /// The names of the namespaces that it is in, innermost first.
    within: Vec<Box<[u8]>>,
    /// Whether its entry is in another function's.
    pub(super) is_nested: bool,
}

impl Declared {
    /// Whether `inner` is written in this one, as rustc tells it: a closure, and whatever else is in a function, is in a namespace with
    /// the function's name.
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

/// The index of a unit.
#[derive(Debug)]
pub(super) struct Functions {
    nodes: Vec<Node>,
    ranges: Vec<Range<u64>>,
    /// Offsets of the entries, those of one node next to each other.
    variables: Vec<usize>,
    /// By node, of those that have any.
    described: HashMap<usize, OnceLock<Arc<[Variable]>>>,
    /// The blocks without an address, ascending: GCC writes them so for several ranges in strict DWARF 2.
    bare: Vec<usize>,
    spans: Vec<Span>,
    inside: HashMap<usize, OnceLock<Inside>>,
    declared: OnceLock<BTreeMap<SourcePath, OfFile>>,
    by_origin: OnceLock<HashMap<Die, Arc<[usize]>>>,
    /// The instances whose code the linker dropped, by what they complete: `line_absence` fills it.
    pub(super) dropped: OnceLock<HashMap<Die, Arc<[usize]>>>,
}

impl Functions {
    /// All nodes, in the order of their entries.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
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

    /// The address ranges of a node, empty ones too.
    pub(super) fn ranges(&self, index: usize) -> &[Range<u64>] {
        self.nodes.get(index).and_then(|node| slice(&self.ranges, &node.ranges)).unwrap_or_default()
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

    /// The instance that a node is in: the node itself, or the nearest one around it that is a function or an inlined instance.
    pub(super) fn instance(&self, index: usize) -> Option<usize> {
        self.nodes.get(index)?.instance
    }

    /// The out-of-line functions that hold an address, or end there; `None` for others that had to be looked at.
    fn spans_at(&self, address: u64) -> impl Iterator<Item = Option<usize>> {
        let after = self.spans.partition_point(|span| span.range.start <= address);
        let before = self.spans.get(..after).unwrap_or_default();
        let near = before.iter().rev().take_while(move |span| span.reach >= address);
        near.map(move |span| (span.range.end >= address).then_some(span.function))
    }
}

impl<'s> Scopes<'s> {
    /// The index of a unit.
    pub(super) fn functions(&self, unit: usize) -> Result<Arc<Functions>, Error> {
        self.functions.get_or_make(unit, || self.index_unit(unit))
    }

    fn index_unit(&self, index: usize) -> Result<Functions, Error> {
        let (dwarf, unit) = (self.units.dwarf_of(index)?, self.units.unit(index)?);
        let error = |error: gimli::Error| self.units.error(Die { unit: index, offset: 0 }, error);
        let too_many = || self.units.error(Die { unit: index, offset: 0 }, "more than 2^32 ranges or variables");
        let (mut nodes, mut ranges): (Vec<Node>, Vec<Range<u64>>) = (Vec::new(), Vec::new());
        // The variables: the scope that each is right in, and its offset.
        let mut found: Vec<(usize, usize)> = Vec::new();
        // The scopes around the current entry, with their depths.
        let mut around: Vec<(isize, usize)> = Vec::new();
        // In C there is no function, and no variable, in a type: most entries of a unit are members.
        let has_bare_types = self.units.unit_language(index).is_some_and(is_c);
        let mut entries = unit.entries_raw(None).map_err(error)?;
        // Where `entries` was started anew behind what was passed over, its depth.
        let mut start_depth = 0isize;
        let mut uncharged = 0;
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let depth = start_depth.saturating_add(entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation().map_err(error)? else { continue };
            uncharged += 1;
            if uncharged >= CHARGE_INTERVAL {
                self.units.charge(std::mem::take(&mut uncharged))?;
            }
            while let Some(&(last, node)) = around.last() {
                if last < depth {
                    break;
                }
                around.pop();
                let end = nodes.len();
                if let Some(node) = nodes.get_mut(node) {
                    node.end = end;
                }
            }
            let tag = abbreviation.tag();
            let kind = Kind::of(tag);
            let is_passed =
                abbreviation.has_children() && (is_opaque(tag) || (has_bare_types && kind == Some(Kind::Type)));
            let parent = around.last().map(|&(_, node)| node);
            if !is_passed {
                entries.skip_attributes(abbreviation.attributes()).map_err(error)?;
            } else if let Some(next) = behind(unit, &mut entries, abbreviation).map_err(error)? {
                entries = unit.entries_raw(Some(next)).map_err(error)?;
                start_depth = depth;
            } else {
                // Without DW_AT_sibling all that is in it has to be read, to get past.
                let inside = entries.next_depth();
                while entries.next_depth() >= inside && !entries.is_empty() {
                    uncharged += 1;
                    if let Some(abbreviation) = entries.read_abbreviation().map_err(error)? {
                        entries.skip_attributes(abbreviation.attributes()).map_err(error)?;
                    }
                }
            }
            let Some(kind) = kind else {
                if let (dw::DW_TAG_variable | dw::DW_TAG_formal_parameter, Some(parent)) = (tag, parent) {
                    found.push((parent, offset.0));
                }
                continue;
            };
            // Nothing is in it that is looked for, and units of C have thousands.
            if has_bare_types && kind == Kind::Type {
                continue;
            }
            let first = ranges.len();
            if kind.is_instance() || kind == Kind::Block {
                let error = |error| self.units.error(Die { unit: index, offset: offset.0 }, error);
                let entry = unit.entry(offset).map_err(error)?;
                ranges.extend(self.units.entry_ranges(dwarf, unit, &entry).map_err(error)?);
            }
            if abbreviation.has_children() && !is_passed {
                around.push((depth, nodes.len()));
            }
            let end = nodes.len().saturating_add(1);
            let instance = match kind {
                Kind::Block => parent.and_then(|parent| nodes.get(parent)?.instance),
                _ => kind.is_instance().then_some(nodes.len()),
            };
            let ranges = narrow(first..ranges.len()).ok_or_else(too_many)?;
            nodes.push(Node { offset: offset.0, kind, parent, instance, end, ranges, variables: 0..0 });
        }
        self.units.charge(uncharged)?;
        let all = nodes.len();
        for (_, node) in around {
            if let Some(node) = nodes.get_mut(node) {
                node.end = all;
            }
        }
        found.sort_by_key(|&(node, _)| node);
        let mut start = 0;
        for chunk in found.chunk_by(|one, two| one.0 == two.0) {
            let end = start + chunk.len();
            if let Some(node) = chunk.first().and_then(|&(node, _)| nodes.get_mut(node)) {
                node.variables = narrow(start..end).ok_or_else(too_many)?;
            }
            start = end;
        }
        let described = found.iter().map(|&(node, _)| (node, OnceLock::new())).collect();
        nodes.shrink_to_fit();
        ranges.shrink_to_fit();
        let mut spans = Vec::new();
        for (function, node) in nodes.iter().enumerate().filter(|(_, node)| node.kind == Kind::Function) {
            let ranges = slice(&ranges, &node.ranges).unwrap_or_default();
            spans.extend(ranges.iter().map(|range| Span { range: range.clone(), reach: 0, function }));
        }
        spans.sort_by_key(|span| (span.range.start, span.range.end, span.function));
        let mut reach = 0;
        for span in &mut spans {
            reach = reach.max(span.range.end);
            span.reach = reach;
        }
        let is_bare = |node: &Node| node.kind == Kind::Block && node.ranges.is_empty();
        let bare = nodes.iter().enumerate().filter(|(_, node)| is_bare(node)).map(|(index, _)| index).collect();
        let inside = spans.iter().map(|span| (span.function, OnceLock::new())).collect();
        let variables = found.into_iter().map(|(_, offset)| offset).collect();
        Ok(Functions {
            nodes,
            ranges,
            variables,
            described,
            bare,
            spans,
            inside,
            declared: OnceLock::new(),
            by_origin: OnceLock::new(),
            dropped: OnceLock::new(),
        })
    }

    /// The addresses of a function out of line, in the order in which its entry lists them.
    pub(super) fn code_of(&self, function: Die) -> Result<Vec<Range<u64>>, Error> {
        let functions = self.functions(function.unit)?;
        let ranges = functions.at_offset(function.offset).map(|node| functions.ranges(node)).unwrap_or_default();
        Ok(ranges.iter().filter(|range| !range.is_empty()).cloned().collect())
    }

    /// Where a function is entered, where its entry says that apart from its addresses (`DW_AT_entry_pc`; DWARF 5, 2.18).
    pub(super) fn entry_of(&self, function: Die) -> Result<Option<u64>, Error> {
        let Some(value) = self.units.own_attribute(function, dw::DW_AT_entry_pc)? else { return Ok(None) };
        let address = self.units.dwarf.attr_address(self.units.unit(function.unit)?, value);
        address.map_err(|error| self.units.error(function, error))
    }

    /// The scopes in out-of-line functions of a unit that hold an address or end there: each function with all of them, itself among
    /// them, in the order of their entries.
    pub(super) fn scopes_around(&self, unit: usize, address: u64) -> Result<Vec<(usize, Vec<usize>)>, Error> {
        let functions = self.functions(unit)?;
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
                // Up to the function; what is above a node that is known is known too, save for the first.
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

    /// The innermost scope at an address, in the out-of-line function that `node` is in; `None` where that does not hold it.
    pub(super) fn deepest(&self, unit: usize, node: usize, address: u64) -> Result<Option<usize>, Error> {
        let functions = self.functions(unit)?;
        let mut at = Some(node);
        while let Some((index, found)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            self.units.charge(1)?;
            if found.kind == Kind::Function {
                return Ok(self.inside_of(&functions, index)?.and_then(|inside| inside.deepest.get(address)));
            }
            at = found.parent;
        }
        Ok(None)
    }

    fn inside_of<'f>(&self, functions: &'f Functions, function: usize) -> Result<Option<&'f Inside>, Error> {
        let Some(cell) = functions.inside.get(&function) else { return Ok(None) };
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
            // What is in a function or type in this one is not in this one.
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

    /// The parameters and variables right in a scope, in the order of their entries; those without a name left out.
    pub(super) fn variables(&self, unit: usize, node: usize) -> Result<Arc<[Variable]>, Error> {
        let functions = self.functions(unit)?;
        let (Some(cell), Some(range)) =
            (functions.described.get(&node), functions.node(node).map(|node| node.variables.clone()))
        else {
            return Ok(Arc::from([]));
        };
        if let Some(variables) = cell.get() {
            return Ok(Arc::clone(variables));
        }
        let mut variables = Vec::new();
        for &offset in slice(&functions.variables, &range).unwrap_or_default() {
            let die = Die { unit, offset };
            let Some(name) = self.units.name(die)? else { continue };
            let (origin, declared) = (self.units.root_origin(die)?, self.lines.declared(die)?);
            variables.push(Variable { die, origin, name: (*name).into(), declared });
        }
        Ok(Arc::clone(cell.get_or_init(|| variables.into())))
    }

    /// The functions that a unit declares in a file, by line.
    pub(super) fn declared_in(&self, unit: usize, file: &SourcePath) -> Result<Arc<[Declared]>, Error> {
        let functions = self.functions(unit)?;
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
            // One that completes an abstract instance adds nothing to it.
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

    /// The instances of a function in a unit, those that have code.
    pub(super) fn instances_of(&self, unit: usize, origin: Die) -> Result<Arc<[usize]>, Error> {
        let functions = self.functions(unit)?;
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
        let of_root = self.functions(root.unit)?;
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
                // What is in a method is below `{impl#0}`, the method itself below its type.
                within.extend(name.filter(|name| !name.starts_with(b"{impl")).map(|name| (*name).into()));
                at = node.parent;
            }
            if is_root {
                break;
            }
        }
        Ok(Declared { origin: root, line, name, within, is_nested })
    }

    /// The name of a function as its source has it, with the namespaces and types that it is in; `None` where it has none.
    pub(super) fn qualified_name(&self, die: Die) -> Result<Option<String>, Error> {
        let Some(name) = self.units.name(die)? else { return Ok(None) };
        let root = self.units.root_origin(die)?;
        let functions = self.functions(root.unit)?;
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

/// A range of indices, in half the room: a large program has millions of them. `None` where they do not fit.
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
