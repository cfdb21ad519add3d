//! Files that nobody overwrites before their probes are removed (`man 2 fcntl`, "Leases"): a uprobe in a file
//! that has become another program would break it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::{Arc, Once};

use super::mapped::MappedFile;
use super::signals;

/// A file that others may open for writing only when the lease was given back, or after the time of
/// `/proc/sys/fs/lease-break-time`. The kernel gives it back when this process ends.
#[derive(Debug)]
pub struct Lease(Arc<File>);

impl Lease {
    /// `None` if somebody has the file open for writing, or the kernel refuses it: it takes the file's
    /// user or `CAP_LEASE`, and a file system that has leases.
    #[must_use]
    pub fn take(file: &MappedFile) -> Option<Self> {
        // Otherwise the signal ends the process.
        static CATCH: Once = Once::new();
        CATCH.call_once(signals::catch_lease);
        let lease = Self(file.pin()?);
        lease.set(libc::F_RDLCK).ok().map(|()| lease)
    }

    /// Whether somebody waits who wants to write to the file.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        // SAFETY: it asks for a number.
        unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_GETLEASE) != libc::F_RDLCK }
    }

    fn set(&self, kind: libc::c_int) -> io::Result<()> {
        // SAFETY: it changes a descriptor of our own.
        match unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_SETLEASE, kind) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // The file may be open elsewhere here.
        let _ = self.set(libc::F_UNLCK);
    }
}

/// Whether somebody may want to write to a file since the last call.
pub fn take_wish() -> bool {
    signals::take_lease()
}
