//! A register of which the code uses only a part.
//!
//! If only the lower bits of a result are used, LLVM computes only these, and describes the register as the
//! whole value: `h = x * 0x9e3779b97f4a7c15; mark(h); return (uint8_t)h;`. An assignment that nothing uses is
//! removed, and the register may keep an older value.
//!
//! The trace: from the instructions on that made the value, none of its bits is used, or an instruction
//! computed it and some bit is not used (`code/demand.rs`).
//!
//! In generated programs (seeds 7100 to 7102) 642 of 28,304 values are wrong, none of them by gcc; of seeds
//! 5000 to 5001 and 5102 to 5105, 1,036 of 46,138 by gcc.

use super::place::register;
use super::{Case, Reason};

/// Which bits are used, if the code uses less than the value has.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    let size = case.argument.size?;
    let is_boolean = matches!(case.argument.type_name.as_deref(), Some("bool" | "_Bool"));
    let bits = if is_boolean { 1 } else { u32::try_from(size.checked_mul(8)?).ok()? };
    let all = u64::MAX.checked_shr(64u32.checked_sub(bits)?)?;
    let made = case.made(case.code?.register_bit(register(case.location)?)?)?;
    let bits = made.used & all;
    (bits == 0 || (made.is_computed && bits != all)).then_some(Reason::PartlyUsed { bits })
}
