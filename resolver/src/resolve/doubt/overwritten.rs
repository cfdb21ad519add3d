//! A structure in registers that a call on another way to the site overwrites (gcc).
//!
//! `void f(struct pair p, int c) { if (c) g(); mark(p.a); }`: gcc describes `p` in the registers that it came
//! in. Where two ways join, it keeps what one of them says. The call of `g` has overwritten the registers
//! on the other way. gcc follows other variables by their values, and describes those where all ways agree.
//!
//! The trace: a call on a way to the site is the last to write the register, and the location does not go on
//! over the call. gcc ends it inside of the call. It does not where it knows that the callee leaves the
//! register alone (`believed:joined`).
//!
//! Smallest case: `stale:joined`. In a generated program (`-O1`, `-O2`, `-O3`) 58 of 214 such members are
//! wrong. Of 39,662 members of SQLite and QuickJS by gcc `-O2` it refuses none.

use super::place::{piece_registers, register};
use super::{Case, Reason};
use crate::address::Vaddr;
use crate::location::{Location, Register};

/// The call that overwrote the register.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    case.range()?;
    if !case.is_by_gcc() || case.is_variable() && case.location.pieces.len() == 1 {
        return None;
    }
    let at = registers(case.location).find_map(|of| overwritten(case, of))?;
    Some(Reason::Overwritten { at: at.0 })
}

fn overwritten(case: &Case<'_>, of: Register) -> Option<Vaddr> {
    let code = case.code?;
    let calls = code.clobbered(case.pc, code.register_bit(of)?)?;
    let goes_on = |end: u64| {
        let location = case.description.location_at(Vaddr(end.saturating_sub(1)));
        location.is_some_and(|location| registers(&location).any(|it| it == of))
    };
    calls.iter().find(|call| !goes_on(call.end)).map(|call| Vaddr(call.start))
}

/// The registers that hold a value or pieces of it, converted or not.
fn registers(location: &Location) -> impl Iterator<Item = Register> {
    piece_registers(location).chain(register(location))
}
