//! A constant in a loop that also has another one (gcc).
//!
//! `d = 12; while (..) { mark(d); d = u; }`: gcc describes `d` as 12 from before the loop on, and does not end
//! that where the loop begins.
//!
//! The trace: in a loop, the code also leads to the site from an instruction where the variable is described
//! as another constant, and nothing on the way can be an assignment. A jump back counts from where the
//! variable has any other location.
//!
//! Smallest case: `stale:first`. In Lua 153 of 300 values are wrong that it refuses; in generated programs
//! (seeds 9320 to 9323, 9400 and 9401) none of 2,315. Of LLVM's constants that look alike, none of 1,422 was.

use std::collections::HashSet;

use super::case::{OUTSIDE, STEPS};
use super::place::is_constant;
use super::{Case, Reason};
use crate::address::Vaddr;
use crate::location::Location;

/// The instruction with another constant, from which the code leads to the site.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    case.block()?;
    if !case.is_by_gcc() {
        return None;
    }
    // An entry that ends at the site holds there up to a view.
    let holds = |range: &&std::ops::Range<u64>| range.start < case.pc.0 && case.pc.0 <= range.end;
    let range = case.argument.ranges.iter().find(holds).filter(|_| is_constant(case.location))?;
    let code = case.code?;
    let mut seen = HashSet::new();
    let mut todo = vec![case.pc.0];
    let mut outside = 0;
    while let Some(at) = todo.pop().filter(|_| seen.len() < STEPS && outside < OUTSIDE) {
        for before in code.predecessors(Vaddr(at))? {
            if seen.contains(&before.start) {
                continue;
            }
            let is_same = range.contains(&before.start) || {
                outside += 1;
                // A constant does not end where a loop begins that assigns the variable.
                let is_back = before.start > case.pc.0 && at <= case.pc.0;
                let is_known = |other: &Location| is_constant(other) || is_back;
                match case.description.location_at(Vaddr(before.end.saturating_sub(1))).filter(is_known) {
                    Some(other) if other != *case.location => {
                        // An assignment of the constant may be behind an instruction, not behind a branch.
                        if at != range.start && range.contains(&at) || code.is_branch(Vaddr(before.start)) {
                            return code.is_in_loop(case.pc).then_some(Reason::OtherConstant { from: before.start });
                        }
                        false
                    }
                    other => other.is_some(),
                }
            };
            if is_same {
                seen.insert(before.start);
                todo.push(before.start);
            }
        }
    }
    None
}
