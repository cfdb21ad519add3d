//! Variables that mark a place by the block that begins with them, as ghosts of Rust do
//! (`docs/section-format.md`, "Ghosts"), in each copy of their function.
//!
//! This module reads what the debug information says. `resolve::ghosts::blocks` decides what it is
//! worth.

use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::constants as dw;

use super::debug_info::DebugInfo;
use super::entries::LINKS;
use super::files::SourcePath;
use super::functions::{Functions, Kind};
use super::unit::Die;
use crate::error::{DwarfProblem, Error};
use crate::ranges::Region;

/// A variable that marks a place, in all copies of its function in one unit.
#[derive(Clone, Debug)]
pub(crate) struct MarkedVariable {
    pub(crate) name: Box<[u8]>,
    /// The file and line that declare it.
    pub(crate) declared: (SourcePath, u32),
    /// The blocks that begin with it, at most one in each copy of the function.
    pub(crate) blocks: Vec<MarkedBlock>,
    pub(crate) function: MarkedFunction,
}

/// A function with such variables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkedFunction {
    /// Its abstract instance, or itself.
    pub(crate) origin: Die,
    /// How many copies of it have code.
    pub(crate) copies: usize,
}

/// The block with a variable, or a part of it, in a copy of its function, which is out of line or
/// inlined.
#[derive(Clone, Debug)]
pub(crate) struct MarkedBlock {
    /// The out-of-line function that holds it.
    pub(crate) function: Die,
    /// The node of the copy.
    instance: usize,
    /// Its code, which is not empty.
    pub(crate) code: Arc<Region>,
}

impl MarkedBlock {
    /// The copy of the function.
    pub(crate) fn copy(&self) -> (Die, usize) {
        (self.function, self.instance)
    }
}

/// A variable that marks a place, as its function declares it.
struct MarkVariable {
    name: Box<[u8]>,
    /// The file and line that declare it.
    declared: (SourcePath, u32),
}

impl DebugInfo<'_> {
    /// The variables with names that mark a place, in the functions that have code in a unit.
    ///
    /// # Errors
    ///
    /// The unit is malformed, or one that its functions refer to.
    pub(crate) fn marked_variables(
        &self,
        unit: usize,
        is_mark: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<MarkedVariable>, Error> {
        let functions = self.scopes.functions.of_unit(unit)?;
        let mut by_origin: BTreeMap<Die, Vec<usize>> = BTreeMap::new();
        for (index, node) in functions.nodes().iter().enumerate() {
            self.units.charge(1)?;
            if node.kind.is_instance() && !functions.ranges(index).is_empty() {
                let origin = self.abstract_instance(Die { unit, offset: node.offset })?;
                by_origin.entry(origin).or_default().push(index);
            }
        }
        let mut found = Vec::new();
        for (origin, instances) in by_origin {
            let variables = self.marks_of(origin, is_mark)?;
            if variables.is_empty() {
                continue;
            }
            let mut blocks: BTreeMap<Die, Vec<MarkedBlock>> = BTreeMap::new();
            let mut copies = 0usize;
            for instance in instances {
                let function = self.scopes.functions.out_of_line(&functions, instance)?;
                let Some(function) = function.and_then(|function| functions.node(function)) else { continue };
                let function = Die { unit, offset: function.offset };
                copies = copies.saturating_add(1);
                for (variable, code) in self.blocks_with(&functions, unit, instance, &variables)? {
                    blocks.entry(variable).or_default().push(MarkedBlock { function, instance, code });
                }
            }
            let function = MarkedFunction { origin, copies };
            for (variable, MarkVariable { name, declared }) in variables {
                let blocks = blocks.remove(&variable).unwrap_or_default();
                found.push(MarkedVariable { name, declared, blocks, function });
            }
        }
        Ok(found)
    }

    /// The blocks of a function instance that have some of the variables, with their code. Leaves out
    /// those without code.
    fn blocks_with(
        &self,
        functions: &Functions,
        unit: usize,
        instance: usize,
        variables: &BTreeMap<Die, MarkVariable>,
    ) -> Result<BTreeMap<Die, Arc<Region>>, Error> {
        let mut found: BTreeMap<Die, Arc<Region>> = BTreeMap::new();
        for node in self.blocks_of(functions, instance)? {
            let mut code: Option<Arc<Region>> = None;
            for &offset in functions.variables_of(node) {
                self.units.charge(1)?;
                let root = self.units.root_origin(Die { unit, offset })?;
                if variables.contains_key(&root) {
                    let code = code.get_or_insert_with(|| Arc::new(Region::new(functions.ranges(node))));
                    found.insert(root, Arc::clone(code));
                }
            }
        }
        found.retain(|_, code| !code.ranges().is_empty());
        Ok(found)
    }

    /// The abstract instance that an instance of a function refers to, or itself. Unlike its origin,
    /// this is no declaration.
    fn abstract_instance(&self, instance: Die) -> Result<Die, Error> {
        let mut die = instance;
        for _ in 0..LINKS {
            let Some(origin) = self.units.own_attribute(die, dw::DW_AT_abstract_origin)? else { return Ok(die) };
            die = self.units.reference(die, &origin)?;
        }
        Err(self.units.error(instance, DwarfProblem::EndlessOrigins))
    }

    /// The marking variables that a function declares, by their entries.
    fn marks_of(&self, function: Die, is_mark: &dyn Fn(&[u8]) -> bool) -> Result<BTreeMap<Die, MarkVariable>, Error> {
        let functions = self.scopes.functions.of_unit(function.unit)?;
        let nodes = functions.at_offset(function.offset).map(|node| self.blocks_of(&functions, node));
        let mut marks = BTreeMap::new();
        for node in nodes.transpose()?.unwrap_or_default() {
            for &offset in functions.variables_of(node) {
                self.units.charge(1)?;
                let die = Die { unit: function.unit, offset };
                let Some(name) = self.units.name(die)?.filter(|name| is_mark(name)) else { continue };
                let root = self.units.root_origin(die)?;
                if let Some(declared) = self.lines.declared(root)? {
                    marks.insert(root, MarkVariable { name: (*name).into(), declared });
                }
            }
        }
        Ok(marks)
    }

    /// The node of a function instance, and those of its blocks.
    fn blocks_of(&self, functions: &Functions, instance: usize) -> Result<Vec<usize>, Error> {
        let end = functions.below(instance).end;
        let mut nodes = vec![instance];
        let mut next = instance.saturating_add(1);
        while let Some(node) = functions.node(next).filter(|_| next < end) {
            self.units.charge(1)?;
            match node.kind {
                Kind::Block => {
                    nodes.push(next);
                    next = next.saturating_add(1);
                }
                _ => next = node.end.max(next.saturating_add(1)),
            }
        }
        Ok(nodes)
    }
}
