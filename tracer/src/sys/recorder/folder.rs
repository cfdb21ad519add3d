//! The folder of the buffers. The processes make the files in it, so none of them is trusted.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::process::Owner;

/// Where folders are made: it is in memory, and every process has it.
const MEMORY: &str = "/dev/shm";

/// The start of the name of every folder. The owner and the process follow.
const PREFIX: &str = "smark";

/// The folder for the buffers of a process and of those that it creates. It is removed when the value
/// is dropped.
#[derive(Debug)]
pub(super) struct Folder {
    /// As the process sees it.
    pub(super) name: String,
    /// It stays open, because the root through which it was made goes with the process.
    folder: File,
    parent: File,
    /// The user that may write to it.
    user: u32,
}

impl Folder {
    /// Makes a folder that only a user may enter.
    pub(super) fn create(owner: Owner, pid: u32, (user, group): (u32, u32)) -> io::Result<Self> {
        let base = format!("{PREFIX}-{}-{}-{pid}", owner.pid, owner.start);
        let parent = File::open(format!("/proc/{pid}/root{MEMORY}"))?;
        let path = of(&parent).join(&base);
        DirBuilder::new().mode(0o700).create(&path)?;
        // Only root may give it away; for anybody else the user is the same.
        if user != own_user() {
            std::os::unix::fs::lchown(&path, Some(user), Some(group))?;
        }
        let folder = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)?;
        Ok(Self { name: format!("{MEMORY}/{base}"), folder, parent, user })
    }

    /// The names of its files.
    pub(super) fn names(&self) -> impl Iterator<Item = OsString> {
        names(&of(&self.folder))
    }

    /// Opens a file that belongs to the user and has no other name; `None` if it does not.
    pub(super) fn open(&self, name: &OsStr) -> io::Result<Option<File>> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(of(&self.folder).join(name))?;
        let status = file.metadata()?;
        Ok((status.is_file() && status.uid() == self.user && status.nlink() == 1).then_some(file))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let base = self.name.strip_prefix(MEMORY).and_then(|name| name.strip_prefix('/')).unwrap_or_default();
        remove(&of(&self.folder), &of(&self.parent).join(base));
    }
}

/// The path of an open folder.
fn of(folder: &File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// The user of this process.
fn own_user() -> u32 {
    // SAFETY: it only asks for a number.
    unsafe { libc::geteuid() }
}

fn names(path: &Path) -> impl Iterator<Item = OsString> + use<> {
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.file_name())
}

/// Removes the files of a folder, and the folder by its name. What cannot be removed is removed by the
/// next session.
fn remove(folder: &Path, name: &Path) {
    for file in names(folder) {
        let _ = std::fs::remove_file(folder.join(file));
    }
    let _ = std::fs::remove_dir(name);
}

/// Removes the folders of tools that were killed.
pub(super) fn remove_leftovers() {
    for name in names(Path::new(MEMORY)) {
        let owner = name.to_str().and_then(owner);
        if owner.is_some_and(|owner| !owner.is_alive()) {
            let path = Path::new(MEMORY).join(name);
            remove(&path, &path);
        }
    }
}

/// The owner of a folder of that name.
fn owner(name: &str) -> Option<Owner> {
    let mut parts = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-');
    Some(Owner { pid: parts.next()?.parse().ok()?, start: parts.next()?.parse().ok()? })
}

/// Frees the memory of a file. A process that still writes to it writes to new memory, so the file is
/// not cut.
pub(super) fn free(file: &File) {
    use std::os::fd::AsRawFd as _;
    let size = file.metadata().map_or(0, |status| status.len());
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: it changes a file that is open. A file that cannot be freed is freed with its process.
    let _ = unsafe { libc::fallocate(file.as_raw_fd(), mode, 0, i64::try_from(size).unwrap_or(i64::MAX)) };
}
