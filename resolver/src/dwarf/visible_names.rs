//! The names of the variables that are in scope at a line.

use super::debug_info::DebugInfo;
use super::lookup::Lookup;
use super::scopes::Scope;
use crate::Error;
use crate::text;

/// The most variables of a scope that are named.
const MOST: usize = 256;

impl DebugInfo<'_> {
    /// The parameters and local variables that a marker of `file` and `line` can name in a scope, the
    /// outermost first. Empty if the scope is in doubt.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn visible_names(&self, scope: &Scope, file: &str, line: u32) -> Result<Vec<String>, Error> {
        let &[position] = scope.positions.as_slice() else { return Ok(Vec::new()) };
        let mut scopes: Vec<Vec<String>> = Vec::new();
        let mut count = 0usize;
        self.names.outward(position, |declarations| {
            let names: Vec<String> = declarations.iter().map(|(of, _)| text::from_bytes(&of.name)).collect();
            count = count.saturating_add(names.len());
            scopes.push(names);
            Ok(count < MOST)
        })?;
        let mut visible: Vec<String> = Vec::new();
        for name in scopes.into_iter().rev().flatten().take(MOST) {
            let is_name = !name.is_empty() && !visible.contains(&name);
            let means = |name: &str| self.names.lookup_in_function(scope, &[name], file, line);
            if is_name && matches!(means(&name)?, Some(Lookup::Found { is_static: false, .. })) {
                visible.push(name);
            }
        }
        Ok(visible)
    }
}
