//! Arguments of a site by their names.

use super::token::normalized;
use crate::plan::{PlannedArgument, PlannedSite};

/// The arguments of a site with a name without white space. If none has it, those with that other name.
#[must_use]
pub(super) fn named<'s>(name: &str, site: &'s PlannedSite) -> Vec<&'s PlannedArgument> {
    let by_text = site.arguments.iter().filter(|argument| normalized(&argument.text) == *name);
    let found: Vec<_> = by_text.collect();
    if !found.is_empty() {
        return found;
    }
    site.arguments.iter().filter(|argument| argument.alias.as_deref() == Some(name)).collect()
}
