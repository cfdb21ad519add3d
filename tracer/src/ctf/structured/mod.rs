//! Whole values as structures, variants and sequences of CTF, for other readers than `smark`: the shapes
//! of the arguments of a recording, their types in the metadata (`types`) and their bytes (`fields`).
//!
//! | at a place | fields |
//! | --- | --- |
//! | one alternative, a value | `NAME` |
//! | a list or map | `NAME__length`, the sequence `NAME`; between them `NAME__more` if elements are missing |
//! | several alternatives, or a variant | the enumeration `NAME__tag`, the variant `NAME` |
//! | alternatives without content | the enumeration `NAME` |

mod fields;
#[cfg(test)]
mod tests;
mod types;

use std::collections::BTreeMap;

use simple_markers_resolver::types::write_text;

use super::description::Description;
use super::packet::FieldState;
use crate::hit::Hit;
use crate::plan::PlannedArgument;
use crate::tree_shape::TreeShape;
use crate::value::{Missing, Value};

/// How many alternatives, members and names the shape of an argument can have.
const MOST: usize = 1 << 12;

/// How many those of a recording can have.
const MOST_OF_ALL: usize = 1 << 16;

/// The most bytes of a value. One that would have more is text.
const MAX_SIZE: usize = 1 << 20;

/// The shapes of the whole values of a recording.
#[derive(Clone, Debug)]
pub struct StructuredValues {
    /// By the number of the class, and that of the argument.
    shapes: BTreeMap<(usize, usize), ArgumentShape>,
    /// What may be added to the shapes yet.
    budget: usize,
}

/// What the values of an argument have in common.
#[derive(Clone, Debug)]
pub(super) struct ArgumentShape {
    pub(super) shape: TreeShape,
    /// Whether a value changed while it was read.
    pub(super) is_changing: bool,
    /// What may be added yet.
    budget: usize,
}

impl Default for StructuredValues {
    fn default() -> Self {
        Self { shapes: BTreeMap::new(), budget: MOST_OF_ALL }
    }
}

impl StructuredValues {
    /// Adds the values of a hit of the recording that `description` describes.
    pub fn add(&mut self, description: &Description, hit: &Hit<'_>) {
        let Some(class) = description.sites.get(hit.number).and_then(|site| site.class) else { return };
        for (number, (argument, value)) in hit.fields().enumerate() {
            let Some(shown) = &argument.shown else { continue };
            let shape = self.shapes.entry((class, number)).or_insert_with(|| ArgumentShape {
                shape: TreeShape::default(),
                is_changing: false,
                budget: MOST,
            });
            let (Ok(value) | Err(Missing::Doubtful(Some(value)))) = value else { continue };
            let Some(tree) = shown.tree(&value) else { continue };
            shape.is_changing |= value.is_changing();
            let budget = shape.budget.min(self.budget);
            let mut left = budget;
            shape.shape.add(&tree, &mut left);
            shape.budget -= budget - left;
            self.budget -= budget - left;
        }
    }

    /// The shape of an argument; `None` if it is no whole value, or if the class has no hits.
    pub(super) fn shape(&self, class: usize, argument: usize) -> Option<&ArgumentShape> {
        self.shapes.get(&(class, argument))
    }
}

impl ArgumentShape {
    /// Appends a value. Returns `false` if it is not of this shape, or would have more than [`MAX_SIZE`]
    /// bytes; what was appended then is to be removed.
    pub(super) fn write(&self, argument: &PlannedArgument, value: &Value<'_>, out: &mut Vec<u8>) -> bool {
        let Some((shown, tree)) = argument.shown.as_ref().and_then(|shown| Some((shown, shown.tree(value)?))) else {
            return false;
        };
        if self.is_changing {
            out.push(value.is_changing().into());
        }
        let most = out.len().saturating_add(MAX_SIZE);
        fields::place(&self.shape, &tree, shown.language, most, out).is_some()
    }

    /// Appends a value with its state.
    pub(super) fn write_with_state(
        &self,
        argument: &PlannedArgument,
        value: Result<Value<'_>, Missing<'_>>,
        out: &mut Vec<u8>,
    ) {
        let (value, is_doubtful) = match value {
            Ok(value) => (value, false),
            Err(Missing::Doubtful(Some(value))) => (value, true),
            Err(Missing::Doubtful(None)) => return self.write_state(FieldState::Doubtful, false, out),
            Err(Missing::Unreadable { .. }) => return self.write_state(FieldState::Unreadable, false, out),
            Err(Missing::EntryUnseen) => return self.write_state(FieldState::EntryUnseen, false, out),
            // It has no field.
            Err(Missing::Unread(_)) => return,
        };
        let from = out.len();
        out.push(if is_doubtful { FieldState::Maybe } else { FieldState::Value } as u8);
        if self.write(argument, &value, out) {
            return;
        }
        out.truncate(from);
        let is_changing = value.is_changing();
        let mut text = String::new();
        match argument.shown.as_ref().and_then(|shown| Some((shown, shown.tree(&value)?))) {
            Some((shown, tree)) => {
                self.write_state(if is_doubtful { FieldState::MaybeCut } else { FieldState::Cut }, is_changing, out);
                write_text(&tree, shown.language, &mut text);
                fields::text(text.as_bytes(), out);
            }
            None => self.write_state(if is_doubtful { FieldState::MaybeNull } else { FieldState::Null }, false, out),
        }
    }

    /// Appends a state, and what precedes the variant.
    fn write_state(&self, state: FieldState, is_changing: bool, out: &mut Vec<u8>) {
        out.push(state as u8);
        if self.is_changing {
            out.push(is_changing.into());
        }
    }

    /// Appends the type of the field to the metadata. `is_full` says whether a state precedes it.
    pub(super) fn write_type(&self, name: &str, is_full: bool, out: &mut String) {
        if self.is_changing {
            types::changing(name, out);
        }
        match is_full {
            true => types::with_state(&self.shape, name, out),
            false => types::of_argument(&self.shape, name, out),
        }
    }
}
