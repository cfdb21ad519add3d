//! The one pass over the entries of a unit that makes its [`Functions`].
//!
//! `UnitPass` reads the entries and passes over those that hold no scope. `ScopeTree` puts the
//! scopes and variables that it is given in order.

use std::ops::Range;
use std::sync::OnceLock;

use gimli::{Abbreviation, DwTag, constants as dw};

use super::super::entries::AddressAttributes;
use super::super::entry_walk::{EntryWalk, WalkStep};
use super::super::sections::Reader;
use super::super::unit::{Die, is_c, is_cxx};
use super::super::units::Units;
use super::unit_functions::{Cells, Functions, Kind, ScopeNode, Span, narrow, slice};
use crate::error::{DwarfProblem, Error};

/// Makes the index of a unit.
pub(super) fn index_unit(units: &Units<'_>, index: usize) -> Result<Functions, Error> {
    let tree = UnitPass::start(units, index)?.run()?;
    tree.finish().ok_or_else(|| too_many(units, index))
}

fn too_many(units: &Units<'_>, index: usize) -> Error {
    units.error(Die { unit: index, offset: 0 }, DwarfProblem::ManyRanges)
}

/// Whether an entry describes nothing that belongs to the scope around it: a Fortran entry point
/// repeats the parameters of its subprogram, and a call site describes parameters of the callee.
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

/// A walk over the entries of a unit, in their order.
struct UnitPass<'a, 's> {
    units: &'a Units<'s>,
    index: usize,
    dwarf: &'a gimli::Dwarf<Reader<'s>>,
    walk: EntryWalk<'a, 's>,
    /// In C no type holds a function or a variable, and most entries of a unit are members.
    passes_types: bool,
    /// Whether imports and enumerators are names like those of variables, as in C and C++.
    has_names: bool,
    tree: ScopeTree,
}

impl<'a, 's> UnitPass<'a, 's> {
    fn start(units: &'a Units<'s>, index: usize) -> Result<Self, Error> {
        let dwarf = units.dwarf_of(index)?;
        let passes_types = units.unit_language(index).is_some_and(is_c);
        let has_names = passes_types || units.unit_language(index).is_some_and(is_cxx);
        let walk = EntryWalk::start(units, index)?;
        Ok(Self { units, index, dwarf, walk, passes_types, has_names, tree: ScopeTree::default() })
    }

    fn run(mut self) -> Result<ScopeTree, Error> {
        while let Some(WalkStep { die, depth, abbreviation }) = self.walk.next()? {
            self.tree.close(depth);
            let (kind, first) = (Kind::of(abbreviation.tag()), self.tree.ranges.len());
            if self.has_names {
                self.tree.add_name(abbreviation.tag(), die.offset);
            }
            let has_scopes_below = match kind {
                Some(kind) if kind.is_instance() || kind == Kind::Block => {
                    self.add_ranges(die, abbreviation)?;
                    abbreviation.has_children()
                }
                _ => self.enter(abbreviation, depth)?,
            };
            match kind {
                Some(Kind::Type) if self.passes_types => {}
                Some(kind) => {
                    let opens_at = has_scopes_below.then_some(depth);
                    let added = self.tree.add_scope(kind, die.offset, first, opens_at);
                    added.ok_or_else(|| too_many(self.units, self.index))?;
                }
                None => self.tree.add_other(abbreviation.tag(), die.offset),
            }
        }
        self.walk.finish()?;
        Ok(self.tree)
    }

    /// Reads past the attributes of an entry, and past all below it if nothing there is a scope.
    /// Returns whether the next entries may be below it.
    fn enter(&mut self, abbreviation: &Abbreviation, depth: isize) -> Result<bool, Error> {
        let tag = abbreviation.tag();
        let is_passed = is_opaque(tag) || (self.passes_types && Kind::of(tag) == Some(Kind::Type));
        if !abbreviation.has_children() || !is_passed {
            let skipped = self.walk.entries.skip_attributes(abbreviation.attributes());
            skipped.map_err(|error| self.walk.error(error))?;
            return Ok(abbreviation.has_children());
        }
        let sibling = self.walk.read_sibling(abbreviation).map_err(|error| self.walk.error(error))?;
        match sibling {
            Some(sibling) => self.walk.continue_at(sibling, depth).map_err(|error| self.walk.error(error))?,
            None => self.read_past_children()?,
        }
        Ok(false)
    }

