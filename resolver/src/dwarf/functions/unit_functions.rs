//! The functions and scopes of one unit, in the order of their entries.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gimli::{DwTag, constants as dw};

use super::super::files::SourcePath;
use super::super::unit::Die;
use crate::ranges::RangeMap;

/// What kind of scope a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dwarf) enum Kind {
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
    pub(super) fn of(tag: DwTag) -> Option<Self> {
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
    pub(in crate::dwarf) fn is_instance(self) -> bool {
        matches!(self, Self::Function | Self::Inlined)
    }
}

/// A scope of a unit.
#[derive(Debug)]
pub(in crate::dwarf) struct ScopeNode {
    pub(in crate::dwarf) offset: usize,
    pub(in crate::dwarf) kind: Kind,
    pub(in crate::dwarf) parent: Option<usize>,
    /// The function instance around it, or itself if it is one.
    pub(super) instance: Option<usize>,
    /// One past the last node below this one.
    pub(in crate::dwarf) end: usize,
    pub(super) ranges: Range<u32>,
    pub(super) variables: Range<u32>,
}

/// A variable, as its entry and its abstract entry describe it.
#[derive(Clone, Debug)]
pub(in crate::dwarf) struct Variable {
    pub(in crate::dwarf) die: Die,
    /// Its abstract entry, or itself.
    pub(in crate::dwarf) origin: Die,
    /// Empty for the object of a structured binding whose names are not described.
    pub(in crate::dwarf) name: Box<[u8]>,
    pub(in crate::dwarf) declared: Option<(SourcePath, u32)>,
}

/// A function out of line, by address.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) range: Range<u64>,
    /// The greatest end of this span and of all that start before it.
    pub(super) reach: u64,
    pub(super) function: usize,
}

/// The scopes in an out-of-line function, by address.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) deepest: RangeMap<usize>,
    /// The scopes without code bytes, by address, ascending.
    pub(super) empty: Vec<(u64, usize)>,
}

/// A function, as its source declares it.
#[derive(Clone, Debug)]
pub(in crate::dwarf) struct FunctionDeclaration {
    /// The abstract entry, which all its instances refer to.
    pub(in crate::dwarf) origin: Die,
    pub(in crate::dwarf) line: u32,
    /// The name, without generic arguments.
    pub(in crate::dwarf) name: Box<[u8]>,
    /// The names of the namespaces around it, innermost first.
    pub(super) within: Vec<Box<[u8]>>,
    /// Whether its entry is below that of another function.
    pub(in crate::dwarf) is_nested: bool,
}

impl FunctionDeclaration {
    /// Whether `inner` is written inside this function. rustc puts a closure, and every other item
    /// of a function, in a namespace with the name of the function.
    pub(in crate::dwarf) fn is_around(&self, inner: &Self) -> bool {
        let depth = inner.within.len().checked_sub(self.within.len().saturating_add(1));
        depth.and_then(|depth| inner.within.get(depth)) == Some(&self.name) && inner.within.ends_with(&self.within)
    }
}

/// The functions that a unit declares in a file.
#[derive(Debug, Default)]
pub(super) struct OfFile {
    /// Their lines and nodes.
    pub(super) places: Vec<(u32, usize)>,
    pub(super) declared: OnceLock<Arc<[FunctionDeclaration]>>,
}

/// What is known of some nodes of a unit; made when it is asked for.
#[derive(Debug)]
pub(super) struct Cells<T>(Box<[(usize, OnceLock<T>)]>);

impl<T> Cells<T> {
    /// Empty cells of nodes, which ascend.
    pub(super) fn new(nodes: impl Iterator<Item = usize>) -> Self {
        let mut cells: Vec<_> = nodes.map(|node| (node, OnceLock::new())).collect();
        cells.dedup_by_key(|(node, _)| *node);
        Self(cells.into())
    }

    pub(super) fn get(&self, node: usize) -> Option<&OnceLock<T>> {
        let index = self.0.binary_search_by_key(&node, |(node, _)| *node).ok()?;
        self.0.get(index).map(|(_, cell)| cell)
    }
}

/// The index of a unit.
#[derive(Debug)]
pub(in crate::dwarf) struct Functions {
    pub(super) nodes: Vec<ScopeNode>,
    pub(super) ranges: Vec<Range<u64>>,
    /// The offsets of the variables; those of one node are next to each other.
    pub(super) variables: Vec<usize>,
    /// The imports and enumerations of C and C++, with the node that each is directly in, ascending.
    pub(super) names: Vec<(usize, usize)>,
    pub(super) codeless_with_names: Vec<usize>,
    pub(super) spaces_with_names: Vec<usize>,
    /// The variables of each node that has some; made when they are asked for.
    pub(super) described: Cells<Arc<[Variable]>>,
    /// The blocks without an address, ascending. In strict DWARF 2, GCC writes a block of several
    /// ranges like this.
    pub(super) bare: Vec<usize>,
    pub(super) spans: Vec<Span>,
    pub(super) inside: Cells<Inside>,
    pub(super) declared: OnceLock<BTreeMap<SourcePath, OfFile>>,
    pub(super) by_origin: OnceLock<HashMap<Die, Arc<[usize]>>>,
    pub(super) by_call: OnceLock<InstancesByCall>,
    /// The instances whose code the linker dropped, by abstract entry; `line_absence` fills it.
    pub(in crate::dwarf) dropped: OnceLock<HashMap<Die, Arc<[usize]>>>,
    /// Whether the unit was compiled without optimisation; `unoptimized` fills it.
    pub(in crate::dwarf) unoptimized: OnceLock<bool>,
}

