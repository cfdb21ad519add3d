//! A growing file: packet after packet, a complete recording at each moment. A window of it is in
//! memory.

use core::sync::atomic::{AtomicU64, Ordering};

use simple_markers_record::buffer::{event, packet as header};

use super::path::{Numbers, Path, Stage};
use super::writer::{FILES, MappedPacket, Writer};
use crate::control::control;
use crate::packet::{self, Begin, Memory};
use crate::sys::{self, Errno, File};

/// The size of the first growing file of a slot. The file is a hole where nothing was written. Each
/// next one has twice the size, up to 64 times this.
const FIRST_SIZE: u64 = 64 << 20;

/// How much of a growing file is mapped at least.
const WINDOW: u64 = 256 << 10;

/// A packet is not begun if it had less room than this. Every record fits.
const LEAST_ROOM: u64 = 4096;

const _: () = assert!((header::HEADER + event::MAX_SIZE) as u64 <= LEAST_ROOM);

/// Bytes of a file if the last `keep` bytes are kept; 0 if all are kept.
pub(super) fn part(keep: u64) -> u64 {
    keep.div_ceil(FILES as u64 - 1)
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
    pub(super) fn make_growing(&mut self, numbers: &Numbers) -> Result<(), Errno> {
        let window = WINDOW.max(self.packet_size.into());
        let most = sys::largest_file() / window * window;
        let size = if self.part == 0 { FIRST_SIZE << self.files.min(6) } else { self.part.next_multiple_of(window) };
        let size = size.max(window).min(most);
        if size == 0 {
            return Err(libc::EFBIG);
        }
        let (file, mut path) = self.next_file(numbers)?;
        let made = (|| {
            file.set_size(size)?;
            file.reserve(0, window)?;
            file.write_at(&Header::bytes(&self.begin(size)), 0)?;
            (self.device, self.inode) = file.identity()?;
            let at = if self.map.is_null() { sys::NOWHERE } else { self.map };
            // SAFETY: the window has the same size, and the writer is in no packet.
            self.map = unsafe { file.map_window(at, 0, window as usize) }.inspect_err(|_| self.map = sys::NOWHERE)?;
            Ok(())
        })();
        if let Err(error) = made {
            path.remove(self.number);
            return Err(error);
        }
        self.map_size = window as usize;
        self.size = size;
        self.window = 0;
        if let Some(kept) = self.kept.get_mut(self.files as usize % FILES) {
            *kept = self.number;
        }
        self.files = self.files.wrapping_add(1).max(1);
        path.publish(self.number).inspect_err(|_| path.remove(self.number))?;
        self.enter(0);
        Ok(())
    }

    /// An empty file, or one whose records are not kept any longer.
    fn next_file(&mut self, numbers: &Numbers) -> Result<(File, Path), Errno> {
        let place = self.files as usize;
        let oldest = self.kept.get(place % FILES).copied().filter(|_| self.part != 0 && place >= FILES);
        match oldest.map(|number| self.take_back(number)) {
            Some(Ok(file)) => Ok(file),
            // Somebody has removed it.
            Some(Err(_)) | None => self.make_file(numbers),
        }
    }

    /// Hides the file with a number from readers.
    fn take_back(&mut self, number: u32) -> Result<(File, Path), Errno> {
        let mut path = Path::new(self.pid)?;
        let file = File::open(path.name(Stage::Final, number)?, libc::O_RDWR)?;
        path.hide(number)?;
        self.number = number;
        Ok((file, path))
    }

    /// Whether the writer is in a packet of a growing file.
    pub(crate) fn can_grow(&self) -> bool {
        self.packets == 0 && !self.map.is_null() && !self.packet.is_null()
    }

    /// Begins the next packet of a growing file; `false` if there is no room for one.
    pub(crate) fn advance(&mut self, numbers: &Numbers) -> bool {
        if !self.can_grow() {
            return false;
        }
        // A failure leaves the last packet as it is, and lost hits are counted in it.
        let lost = self.packet.wrapping_add(header::DISCARDED).cast::<AtomicU64>();
        match self.advance_growing(numbers) {
            Ok(()) => true,
            Err(error) => {
                let lost = if self.map.is_null() { core::ptr::from_ref(control().lost()) } else { lost };
                self.fail(error, lost);
                false
            }
        }
    }

    fn advance_growing(&mut self, numbers: &Numbers) -> Result<(), Errno> {
        let before = self.memory();
        let start = self.packet as u64 - self.map as u64;
        let discarded = before.load(header::DISCARDED);
        let end = start + packet::content(&before);
        let window = self.map_size as u64;
        let rest = self.size - self.window;
        if window - end >= LEAST_ROOM {
            let begin = Begin { discarded, ..self.begin(rest - end) };
            packet::begin(&MappedPacket(self.map.wrapping_add(end as usize)), &begin);
            packet::close(&before, discarded);
            packet::end(&before, end - start);
            self.enter(end);
            return Ok(());
        }
        if rest == window {
            packet::close(&before, discarded);
            self.packet = sys::NOWHERE;
            self.next = 0;
            return self.make_growing(numbers);
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
        self.map = unsafe { file.map_window(at, next, window as usize) }?;
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
