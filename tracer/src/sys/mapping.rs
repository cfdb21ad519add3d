//! Memory that is shared with the kernel.

use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// A part of memory that is shared with the kernel.
#[derive(Debug)]
pub(super) struct Mapping {
    pub(super) start: NonNull<u8>,
    size: usize,
}

impl Mapping {
    pub(super) fn new(descriptor: RawFd, protection: libc::c_int, size: usize, offset: usize) -> io::Result<Self> {
        let offset = libc::off_t::try_from(offset).unwrap_or(libc::off_t::MAX);
        // SAFETY: a new mapping that overlaps no other one.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, descriptor, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::InvalidData)?, size })
    }

    /// The word at the start.
    pub(super) fn position(&self) -> &AtomicU64 {
        // SAFETY: the mapping has at least a page, is aligned to it, and lives as long as `self`.
        unsafe { self.start.cast::<AtomicU64>().as_ref() }
    }

    /// The word of 8 bytes at an index; `None` if the mapping does not have it.
    pub(super) fn word(&self, index: usize) -> Option<&AtomicU64> {
        let at = index.checked_mul(8).filter(|at| at.checked_add(8).is_some_and(|end| end <= self.size))?;
        // SAFETY: the word is in the mapping, which is aligned to a page and lives as long as `self`.
        // The kernel writes to it too, as a whole word.
        Some(unsafe { self.start.add(at).cast::<AtomicU64>().as_ref() })
    }

    /// Sets a byte, if the mapping has it. The mapping must be writable.
    pub(super) fn set(&self, index: usize, value: u8) {
        if index < self.size {
            // SAFETY: the byte is in the mapping, which lives as long as `self`. The kernel writes to
            // it too, as a whole byte.
            let byte = unsafe { self.start.add(index).cast::<AtomicU8>().as_ref() };
            byte.store(value, Ordering::Relaxed);
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

// SAFETY: it owns the memory, and the memory has no owner among the threads.
unsafe impl Send for Mapping {}

/// The bytes of a file, mapped to be read.
#[derive(Debug)]
pub(super) struct FileMapping(Mapping);

impl FileMapping {
    /// `None` if it is empty or cannot be mapped.
    pub(super) fn of(file: &std::fs::File) -> Option<Self> {
        let size = usize::try_from(file.metadata().ok()?.len()).ok().filter(|size| *size > 0)?;
        let start = std::ptr::null_mut();
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(file);
        // SAFETY: a new mapping that overlaps no other one.
        let start = unsafe { libc::mmap(start, size, libc::PROT_READ, libc::MAP_PRIVATE, descriptor, 0) };
        let start = if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) };
        Some(Self(Mapping { start: start?, size }))
    }

    pub(super) fn get(&self) -> &[u8] {
        // SAFETY: the mapping has so many bytes and lives as long as `self`. A program that is executed is
        // not written to: the kernel refuses it.
        unsafe { std::slice::from_raw_parts(self.0.start.as_ptr(), self.0.size) }
    }
}

/// The size of a page in bytes.
pub(super) fn page_size() -> usize {
    // SAFETY: it only asks for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}
