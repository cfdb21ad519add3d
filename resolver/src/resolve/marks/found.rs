//! A marker that a mark makes, and its places.

use std::sync::Arc;

use super::certainty::PlaceCertainty;
use crate::address::Vaddr;
use crate::dwarf::FoundFunction;
use crate::marks::{Mark, TaskPoint};
use crate::resolve::exits::Exits;
use crate::resolve::pc::Pc;
use crate::resolve::{LineProblem, MarkReason, Origin};

/// A marker that a mark makes.
pub(super) struct FoundMark {
    pub(super) name: String,
    /// Where it is declared.
    pub(super) file: Arc<str>,
    pub(super) line: u32,
    /// The line that decides which variables are declared before it.
    pub(super) scope_line: u32,
    /// The text that is shown, and the arguments.
    pub(super) format: String,
    pub(super) args: String,
    pub(super) sites: Vec<FoundSite>,
    /// How many inlined copies of its function are left out.
    pub(super) inlined_copies: u32,
    /// What a task does there.
    pub(super) task_point: Option<TaskPoint>,
    /// Why there are no sites.
    pub(super) problem: Option<LineProblem>,
}

/// A place of a mark.
pub(super) struct FoundSite {
    pub(super) pc: Pc,
    pub(super) origin: Origin,
    pub(super) certainty: PlaceCertainty,
    /// The function that a tail call leads to, if its name is known.
    pub(super) callee: Option<Arc<str>>,
}

impl FoundSite {
    /// The places where a function is left. `pc` is the place of an address, if it has one.
    pub(super) fn of_exits(exits: Exits, pc: impl Fn(Vaddr) -> Option<Pc>) -> Vec<Self> {
        let is_complete = exits.gaps.is_empty();
        let certainty =
            PlaceCertainty::Place(if is_complete { MarkReason::Leaves } else { MarkReason::MayLeaveElsewhere });
        let returns = exits.returns.into_iter().map(|at| (at, Origin::Return, None));
        let tail_calls = exits.tail_calls.into_iter().map(|(at, callee)| (at, Origin::TailCall, callee));
        let site = |(at, origin, callee)| Some(Self { pc: pc(at)?, origin, certainty, callee });
        returns.chain(tail_calls).filter_map(site).collect()
    }
}

impl FoundMark {
    /// The marker of a mark at a function; `None` without a site. `suffix` ends its name if the mark means
    /// several functions.
    pub(super) fn of_function(
        mark: &Mark,
        function: &FoundFunction,
        suffix: Option<&str>,
        mut sites: Vec<FoundSite>,
    ) -> Option<Self> {
        sites.sort_by_key(|site| site.pc);
        sites.dedup_by_key(|site| site.pc);
        let (file, line) = match &function.declared {
            Some((file, line)) => (Arc::clone(file.as_str()), *line),
            None => (Arc::from(""), 0),
        };
        let inlined = function.instances.iter().filter(|instance| instance.is_inlined).count();
        (!sites.is_empty()).then(|| Self {
            name: suffix.map_or_else(|| mark.name.to_string(), |suffix| format!("{}{suffix}", function.path)),
            file,
            line,
            scope_line: function.last_line,
            format: mark.format.clone(),
            args: mark.args.clone(),
            sites,
            task_point: mark.task_point,
            inlined_copies: if mark.is_out_of_line { u32::try_from(inlined).unwrap_or(u32::MAX) } else { 0 },
            problem: None,
        })
    }
}
