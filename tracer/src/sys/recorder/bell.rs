//! What programs ring: the kernel tells when a file in a folder of buffers changes (`man 7 inotify`).

use std::ffi::CString;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;

use super::folder::Folder;

/// A file has become complete, or a program has freed a part of one.
const MASK: u32 = libc::IN_MOVED_TO | libc::IN_MODIFY | libc::IN_ONLYDIR;

/// Tells of new buffers, and of hits of threads that were asked to tell of the next one.
#[derive(Debug)]
pub(super) struct Bell {
    /// `None` if the kernel refuses it.
    inotify: Option<OwnedFd>,
    /// Whether all folders are watched.
    is_complete: bool,
}

impl Bell {
    pub(super) fn new() -> Self {
        // SAFETY: it opens a descriptor.
        let descriptor = unsafe { libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK) };
        // SAFETY: the kernel has just opened it, and nobody else knows it.
        let inotify = (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) });
        let is_complete = inotify.is_some();
        Self { inotify, is_complete }
    }

    /// Tells of a folder too, which is new.
    pub(super) fn watch(&mut self, folder: &Folder) {
        self.is_complete &= folder.is_in_memory() && self.add(folder);
    }

    fn add(&self, folder: &Folder) -> bool {
        let Ok(path) = CString::new(folder.path().as_os_str().as_bytes()) else { return false };
        // SAFETY: the path is valid until the call returns.
        unsafe { libc::inotify_add_watch(self.descriptor(), path.as_ptr(), MASK) >= 0 }
    }

    /// Whether it tells of everything.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether something has happened since the last call.
    pub(super) fn take(&self) -> bool {
        let mut is_any = false;
        let mut events = [0u8; 1 << 14];
        // SAFETY: the kernel writes at most so many bytes.
        while unsafe { libc::read(self.descriptor(), events.as_mut_ptr().cast(), events.len()) } > 0 {
            is_any = true;
        }
        is_any
    }

    /// Readable when something has happened.
    pub(super) fn descriptor(&self) -> RawFd {
        self.inotify.as_ref().map_or(-1, OwnedFd::as_raw_fd)
    }
}
