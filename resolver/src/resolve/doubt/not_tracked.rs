//! A variable in a function in which gcc did not track where variables are.
//!
//! gcc gives up tracking in a very large function (500 blocks with 20 ways each, as in an interpreter)
//! without a word, and with `-fno-var-tracking`. Each variable is then described for all of its scope
//! in the place that its computations were given. Other values are there too, before and after.
//!
//! The trace: no variable of the function has a location list. A variable that gcc tracked is described
//! in one register for all of its scope only if nothing writes that register, because a write would begin
//! another entry of a list. So one such register that the function writes shows that it was not tracked.
//! (A call does not count: gcc knows which registers its own functions leave alone.) Then a slot of its
//! frame says no more, unless the code takes its address: a variable whose address is taken is always
//! there.
//!
//! Smallest case: `stale:untracked`. In generated programs (seed 9000, 20 functions, `-O1`, `-O2`, `-Os`)
//! it refuses none of 104,380 values by gcc. In QuickJS, a run before the rule found 63 of 663 such values
//! wrong; in 150 places of zstd by gcc `-O2` none of 1,881.

use super::place::{memory_place, piece_registers};
use super::{Case, Reason};
use crate::location::{Location, Source};

/// Why the location may be that of another value; `None` if gcc tracked the function, as far as is known.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    let code = case.code?;
    if !case.is_by_gcc() || !case.argument.ranges.is_empty() {
        return None;
    }
    let is_written = |location: &Location| {
        let bits = piece_registers(location).filter_map(|register| code.any_bit(register));
        let mask = bits.fold(0u64, |mask, bit| mask | 1u64.checked_shl(bit).unwrap_or(0));
        mask != 0 && code.writes_anywhere(mask)
    };
    let is_untracked = || case.description.has_only_whole_scopes(&is_written);
    if piece_registers(case.location).next().is_some() {
        return (is_written(case.location) && is_untracked()).then_some(Reason::NotTracked);
    }
    let Source::Memory(address) = case.location.source()? else { return None };
    let is_scalar =
        case.argument.text.trim() == &*case.argument.name && case.argument.size.is_some_and(|size| size <= 8);
    let place = memory_place(code, address).filter(|place| is_scalar && place.offsets.len() == 1)?;
    let is_slot = code.takes_address(case.pc, &place) == Some(false);
    (is_slot && is_untracked()).then_some(Reason::NotTracked)
}
