//! `simple_marker_record`, which an armed probe calls, in assembly, one file for each processor. And
//! what the program calls at its start and its end.
//!
//! # Why a record is never torn
//!
//! From `start` to `end` the code is a restartable sequence (rseq(2)). If the thread is interrupted
//! there, by a signal or by another thread, the kernel sets its program counter to `abort` before
//! anything else runs in the thread, and `abort` starts again. The last instruction of the sequence
//! is the store to the packet's content size, which makes the record visible. So there are two
//! cases: the thread was not interrupted since it read where the record goes, and nobody else
//! writes to its buffer; or the store never happens, and what was written lies behind the complete
//! records, where the next record is written. A signal handler that never returns, leaves with
//! `siglongjmp`, begins new packets or replaces the buffer needs no care: nothing that the
//! interrupted code knew is used again. The slow path changes the buffer with all signals blocked.
//!
//! `model.rs` checks these steps for all interruptions.
//!
//! Counting a dropped hit is a sequence of its own, because the counter is in memory that the slow
//! path may unmap.

/// The lists of what the program calls at its start and its end. They are in the file that has
/// `simple_marker_record`, because a linker takes an object from an archive only for its symbols,
/// and every probe has that one.
macro_rules! start_and_finish {
    () => {
        core::arch::global_asm!(
            ".pushsection .init_array,\"aw\",@init_array",
            ".balign 8",
            ".quad {start}",
            ".popsection",
            ".pushsection .fini_array,\"aw\",@fini_array",
            ".balign 8",
            ".quad {finish}",
            ".popsection",
            ".hidden {start}",
            ".hidden {finish}",
            start = sym crate::start::start,
            finish = sym crate::start::finish,
        );
    };
}

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;
