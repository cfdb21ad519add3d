//! What belongs to a thread: a few bytes of thread-local storage, and a slot of the process.

use core::arch::global_asm;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::arch::{self, RSEQ_SIGNATURE};
use crate::image::image;
use crate::process::Process;
use crate::rseq::RSEQ_CPU;
use crate::slot::Slot;
use crate::sys::{self, Errno};

global_asm!(
    ".pushsection .tbss.simple_marker,\"awT\",@nobits",
    ".balign 32",
    ".hidden simple_marker_local",
    ".globl simple_marker_local",
    ".type simple_marker_local,@object",
    ".size simple_marker_local, {size}",
    "simple_marker_local:",
    ".zero {size}",
    ".popsection",
    size = const size_of::<Local>(),
);

/// The thread-local storage of a thread: the symbol `simple_marker_local`. Zeros are its first
/// contents.
#[repr(C, align(32))]
pub(crate) struct Local {
    /// Memory for restartable sequences, if the C library registers none.
    rseq: UnsafeCell<[u8; 32]>,
    /// The slot of the thread; null before its first hit. A child of `fork` inherits the pointer,
    /// and finds zeros there.
    pub(crate) slot: AtomicPtr<Slot>,
    /// Whether a handler of the program runs.
    pub(crate) is_handling: AtomicBool,
}

impl Local {
    /// The slot of the calling thread, which is made or taken over at its first hit.
    ///
    /// # Errors
    ///
    /// There are too many threads.
    pub(crate) fn slot(&self, process: &'static Process) -> Result<&'static Slot, Errno> {
        let slot = self.slot.load(Ordering::Relaxed);
        let tid = sys::gettid();
        if !slot.is_null() {
            // SAFETY: slots are never unmapped.
            let slot = unsafe { &*slot };
            // It is not that of a child of `fork`, which has zeros there and maybe a new owner.
            if slot.owner.load(Ordering::Relaxed) == tid {
                return Ok(slot);
            }
        }
        let slot = process.claim(tid)?;
        // SAFETY: this thread owns it.
        let writer = unsafe { &mut *slot.writer.get() };
        writer.adopt(tid, self.rseq());
        self.slot.store(core::ptr::from_ref(slot).cast_mut(), Ordering::Release);
        Ok(slot)
    }

    /// The memory that the kernel knows for restartable sequences of this thread; null if there is
    /// none. If the C library does not register its own, this registers the memory here.
    fn rseq(&self) -> *mut u8 {
        let image = image();
        if !image.rseq_offset.is_null() && !image.rseq_size.is_null() {
            // SAFETY: they are variables of the C library that do not change.
            let (offset, size) = unsafe { (*image.rseq_offset, *image.rseq_size) };
            if size != 0 {
                let area = arch::thread_pointer().wrapping_offset(offset);
                // SAFETY: the C library has this memory for each thread. A negative number says that
                // the kernel refused it.
                let cpu = unsafe { area.add(RSEQ_CPU).cast::<i32>().read_volatile() };
                return if cpu >= 0 { area } else { sys::NOWHERE };
            }
        }
        // The kernel would go on writing to the storage of a library that was unloaded.
        if !image.is_program() {
            return sys::NOWHERE;
        }
        let area = self.rseq.get().cast::<u8>();
        // SAFETY: it has 32 bytes aligned to 32, in the static storage of the thread.
        match unsafe { sys::register_rseq(area, RSEQ_SIGNATURE) } {
            // Busy: a thread with the same storage has registered it before.
            Ok(()) | Err(libc::EBUSY) => area,
            Err(_) => sys::NOWHERE,
        }
    }
}
