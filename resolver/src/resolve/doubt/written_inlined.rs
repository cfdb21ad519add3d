//! A constant that an inlined function may have overwritten through a pointer (LLVM).
//!
//! `int exp = 0; convert(m, &exp); mark(exp);` gives the address of `exp` away. When `convert` is inlined,
//! LLVM keeps `exp` in a register. What it knew of `exp` before the call stays, and its store in the inlined
//! code has no description: the constant 0 goes on behind it.
//!
//! The trace: the constant is described over code of an inlined function that lost a parameter, a pointer
//! to the type of the variable.
//!
//! Smallest case: `left:out`.

use super::{Code, Reason};
use crate::dwarf::{DebugInfo, Die};
use crate::resolve::Argument;

/// Why a constant may have been overwritten by an inlined function.
pub(in crate::resolve) fn written_inlined(
    debug: &DebugInfo<'_>,
    argument: &Argument,
    variable: Option<Die>,
    is_by_gcc: bool,
    code: &Code<'_, '_, '_, '_, '_>,
) -> Option<Reason> {
    argument.location.as_ref().filter(|location| location.is_constant() && !is_by_gcc)?;
    let range = argument.ranges.iter().find(|range| range.contains(&code.pc.0) && range.start < code.pc.0)?;
    let before = range.start..code.pc.0;
    let is_written = debug.lost_pointer_to(variable?, code.function?, &before).unwrap_or(false);
    is_written.then_some(Reason::WrittenInlined)
}
