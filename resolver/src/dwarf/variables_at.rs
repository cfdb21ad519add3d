//! Which variables of a function are at given locations.

use std::sync::Arc;

use gimli::constants as dw;

use super::DebugInfo;
use super::frame::Frame;
use super::functions::Kind;
use super::types::TypeRef;
use super::unit::Die;
use super::variable_location::VariableLocation;
use crate::Error;
use crate::location::Location;
use crate::text;

/// The most variables that are compared.
const MOST: usize = 256;

/// The name of a variable, and its type.
type VariableOfType = (Arc<str>, Option<TypeRef>);

/// A location with a size in bytes; `None` if it is not known.
type SizedLocation<'l> = Option<(&'l Location, u64)>;

impl DebugInfo<'_> {
    /// For each location with a size in bytes, the variable or parameter of the innermost function at a
    /// frame that is there and has this size. `None` if there is none, or more than one.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn variables_at(
        &self,
        frame: &Frame,
        places: &[SizedLocation<'_>],
    ) -> Result<Vec<Option<VariableOfType>>, Error> {
        let mut found: Vec<Vec<(Die, Arc<str>)>> = vec![Vec::new(); places.len()];
        for (die, name) in self.innermost_variables(frame)? {
            let Some(size) = self.size_of(die)? else { continue };
            if !places.iter().flatten().any(|(_, wanted)| *wanted == size) {
                continue;
            }
            let location = match self.locations.variable(die, frame)? {
                VariableLocation::At { location, .. } if location.optimized_out(size).is_empty() => location,
                _ => continue,
            };
            for (place, found) in places.iter().zip(&mut found) {
                if place.is_some_and(|(wanted, of)| of == size && *wanted == location) {
                    found.push((die, Arc::clone(&name)));
                }
            }
        }
        let one = |found: Vec<(Die, Arc<str>)>| match &*found {
            [(die, name)] => Ok(Some((Arc::clone(name), self.types.type_of(*die)?))),
            _ => Ok(None),
        };
        found.into_iter().map(one).collect()
    }

    /// The variables and parameters of the innermost function at a frame that are in scope there, with
    /// their names.
    fn innermost_variables(&self, frame: &Frame) -> Result<Vec<(Die, Arc<str>)>, Error> {
        let (index, mut variables) = (&self.scopes.functions, Vec::new());
        let Some(function) = frame.function else { return Ok(variables) };
        let functions = index.of_unit(function.unit)?;
        let Some(node) = functions.at_offset(function.offset) else { return Ok(variables) };
        let mut at = index.deepest(function.unit, node, frame.pc.0)?;
        while let Some((node, scope)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            self.units.charge(1)?;
            for variable in index.variables(function.unit, node)?.iter() {
                let is_one = !variable.name.is_empty() && !self.units.flag(variable.die, dw::DW_AT_declaration)?;
                if is_one && variables.len() < MOST {
                    variables.push((variable.die, text::from_bytes(&variable.name).into()));
                }
            }
            if scope.kind != Kind::Block {
                break;
            }
            at = scope.parent;
        }
        Ok(variables)
    }
}
