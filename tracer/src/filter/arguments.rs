//! Arguments of a site by their names.

use super::token::normalized;
use crate::plan::{Input, PlannedArgument, PlannedSite, text_name};

/// The arguments of a site with a name without white space. If none has it, those with that other name. Where an
/// event of the kernel has an address and the text there, it is the text.
#[must_use]
pub(super) fn named<'s>(name: &str, site: &'s PlannedSite) -> Vec<&'s PlannedArgument> {
    let by_text = site.own_arguments().iter().filter(|argument| normalized(&argument.text) == *name);
    if site.inputs.iter().any(|input| matches!(input, Input::Field { .. })) {
        let text = text_name(name);
        if let Some(argument) = site.own_arguments().iter().find(|argument| *argument.text == *text) {
            return vec![argument];
        }
    }
    let found: Vec<_> = by_text.collect();
    if !found.is_empty() {
        return found;
    }
    site.own_arguments().iter().filter(|argument| argument.alias.as_deref() == Some(name)).collect()
}
