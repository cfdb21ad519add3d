//! The file of a thread: making it, and its packets.

use core::sync::atomic::{AtomicU64, Ordering};

use simple_markers_record::buffer::{CLOCK_COUNTER, CLOCK_MONOTONIC, event, packet as header, ring};

use crate::clock;
use crate::control::{Settings, control};
use crate::packet::{self, Begin, Memory, bits};
use crate::process::Process;
use crate::sys::{self, Errno, File};
use crate::thread::RSEQ_CPU;
use path::{Path, Stage};

mod path;

pub(crate) use path::Text;

/// The size of the first growing file of a slot. The file is a hole where nothing was written. Each
/// next one has twice the size, up to 64 times this.
const FIRST_SIZE: u64 = 64 << 20;

/// How much of a growing file is mapped at least.
const WINDOW: u64 = 256 << 10;

/// A packet is not begun if it had less room than this. Every record fits.
const LEAST_ROOM: u64 = 4096;

const _: () = assert!((header::HEADER + event::MAX_SIZE) as u64 <= LEAST_ROOM);

/// What the watched number of a writer is that has failed: it is never enough.
static NEVER: AtomicU64 = AtomicU64::new(0);

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
    packet: *mut u8,
    /// The number of the next packet.
    next: u64,
    /// What is mapped: the whole ring, or a window of a growing file.
    map: *mut u8,
    map_size: usize,
    packet_size: u32,
    /// 0 for a growing file.
    packets: u32,
    overwrites: u32,
    clock: u32,

    /// For a growing file: where the window is, in bytes.
    window: u64,
    /// Its size.
    size: u64,
    device: u64,
    inode: u64,
    /// The number in its name.
    number: u32,
    /// How many files the slot has had, for the size of the next.
    files: u32,
    /// The process in the name.
    pid: u32,
}

/// A packet in memory that is mapped.
pub(crate) struct Mapped(*mut u8);

impl Memory for Mapped {
    fn load(&self, offset: usize) -> u64 {
        // SAFETY: offsets are those of the header, which is mapped and aligned to 8 bytes.
        unsafe { (*self.0.add(offset).cast::<AtomicU64>()).load(Ordering::Acquire) }
    }

    fn store(&self, offset: usize, word: u64) {
        // SAFETY: as for `load`.
        unsafe { (*self.0.add(offset).cast::<AtomicU64>()).store(word, Ordering::Release) }
    }
}

/// A header that is written to a file at once.
struct Header([AtomicU64; header::HEADER / 8]);

impl Header {
    fn bytes(begin: &Begin) -> [u8; header::HEADER] {
        let this = Self([const { AtomicU64::new(0) }; header::HEADER / 8]);
        packet::begin(&this, begin);
        let mut bytes = [0; header::HEADER];
        for (to, from) in bytes.chunks_exact_mut(8).zip(&this.0) {
            to.copy_from_slice(&from.load(Ordering::Relaxed).to_ne_bytes());
        }
        bytes
    }
}

