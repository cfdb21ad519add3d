//! The reader's side of a BPF ring buffer (`kernel/bpf/ringbuf.c`).
//!
//! The first page has the position of the reader, the second one that of the writers, and after
//! these come the data, mapped twice in a row, so that no record is split.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use super::error::{Error, Step};
use super::mapping::{Mapping, page_size};

/// The record is not written yet.
const BUSY: u32 = 1 << 31;
/// The record was discarded.
const DISCARDED: u32 = 1 << 30;
/// The size of the header before each record.
const HEADER: u64 = 8;

/// A ring buffer.
#[derive(Debug)]
pub(super) struct RingBuffer {
    reader: Mapping,
    /// The page with the position of the writers, and the data twice.
    writers: Mapping,
    page: usize,
    /// The size of the data, a power of two.
    size: usize,
}

impl RingBuffer {
    /// Maps the ring buffer of a map with `size` bytes, a power of two and a multiple of a page.
    pub(super) fn new(descriptor: RawFd, size: usize) -> Result<Self, Error> {
        let page = page_size();
        let failed = |why| Error::new(Step::Ring, &why);
        let reader = Mapping::new(descriptor, libc::PROT_READ | libc::PROT_WRITE, page, 0).map_err(failed)?;
        let writers = Mapping::new(descriptor, libc::PROT_READ, page + 2 * size, page).map_err(failed)?;
        Ok(Self { reader, writers, page, size })
    }

    /// Hands on all records that were reserved before the call, in the order of their reservation.
    /// It waits for those that are not written yet: a program that has reserved a record does not
    /// sleep before it submits it.
    pub(super) fn read(&mut self, each: &mut dyn FnMut(&[u8])) {
        let end = self.writers.position().load(Ordering::Acquire);
        // Only this process writes the position of the reader.
        let mut position = self.reader.position().load(Ordering::Relaxed);
        while position < end {
            let offset = self.page + (position as usize & (self.size - 1));
            // SAFETY: the offset is in the first copy of the data, at a multiple of 8, and the header
            // of a record is there, because the position of the writers is behind it.
            let header = unsafe { self.writers.start.add(offset).cast::<AtomicU32>().as_ref() };
            let mut length = header.load(Ordering::Acquire);
            while length & BUSY != 0 {
                std::thread::yield_now();
                length = header.load(Ordering::Acquire);
            }
            let size = (length & !DISCARDED) as usize;
            if length & DISCARDED == 0 {
                // SAFETY: the record has this size, and with the second copy of the data it is in one
                // piece. The kernel does not overwrite it before the position of the reader is
                // behind it.
                let record = unsafe {
                    let start = self.writers.start.add(offset + HEADER as usize);
                    std::slice::from_raw_parts(start.as_ptr(), size)
                };
                each(record);
            }
            position += (size as u64 + HEADER).next_multiple_of(8);
            self.reader.position().store(position, Ordering::Release);
        }
    }
}
