//! Where functions return, and where they leave for others by a tail call. Inlined copies do neither.

use std::sync::Arc;

use super::entries;
use super::found::{FoundMark, FoundSite};
use crate::dwarf::FoundFunction;
use crate::image::symbols::Symbols;
use crate::marks::{FunctionPattern, Mark};
use crate::resolve::instructions::Instructions;
use crate::resolve::mark_problem::MarkProblem;
use crate::resolve::site_debug::SiteDebug;

/// The markers of a mark at the returns of functions: one for each function. `tails` are the functions in which polls
/// of tasks end.
pub(super) fn find(
    debug: &SiteDebug<'_>,
    instructions: Option<&Instructions<'_>>,
    symbols: Symbols<'_>,
    mark: &Mark,
    functions: &[FoundFunction],
    tails: &[&FunctionPattern],
) -> Result<Vec<FoundMark>, MarkProblem> {
    let instructions = instructions.ok_or(MarkProblem::NoCode)?;
    let mut found = Vec::new();
    let suffix = (functions.len() > 1).then_some("() return");
    for function in functions {
        let mut sites = Vec::new();
        for instance in function.instances.iter().filter(|instance| !instance.is_inlined) {
            let Some(code) = instructions.function(instance.die) else { continue };
            if entries::is_rest(debug, symbols, code.entry()) {
                continue;
            }
            let Ok(mut exits) = instructions.exits(instance.die) else { continue };
            if mark.task_point.is_some() {
                // The poll ends in the other function.
                let is_tail =
                    |callee: &Option<Arc<str>>| callee.as_ref().is_some_and(|it| tails.iter().any(|of| of.matches(it)));
                exits.tail_calls.retain(|(_, callee)| !is_tail(callee));
            }
            sites.extend(FoundSite::of_exits(exits, |at| debug.pc(at)));
        }
        found.extend(FoundMark::of_function(mark, function, suffix, sites));
    }
    if found.is_empty() { Err(MarkProblem::NoCode) } else { Ok(found) }
}
