//! What writes the hits of a thread: what a ring and a growing file both have.

use core::sync::atomic::{AtomicU64, Ordering};

use simple_markers_record::buffer::{CLOCK_COUNTER, event};

use super::path::{Numbers, Path, Stage};
use crate::clock;
use crate::control::{Tool, control};
use crate::packet::{self, Begin, Memory, bits};
use crate::rseq::RSEQ_CPU;
use crate::sys::{self, Errno, File};

/// What the watched number of a writer is that has failed: it is never enough.
static NEVER: AtomicU64 = AtomicU64::new(0);

/// How many files a slot has if only the last records are kept. The oldest one is written anew, so all
/// but one of them are full.
pub(super) const FILES: usize = 4;

/// Writes the hits of a thread. Zeros are a writer without a buffer.
///
/// The assembly reads the first fields.
#[repr(C)]
pub(crate) struct Writer {
    /// The packet, for the fast path; null if that must not write there.
    pub(crate) fast_packet: *mut u8,
    /// The largest content size of the packet, in bits.
    pub(crate) limit: u64,
    /// The memory that the kernel knows for restartable sequences; null without them.
    pub(crate) rseq: *mut u8,
    /// The generation of the buffer.
    pub(crate) generation: u32,
    tid: u32,
    /// If this is not null: hits are dropped while this number is less than `needed`.
    pub(crate) watched: *const AtomicU64,
    pub(crate) needed: u64,
    /// Where dropped hits are counted.
    pub(crate) lost: *const AtomicU64,

    /// The packet that the writer is in; null if there is none.
    pub(super) packet: *mut u8,
    /// The number of the next packet.
    pub(super) next: u64,
    /// What is mapped: the whole ring, or a window of a growing file.
    pub(super) map: *mut u8,
    pub(super) map_size: usize,
    pub(super) packet_size: u32,
    /// 0 for a growing file.
    pub(super) packets: u32,
    pub(super) overwrites: u32,
    pub(super) clock: u32,

    /// How many places of a ring have memory.
    pub(super) present: u32,
    /// The process in the name.
    pub(super) pid: u32,
    /// For growing files: bytes of each, of which the last [`FILES`] are kept; 0: all are kept.
    pub(super) part: u64,
    /// The numbers of the files that are kept.
    pub(super) kept: [u32; FILES],
    /// Where the window is, in bytes.
    pub(super) window: u64,
    /// Its size.
    pub(super) size: u64,
    pub(super) device: u64,
    pub(super) inode: u64,
    /// The number in its name.
    pub(super) number: u32,
    /// How many files the slot has had, for the size of the next.
    pub(super) files: u32,
    /// For rings: the tool that reads it.
    pub(super) tool: Tool,
}

/// A packet in memory that is mapped.
pub(crate) struct MappedPacket(pub(super) *mut u8);

impl Memory for MappedPacket {
    fn load(&self, offset: usize) -> u64 {
        // SAFETY: offsets are those of the header, which is mapped and aligned to 8 bytes.
        unsafe { (*self.0.add(offset).cast::<AtomicU64>()).load(Ordering::Acquire) }
    }

    fn store(&self, offset: usize, word: u64) {
        // SAFETY: as for `load`.
        unsafe { (*self.0.add(offset).cast::<AtomicU64>()).store(word, Ordering::Release) }
    }
}

impl Writer {
    /// Makes a writer that of another thread. Its file goes on with a packet of the new thread.
    pub(crate) fn adopt(&mut self, tid: u32, rseq: *mut u8) {
        self.fast_packet = sys::NOWHERE;
        self.limit = 0;
        self.rseq = rseq;
        self.tid = tid;
    }

    /// Whether there is a buffer, or it is known that there is none.
    pub(crate) fn has_file(&self) -> bool {
        !self.map.is_null() || !self.watched.is_null()
    }

    /// Whether a record of `size` bytes fits into the packet.
    pub(crate) fn has_room(&self, size: u64) -> bool {
        !self.packet.is_null() && bits(self.content() + size) <= self.limit
    }

    /// The packet.
    pub(crate) fn memory(&self) -> MappedPacket {
        MappedPacket(self.packet)
    }

    /// Bytes of the header and the records of the packet.
    pub(crate) fn content(&self) -> u64 {
        packet::content(&self.memory())
    }

