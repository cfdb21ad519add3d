//! The slow path: a hit for which the thread has no buffer, no room in its packet, or no
//! restartable sequences. It does the same as the assembly in `entry/`, with all signals blocked.

use core::mem::MaybeUninit;
use core::sync::atomic::{Ordering, fence};

use simple_markers_record::buffer::{Layout, event};

use crate::control::control;
use crate::file::Writer;
use crate::packet;
use crate::process::{Current, Process};
use crate::rseq::leave_sequence;
use crate::slot::Slot;
use crate::sys::{self, Errno};
use crate::thread::Local;
use crate::values::{bytes_at, measure};

/// What an armed probe passes.
#[repr(C)]
pub(crate) struct RawHit {
    semaphore: u16,
    pub(crate) id: u16,
    pub(crate) layout: u32,
    pub(crate) words: [u64; 0],
}

/// Records a hit.
///
/// # Safety
///
/// `hit` has as many words as its layout says, and `local` is that of the calling thread.
pub(crate) unsafe extern "C" fn slow(hit: *const RawHit, local: *const Local) {
    let _blocked = sys::SignalGuard::new();
    // SAFETY: as the caller says.
    let local = unsafe { &*local };
    let (slot, process) = match slot(local) {
        Ok(found) => found,
        Err(error) => {
            if error != 0 {
                control().note(error);
            }
            control().lose();
            return;
        }
    };
    // SAFETY: the thread owns it. No handler can run, and no fast path is interrupted: the kernel
    // starts those again. After `vfork` the owner waits.
    let writer = unsafe { &mut *slot.writer.get() };
    // SAFETY: the writer has the memory of this thread.
    unsafe { leave_sequence(writer.rseq) };
    // SAFETY: as the caller says.
    unsafe { record(writer, process, &Record::new(hit)) };
}

/// The slot of the thread, and the process to make files for. A child of `vfork` makes none. The
/// error 0 is no error: such a child whose parent has no slot.
fn slot(local: &Local) -> Result<(&'static Slot, Option<&'static Process>), Errno> {
    match Process::current()? {
        Current::Own(process) => Ok((local.slot(process)?, Some(process))),
        Current::Borrowed => {
            // SAFETY: slots are never unmapped.
            let slot = unsafe { local.slot.load(Ordering::Relaxed).as_ref() };
            Ok((slot.ok_or(0)?, None))
        }
    }
}

/// # Safety
///
/// The texts of the record can be read.
unsafe fn record(writer: &mut Writer, process: Option<&Process>, record: &Record) {
    let generation = || control().generation.load(Ordering::Acquire);
    let first = generation();
    let mut is_asked = writer.is_asked(first);
    // SAFETY: as the caller says.
    unsafe { write(writer, process, first, record) };
    // A reader that asks, and looks after it, sees the record, or is told of it.
    fence(Ordering::SeqCst);
    is_asked |= writer.is_asked(generation());
    if is_asked {
        writer.ring_bell();
    }
}

/// # Safety
///
/// The texts of the record can be read.
unsafe fn write(writer: &mut Writer, process: Option<&Process>, generation: u32, record: &Record) {
    let is_current = writer.generation == generation && writer.has_file();
    if !(is_current && (writer.has_room(record.size) || writer.advance_ring())) {
        if is_current && !writer.can_grow() {
            return writer.lose();
        }
        let Some(process) = process else {
            return control().lose();
        };
        let mut work = Work { writer, process, generation, size: record.size, is_done: false };
        // SAFETY: the argument is that of the function.
        let result = unsafe { sys::on_own_stack(Work::run, &raw mut work) };
        if result.is_err() || !work.is_done {
            return work.writer.lose();
        }
    }
    let content = writer.content();
    let time = writer.now();
    // SAFETY: there is room behind the content.
    unsafe { record.write(writer.record(content), time, writer.cpu()) };
    packet::publish(&writer.memory(), content + record.size);
}

/// What needs more stack than a signal handler may have: making files, and windows of them.
struct Work<'a> {
    writer: &'a mut Writer,
    process: &'a Process,
    generation: u32,
    /// Bytes of the record.
    size: u64,
    /// Whether there is room for it now.
    is_done: bool,
}

impl Work<'_> {
    /// # Safety
    ///
    /// The work is valid.
    unsafe extern "C" fn run(work: *mut Self) {
        // SAFETY: as the caller says.
        let Self { writer, process, generation, size, is_done } = unsafe { &mut *work };
        if writer.generation != *generation || !writer.has_file() {
            writer.renew(*generation, process.pid(), &process.files);
        }
        *is_done = writer.has_room(*size) || writer.advance(&process.files);
    }
}

/// A record that was measured.
struct Record {
    hit: *const RawHit,
    /// For each text how many bytes are copied, and its length.
    texts: [(u32, u32); 6],
    /// Bytes of the record.
    size: u64,
}

impl Record {
    /// # Safety
    ///
    /// The hit has as many words as its layout says, and its texts can be read.
    unsafe fn new(hit: *const RawHit) -> Self {
        let mut record = Self { hit, texts: [(0, 0); 6], size: event::HEADER as u64 };
        let mut text = 0;
        // SAFETY: as the caller says.
        unsafe {
            let layout = Layout((*hit).layout);
            let mut words = (&raw const (*hit).words).cast::<u64>();
            for argument in 0..layout.arguments() {
                if layout.has_two_words(argument) {
                    let (copied, length) = measure(words.read() as *const u8, words.add(1).read());
                    if let Some(slot) = record.texts.get_mut(text) {
                        *slot = (copied, length);
                    }
                    text += 1;
                    words = words.add(2);
                    record.size += 8 + u64::from(stored(copied));
                } else {
                    words = words.add(1);
                    record.size += 8;
                }
            }
        }
        record
    }

    /// Writes the record to memory.
    ///
    /// # Safety
    ///
    /// There is room for `size` bytes, and the texts can be read.
    unsafe fn write(&self, to: *mut u8, time: u64, cpu: u32) {
        // SAFETY: as the caller says. Records and their parts are aligned to 8 bytes.
        unsafe {
            let hit = self.hit;
            let layout = Layout((*hit).layout);
            let header = u64::from((*hit).id) | (self.size / 8) << 16 | u64::from(cpu) << 32;
            to.add(event::TIME).cast::<u64>().write(time);
            to.add(event::ID).cast::<u64>().write(header);
            let mut to = to.add(event::HEADER);
            let mut words = (&raw const (*hit).words).cast::<u64>();
            let mut texts = self.texts.iter();
            for argument in 0..layout.arguments() {
                if !layout.has_two_words(argument) {
                    to.cast::<u64>().write(words.read());
                    words = words.add(1);
                    to = to.add(8);
                    continue;
                }
                let &(copied, length) = texts.next().unwrap_or(&(0, 0));
                let stored = stored(copied);
                to.cast::<u32>().write(stored);
                to.add(4).cast::<u32>().write(length);
                to = to.add(8);
                to.add(stored as usize - 8).cast::<u64>().write(0);
                let from = bytes_at(words.read() as *const u8, words.add(1).read());
                // Padding of a whole value has no value that Rust may look at.
                let (from, place) = (from.cast::<MaybeUninit<u8>>(), to.cast::<MaybeUninit<u8>>());
                for offset in 0..copied as usize {
                    place.add(offset).write(from.add(offset).read());
                }
                words = words.add(2);
                to = to.add(stored as usize);
            }
        }
    }
}

/// How many bytes a text takes: whole words, and at least one.
const fn stored(copied: u32) -> u32 {
    if copied == 0 { 8 } else { copied.next_multiple_of(8) }
}
