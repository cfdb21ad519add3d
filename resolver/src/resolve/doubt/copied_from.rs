//! A variable that was assigned another one, without an instruction (rustc).
//!
//! `mark(pos, i); pos = i;`: both have one register from the same address on, and LLVM does not say when the
//! assignment is. gcc's view numbers do. clang's values that look alike were right, all 2,456.
//!
//! The trace: another variable in scope has the same register, its location begins at the same address, and
//! it is declared later.
//!
//! Smallest case: `updated:copied`. In ripgrep all 200 values of one argument are wrong, in pulldown-cmark 174 of
//! 1,200; in generated programs none of 1,702 (seeds 9320 to 9323).

use super::place::register;
use super::{Case, Reason};

/// The variable that may be assigned only behind the marker.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    let begin = case.range()?.start;
    if !case.is_variable() || !case.is_by_rustc() {
        return None;
    }
    register(case.location)?;
    let shared = case.description.shared()?;
    let begins_too = shared.range.is_some_and(|range| range.start.0 == begin);
    (shared.is_later && begins_too).then_some(Reason::CopiedFrom { name: shared.name })
}
