//! Files that are named by their paths: the kernel tells when a path leads to another file, and when a
//! file is written to (`man 7 inotify`).

use std::collections::{HashMap, VecDeque};
use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::lease::is_written;

/// What happens to the entries of a folder.
const ENTRIES: u32 = libc::IN_CREATE | libc::IN_DELETE | libc::IN_MOVED_FROM | libc::IN_MOVED_TO;
/// What happens to a folder itself.
const ITSELF: u32 = libc::IN_DELETE_SELF | libc::IN_MOVE_SELF;

/// The most symbolic links on a path, as in the kernel.
const MOST_LINKS: u32 = 40;

/// How often the watches are set anew if the path changes meanwhile.
const MOST_TRIES: u32 = 8;

/// Paths that somebody named. None of them has to lead to a file.
#[derive(Debug)]
pub struct Paths {
    inotify: OwnedFd,
    paths: Vec<PathBuf>,
    /// What is watched, by the number that the kernel gave it.
    watches: HashMap<libc::c_int, Watch>,
}

/// A folder or a file that is watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Watch {
    mask: u32,
    /// The entries of the folder that matter.
    names: Vec<OsString>,
}

/// A place on the way to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    /// An entry of a folder, which may be another one later: a file, a symbolic link, or nothing yet.
    Entry { folder: PathBuf, name: OsString },
    /// A folder on the way, which is an entry of another one. What happens to a folder itself is not told while
    /// somebody has a file open that was in it.
    Folder { folder: PathBuf, name: OsString },
    /// The file.
    File(PathBuf),
}

