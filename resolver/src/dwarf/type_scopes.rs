//! The scopes that a type is declared in: namespaces, modules, other types, functions and their blocks.

use std::collections::HashMap;

use gimli::constants as dw;

use super::entry_walk::{EntryWalk, WalkStep};
use super::unit::Die;
use super::units::Units;
use crate::Error;

/// The offsets of types of a unit that are declared in another entry, and the offset of that. Namespaces, and
/// functions with types in them, are among the types.
#[derive(Debug, Default)]
pub(super) struct TypeScopes {
    outer: HashMap<usize, usize>,
}

/// How deeply scopes are nested.
const NESTING: usize = 64;

impl TypeScopes {
    /// Those of a unit.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(super) fn read(units: &Units<'_>, unit: usize) -> Result<Self, Error> {
        let mut scopes = Self::default();
        let mut walk = EntryWalk::start(units, unit)?;
        // The entries that are open, each with its depth.
        let mut open: Vec<(isize, usize)> = Vec::new();
        while let Some(WalkStep { die, depth, abbreviation }) = walk.next()? {
            walk.entries.skip_attributes(abbreviation.attributes()).map_err(|error| walk.error(error))?;
            while open.last().is_some_and(|(above, _)| *above >= depth) {
                open.pop();
            }
            match abbreviation.tag() {
                dw::DW_TAG_namespace
                | dw::DW_TAG_module
                | dw::DW_TAG_structure_type
                | dw::DW_TAG_class_type
                | dw::DW_TAG_union_type
                | dw::DW_TAG_interface_type
                | dw::DW_TAG_enumeration_type
                | dw::DW_TAG_typedef => {
                    scopes.insert(die.offset, &open);
                    open.push((depth, die.offset));
                }
                dw::DW_TAG_subprogram | dw::DW_TAG_lexical_block => open.push((depth, die.offset)),
                _ => {}
            }
        }
        walk.finish()?;
        Ok(scopes)
    }

    /// Adds a type with the scopes that are open, the innermost last.
    fn insert(&mut self, of: usize, open: &[(isize, usize)]) {
        let mut inner = of;
        for (_, outer) in open.iter().rev() {
            if self.outer.insert(inner, *outer).is_some() {
                break;
            }
            inner = *outer;
        }
    }

    /// The entries around a type, the innermost first.
    pub(super) fn around(&self, die: Die) -> impl Iterator<Item = Die> + '_ {
        let outer = move |of: &Die| Some(Die { offset: *self.outer.get(&of.offset)?, ..*of });
        std::iter::successors(outer(&die), outer).take(NESTING)
    }
}
