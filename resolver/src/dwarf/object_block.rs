//! The block that declares the object at an address in the frame. When the code leaves it, the
//! compiler may give the object's bytes to another one (DWARF 5, 3.5).

use std::ops::Range;

use super::DebugInfo;
use super::frame::Frame;
use super::functions::{Kind, Variable};
use super::scopes::Scope;
use super::variable_location::VariableLocation;
use crate::Error;
use crate::location::Location;

/// The most variables of a block that are looked at.
const MOST: usize = 256;

impl DebugInfo<'_> {
    /// The addresses of the outermost block or inlined function around a site that declares a
    /// variable at a place, but not one that it declares after a variable of an inner block. `holds`
    /// gets the location of a variable and its size in bytes. `None` if no variable is there, the
    /// function itself declares it, or the scope is in doubt.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn block_of_object(
        &self,
        scope: &Scope,
        frame: &Frame,
        holds: &dyn Fn(&Location, u64) -> bool,
    ) -> Result<Option<Vec<Range<u64>>>, Error> {
        let &[position] = scope.positions.as_slice() else { return Ok(None) };
        let functions = self.scopes.functions.of_unit(position.unit)?;
        let (mut at, mut outermost) = (Some(position.node), None);
        // The variables that were found in the instance.
        let mut inner: Vec<Variable> = Vec::new();
        while let Some((node, found)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            for variable in self.scopes.functions.variables(position.unit, node)?.iter().take(MOST) {
                self.units.charge(1)?;
                let Some(size) = self.size_of(variable.die)? else { continue };
                match self.locations.variable(variable.die, frame)? {
                    VariableLocation::At { location, .. }
                        if holds(&location, size) && !inner.iter().any(|inner| is_later(variable, inner)) =>
                    {
                        outermost = Some((node, found.kind));
                        inner.push(variable.clone());
                    }
                    _ => {}
                }
            }
            match found.kind {
                Kind::Function => break,
                // The lines of another function say nothing.
                Kind::Inlined => inner.clear(),
                _ => {}
            }
            at = found.parent;
        }
        let block = outermost.filter(|(_, kind)| *kind != Kind::Function);
        Ok(block.map(|(node, _)| functions.ranges(node).to_vec()).filter(|ranges| !ranges.is_empty()))
    }
}

/// Whether one variable is declared in a line behind that of another.
fn is_later(one: &Variable, other: &Variable) -> bool {
    match (&one.declared, &other.declared) {
        (Some((file, one)), Some((same, other))) => file == same && one > other,
        _ => false,
    }
}