impl Paths {
    /// Watches paths.
    ///
    /// # Errors
    ///
    /// The kernel refuses it, as when there are too many watches (`fs.inotify.max_user_watches`).
    pub fn new(paths: &[PathBuf]) -> io::Result<Self> {
        // SAFETY: it opens a descriptor.
        let descriptor = unsafe { libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it, and nobody else knows it.
        let inotify = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let paths = paths.iter().map(std::path::absolute).collect::<io::Result<_>>()?;
        let mut paths = Self { inotify, paths, watches: HashMap::new() };
        paths.watch()?;
        Ok(paths)
    }

    /// Whether a path may lead to another file, or its file may have changed, since the last call.
    pub fn take(&mut self) -> bool {
        let mut is_changed = false;
        // Events have names of at most 255 bytes.
        let mut events = [0u8; 1 << 14];
        loop {
            // SAFETY: the kernel writes at most so many bytes.
            let size = unsafe { libc::read(self.descriptor(), events.as_mut_ptr().cast(), events.len()) };
            let Some(mut rest) = usize::try_from(size).ok().and_then(|size| events.get(..size)) else { break };
            if rest.is_empty() {
                break;
            }
            while let Some((event, name, after)) = event(rest) {
                let watch = self.watches.get(&event.wd);
                let matters = |watch: &Watch| name.is_empty() || watch.names.iter().any(|known| known == name);
                is_changed |= event.mask & libc::IN_Q_OVERFLOW != 0 || watch.is_some_and(matters);
                rest = after;
            }
        }
        if is_changed {
            // What cannot be watched any more was watched until now.
            let _ = self.watch();
        }
        is_changed
    }

    /// Readable when something has happened in the folders of the paths.
    pub(super) fn descriptor(&self) -> RawFd {
        self.inotify.as_raw_fd()
    }

    /// Sets the watches anew, until they are those of the paths as they are then.
    fn watch(&mut self) -> io::Result<()> {
        let mut result = Ok(());
        for _ in 0..MOST_TRIES {
            let steps: Vec<PathStep> = self.paths.iter().flat_map(|path| steps(path)).collect();
            let mut watches: HashMap<libc::c_int, Watch> = HashMap::new();
            // What can be watched is, whatever happens to the rest.
            result = Ok(());
            for step in &steps {
                result = result.and(self.add(step, &mut watches));
            }
            for old in self.watches.keys().filter(|old| !watches.contains_key(old)) {
                // SAFETY: it closes a watch of our own.
                unsafe { libc::inotify_rm_watch(self.inotify.as_raw_fd(), *old) };
            }
            self.watches = watches;
            if steps == self.paths.iter().flat_map(|path| self::steps(path)).collect::<Vec<_>>() {
                break;
            }
        }
        result
    }

    fn add(&self, step: &PathStep, watches: &mut HashMap<libc::c_int, Watch>) -> io::Result<()> {
        let (path, mask, name) = match step {
            PathStep::Entry { folder, name } => (folder, ENTRIES | ITSELF | libc::IN_ONLYDIR, Some(name)),
            PathStep::Folder { folder, name } => (folder, libc::IN_DELETE | ITSELF | libc::IN_ONLYDIR, Some(name)),
            // Somebody who writes to it for a long time tells only at the end.
            PathStep::File(path) if is_written(path) => (path, libc::IN_CLOSE_WRITE, None),
            PathStep::File(path) => (path, libc::IN_CLOSE_WRITE | libc::IN_MODIFY, None),
        };
        let text = CString::new(path.as_os_str().as_bytes())?;
        let set = |mask| {
            // SAFETY: the path is valid until the call returns.
            let number = unsafe { libc::inotify_add_watch(self.inotify.as_raw_fd(), text.as_ptr(), mask) };
            if number < 0 { Err(io::Error::last_os_error()) } else { Ok(number) }
        };
        let number = match set(mask) {
            Ok(number) => number,
            // It has just been removed: the folder above tells.
            Err(why) if matches!(why.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) => return Ok(()),
            // A folder that must not be read has no entries for us, and may be entered all the same.
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied && !matches!(step, PathStep::Entry { .. }) => {
                return Ok(());
            }
            Err(why) => return Err(why),
        };
        let watch = watches.entry(number).or_default();
        watch.names.extend(name.cloned());
        if watch.mask | mask != mask {
            // The folder is on the way to several files.
            let _ = set(watch.mask | mask);
        }
        watch.mask |= mask;
        if matches!(step, PathStep::File(path) if mask & libc::IN_MODIFY == 0 && !is_written(path)) {
            // The end came before the watch.
            watch.mask |= libc::IN_MODIFY;
            let _ = set(watch.mask);
        }
        Ok(())
    }
}

/// The first event of some bytes, its name, and the bytes behind it.
fn event(bytes: &[u8]) -> Option<(libc::inotify_event, &OsStr, &[u8])> {
    let header = bytes.get(..size_of::<libc::inotify_event>())?;
    // SAFETY: there are so many bytes, and every value of them is valid.
    let event: libc::inotify_event = unsafe { header.as_ptr().cast::<libc::inotify_event>().read_unaligned() };
    let end = header.len().checked_add(event.len as usize)?;
    let name = bytes.get(header.len()..end)?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Some((event, OsStr::from_bytes(name), bytes.get(end..)?))
}

/// The places on the way to a file: another file is at the end if one of them changes.
fn steps(path: &Path) -> Vec<PathStep> {
    let entry = |path: &Path| {
        let (folder, name) = (path.parent()?.to_owned(), path.file_name()?.to_owned());
        Some(vec![PathStep::Entry { folder, name }, PathStep::File(path.to_owned())])
    };
    // The links there do not lead to where their text says.
    if path.starts_with("/proc") {
        return entry(path).unwrap_or_default();
    }
    let (mut steps, mut links, mut at) = (Vec::new(), 0, PathBuf::from("/"));
    let names = |path: &Path| path.components().map(|it| it.as_os_str().to_owned()).collect::<VecDeque<_>>();
    let mut left = names(path);
    while let Some(name) = left.pop_front() {
        match Path::new(&name).components().next() {
            Some(Component::ParentDir) => drop(at.pop()),
            Some(Component::Normal(_)) => {
                let path = at.join(&name);
                let kind = fs::symlink_metadata(&path).ok().map(|it| it.file_type());
                if kind.is_some_and(|kind| kind.is_dir()) && !left.is_empty() {
                    steps.push(PathStep::Folder { folder: at.clone(), name });
                    at = path;
                    continue;
                }
                steps.push(PathStep::Entry { folder: at.clone(), name });
                let target = kind.filter(fs::FileType::is_symlink).and_then(|_| fs::read_link(&path).ok());
                match target.filter(|_| links < MOST_LINKS) {
                    Some(target) => {
                        links += 1;
                        let mut more = names(&target);
                        more.append(&mut left);
                        left = more;
                    }
                    None => {
                        steps.extend(kind.filter(fs::FileType::is_file).map(|_| PathStep::File(path)));
                        break;
                    }
                }
            }
            Some(Component::RootDir) => at = PathBuf::from("/"),
            Some(Component::CurDir | Component::Prefix(_)) | None => {}
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn each_way_to_put_another_file_in_place_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let at = |name: &str| root.join(name);
        fs::create_dir_all(at("a/b")).expect("folders");
        fs::write(at("a/b/file"), "1").expect("a file");
        fs::write(at("a/b/other"), "1").expect("a file");
        symlink("b", at("a/link")).expect("a link");
        symlink(at("a"), at("absolute")).expect("a link");
        let mut paths = Paths::new(&[at("absolute/link/../b/file"), at("a/link/file")]).expect("they are watched");
        let mut is_told = |what: &str, expected: bool| assert_eq!(paths.take(), expected, "{what}");
        is_told("nothing", false);
        fs::write(at("a/b/other"), "2").expect("a file");
        fs::write(at("a/b/more"), "2").expect("a file");
        fs::write(at("more"), "2").expect("a file");
        is_told("other files", false);
        fs::write(at("a/b/file"), "2").expect("a file");
        is_told("overwritten", true);
        fs::rename(at("a/b/more"), at("a/b/file")).expect("it is renamed");
        is_told("renamed", true);
        fs::write(at("a/b/file"), "3").expect("a file");
        is_told("the new one is overwritten", true);
        fs::remove_file(at("a/b/file")).expect("it is removed");
        is_told("removed", true);
        fs::hard_link(at("a/b/other"), at("a/b/file")).expect("a second name");
        is_told("linked", true);
        fs::rename(at("a/b"), at("a/c")).expect("it is renamed");
        is_told("the folder is moved", true);
        fs::write(at("a/c/file"), "4").expect("a file");
        fs::create_dir(at("a/b")).expect("a folder");
        is_told("a folder in its place", true);
        fs::write(at("a/b/file"), "5").expect("a file");
        is_told("a file in it", true);
        fs::remove_file(at("absolute")).and_then(|()| symlink("a", at("absolute"))).expect("a link");
        is_told("another link", true);
        fs::remove_dir_all(at("a")).expect("all is removed");
        is_told("all is removed", true);
        fs::create_dir_all(at("a/b")).expect("folders");
        is_told("the folders are there again", true);
        symlink("b", at("a/link")).expect("a link");
        is_told("and the link", true);
        fs::write(at("a/b/file"), "6").expect("a file");
        is_told("and the file", true);
        // A folder is not gone while a file is open that was in it.
        let open = fs::File::open(at("a/b/file")).expect("it is opened");
        fs::remove_file(at("a/b/file")).expect("it is removed");
        is_told("removed again", true);
        fs::remove_dir(at("a/b")).and_then(|()| fs::create_dir(at("a/b"))).expect("another folder");
        is_told("another folder with its name", true);
        fs::write(at("a/b/file"), "7").expect("a file");
        is_told("a file in that one", true);
        drop(open);
    }
}
