//! The folder of the buffers. The processes make the files in it, so none of them is trusted.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::process::ProcessIdentity;

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
    pub(super) fn create(owner: ProcessIdentity, pid: u32, (user, group): (u32, u32)) -> io::Result<Self> {
        let base = format!("{PREFIX}-{}-{}-{pid}", owner.pid, owner.start);
        let parent = memory_of(pid)?;
        let path = of(&parent).join(&base);
        DirBuilder::new().mode(0o700).create(&path)?;
        let folder = open_folder(&path)?;
        // In a folder of its own the process can put another one in its place.
        if folder.metadata()?.uid() != own_user() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // Only root may give it away; for anybody else the user is the same.
        if user != own_user() {
            std::os::unix::fs::fchown(&folder, Some(user), Some(group))?;
        }
        Ok(Self { name: format!("{MEMORY}/{base}"), folder, parent, user })
    }

    /// A path of the folder for this process.
    pub(super) fn path(&self) -> PathBuf {
        of(&self.folder)
    }

    /// Whether its files are in memory, where the kernel can free parts of them.
    pub(super) fn is_in_memory(&self) -> bool {
        use std::os::fd::AsRawFd as _;
        // SAFETY: it has only numbers, and 0 is valid for all of them.
        let mut status: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is valid until the call returns.
        let result = unsafe { libc::fstatfs(self.folder.as_raw_fd(), &raw mut status) };
        result == 0 && status.f_type == libc::TMPFS_MAGIC
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &OsStr) {
        // What cannot be removed is removed with the folder.
        let _ = std::fs::remove_file(of(&self.folder).join(name));
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

/// The folder of memory as a process sees it. Links there lead to where they lead for the process, which
/// may have made them.
fn memory_of(pid: u32) -> io::Result<File> {
    use std::os::fd::{AsRawFd as _, FromRawFd as _};
    let root = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(format!("/proc/{pid}/root"))?;
    let path = std::ffi::CString::new(MEMORY)?;
    // SAFETY: it has only numbers, and 0 is valid for all of them.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_IN_ROOT | libc::RESOLVE_NO_MAGICLINKS;
    // SAFETY: the pointers are valid until the call returns, and the size is that of the structure.
    let opened = unsafe {
        libc::syscall(libc::SYS_openat2, root.as_raw_fd(), path.as_ptr(), &raw const how, size_of::<libc::open_how>())
    };
    match libc::c_int::try_from(opened) {
        // SAFETY: the kernel has just opened it, and nobody else knows it.
        Ok(opened @ 0..) => Ok(unsafe { File::from_raw_fd(opened) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens a folder, if the path is one and not a link to one.
fn open_folder(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)
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
    remove_leftovers_in(Path::new(MEMORY));
}

fn remove_leftovers_in(parent: &Path) {
    for name in names(parent) {
        let owner = name.to_str().and_then(owner);
        if owner.is_some_and(|owner| !owner.is_alive()) {
            let path = parent.join(name);
            // Anybody may make a link of that name.
            if let Ok(folder) = open_folder(&path) {
                remove(&of(&folder), &path);
            }
        }
    }
}

/// The owner of a folder of that name.
fn owner(name: &str) -> Option<ProcessIdentity> {
    let mut parts = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-');
    Some(ProcessIdentity { pid: parts.next()?.parse().ok()?, start: parts.next()?.parse().ok()? })
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    fn folder() -> Folder {
        let owner = ProcessIdentity::of(std::process::id()).expect("this process");
        // Tests of one process run at the same time.
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let start = owner.start + NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let status = std::fs::metadata("/proc/self").expect("this process");
        Folder::create(ProcessIdentity { start, ..owner }, owner.pid, (status.uid(), status.gid())).expect("a folder")
    }

    #[test]
    fn only_files_of_the_user_are_opened() {
        let folder = folder();
        let at = |name: &str| Path::new(&folder.name).join(name);
        std::fs::write(at("1-1"), "buffer").expect("a file");
        assert!(folder.open(OsStr::new("1-1")).expect("it is opened").is_some());
        std::fs::hard_link(at("1-1"), at("1-2")).expect("a second name");
        assert!(folder.open(OsStr::new("1-1")).expect("it is opened").is_none());
        symlink(at("1-1"), at("1-3")).expect("a link");
        assert!(folder.open(OsStr::new("1-3")).is_err());
        // Nobody else opens the pipe, and that does not block.
        let pipe = CString::new(at("1-4").as_os_str().as_bytes()).expect("no NUL");
        // SAFETY: the path is valid until the call returns.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert!(folder.open(OsStr::new("1-4")).expect("it is opened").is_none());
        std::fs::create_dir(at("1-5")).expect("a folder");
        assert!(folder.open(OsStr::new("1-5")).is_err());
        assert!(folder.open(OsStr::new("1-6")).is_err());
        assert_eq!(folder.names().count(), 5);
        std::fs::remove_dir(at("1-5")).expect("an empty folder");
        let name = folder.name.clone();
        drop(folder);
        assert!(!Path::new(&name).exists());
    }

    #[test]
    fn a_link_with_the_name_of_a_folder_is_not_followed() {
        let folder = folder();
        let at = |name: &str| Path::new(&folder.name).join(name);
        std::fs::create_dir(at("precious")).expect("a folder");
        std::fs::write(at("precious/file"), "precious").expect("a file");
        // No process had this number when the machine started.
        symlink(at("precious"), at("smark-4194304-1-1")).expect("a link");
        std::fs::create_dir(at("smark-4194304-1-2")).expect("a folder");
        std::fs::write(at("smark-4194304-1-2/1-1"), "buffer").expect("a file");
        let own = ProcessIdentity::of(std::process::id()).expect("this process");
        std::fs::create_dir(at(&format!("smark-{}-{}-1", own.pid, own.start))).expect("a folder");
        remove_leftovers_in(Path::new(&folder.name));
        assert!(at("precious/file").exists());
        assert!(!at("smark-4194304-1-2").exists());
        assert!(at(&format!("smark-{}-{}-1", own.pid, own.start)).exists());
        std::fs::remove_dir_all(&folder.name).expect("the folder is removed");
    }
}
