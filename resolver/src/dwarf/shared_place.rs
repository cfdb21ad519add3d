//! Which other variable is in the same place as one: compilers keep one register for several that have the same value, until one of them
//! changes (DWARF 5, 2.6).

use super::DebugInfo;
use super::Lookup;
use super::frame::Frame;
use super::location_list::Described;
use super::scopes::Scope;
use super::units::Die;
use crate::Error;
use crate::location::Location;
use crate::text;

/// So many variables are looked at.
const MOST: usize = 256;

impl DebugInfo<'_> {
    /// The name of another variable that a marker of `file` and `line` can name in a scope, of the same size as `variable`, which at `last`
    /// is where `variable` is, and at `site` is described whole; `None` where there is none, or the scope is in doubt. Of several the
    /// innermost. Constants are no place.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub fn sharing(
        &self,
        scope: &Scope,
        variable: Die,
        (file, line): (&str, u32),
        last: &Frame,
        site: &Frame,
    ) -> Result<Option<String>, Error> {
        let &[position] = scope.positions.as_slice() else { return Ok(None) };
        let Some(place) = self.whole(variable, last)?.filter(|place| !place.is_constant()) else { return Ok(None) };
        let mut others: Vec<(Die, String)> = Vec::new();
        self.names.outward(position, |declarations| {
            let placed = declarations.iter().filter(|(other, is_placed)| *is_placed && other.die != variable);
            others.extend(placed.map(|(other, _)| (other.die, text::from_bytes(&other.name))));
            Ok(others.len() < MOST)
        })?;
        let size = self.size_of(variable)?;
        for (die, name) in others.into_iter().take(MOST) {
            let shares = self.size_of(die)? == size && self.whole(die, last)?.as_ref() == Some(&place);
            if !shares || self.whole(die, site)?.is_none() {
                continue;
            }
            // That the marker would see this one, and no other of the name.
            let seen = self.names.lookup(scope, &[&name], file, line)?;
            if matches!(seen, Lookup::Found { variable, is_placed: true, .. } if variable == die) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn size_of(&self, variable: Die) -> Result<Option<u64>, Error> {
        match self.types.type_of(variable)? {
            Some(of) => self.types.type_size(of),
            None => Ok(None),
        }
    }

    /// Where all of a variable is; `None` where some of it is gone, or it has no size.
    fn whole(&self, variable: Die, frame: &Frame) -> Result<Option<Location>, Error> {
        let Some(size) = self.size_of(variable)? else { return Ok(None) };
        match self.locations.variable(variable, frame)? {
            Described::At { location, .. } if location.optimized_out(size).is_empty() => Ok(Some(location)),
            _ => Ok(None),
        }
    }
}
