//! Variables that have one location for all of their scope, in a function that gcc optimised.

use super::DebugInfo;
use super::frame::Frame;
use super::unit::Die;
use super::variable_location::VariableLocation;
use crate::Error;
use crate::location::Location;

impl DebugInfo<'_> {
    /// Whether no variable of a function, or of one that is inlined in it, has a location list, and one
    /// has a location for all of its scope that `is_meant`.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn has_only_whole_scopes(
        &self,
        function: Die,
        frame: &Frame,
        is_meant: &dyn Fn(&Location) -> bool,
    ) -> Result<bool, Error> {
        let functions = self.scopes.functions.of_unit(function.unit)?;
        let Some(start) = functions.at_offset(function.offset) else { return Ok(false) };
        let mut is_found = false;
        for node in std::iter::once(start).chain(functions.below(start)) {
            for variable in self.scopes.functions.variables(function.unit, node)?.iter() {
                self.units.charge(1)?;
                match self.locations.variable(variable.die, frame)? {
                    VariableLocation::At { range: None, location, .. } => is_found |= !is_found && is_meant(&location),
                    VariableLocation::At { .. } | VariableLocation::Lost { .. } | VariableLocation::Entry { .. } => {
                        return Ok(false);
                    }
                    _ => {}
                }
            }
        }
        Ok(is_found)
    }
}
