//! What is behind a pointer into the frame (LLVM).
//!
//! LLVM describes a pointer that was spilled by the address of its slot, without the last dereference. What
//! is behind the pointer would then be read from the frame.
//!
//! The trace: the argument is behind a pointer, its memory is in the frame, and the code neither takes the
//! address of the object nor accesses exactly these bytes.
//!
//! No smallest case is known. In Lua all 400 values are wrong that it refuses (`tb->size`, by clang); in generated
//! programs (seeds 9320 to 9323, 9400 and 9401) it refuses none.

use super::memory::{ReadMemory, reads};
use super::{Case, Reason};

/// Whether the compiler may mean the pointer in the word that is read.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    let code = case.code?;
    let is_no_object =
        |memory: ReadMemory| matches!(memory, ReadMemory::Place(place) if !code.is_object(case.pc, &place));
    let mut behind = reads(case).into_iter().filter(|read| read.is_behind);
    behind.any(|read| is_no_object(read.memory(Some(code)))).then_some(Reason::NotInFrame)
}
