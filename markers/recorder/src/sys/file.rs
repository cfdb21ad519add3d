//! Files, their names and their mappings.

use core::ffi::CStr;

use super::call::{Errno, call, plain, retried};
use super::mapping::unmap;

/// An open file.
pub(crate) struct File(usize);

impl File {
    pub(super) fn new(number: usize) -> Self {
        Self(number)
    }

    pub(super) fn number(&self) -> usize {
        self.0
    }

    /// Reads the start of the file.
    pub(super) fn read(&self, room: &mut [u8]) -> Result<usize, Errno> {
        let arguments = [self.0, room.as_mut_ptr() as usize, room.len(), 0, 0, 0];
        retried(|| plain(libc::SYS_pread64, arguments))
    }

    /// Opens a file; `flags` go beside `O_CLOEXEC` and `O_NOFOLLOW`.
    pub(crate) fn open(path: &CStr, flags: i32) -> Result<Self, Errno> {
        let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        let path = path.as_ptr() as usize;
        retried(|| plain(libc::SYS_openat, [libc::AT_FDCWD as usize, path, flags as usize, 0o600, 0, 0])).map(Self)
    }

    /// Sets the size, with a hole in place of bytes that the file did not have.
    pub(crate) fn set_size(&self, size: u64) -> Result<(), Errno> {
        retried(|| plain(libc::SYS_ftruncate, [self.0, size as usize, 0, 0, 0, 0])).map(drop)
    }

    /// Reserves room on the disk, so that stores in a mapping cannot fail.
    pub(crate) fn reserve(&self, offset: u64, size: u64) -> Result<(), Errno> {
        retried(|| plain(libc::SYS_fallocate, [self.0, 0, offset as usize, size as usize, 0, 0])).map(drop)
    }

    /// Writes all of the bytes.
    pub(crate) fn write_at(&self, mut bytes: &[u8], mut offset: u64) -> Result<(), Errno> {
        while !bytes.is_empty() {
            let arguments = [self.0, bytes.as_ptr() as usize, bytes.len(), offset as usize, 0, 0];
            let written = retried(|| plain(libc::SYS_pwrite64, arguments))?;
            bytes = bytes.get(written..).filter(|_| written != 0).ok_or(libc::EIO)?;
            offset += written as u64;
        }
        Ok(())
    }

    /// Device and inode.
    pub(crate) fn identity(&self) -> Result<(u64, u64), Errno> {
        // SAFETY: zeros are a valid stat.
        let mut stat: libc::stat = unsafe { core::mem::zeroed() };
        plain(libc::SYS_fstat, [self.0, &raw mut stat as usize, 0, 0, 0, 0])?;
        Ok((stat.st_dev, stat.st_ino))
    }

    /// Maps a part of the file for reading and writing, at `at` if that is not null. What is mapped
    /// there is replaced, also if this fails. A child does not inherit the mapping.
    ///
    /// # Safety
    ///
    /// `at` is null, or the start of a mapping of this size that nothing else uses.
    pub(crate) unsafe fn map(&self, at: *mut u8, offset: u64, size: usize) -> Result<*mut u8, Errno> {
        let fixed = if at.is_null() { 0 } else { libc::MAP_FIXED };
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let flags = (libc::MAP_SHARED | fixed) as usize;
        // SAFETY: the kernel chooses the place, or the caller vouches for it.
        let mapped = unsafe { call(libc::SYS_mmap, [at as usize, size, protection, flags, self.0, offset as usize]) }?;
        if let Err(error) = plain(libc::SYS_madvise, [mapped, size, libc::MADV_DONTFORK as usize, 0, 0, 0]) {
            // SAFETY: it was mapped above, or the caller gives it up.
            unsafe { unmap(mapped as *mut u8, size) };
            return Err(error);
        }
        Ok(mapped as *mut u8)
    }

    /// The same for a part whose room was reserved, with its pages.
    ///
    /// # Safety
    ///
    /// As for `map`.
    pub(crate) unsafe fn map_window(&self, at: *mut u8, offset: u64, size: usize) -> Result<*mut u8, Errno> {
        // SAFETY: as the caller says.
        let mapped = unsafe { self.map(at, offset, size) }?;
        match make_present(mapped, size) {
            // Old kernels do not know it. The first store on each page is slower then.
            Ok(()) | Err(libc::EINVAL) => Ok(mapped),
            Err(error) => {
                // SAFETY: it was mapped above.
                unsafe { unmap(mapped, size) };
                Err(error)
            }
        }
    }
}

/// Gives a part of a mapping of a file its pages, so that stores there cannot fail.
///
/// # Errors
///
/// `EINVAL` before Linux 5.14, `ENOSPC` if the disk is full.
pub(crate) fn make_present(at: *mut u8, size: usize) -> Result<(), Errno> {
    match plain(libc::SYS_madvise, [at as usize, size, libc::MADV_POPULATE_WRITE as usize, 0, 0, 0]) {
        // Where a store would get SIGBUS.
        Err(libc::EFAULT) => Err(libc::ENOSPC),
        result => result.map(drop),
    }
}

/// Frees a part of a mapping of a file. Whoever watches the file for changes is told.
pub(crate) fn make_hole(at: *mut u8, size: usize) -> Result<(), Errno> {
    let remove = || plain(libc::SYS_madvise, [at as usize, size, libc::MADV_REMOVE as usize, 0, 0, 0]);
    let result = remove().or_else(|error| {
        if error != libc::EINVAL {
            return Err(error);
        }
        // The program may have locked its memory.
        plain(libc::SYS_munlock, [at as usize, size, 0, 0, 0, 0])?;
        remove()
    });
    result.map(drop)
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = plain(libc::SYS_close, [self.0, 0, 0, 0, 0, 0]);
    }
}

/// Removes a file; that it is missing is no error.
pub(crate) fn remove(path: &CStr) {
    let _ = plain(libc::SYS_unlinkat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0, 0, 0, 0]);
}

/// Gives a file another name, and replaces what has that name.
pub(crate) fn rename(from: &CStr, to: &CStr) -> Result<(), Errno> {
    let here = libc::AT_FDCWD as usize;
    plain(libc::SYS_renameat, [here, from.as_ptr() as usize, here, to.as_ptr() as usize, 0, 0]).map(drop)
}

/// Makes a folder that only this user can enter.
pub(crate) fn make_folder(path: &CStr) -> Result<(), Errno> {
    plain(libc::SYS_mkdirat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0o700, 0, 0, 0]).map(drop)
}

/// The current folder without a NUL, in `room`.
pub(crate) fn current_folder(room: &mut [u8]) -> Result<&[u8], Errno> {
    let size = plain(libc::SYS_getcwd, [room.as_mut_ptr() as usize, room.len(), 0, 0, 0, 0])?;
    room.get(..size.saturating_sub(1)).ok_or(libc::ENAMETOOLONG)
}

/// The largest file that the process may write, in bytes.
pub(crate) fn largest_file() -> u64 {
    let mut limit = libc::rlimit64 { rlim_cur: u64::MAX, rlim_max: u64::MAX };
    let arguments = [0, libc::RLIMIT_FSIZE as usize, 0, &raw mut limit as usize, 0, 0];
    let _ = plain(libc::SYS_prlimit64, arguments);
    limit.rlim_cur
}

/// Writes bytes to the standard error.
pub(crate) fn complain(bytes: &[u8]) {
    let _ = plain(libc::SYS_write, [2, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]);
}