/// The inlined instances with code, by the file's number and the line of their calls.
pub(super) type InstancesByCall = HashMap<(u64, u64), Arc<[usize]>>;

impl Functions {
    /// All nodes, in the order of their entries.
    pub(in crate::dwarf) fn nodes(&self) -> &[ScopeNode] {
        &self.nodes
    }

    /// The offsets of all variables and parameters; those of one node are next to each other.
    pub(in crate::dwarf) fn variables(&self) -> &[usize] {
        &self.variables
    }

    /// Whether any parameter or variable is described.
    pub(in crate::dwarf) fn has_variables(&self) -> bool {
        !self.variables.is_empty()
    }

    pub(in crate::dwarf) fn node(&self, index: usize) -> Option<&ScopeNode> {
        self.nodes.get(index)
    }

    /// The node of an entry.
    pub(in crate::dwarf) fn at_offset(&self, offset: usize) -> Option<usize> {
        self.nodes.binary_search_by_key(&offset, |node| node.offset).ok()
    }

    /// The last node that starts before an offset.
    pub(in crate::dwarf) fn before(&self, offset: usize) -> Option<usize> {
        self.nodes.partition_point(|node| node.offset < offset).checked_sub(1)
    }

    /// The address ranges of a node, also the empty ones.
    pub(in crate::dwarf) fn ranges(&self, index: usize) -> &[Range<u64>] {
        self.nodes.get(index).and_then(|node| slice(&self.ranges, &node.ranges)).unwrap_or_default()
    }

    /// The offsets of the variables directly in a node.
    pub(in crate::dwarf) fn variables_of(&self, index: usize) -> &[usize] {
        self.nodes.get(index).and_then(|node| slice(&self.variables, &node.variables)).unwrap_or_default()
    }

    /// The offsets of the imports and enumerations directly in a node; none in languages other than C
    /// and C++.
    pub(in crate::dwarf) fn names_of(&self, index: usize) -> impl Iterator<Item = usize> {
        let first = self.names.partition_point(|&(node, _)| node < index);
        let from_first = self.names.iter().skip(first);
        from_first.take_while(move |(node, _)| *node == index).map(|&(_, offset)| offset)
    }

    /// The functions without code that have imports or enumerations directly in them, ascending.
    pub(in crate::dwarf) fn codeless_with_names(&self) -> &[usize] {
        &self.codeless_with_names
    }

    /// The namespaces, and the unit itself, that have imports or enumerations directly in them, ascending.
    pub(in crate::dwarf) fn spaces_with_names(&self) -> &[usize] {
        &self.spaces_with_names
    }

    /// The nodes below one, at any depth, in the order of their entries.
    pub(in crate::dwarf) fn below(&self, index: usize) -> Range<usize> {
        let end = self.nodes.get(index).map_or(0, |node| node.end);
        index.saturating_add(1)..end
    }

    /// The blocks without an address below a node, ascending.
    pub(in crate::dwarf) fn bare_below(&self, index: usize) -> &[usize] {
        let below = self.below(index);
        let first = self.bare.partition_point(|&node| node < below.start);
        let end = self.bare.partition_point(|&node| node < below.end);
        self.bare.get(first..end).unwrap_or_default()
    }

    /// The function instance of a node: the node itself, or the nearest function or inlined
    /// instance around it.
    pub(in crate::dwarf) fn instance(&self, index: usize) -> Option<usize> {
        self.nodes.get(index)?.instance
    }

    /// The out-of-line functions that hold an address or end there. `None` is a function that does
    /// neither: the caller charges for it too.
    pub(super) fn spans_at(&self, address: u64) -> impl Iterator<Item = Option<usize>> {
        let after = self.spans.partition_point(|span| span.range.start <= address);
        let before = self.spans.get(..after).unwrap_or_default();
        let near = before.iter().rev().take_while(move |span| span.reach >= address);
        near.map(move |span| (span.range.end >= address).then_some(span.function))
    }
}

/// A range of indices in half the memory: a large program has millions of them. `None` if they do
/// not fit.
pub(super) fn narrow(range: Range<usize>) -> Option<Range<u32>> {
    Some(u32::try_from(range.start).ok()?..u32::try_from(range.end).ok()?)
}

pub(super) fn slice<'v, T>(values: &'v [T], range: &Range<u32>) -> Option<&'v [T]> {
    values.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}
