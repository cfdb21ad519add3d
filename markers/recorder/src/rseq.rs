//! Restartable sequences (rseq(2)): the memory of a thread that the kernel knows.

/// Offset of the pointer to the current sequence in the memory that the kernel knows.
pub(crate) const RSEQ_CS: usize = 8;

/// Offset of the CPU there.
pub(crate) const RSEQ_CPU: usize = 4;

/// Ends the sequence that the fast path has left.
///
/// # Safety
///
/// `rseq` is null, or the memory of this thread that the kernel knows.
pub(crate) unsafe fn leave_sequence(rseq: *mut u8) {
    if !rseq.is_null() {
        // SAFETY: as the caller says.
        unsafe { rseq.add(RSEQ_CS).cast::<u64>().write_volatile(0) };
    }
}
