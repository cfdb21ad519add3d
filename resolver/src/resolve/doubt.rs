//! Whether the location of an argument holds the value that the source has at the marker
//! (`docs/measured/truth.md`).
//!
//! Debug information describes a variable for addresses, and a marker is between two statements. A
//! statement without an instruction moves a variable at the marker's own address. A store that
//! nothing reads is delayed or dropped. So what the debug information says is doubted unless the
//! instructions confirm it.
//!
//! [`Case`] is what is known, and each rule is a function of it in a file of its own. The file begins with
//! what compilers do, the trace that it leaves, and what the rule was measured to refuse. [`RULES`] is the
//! list of them; `rates.txt` has how often the refused values were wrong.

mod assigned_late;
mod at_site;
mod case;
mod computed;
mod copied_from;
mod copies;
mod memory;
mod not_in_frame;
mod not_tracked;
mod other_constant;
mod other_offset;
mod overwritten;
mod parameter_in_loop;
mod place;
mod register_reused;
mod step_ahead;
mod stepped_before;
mod stored_over;
mod written_inlined;

pub(super) use case::{Case, Description, PreviousPlace, SourceSide};
pub(super) use copies::doubt_copies;
pub(super) use place::{Root, chain, covers};

use super::Reason;

/// A rule: why a value may not be that of the source; `None` if it knows nothing against it.
type Rule = fn(&Case<'_>) -> Option<Reason>;

/// All rules. The first reason counts.
const RULES: [Rule; 16] = [
    not_tracked::doubt,
    at_site::doubt,
    computed::doubt,
    not_in_frame::doubt,
    memory::doubt,
    other_constant::doubt,
    other_offset::doubt,
    stored_over::doubt,
    overwritten::doubt,
    stepped_before::doubt,
    assigned_late::doubt,
    parameter_in_loop::doubt,
    copied_from::doubt,
    step_ahead::doubt,
    written_inlined::doubt,
    register_reused::doubt,
];

/// Why a value is doubtful; `None` if nothing is known against it.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    RULES.iter().find_map(|rule| rule(case))
}