    /// Where in memory the record goes that begins at `offset` of the packet.
    pub(crate) fn record(&self, offset: u64) -> *mut u8 {
        self.packet.wrapping_add(offset as usize)
    }

    /// The time.
    pub(crate) fn now(&self) -> u64 {
        clock::now(self.clock)
    }

    /// The CPU.
    pub(crate) fn cpu(&self) -> u32 {
        if self.rseq.is_null() {
            return sys::cpu().unwrap_or(event::NO_CPU);
        }
        // SAFETY: it is memory of this thread that the kernel writes.
        unsafe { self.rseq.add(RSEQ_CPU).cast::<u32>().read_volatile() }
    }

    /// Counts a hit that is not recorded.
    pub(crate) fn lose(&self) {
        // SAFETY: it is in the control block or in the mapping of this writer.
        match unsafe { self.lost.as_ref() } {
            Some(lost) => drop(lost.fetch_add(1, Ordering::Relaxed)),
            None => control().lose(),
        }
    }

    /// Whether the tool that reads the ring asks to be told of a hit. It is told then: the ring stays, and
    /// has the generation.
    pub(crate) fn is_asked(&mut self, generation: u32) -> bool {
        let is_asked = self.generation != generation
            && self.packets != 0
            && !self.map.is_null()
            && control().is_read(self.tool, self.generation);
        if is_asked {
            self.generation = generation;
        }
        is_asked
    }

    /// Gives the buffer up.
    pub(crate) fn forget(&mut self) {
        self.stop(core::ptr::null(), 0, core::ptr::null());
        if !self.map.is_null() {
            // SAFETY: nothing points there any more.
            unsafe { sys::unmap(self.map, self.map_size) };
        }
        self.map = sys::NOWHERE;
        self.next = 0;
    }

    /// Drops hits while `watched` is less than `needed`.
    pub(super) fn stop(&mut self, watched: *const AtomicU64, needed: u64, lost: *const AtomicU64) {
        self.fast_packet = sys::NOWHERE;
        self.packet = sys::NOWHERE;
        self.limit = 0;
        self.watched = watched;
        self.needed = needed;
        self.lost = lost;
    }

    /// Drops all hits until something is armed anew.
    pub(super) fn fail(&mut self, error: Errno, lost: *const AtomicU64) {
        control().note(error);
        self.stop(&raw const NEVER, 1, lost);
    }

    /// Makes an empty file with a name of its own that a reader does not look at yet.
    pub(super) fn make_file(&mut self, numbers: &Numbers) -> Result<(File, Path), Errno> {
        let mut path = Path::new(self.pid)?;
        // Another image of the process may have the same number.
        for _ in 0..10_000 {
            let number = numbers.next();
            match File::open(path.name(Stage::Final, number)?, libc::O_PATH) {
                Err(libc::ENOENT) => {}
                Err(error) => return Err(error),
                Ok(_) => continue,
            }
            match File::open(path.name(Stage::Hidden, number)?, libc::O_CREAT | libc::O_EXCL | libc::O_RDWR) {
                Err(libc::EEXIST) => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    self.number = number;
                    return Ok((file, path));
                }
            }
        }
        Err(libc::EEXIST)
    }

    /// The header of the next packet.
    pub(super) fn begin(&self, size: u64) -> Begin {
        // SAFETY: it is in the control block or in the mapping of this writer.
        let discarded = unsafe { self.lost.as_ref() }.map_or(0, |lost| lost.load(Ordering::Relaxed));
        let (sequence, pid, tid) = (self.next, self.pid, self.tid);
        Begin { time: self.now(), size, discarded, sequence, pid, tid }
    }

    /// Goes on in the packet at `offset` of the window or the ring, which has its header.
    pub(super) fn enter(&mut self, offset: u64) {
        self.next = self.next.wrapping_add(1);
        let room = (self.map_size as u64 - offset).min(self.packet_size.into());
        let packet = self.map.wrapping_add(offset as usize);
        self.packet = packet;
        self.limit = bits(room);
        self.watched = core::ptr::null();
        let is_fast = !self.rseq.is_null() && self.clock == CLOCK_COUNTER;
        self.fast_packet = if is_fast { packet } else { sys::NOWHERE };
    }
}
