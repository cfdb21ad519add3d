//! Variables of blocks that an inlined instance lacks. rustc drops a block whose variables it
//! optimised out, and a name then seems to mean the variable of the block around it.

use std::collections::BTreeSet;

use gimli::constants as dw;

use super::files::SourcePath;
use super::functions::{Kind, Variable};
use super::names::ScopeNames;
use super::scopes::{Position, is_file};
use super::unit::Die;
use crate::Error;

impl ScopeNames<'_> {
    /// A variable with the name of `found`, declared after it and before the marker, in a block of
    /// the abstract instance that the inlined instance of a position lacks: the marker may be in
    /// that block. `None` if there is none. rustc drops a block whose variables it optimised out.
    pub(super) fn in_missing_block(
        &self,
        position: Position,
        found: Die,
        file: &SourcePath,
        line: u32,
    ) -> Result<Option<Die>, Error> {
        let functions = self.scopes.functions.of_unit(position.unit)?;
        let Some((at, instance)) = functions.instance(position.node).and_then(|at| Some((at, functions.node(at)?)))
        else {
            return Ok(None);
        };
        let die = Die { unit: position.unit, offset: instance.offset };
        let Some(origin) = self.units.own_attribute(die, dw::DW_AT_abstract_origin)? else { return Ok(None) };
        let origin = self.units.reference(die, &origin)?;
        let of_abstract = self.scopes.functions.of_unit(origin.unit)?;
        let Some(start) = of_abstract.at_offset(origin.offset) else { return Ok(None) };
        let mut known: Option<BTreeSet<Die>> = None;
        // The name, and the line that declares the variable that was found.
        let mut wanted: Option<(Box<[u8]>, u32)> = None;
        let mut last = None;
        let declared = |variable: &Variable| {
            variable.declared.as_ref().filter(|(known, _)| is_file(known, file)).map(|(_, line)| *line)
        };
        let found = self.units.root_origin(found)?;
        let mut node = start;
        while node < of_abstract.below(start).end {
            self.units.charge(1)?;
            let Some(block) = of_abstract.node(node) else { break };
            if node != start && block.kind != Kind::Block {
                node = block.end;
                continue;
            }
            for variable in self.scopes.functions.variables(origin.unit, node)?.iter() {
                if variable.die == found {
                    wanted = declared(variable).map(|line| (variable.name.clone(), line));
                    last = None;
                    continue;
                }
                let Some((name, after)) = &wanted else { continue };
                let is_between = declared(variable).is_some_and(|declared| declared > *after && declared <= line);
                if variable.name != *name || !is_between {
                    continue;
                }
                if known.is_none() {
                    known = Some(self.placed_below(position.unit, at)?);
                }
                if known.as_ref().is_some_and(|known| !known.contains(&variable.die)) {
                    last = Some(variable.die);
                }
            }
            node += 1;
        }
        Ok(last)
    }

    /// The abstract entries of all variables of an instance.
    fn placed_below(&self, unit: usize, instance: usize) -> Result<BTreeSet<Die>, Error> {
        let functions = self.scopes.functions.of_unit(unit)?;
        let mut placed = BTreeSet::new();
        for node in std::iter::once(instance).chain(functions.below(instance)) {
            self.units.charge(1)?;
            placed.extend(self.scopes.functions.variables(unit, node)?.iter().map(|variable| variable.origin));
        }
        Ok(placed)
    }
}
