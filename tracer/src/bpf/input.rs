//! Whether a program can read an input.

use simple_markers_resolver::export::ValueBytes;
use simple_markers_resolver::location::Expr;

use super::assembler::Assembler;
use super::expression::{Compiler, EntryWords, StackAllocator, Target};
use super::program::FIRST;
use crate::plan::{Input, MAX_ENTRY_VALUES, MAX_WORDS, Uncompilable};

/// In place of how many bytes there are, all ones: they end at the first NUL, and a null pointer has none
/// (`docs/section-format.md`).
pub(super) const NUL_ENDS: i32 = -1;

/// Whether an input can be read.
///
/// # Errors
///
/// Why it cannot.
pub fn check(input: &Input, target: &Target) -> Result<(), Uncompilable> {
    let mut code = Assembler::default();
    let failed = code.label();
    let mut compile = |of: &Expr| {
        let entered = if target.kernel.identity.is_some() { MAX_ENTRY_VALUES as i16 } else { 0 };
        let stack = &mut StackAllocator::new(FIRST + 8 * (MAX_WORDS as i16 + entered));
        Compiler { code: &mut code, target, stack, failed, entered: EntryWords::Anywhere }.value(of)
    };
    match input {
        Input::Number(value) => compile(value),
        Input::Text { address, limit, .. } => {
            compile(address).and_then(|()| limit.as_ref().map_or(Ok(()), &mut compile))
        }
        Input::Bytes { address, length, .. } => compile(address).and_then(|()| compile(length)),
        Input::Whole(whole) => match &whole.bytes {
            ValueBytes::Memory { address, .. } => compile(address),
            ValueBytes::Parts { parts, .. } => parts.iter().flatten().try_for_each(compile),
        },
        Input::Field { .. } | Input::Recorded { .. } => Ok(()),
    }
}
