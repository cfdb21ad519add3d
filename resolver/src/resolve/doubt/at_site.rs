//! A location that changes at the site.
//!
//! In `r = a % b; mark(a); a = b;` the last statement may need no instruction: from the marker's address on,
//! `a` is described in the register of `b`. That is the next value of `a`.
//!
//! The trace: a location begins at the site, and no anchor parts the two statements. It is believed if gcc's
//! view numbers tell the order, if the instruction that leads to the site makes the value, or if the old and
//! the new location have the same value.
//!
//! Smallest cases: `updated:gcd`, and the pairs `order` and `begins` of `tests/truth/pair`. In generated programs
//! (seeds 9320 to 9323) 16,561 of 79,896 values without an old location are wrong, and 5,221 of 34,838 with one.
//! SQLite, zstd and pulldown-cmark have wrong ones too (`docs/measured/field.md`).

use super::place::memory_place;
use super::{Case, Reason};
use crate::code::ValuePlace;
use crate::dwarf::Change;
use crate::location::{Location, Source};

/// Why the value may be the next one, or that before.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    let change = case.change?;
    let ways = case.description.before();
    if ways.is_empty() {
        return Some(Reason::BeginsHere);
    }
    ways.iter().find_map(|before| {
        let is_written = |location: &Location| before.instruction.is_some_and(|at| is_written(case, at, location));
        match &before.location {
            // The instruction before the site overwrites the value and makes the next one.
            Some(location)
                if location == case.location
                    || (is_written(location) && is_written(case.location))
                    || are_equal(case, location) =>
            {
                None
            }
            Some(location) => {
                let text = Some(case.description.text(location));
                Some(Reason::Replaced { before: Some(location.clone()), text })
            }
            // The instruction before the site makes the value.
            None if is_written(case.location) => None,
            None if change == Change::Begins => Some(Reason::BeginsHere),
            None => Some(Reason::Replaced { before: None, text: None }),
        }
    })
}

/// Whether an instruction writes a register that a location needs.
fn is_written(case: &Case<'_>, at: u64, location: &Location) -> bool {
    let Some(code) = case.code else { return false };
    let bits = location.registers().into_iter().filter_map(|register| code.any_bit(register));
    let registers = bits.fold(0u64, |mask, bit| mask | 1u64.checked_shl(bit).unwrap_or(0));
    code.writes(at, registers)
}

/// Whether another location has the value of the argument's at the site.
fn are_equal(case: &Case<'_>, other: &Location) -> bool {
    let (Some(code), Some(size)) = (case.code, case.argument.size) else { return false };
    let address = |location: &Location| match location.source()? {
        Source::Memory(address) => Some(ValuePlace::Address(memory_place(code, address)?)),
        _ => None,
    };
    let value = |location: &Location| match location.source()? {
        Source::Register(register) => Some(ValuePlace::Register(code.register_bit(*register)?)),
        Source::Memory(address) => Some(ValuePlace::Memory(memory_place(code, address)?)),
        Source::Value(value) => Some(ValuePlace::Address(memory_place(code, value)?)),
        _ => None,
    };
    let (places, size) = match (address(other), address(case.location)) {
        (Some(one), Some(other)) => (Some((one, other)), 8),
        _ => (value(other).zip(value(case.location)), size),
    };
    places.is_some_and(|(one, other)| code.are_equal(case.pc, &one, &other, size))
}
