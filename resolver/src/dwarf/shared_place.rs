//! Which other variable is at the same location as a given one. Compilers keep one register for
//! several variables that have the same value, until one of them changes (DWARF 5, 2.6).

use std::ops::Range;
use std::sync::Arc;

use super::DebugInfo;
use super::Lookup;
use super::frame::Frame;
use super::scopes::Scope;
use super::unit::Die;
use super::variable_location::VariableLocation;
use crate::Error;
use crate::address::Vaddr;
use crate::location::Location;
use crate::text;

/// The most variables that are compared.
const MOST: usize = 256;

/// A variable that has the location of another one.
pub struct SharingVariable {
    /// Its name.
    pub name: Arc<str>,
    /// Whether its declaration has a later line than that of the other one.
    pub is_later: bool,
    /// The addresses where its location at the site holds; `None` if these are all of its scope.
    pub range: Option<Range<Vaddr>>,
}

/// A location, and the addresses where it holds; `None` if these are all of the variable's scope.
type LocationInRange = (Location, Option<Range<Vaddr>>);

impl DebugInfo<'_> {
    /// Another variable that a marker at `file` and `line` can name in a scope. It has the size of
    /// `variable`, has the location of `variable` at `last`, and is described completely at `site`.
    /// If there are several, the innermost. `None` if there is none, or the scope is in doubt. A
    /// constant has no location.
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
    ) -> Result<Option<SharingVariable>, Error> {
        let &[position] = scope.positions.as_slice() else { return Ok(None) };
        let Some((place, _)) = self.whole(variable, last)?.filter(|(place, _)| !place.is_constant()) else {
            return Ok(None);
        };
        let mut others: Vec<(Die, String)> = Vec::new();
        self.names.outward(position, |declarations| {
            let placed = declarations
                .iter()
                .filter(|(other, is_placed)| *is_placed && other.die != variable && !other.name.is_empty());
            others.extend(placed.map(|(other, _)| (other.die, text::from_bytes(&other.name))));
            Ok(others.len() < MOST)
        })?;
        let size = self.size_of(variable)?;
        for (die, name) in others.into_iter().take(MOST) {
            let shares =
                self.size_of(die)? == size && self.whole(die, last)?.is_some_and(|(location, _)| location == place);
            let Some((_, range)) = self.whole(die, site)?.filter(|_| shares) else { continue };
            // It is another variable than that of the argument: check that the marker sees it, and
            // no other one of that name.
            let seen = self.names.lookup(scope, &[&name], file, line)?;
            if matches!(seen, Lookup::Found { variable: seen, is_placed: true, .. } if seen == die) {
                let lines = self.declared_line(die).zip(self.declared_line(variable));
                let is_later = lines.is_some_and(|(other, own)| other > own);
                return Ok(Some(SharingVariable { name: name.into(), is_later, range }));
            }
        }
        Ok(None)
    }

    pub(super) fn size_of(&self, variable: Die) -> Result<Option<u64>, Error> {
        match self.types.type_of(variable)? {
            Some(of) => self.types.type_size(of),
            None => Ok(None),
        }
    }

    /// The location of all of a variable; `None` if part of it is optimised out, or its size is not
    /// known.
    fn whole(&self, variable: Die, frame: &Frame) -> Result<Option<LocationInRange>, Error> {
        let Some(size) = self.size_of(variable)? else { return Ok(None) };
        match self.locations.variable(variable, frame)? {
            VariableLocation::At { location, range, .. } if location.optimized_out(size).is_empty() => {
                Ok(Some((location, range)))
            }
            _ => Ok(None),
        }
    }
}
