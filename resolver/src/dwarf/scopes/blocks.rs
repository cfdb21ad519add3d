//! The block of a function instance that a marker is in, by the lines of the blocks.

use std::sync::Arc;

use super::super::functions::{Functions, Kind};
use super::candidates::{Candidate, Lies};
use super::{MarkerSite, OwnLines, Scopes};
use crate::Error;

/// A block of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BlockNode {
    node: usize,
    /// Whether its addresses are those of the site.
    is_there: bool,
    parent: usize,
}

/// The search for the scopes of an instance that a marker may be in.
struct BlockSearch<'a, 's> {
    scopes: &'a Scopes<'s>,
    functions: &'a Functions,
    candidate: &'a Candidate,
    site: &'a MarkerSite,
    /// The innermost scope that certainly holds the marker.
    certain: usize,
    /// The blocks in it that may hold the marker, in the order of their entries.
    possible: Vec<usize>,
}

impl Scopes<'_> {
    /// The scopes of an instance that a marker may be in, the likeliest first.
    pub(super) fn scopes_of_marker(&self, candidate: &Candidate, site: &MarkerSite) -> Result<Vec<usize>, Error> {
        let functions = &self.functions.of_unit(candidate.unit)?;
        let (certain, possible) = (candidate.node, Vec::new());
        let mut search = BlockSearch { scopes: self, functions, candidate, site, certain, possible };
        // Parents stand before their children, so that one pass finds all.
        for block in search.blocks()? {
            search.visit(block)?;
        }
        Ok(search.likeliest_first())
    }
}

impl BlockSearch<'_, '_> {
    /// The scopes at the address that are below the candidate, ascending.
    fn around(&self) -> &[usize] {
        let first = self.candidate.around.partition_point(|&node| node <= self.candidate.node);
        self.candidate.around.get(first..).unwrap_or_default()
    }

    /// The blocks that may hold the marker as far as their addresses say, in the order of their
    /// entries.
    fn blocks(&self) -> Result<Vec<BlockNode>, Error> {
        let (functions, candidate, around) = (self.functions, self.candidate, self.around());
        // In strict DWARF 2 GCC writes no DW_AT_ranges: a block has the addresses of its first
        // range, or none.
        let lacks_ranges = self.scopes.units.unit(candidate.unit)?.header.version() == 2;
        let all = if lacks_ranges { functions.below(candidate.node) } else { 0..0 };
        let bare = functions.bare_below(candidate.node);
        let work = (bare.len() as u64).saturating_add(all.len() as u64).saturating_add(around.len() as u64);
        self.scopes.units.charge(work)?;
        let there = around.iter().map(|&node| (node, true));
        let elsewhere = bare.iter().copied().chain(all).filter(|node| around.binary_search(node).is_err());
        let mut blocks: Vec<BlockNode> = there
            .chain(elsewhere.map(|node| (node, false)))
            .filter_map(|(node, is_there)| {
                let found = functions.node(node).filter(|found| found.kind == Kind::Block)?;
                Some(BlockNode { node, is_there, parent: found.parent? })
            })
            .collect();
        blocks.sort_unstable();
        blocks.dedup();
        Ok(blocks)
    }

    /// Decides whether a block certainly holds the marker, or may hold it.
    fn visit(&mut self, block: BlockNode) -> Result<(), Error> {
        self.scopes.units.charge(1 + self.possible.len() as u64 / 16)?;
        let is_in_certain = block.parent == self.certain;
        if !is_in_certain && !self.possible.contains(&block.parent) {
            return Ok(());
        }
        if is_in_certain && block.is_there && self.lies(block.node) == Lies::Around {
            self.enter(block);
            return Ok(());
        }
        let inner = self.own_lines(block.node, None)?;
        let outer = self.own_lines(block.parent, Some(block.node))?;
        if is_in_certain && is_proven(&inner, &outer, self.site.line) {
            self.enter(block);
        } else if !is_excluded(&inner, &outer, self.site.line) {
            self.possible.push(block.node);
        }
        Ok(())
    }

    fn enter(&mut self, block: BlockNode) {
        self.certain = block.node;
        self.possible.clear();
    }

    fn lies(&self, node: usize) -> Lies {
        Lies::of(self.functions, node, self.site.pc.0)
    }

    fn own_lines(&self, node: usize, except: Option<usize>) -> Result<Arc<OwnLines>, Error> {
        self.scopes.own_lines(self.candidate.unit, node, except, &self.site.file)
    }

    /// The scopes that were found: empty ones at the site, others at the site, the rest, and the
    /// one that certainly holds the marker; inner ones first.
    fn likeliest_first(mut self) -> Vec<usize> {
        let mut possible = std::mem::take(&mut self.possible);
        possible.reverse();
        possible.sort_by_key(|&node| match self.lies(node) {
            Lies::Empty => 0,
            Lies::Around | Lies::Behind if self.around().binary_search(&node).is_ok() => 1,
            _ => 2,
        });
        possible.push(self.certain);
        possible
    }
}

/// Whether lines of a block are on both sides of a line. `outer` are the lines of the scope around
/// the block.
fn is_proven(inner: &OwnLines, outer: &OwnLines, line: u32) -> bool {
    let (first, last) = (inner.all().min(), inner.all().max());
    first.is_some_and(|first| first < line)
        && last.is_some_and(|last| line < last || (line == last && !outer.code.contains(&line)))
}

/// Whether a line is certainly not in a block: code of the scope around the block is between the
/// last line of the block and that line, or the block declares all its variables further down, and
/// names in it mean what they mean outside of it.
fn is_excluded(inner: &OwnLines, outer: &OwnLines, line: u32) -> bool {
    let is_past = inner.code.last().is_some_and(|&last| outer.code.iter().any(|&outer| last < outer && outer < line));
    let is_later = inner.variables.first().is_some_and(|&first| first > line);
    is_past || is_later
}
