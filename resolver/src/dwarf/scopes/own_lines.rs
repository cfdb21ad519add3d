//! The lines that are known to be in a scope, and in no function that is inlined into it.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use gimli::constants as dw;

use super::super::files::SourcePath;
use super::super::functions::{Functions, Kind};
use super::super::unit::Die;
use super::{KnownLines, OwnLines, Scopes, is_file};
use crate::Error;

/// What it costs to read the variables of a block, in steps.
const BLOCK_STEPS: u64 = 8;

/// The parts of a scope. A function that is inlined into it is no part, but its call is.
struct OwnNodes {
    /// The scope.
    scope: usize,
    /// The nodes of the scope and of the blocks in it, ascending.
    blocks: Vec<usize>,
    /// The offsets of the functions that are inlined into them.
    calls: Vec<usize>,
}

impl Scopes<'_> {
    /// The lines that are known to be in a scope and in no function inlined into it, but not in
    /// `except`, a scope below it. Each marker of a function asks for the same lines.
    pub(in crate::dwarf) fn own_lines(
        &self,
        unit: usize,
        node: usize,
        except: Option<usize>,
        name: &SourcePath,
    ) -> Result<Arc<OwnLines>, Error> {
        self.units.charge(1)?;
        let of_unit = self.own_lines.get_or_make(unit, || Ok::<_, Error>(KnownLines::default()))?;
        let known = || of_unit.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (node, except, name.clone());
        if let Some(lines) = known().get(&key) {
            return Ok(Arc::clone(lines));
        }
        let functions = self.functions.of_unit(unit)?;
        let nodes = self.own_nodes(&functions, node, except)?;
        let mut lines = OwnLines::default();
        self.add_entry_lines(&mut lines, unit, &nodes, name)?;
        self.add_row_lines(&mut lines, unit, &functions, &nodes, name)?;
        let lines = Arc::new(lines);
        known().insert(key, Arc::clone(&lines));
        Ok(lines)
    }

    /// The parts of a scope, without `except` and what is below that.
    fn own_nodes(&self, functions: &Functions, node: usize, except: Option<usize>) -> Result<OwnNodes, Error> {
        let mut nodes = OwnNodes { scope: node, blocks: Vec::new(), calls: Vec::new() };
        let (end, mut next) = (functions.below(node).end, node);
        while next < end {
            self.units.charge(1)?;
            let index = next;
            let Some(found) = functions.node(index) else { break };
            next = found.end;
            if Some(index) == except {
                continue;
            }
            if index == node || found.kind == Kind::Block {
                next = index + 1;
                nodes.blocks.push(index);
            } else if found.kind == Kind::Inlined {
                nodes.calls.push(found.offset);
            }
        }
        Ok(nodes)
    }

    /// Adds the lines of variables and inlined calls.
    fn add_entry_lines(
        &self,
        lines: &mut OwnLines,
        unit: usize,
        nodes: &OwnNodes,
        name: &SourcePath,
    ) -> Result<(), Error> {
        let in_file = |found: &Option<(SourcePath, u32)>| match found {
            Some((file, line)) if is_file(file, name) => Some(*line),
            _ => None,
        };
        for &node in &nodes.blocks {
            let variables = self.functions.variables(unit, node)?;
            self.units.charge(BLOCK_STEPS.saturating_add(variables.len() as u64))?;
            lines.variables.extend(variables.iter().filter_map(|variable| in_file(&variable.declared)));
        }
        for &offset in &nodes.calls {
            let call = self.lines.position(Die { unit, offset }, dw::DW_AT_call_file, dw::DW_AT_call_line)?;
            lines.code.extend(in_file(&call));
        }
        Ok(())
    }

    /// Adds the lines of the code, as the line table has them.
    fn add_row_lines(
        &self,
        lines: &mut OwnLines,
        unit: usize,
        functions: &Functions,
        nodes: &OwnNodes,
        name: &SourcePath,
    ) -> Result<(), Error> {
        // File scope and namespaces have no code of their own.
        if functions.instance(nodes.scope).is_none() {
            return Ok(());
        }
        let unit_files = self.lines.unit_files(unit)?;
        let of_name = unit_files.iter().filter(|(_, file)| is_file(file, name));
        let files: BTreeSet<u64> = of_name.map(|(number, _)| number).collect();
        let rows = self.lines.rows(unit)?;
        for range in functions.ranges(nodes.scope) {
            for (_, row) in rows.within(range).filter(|(_, row)| files.contains(&row.file())) {
                self.units.charge(1)?;
                let deepest = self.functions.deepest(unit, nodes.scope, row.address.max(range.start))?;
                if deepest.is_some_and(|deepest| nodes.blocks.binary_search(&deepest).is_ok()) {
                    lines.code.insert(row.line);
                }
            }
        }
        Ok(())
    }
}