impl Memory for Header {
    fn load(&self, offset: usize) -> u64 {
        self.0.get(offset / 8).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    fn store(&self, offset: usize, word: u64) {
        if let Some(to) = self.0.get(offset / 8) {
            to.store(word, Ordering::Relaxed);
        }
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
    pub(crate) fn memory(&self) -> Mapped {
        Mapped(self.packet)
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
    fn stop(&mut self, watched: *const AtomicU64, needed: u64, lost: *const AtomicU64) {
        self.fast_packet = sys::NOWHERE;
        self.packet = sys::NOWHERE;
        self.limit = 0;
        self.watched = watched;
        self.needed = needed;
        self.lost = lost;
    }

    /// Drops all hits until something is armed anew.
    fn fail(&mut self, error: Errno, lost: *const AtomicU64) {
        control().note(error);
        self.stop(&raw const NEVER, 1, lost);
    }

    /// Makes a buffer for the generation.
    pub(crate) fn renew(&mut self, generation: u32, process: &Process) {
        self.forget();
        self.generation = generation;
        self.files = 0;
        if let Err(error) = self.make(process) {
            self.forget();
            self.fail(error, control().lost());
        }
    }

    fn make(&mut self, process: &Process) -> Result<(), Errno> {
        let settings = control().settings()?;
        self.pid = process.pid();
        self.packet_size = settings.packet_size;
        self.packets = settings.packets;
        self.overwrites = settings.overwrites.into();
        self.clock = clock::choose(settings.is_monotonic);
        if settings.packets == 0 { self.make_growing(process) } else { self.make_ring(process, settings) }
    }

    /// Makes an empty file with a name of its own that a reader does not look at yet.
    fn make_file(&mut self, process: &Process) -> Result<(File, Path), Errno> {
        let mut path = Path::new(self.pid)?;
        // Another image of the process may have the same number.
        for _ in 0..10_000 {
            let number = process.files.fetch_add(1, Ordering::Relaxed);
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

    fn make_ring(&mut self, process: &Process, settings: Settings) -> Result<(), Errno> {
        let size = ring::SIZE as u64 + u64::from(settings.packets) * u64::from(settings.packet_size);
        if size > sys::largest_file() {
            return Err(libc::EFBIG);
        }
        let (file, mut path) = self.make_file(process)?;
        // SAFETY: the kernel chooses the place.
        let map = file.reserve(0, size).and_then(|()| unsafe { file.map(sys::NOWHERE, 0, size as usize) });
        match map {
            Ok(map) => (self.map, self.map_size) = (map, size as usize),
            Err(error) => {
                path.remove(self.number);
                return Err(error);
            }
        }
        let page = Mapped(self.map);
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        page.store(ring::PACKET_SIZE, pair(settings.packet_size, settings.packets));
        page.store(ring::PID, pair(self.pid, self.clock));
        page.store(0, pair(ring::MAGIC, ring::VERSION));
        self.advance_ring();
        path.publish(self.number).inspect_err(|_| path.remove(self.number))
    }

    fn make_growing(&mut self, process: &Process) -> Result<(), Errno> {
        let window = WINDOW.max(self.packet_size.into());
        let most = sys::largest_file() / window * window;
        let size = (FIRST_SIZE << self.files.min(6)).max(window).min(most);
        if size == 0 {
            return Err(libc::EFBIG);
        }
        let (file, mut path) = self.make_file(process)?;
        let made = (|| {
            file.set_size(size)?;
            file.reserve(0, window)?;
            file.write_at(&Header::bytes(&self.begin(size)), 0)?;
            (self.device, self.inode) = file.identity()?;
            let at = if self.map.is_null() { sys::NOWHERE } else { self.map };
            // SAFETY: the window has the same size, and the writer is in no packet.
            let map = unsafe { file.map(at, 0, window as usize) };
            self.map = *map.as_ref().unwrap_or(&sys::NOWHERE);
            map.map(drop)
        })();
        if let Err(error) = made {
            path.remove(self.number);
            return Err(error);
        }
        self.map_size = window as usize;
        self.size = size;
        self.window = 0;
        self.files = self.files.saturating_add(1);
        path.publish(self.number).inspect_err(|_| path.remove(self.number))?;
        self.enter(0);
        Ok(())
    }

    /// The header of the next packet.
    fn begin(&self, size: u64) -> Begin {
        // SAFETY: it is in the control block or in the mapping of this writer.
        let discarded = unsafe { self.lost.as_ref() }.map_or(0, |lost| lost.load(Ordering::Relaxed));
        let (sequence, pid, tid) = (self.next, self.pid, self.tid);
        Begin { time: self.now(), size, discarded, sequence, pid, tid }
    }

    /// Goes on in the packet at `offset` of the window or the ring, which has its header.
    fn enter(&mut self, offset: u64) {
        self.next = self.next.wrapping_add(1);
        let room = (self.map_size as u64 - offset).min(self.packet_size.into());
        let packet = self.map.wrapping_add(offset as usize);
        self.packet = packet;
        self.limit = bits(room);
        self.watched = core::ptr::null();
        let is_fast = !self.rseq.is_null() && self.clock == CLOCK_COUNTER;
        self.fast_packet = if is_fast { packet } else { sys::NOWHERE };
    }

    /// Whether the writer is in a packet of a growing file.
    pub(crate) fn can_grow(&self) -> bool {
        self.packets == 0 && !self.map.is_null() && !self.packet.is_null()
    }

    /// Begins the next packet of a growing file; `false` if there is no room for one.
    pub(crate) fn advance(&mut self, process: &Process) -> bool {
        if !self.can_grow() {
            return false;
        }
        // A failure leaves the last packet as it is, and lost hits are counted in it.
        let lost = self.packet.wrapping_add(header::DISCARDED).cast::<AtomicU64>();
        match self.advance_growing(process) {
            Ok(()) => true,
            Err(error) => {
                let lost = if self.map.is_null() { core::ptr::from_ref(control().lost()) } else { lost };
                self.fail(error, lost);
                false
            }
        }
    }

    /// Begins the next packet of a ring; `false` if there is no room for one.
    pub(crate) fn advance_ring(&mut self) -> bool {
        if self.packets == 0 || self.map.is_null() {
            return false;
        }
        let page = Mapped(self.map);
        let lost = self.map.wrapping_add(ring::LOST).cast::<AtomicU64>().cast_const();
        self.lost = lost;
        if !self.packet.is_null() {
            packet::close(&self.memory(), page.load(ring::LOST));
        }
        let packets = u64::from(self.packets);
        let consumed = page.load(ring::CONSUMED);
        if self.overwrites == 0 && self.next >= consumed.saturating_add(packets) {
            let watched = self.map.wrapping_add(ring::CONSUMED).cast::<AtomicU64>();
            self.stop(watched, self.next - packets + 1, lost);
            return false;
        }
        let size = u64::from(self.packet_size);
        let offset = ring::SIZE as u64 + self.next % packets * size;
        packet::begin(&Mapped(self.map.wrapping_add(offset as usize)), &self.begin(size));
        self.enter(offset);
        true
    }

    fn advance_growing(&mut self, process: &Process) -> Result<(), Errno> {
        let before = self.memory();
        let start = self.packet as u64 - self.map as u64;
        let discarded = before.load(header::DISCARDED);
        let end = start + packet::content(&before);
        let window = self.map_size as u64;
        let rest = self.size - self.window;
        if window - end >= LEAST_ROOM {
            let begin = Begin { discarded, ..self.begin(rest - end) };
            packet::begin(&Mapped(self.map.wrapping_add(end as usize)), &begin);
            packet::close(&before, discarded);
            packet::end(&before, end - start);
            self.enter(end);
            return Ok(());
        }
        if rest == window {
            packet::close(&before, discarded);
            self.packet = sys::NOWHERE;
            self.next = 0;
            return self.make_growing(process);
        }
        let file = self.reopen()?;
        let next = self.window + window;
        file.reserve(next, window)?;
        let begin = Begin { discarded, ..self.begin(rest - window) };
        file.write_at(&Header::bytes(&begin), next)?;
        packet::close(&before, discarded);
        packet::end(&before, window - start);
        let at = core::mem::replace(&mut self.map, sys::NOWHERE);
        // SAFETY: the writer leaves the window that is replaced.
        self.map = unsafe { file.map(at, next, window as usize) }?;
        self.window = next;
        self.enter(0);
        Ok(())
    }

    /// Opens the file again. A descriptor is not kept, since programs close what they do not know.
    fn reopen(&self) -> Result<File, Errno> {
        let mut path = Path::new(self.pid)?;
        let file = File::open(path.name(Stage::Final, self.number)?, libc::O_RDWR)?;
        if file.identity()? == (self.device, self.inode) { Ok(file) } else { Err(libc::ENOENT) }
    }

    /// Cuts a growing file to what was written, and gives it up.
    pub(crate) fn finish(&mut self) {
        if self.packets == 0 && !self.packet.is_null() && !self.map.is_null() {
            // If that fails the file keeps its hole.
            let _ = self.cut();
        }
        self.forget();
        self.generation = 0;
    }

    /// An empty packet goes behind the last one first, so the file is complete before and after it
    /// is cut there.
    fn cut(&mut self) -> Result<(), Errno> {
        let file = self.reopen()?;
        let before = self.memory();
        let discarded = before.load(header::DISCARDED);
        let start = self.packet as u64 - self.map as u64;
        let end = start + packet::content(&before);
        let at = self.window + end;
        if at + header::HEADER as u64 > self.size {
            return Ok(());
        }
        let begin = Begin { discarded, ..self.begin(self.size - at) };
        file.write_at(&Header::bytes(&begin), at)?;
        packet::close(&before, discarded);
        packet::end(&before, end - start);
        file.set_size(at)
    }
}

/// Whether a clock is one that the recorder knows.
const _: () = assert!(CLOCK_MONOTONIC == 0 && CLOCK_COUNTER == 1);
