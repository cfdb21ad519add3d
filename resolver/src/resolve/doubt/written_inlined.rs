//! A constant that an inlined function may have overwritten through a pointer (LLVM).
//!
//! `int exp = 0; convert(m, &exp); mark(exp);` gives the address of `exp` away. When `convert` is inlined,
//! LLVM keeps `exp` in a register. What it knew of `exp` before the call stays, and its store in the inlined
//! code has no description: the constant 0 goes on behind it.
//!
//! The trace: the constant is described over code of a function that is inlined in that of the marker, and
//! that lost a parameter, a pointer to the type of the variable. A function that the marker itself is inlined
//! in was called before the variable was there.
//!
//! Smallest case: `left:out`; `believed:length` is right. In generated programs (seeds 9310 and 9311) it refuses
//! none of 1,060,000 values; SQLite showed one argument that is wrong.

use super::Reason;
use crate::address::Vaddr;
use crate::dwarf::{DebugInfo, Die};
use crate::resolve::Argument;

/// Why a constant may have been overwritten by a function that is inlined in the marker's function, of which
/// this is the instance.
pub(in crate::resolve) fn written_inlined(
    debug: &DebugInfo<'_>,
    argument: &Argument,
    (variable, instance): (Option<Die>, Option<Die>),
    is_by_gcc: bool,
    pc: Vaddr,
) -> Option<Reason> {
    argument.location.as_ref().filter(|location| location.is_constant() && !is_by_gcc)?;
    let range = argument.ranges.iter().find(|range| range.contains(&pc.0) && range.start < pc.0)?;
    let before = range.start..pc.0;
    let is_written = debug.lost_pointer_to(variable?, instance?, &before).unwrap_or(false);
    is_written.then_some(Reason::WrittenInlined)
}
