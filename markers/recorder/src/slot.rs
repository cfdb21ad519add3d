//! The slot of a thread.

use core::cell::UnsafeCell;
use core::sync::atomic::AtomicU32;

use crate::file::Writer;

/// A thread's part of the memory of the process.
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// Only the owner uses it.
    pub(crate) writer: UnsafeCell<Writer>,
    /// The thread; 0 if nobody has used the slot yet.
    pub(crate) owner: AtomicU32,
}

// The assembly takes a slot for its writer.
const _: () = assert!(core::mem::offset_of!(Slot, writer) == 0 && size_of::<Slot>() == 192);

// SAFETY: only the thread in `owner` uses the writer.
unsafe impl Sync for Slot {}
