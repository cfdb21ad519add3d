//! The addresses of the scope that declares a variable.

use std::ops::Range;

use super::DebugInfo;
use super::scopes::Scope;
use super::unit::Die;
use crate::Error;

impl DebugInfo<'_> {
    /// The addresses of the block or function around a site that declares a variable; empty if none
    /// does, or the scope is in doubt.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn block_of_variable(&self, scope: &Scope, variable: Die) -> Result<Vec<Range<u64>>, Error> {
        let &[position] = scope.positions.as_slice() else { return Ok(Vec::new()) };
        let functions = self.scopes.functions.of_unit(position.unit)?;
        let mut at = Some(position.node).filter(|_| variable.unit == position.unit);
        while let Some((node, found)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            self.units.charge(1)?;
            if functions.variables_of(node).contains(&variable.offset) {
                return Ok(functions.ranges(node).to_vec());
            }
            at = found.parent;
        }
        Ok(Vec::new())
    }
}
