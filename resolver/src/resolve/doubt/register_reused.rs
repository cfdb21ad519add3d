//! A variable that gcc describes in one register for all of its scope, in which the register has other
//! values too.
//!
//! `int bits = 32 - __builtin_clz(n); if (n == 9) .. else use(bits);` computes `bits` only in the branch that
//! uses it. gcc has no location for the value before that, and so no location list. It describes `bits` in
//! the register that the computation was given, for all of the scope. The other branch has another value in
//! that register.
//!
//! The trace: no location list, and an instruction in the scope writes the register, but not the value
//! that the register has at the marker. A counter that is changed in place has one value in this sense.
//!
//! Smallest case: `stale:branch`. In generated programs (seeds 9300 and 9301, 30 functions, `-O1`, `-O2`,
//! `-O3`, `-Os`) it refuses none of 4,818 such values. In 150 places each of QuickJS and SQLite by gcc `-O2`
//! one of 5 such arguments is refused, `log2_radix`, whose 2 values are wrong.

use super::{Case, Reason};

/// Whether the register may have another value than that of its variable.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    if !case.is_by_gcc() || !case.argument.ranges.is_empty() {
        return None;
    }
    let number = case.held()?.number;
    let scope = case.description.scope_of_variable();
    case.code?.has_other_values(case.pc, number, &scope)?.then_some(Reason::NotTracked)
}