    /// Reads all entries below the one that was just read: without `DW_AT_sibling` there is no
    /// other way past them.
    fn read_past_children(&mut self) -> Result<(), Error> {
        let walk = &mut self.walk;
        let inside = walk.entries.next_depth();
        while walk.entries.next_depth() >= inside && !walk.entries.is_empty() {
            walk.charge(1)?;
            let read = walk.entries.read_abbreviation().and_then(|abbreviation| match abbreviation {
                Some(abbreviation) => walk.entries.skip_attributes(abbreviation.attributes()),
                None => Ok(()),
            });
            read.map_err(|error| walk.error(error))?;
        }
        Ok(())
    }

    /// Reads past the attributes of a scope that may have code, and adds its addresses.
    fn add_ranges(&mut self, die: Die, abbreviation: &Abbreviation) -> Result<(), Error> {
        let attributes = abbreviation.attributes();
        if !AddressAttributes::are_in(attributes) {
            let skipped = self.walk.entries.skip_attributes(attributes);
            return skipped.map_err(|error| self.walk.error(error));
        }
        let (mut addresses, unit) = (AddressAttributes::default(), self.walk.unit);
        for attribute in attributes {
            let read = self.walk.entries.read_attribute(*attribute).map_err(|error| self.walk.error(error))?;
            addresses.add(self.dwarf, unit, &read).map_err(|error| self.units.error(die, error))?;
        }
        let added = self.units.add_ranges(self.dwarf, unit, addresses, &mut self.tree.ranges);
        added.map_err(|error| self.units.error(die, error))
    }
}

/// The scopes and variables of a unit, while they are read.
#[derive(Default)]
struct ScopeTree {
    /// Each scope; its `ranges` and `variables` are set at the end.
    nodes: Vec<ScopeNode>,
    ranges: Vec<Range<u64>>,
    /// The node that each variable is directly in, and the offset of the variable.
    variables: Vec<(usize, usize)>,
    /// The node that each import or enumeration is directly in, and its offset.
    names: Vec<(usize, usize)>,
    /// The scopes around the current entry, outermost first: their depths and nodes.
    open: Vec<(isize, usize)>,
}

impl ScopeTree {
    /// Ends the scopes that an entry of a depth is not in.
    fn close(&mut self, depth: isize) {
        while let Some(&(_, node)) = self.open.last().filter(|(last, _)| *last >= depth) {
            self.open.pop();
            let end = self.nodes.len();
            if let Some(node) = self.nodes.get_mut(node) {
                node.end = end;
            }
        }
    }

    /// The scope around the current entry.
    fn innermost(&self) -> Option<usize> {
        self.open.last().map(|&(_, node)| node)
    }

    /// Adds a scope, whose ranges were added from `first` on. The next scopes are in it as long as they
    /// are deeper than `opens_at`; `None` if there is nothing in it. Returns `None` if there are more
    /// ranges than a node can number.
    fn add_scope(&mut self, kind: Kind, offset: usize, first: usize, opens_at: Option<isize>) -> Option<()> {
        let (index, parent) = (self.nodes.len(), self.innermost());
        let instance = match kind {
            Kind::Block => parent.and_then(|parent| self.nodes.get(parent)?.instance),
            _ => kind.is_instance().then_some(index),
        };
        let (ranges, end) = (narrow(first..self.ranges.len())?, index.saturating_add(1));
        self.nodes.push(ScopeNode { offset, kind, parent, instance, end, ranges, variables: 0..0 });
        self.open.extend(opens_at.map(|depth| (depth, index)));
        Some(())
    }

