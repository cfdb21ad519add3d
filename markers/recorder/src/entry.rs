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

/// The assembly of `simple_marker_record` with the offsets that it needs, and the lists of what the
/// program calls at its start and its end. These are in one file, because a linker takes an object
/// from an archive only for its symbols, and every probe has `simple_marker_record`.
macro_rules! entry {
    ($($line:literal,)*) => {
        core::arch::global_asm!(
            $($line,)*
            generation = const simple_markers_record::buffer::control::GENERATION,
            writer = const core::mem::offset_of!(crate::thread::Local, slot),
            packet = const core::mem::offset_of!(crate::file::Writer, fast_packet),
            limit = const core::mem::offset_of!(crate::file::Writer, limit),
            rseq = const core::mem::offset_of!(crate::file::Writer, rseq),
            writer_generation = const core::mem::offset_of!(crate::file::Writer, generation),
            watched = const core::mem::offset_of!(crate::file::Writer, watched),
            needed = const core::mem::offset_of!(crate::file::Writer, needed),
            lost = const core::mem::offset_of!(crate::file::Writer, lost),
            rseq_cs = const crate::rseq::RSEQ_CS,
            rseq_cpu = const crate::rseq::RSEQ_CPU,
            signature = const crate::arch::RSEQ_SIGNATURE,
            content_size = const simple_markers_record::buffer::packet::CONTENT_SIZE,
            time = const simple_markers_record::buffer::event::TIME,
            id = const simple_markers_record::buffer::event::ID,
            event_header = const simple_markers_record::buffer::event::HEADER,
            max_text = const simple_markers_record::buffer::event::MAX_TEXT,
            max_value = const simple_markers_record::buffer::event::MAX_VALUE,
            first_pointer = const simple_markers_record::buffer::value::FIRST_POINTER,
            last_pointer = const simple_markers_record::buffer::value::POINTERS - 1,
            no_size = const simple_markers_record::buffer::value::NO_SIZE,
        );
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
