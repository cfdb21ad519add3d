//! Files that nobody overwrites before their probes are removed (`man 2 fcntl`, "Leases"): a uprobe in a file
//! that has become another program would break it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Once};

use super::mapped::MappedFile;
use super::signals;

/// `F_SETSIG` of `fcntl`: the signal that tells of a broken lease.
const SET_SIGNAL: libc::c_int = 10;

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
        set(&lease.0, libc::F_RDLCK).ok().map(|()| lease)
    }

    /// Whether somebody waits who wants to write to the file.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        // SAFETY: it asks for a number.
        unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_GETLEASE) != libc::F_RDLCK }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // The file may be open elsewhere here.
        let _ = set(&self.0, libc::F_UNLCK);
    }
}

/// Whether somebody may want to write to a file since the last call.
pub fn take_wish() -> bool {
    signals::take_lease()
}

/// Whether somebody has a file open for writing. If it cannot be known, nobody has.
#[must_use]
pub fn is_written(path: &Path) -> bool {
    if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let Ok(file) = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path) else { return false };
    // A lease for reading is refused while there is a writer.
    try_lease(&file, libc::F_RDLCK).is_err_and(|why| why.raw_os_error() == Some(libc::EAGAIN))
}

/// Whether nobody else has a file open or mapped that is open for writing here. If it cannot be known,
/// somebody has.
pub(super) fn is_only_here(file: &File) -> bool {
    try_lease(file, libc::F_WRLCK).is_ok()
}

/// Takes a lease and gives it back.
fn try_lease(file: &File, kind: libc::c_int) -> io::Result<()> {
    // The signal is for one who comes before the lease is given back; it is ignored.
    // SAFETY: it changes a descriptor of our own.
    unsafe { libc::fcntl(file.as_raw_fd(), SET_SIGNAL, libc::SIGURG) };
    let taken = set(file, kind);
    let _ = set(file, libc::F_UNLCK);
    taken
}

fn set(file: &File, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: it changes a descriptor of our own.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_writer_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        assert!(!is_written(&path));
        let mut file = fs::File::create(&path).expect("a file");
        file.write_all(b"1").expect("it is written");
        assert!(is_written(&path));
        drop(file);
        assert!(!is_written(&path));
        // The lease was given back: a writer need not wait.
        fs::write(&path, "2").expect("it is written");
    }

    #[test]
    fn a_mapping_is_known_whose_file_is_closed() {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, [0; 4096]).expect("it is written");
        let open = || OpenOptions::new().read(true).write(true).open(&path).expect("it is opened");
        let (file, other) = (open(), open());
        assert!(!is_only_here(&file));
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the place.
        let mapped =
            unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, libc::MAP_SHARED, other.as_raw_fd(), 0) };
        assert_ne!(mapped, libc::MAP_FAILED);
        drop(other);
        assert!(!is_only_here(&file));
        // SAFETY: nothing uses it.
        assert_eq!(unsafe { libc::munmap(mapped, 4096) }, 0);
        assert!(is_only_here(&file));
    }
}