    /// Adds an entry that is no scope, if it is a variable or parameter.
    fn add_other(&mut self, tag: DwTag, offset: usize) {
        if let (dw::DW_TAG_variable | dw::DW_TAG_formal_parameter, Some(parent)) = (tag, self.innermost()) {
            self.variables.push((parent, offset));
        }
    }

    /// Adds an entry to the names, if it is an import or an enumeration.
    fn add_name(&mut self, tag: DwTag, offset: usize) {
        let is_name =
            matches!(tag, dw::DW_TAG_imported_declaration | dw::DW_TAG_imported_module | dw::DW_TAG_enumeration_type);
        self.names.extend(self.innermost().filter(|_| is_name).map(|parent| (parent, offset)));
    }

    /// The index; `None` if there are more variables than a node can number.
    fn finish(mut self) -> Option<Functions> {
        self.close(isize::MIN);
        self.number_variables()?;
        self.names.sort_unstable();
        self.names.shrink_to_fit();
        self.nodes.shrink_to_fit();
        self.ranges.shrink_to_fit();
        let spans = spans(&self.nodes, &self.ranges);
        let is_placed = |node: &ScopeNode| node.kind == Kind::Function && !node.ranges.is_empty();
        let functions = (0..).zip(&self.nodes).filter(|(_, node)| is_placed(node)).map(|(index, _)| index);
        let is_bare = |node: &ScopeNode| node.kind == Kind::Block && node.ranges.is_empty();
        let bare = (0..).zip(&self.nodes).filter(|(_, node)| is_bare(node)).map(|(index, _)| index);
        let with_names = |is_meant: &dyn Fn(&ScopeNode) -> bool| {
            let nodes = self.names.chunk_by(|one, two| one.0 == two.0).filter_map(|names| names.first());
            nodes.map(|&(node, _)| node).filter(|&node| self.nodes.get(node).is_some_and(is_meant)).collect()
        };
        Some(Functions {
            bare: bare.collect(),
            described: Cells::new(self.variables.iter().map(|&(node, _)| node)),
            inside: Cells::new(functions),
            variables: self.variables.into_iter().map(|(_, offset)| offset).collect(),
            codeless_with_names: with_names(&|node| node.kind == Kind::Function && node.ranges.is_empty()),
            spaces_with_names: with_names(&|node| matches!(node.kind, Kind::Unit | Kind::Namespace)),
            names: self.names,
            nodes: self.nodes,
            ranges: self.ranges,
            spans,
            declared: OnceLock::new(),
            by_origin: OnceLock::new(),
            by_call: OnceLock::new(),
            dropped: OnceLock::new(),
            unoptimized: OnceLock::new(),
        })
    }

    /// Puts the variables of each scope next to each other, and tells the scope where they are.
    fn number_variables(&mut self) -> Option<()> {
        self.variables.sort_by_key(|&(node, _)| node);
        let mut start = 0;
        for chunk in self.variables.chunk_by(|one, two| one.0 == two.0) {
            let end = start + chunk.len();
            if let Some(node) = chunk.first().and_then(|&(node, _)| self.nodes.get_mut(node)) {
                node.variables = narrow(start..end)?;
            }
            start = end;
        }
        Some(())
    }
}

/// The out-of-line functions among the nodes, by address.
fn spans(nodes: &[ScopeNode], ranges: &[Range<u64>]) -> Vec<Span> {
    let mut spans = Vec::new();
    for (function, node) in nodes.iter().enumerate().filter(|(_, node)| node.kind == Kind::Function) {
        let ranges = slice(ranges, &node.ranges).unwrap_or_default();
        spans.extend(ranges.iter().map(|range| Span { range: range.clone(), reach: 0, function }));
    }
    spans.sort_by_key(|span| (span.range.start, span.range.end, span.function));
    let mut reach = 0;
    for span in &mut spans {
        reach = reach.max(span.range.end);
        span.reach = reach;
    }
    spans
}
