//! The names of the scopes that a type is declared in: namespaces, modules, and other types.

use std::collections::HashMap;

use gimli::constants as dw;

use super::entry_walk::{EntryWalk, WalkStep};
use super::types::{Types, is_aggregate};
use super::unit::Die;
use crate::Error;

/// The offsets of types of a unit that are declared in another entry with a name, and the offset of
/// that. Namespaces are among them.
#[derive(Debug, Default)]
pub(super) struct TypeScopes {
    outer: HashMap<usize, usize>,
}

/// How deeply scopes are nested.
const NESTING: usize = 64;

impl Types<'_> {
    /// The names of the scopes around a type, the outermost first, without their parameters. Anonymous
    /// scopes are left out.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(super) fn scopes_of(&self, die: Die) -> Result<Vec<String>, Error> {
        let scopes = self.scopes.get_or_make(die.unit, || self.find_scopes(die.unit))?;
        let (mut names, mut offset) = (Vec::new(), die.offset);
        while let Some(outer) = scopes.outer.get(&offset).filter(|_| names.len() < NESTING) {
            let name = self.text_name(Die { unit: die.unit, offset: *outer })?;
            names.push(name.split_once('<').map_or(&*name, |(base, _)| base).to_owned());
            offset = *outer;
        }
        names.retain(|name| !name.is_empty());
        names.reverse();
        Ok(names)
    }

    fn find_scopes(&self, unit: usize) -> Result<TypeScopes, Error> {
        let mut scopes = TypeScopes::default();
        let mut walk = EntryWalk::start(&self.units, unit)?;
        // The entries that are open, each with its depth.
        let mut open: Vec<(isize, usize)> = Vec::new();
        while let Some(WalkStep { die, depth, abbreviation }) = walk.next()? {
            walk.entries.skip_attributes(abbreviation.attributes()).map_err(|error| walk.error(error))?;
            while open.last().is_some_and(|(above, _)| *above >= depth) {
                open.pop();
            }
            let tag = abbreviation.tag();
            let is_scope = matches!(tag, dw::DW_TAG_namespace | dw::DW_TAG_module) || is_aggregate(tag);
            if is_scope {
                if let Some((_, outer)) = open.last() {
                    scopes.outer.insert(die.offset, *outer);
                }
                open.push((depth, die.offset));
            }
        }
        walk.finish()?;
        Ok(scopes)
    }
}
