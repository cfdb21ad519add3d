//! What belongs to the process: its slots. The memory is made at the first hit, and a child of
//! `fork` finds zeros there.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering, fence};

use crate::file::Numbers;
use crate::slot::Slot;
use crate::sys::{self, Errno};

/// The most threads that can record at once. Only slots that are used take memory.
const SLOTS: usize = 8192;

/// How many slots a new thread looks at for one whose thread has ended. With more than one, the
/// number of slots that are used stays near the number of threads that live.
const CANDIDATES: usize = 2;

/// The memory of the process. Zeros are its first contents.
pub(crate) struct Process {
    pid: AtomicU32,
    /// The numbers of its files.
    pub(crate) files: Numbers,
    /// How many slots were used.
    used: AtomicU32,
    /// The slot that the next new thread looks at.
    hand: AtomicU32,
    slots: [Slot; SLOTS],
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(core::ptr::null_mut());

/// The process that the calling thread belongs to.
pub(crate) enum Current {
    /// The process.
    Own(&'static Process),
    /// A child of `vfork`, which runs in the memory of its parent as the thread that called it.
    Borrowed,
}

impl Process {
    /// The process; it is made at the first call.
    pub(crate) fn current() -> Result<Current, Errno> {
        let process = Self::memory()?;
        let pid = sys::getpid();
        match process.pid.load(Ordering::Acquire) {
            0 if sys::shares_memory_with_parent() => Ok(Current::Borrowed),
            0 => {
                process.pid.store(pid, Ordering::Release);
                Ok(Current::Own(process))
            }
            owner if owner == pid => Ok(Current::Own(process)),
            _ => Ok(Current::Borrowed),
        }
    }

    /// The process, if a thread has recorded something or arms probes.
    pub(crate) fn existing() -> Option<&'static Self> {
        // SAFETY: it is never unmapped.
        let process = unsafe { PROCESS.load(Ordering::Acquire).as_ref() }?;
        Some(process).filter(|process| process.pid.load(Ordering::Acquire) == sys::getpid())
    }

    fn memory() -> Result<&'static Self, Errno> {
        let mut process = PROCESS.load(Ordering::Acquire);
        if process.is_null() {
            let made = sys::private_memory(size_of::<Self>())?.cast();
            process = made;
            let none = core::ptr::null_mut();
            if let Err(other) = PROCESS.compare_exchange(none, made, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: it was mapped above, and nobody knows it.
                unsafe { sys::unmap(made.cast(), size_of::<Self>()) };
                process = other;
            }
        }
        // SAFETY: it is mapped, and zeros are valid. Whoever changes a part uses atomics, or owns it.
        Ok(unsafe { &*process })
    }

    /// The id of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// The slots that were used.
    pub(crate) fn slots(&self) -> &[Slot] {
        let used = self.used.load(Ordering::Acquire) as usize;
        self.slots.get(..used).unwrap_or(&self.slots)
    }

    /// Makes the thread the owner of a slot: of one whose thread has ended, or of a new one.
    ///
    /// # Errors
    ///
    /// There are too many threads.
    pub(crate) fn claim(&self, tid: u32) -> Result<&Slot, Errno> {
        let candidates = self.slots().len().min(CANDIDATES);
        if let Some(slot) = (0..candidates).find_map(|_| self.take_over_next(tid)) {
            return Ok(slot);
        }
        let number = self.used.fetch_add(1, Ordering::AcqRel) as usize;
        if let Some(slot) = self.slots.get(number) {
            slot.owner.store(tid, Ordering::Release);
            return Ok(slot);
        }
        self.used.fetch_sub(1, Ordering::AcqRel);
        (0..SLOTS).find_map(|_| self.take_over_next(tid)).ok_or(libc::EAGAIN)
    }

    fn take_over_next(&self, tid: u32) -> Option<&Slot> {
        let slots = self.slots();
        let number = self.hand.fetch_add(1, Ordering::Relaxed) as usize % slots.len().max(1);
        slots.get(number).filter(|slot| self.take_over(slot, tid))
    }

    /// Makes the thread the owner of a slot if the thread that owns it has ended.
    pub(crate) fn take_over(&self, slot: &Slot, tid: u32) -> bool {
        let owner = slot.owner.load(Ordering::Acquire);
        // This thread has no slot yet: an owner of its id is an earlier thread. 0 is a slot that
        // another thread is about to own.
        let has_ended = owner != 0 && (owner == tid || !sys::has_thread(self.pid(), owner));
        // What the thread has written before it ended is read after this.
        fence(Ordering::Acquire);
        has_ended && slot.owner.compare_exchange(owner, tid, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}
