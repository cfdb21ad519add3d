//! What closures of Rust captured.
//!
//! Since the edition of 2021 a closure captures the members that it uses, and not the variable that they
//! belong to. rustc (1.95) describes each as a variable of the closure: `self.options.limit` is
//! `self__options__limit`, of the type of the member, behind its reference if it was captured by one.

use super::arguments::{Arguments, PlaceObject, Stop};
use super::path::Extent;
use super::place::Place;
use super::refusal::Refusal;
use crate::dwarf::Lookup;
use crate::types::Language;

impl Arguments<'_> {
    /// The member of a variable that is not there, if a closure captured the member. `None` if it did not.
    ///
    /// # Errors
    ///
    /// It was captured, and cannot be read.
    pub(super) fn captured_member(
        &self,
        member: &Place,
        stop: &Stop<'_>,
        extent: &mut Extent,
    ) -> Result<Option<PlaceObject>, Refusal> {
        let (Some(scope), Some(name)) = (stop.scope, captured_name(member)) else { return Ok(None) };
        if self.language(stop) != Language::Rust {
            return Ok(None);
        }
        match self.debug.lookup_in_function(scope, &[&name], stop.file, stop.line)? {
            Some(Lookup::Found { variable, is_placed, .. }) => {
                self.variable_object(variable, is_placed, stop, extent).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The name of the variable that a captured member becomes: `a__b__0` of `(*a).b.0`. `None` if the place is
/// no member of a variable.
fn captured_name(place: &Place) -> Option<String> {
    match place {
        Place::Variable(path) => match path.as_slice() {
            [name] => Some(name.clone()),
            _ => None,
        },
        Place::Member(inner, name) => Some(format!("{}__{name}", captured_name(inner)?)),
        Place::Deref(inner) => captured_name(inner),
        Place::Index(..) | Place::Cast(..) | Place::Address(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_variables_have_the_names_of_captures() {
        let variable = |name: &str| Place::Variable(vec![name.to_owned()]);
        let member = |inner, name: &str| Place::Member(Box::new(inner), name.to_owned());
        let place = member(member(Place::Deref(Box::new(variable("self"))), "options"), "0");
        assert_eq!(captured_name(&place).as_deref(), Some("self__options__0"));
        assert_eq!(captured_name(&member(Place::Index(Box::new(variable("a")), 1), "b")), None);
        let other = Place::Variable(vec!["N".to_owned(), "A".to_owned()]);
        assert_eq!(captured_name(&member(other, "b")), None);
    }
}
