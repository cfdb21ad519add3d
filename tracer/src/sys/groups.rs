//! Control groups of version 2 (`man 7 cgroups`).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A control group. It includes the groups below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its path below the root group.
    pub path: PathBuf,
    /// Its folder.
    pub folder: PathBuf,
    /// Its number, which is that of its folder.
    pub(super) id: u64,
    /// How many groups are above it.
    pub(super) level: u32,
}

/// Why there is no such group.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The file system of the groups is not mounted.
    #[error("the file system of control groups (cgroup2) is not mounted")]
    NotMounted,
    /// Only a part of the file system is mounted.
    #[error(
        "{}: it is not the root of all control groups: smark seems to run in a container with a namespace of its own for \
         them (docker run --cgroupns=host)",
        _0.display()
    )]
    NotRoot(PathBuf),
    /// The group cannot be found.
    #[error("{}: {why}", path.display())]
    NotFound {
        /// Where it should be.
        path: PathBuf,
        /// Why it is not there.
        why: io::Error,
    },
    /// No group has the number.
    #[error("no control group has the number {0}")]
    NoNumber(u64),
    /// The folder is no group.
    #[error("{}: is not in the file system of control groups, which is mounted at {}", path.display(), mount.display())]
    Elsewhere {
        /// The folder.
        path: PathBuf,
        /// Where the groups are.
        mount: PathBuf,
    },
}

/// The number of the root group.
const ROOT: u64 = 1;

impl Group {
    /// The group with this name: the path of its folder, its path below the root group, or its number.
    ///
    /// # Errors
    ///
    /// There is no such group.
    pub fn find(name: &Path) -> Result<Self, GroupError> {
        let mount = mount()?;
        if let Some(id) = name.to_str().and_then(|name| name.parse().ok()) {
            let mut groups = below(mount.clone()).into_iter();
            let found = groups.find(|folder| fs::metadata(folder).is_ok_and(|it| it.ino() == id));
            return Self::at(&mount, &found.ok_or(GroupError::NoNumber(id))?);
        }
        match name.starts_with(&mount) {
            true => Self::at(&mount, name),
            false => Self::at(&mount, &mount.join(name.strip_prefix("/").unwrap_or(name))),
        }
    }

    /// The group of a folder.
    fn at(mount: &Path, path: &Path) -> Result<Self, GroupError> {
        let not_found = |why| GroupError::NotFound { path: path.to_owned(), why };
        let folder = path.canonicalize().map_err(not_found)?;
        let metadata = folder.metadata().map_err(not_found)?;
        match folder.strip_prefix(mount) {
            Ok(below) if metadata.is_dir() => {
                let level = u32::try_from(below.components().count()).unwrap_or(u32::MAX);
                Ok(Self { path: Path::new("/").join(below), id: metadata.ino(), level, folder })
            }
            _ => Err(GroupError::Elsewhere { path: path.to_owned(), mount: mount.to_owned() }),
        }
    }

    /// All groups, each before those below it.
    ///
    /// # Errors
    ///
    /// Their file system is not mounted.
    pub fn all() -> Result<Vec<PathBuf>, GroupError> {
        Ok(below(mount()?))
    }

    /// The processes that have a thread in the group now, in ascending order.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = below(self.folder.clone()).iter().flat_map(|folder| processes(folder)).collect();
        // What is in another namespace of processes has the number 0.
        pids.retain(|pid| *pid != 0);
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Whether a thread that has not ended is in the group.
    pub(super) fn has(&self, thread: u32) -> bool {
        let text = fs::read_to_string(format!("/proc/{thread}/cgroup")).unwrap_or_default();
        let path = text.lines().find_map(|line| line.strip_prefix("0::"));
        path.is_some_and(|path| Path::new(path).starts_with(&self.path))
    }
}

/// A folder and those below it, each before those below it.
fn below(folder: PathBuf) -> Vec<PathBuf> {
    let (mut all, mut next) = (vec![folder], 0);
    while let Some(folder) = all.get(next) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|it| it.is_dir());
        let found: Vec<_> = entries.filter(is_folder).map(|entry| entry.path()).collect();
        all.extend(found);
        next += 1;
    }
    all
}

/// The processes that have a thread in a group, without the groups below it.
fn processes(folder: &Path) -> Vec<u32> {
    let numbers = |name| {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        Some(text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<u32>>())
    };
    // A group with single threads does not list processes.
    let of_threads = || numbers("cgroup.threads").unwrap_or_default().into_iter().filter_map(process_of).collect();
    numbers("cgroup.procs").unwrap_or_else(of_threads)
}

/// The process of a thread.
fn process_of(thread: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Where the root group is mounted.
fn mount() -> Result<PathBuf, GroupError> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = mount_points(&mounts);
    let is_root = |point: &&PathBuf| fs::metadata(point).is_ok_and(|it| it.ino() == ROOT);
    match (points.iter().find(is_root), points.first()) {
        (Some(root), _) => Ok(root.clone()),
        (None, Some(other)) => Err(GroupError::NotRoot(other.clone())),
        (None, None) => Err(GroupError::NotMounted),
    }
}

/// Where groups are mounted (`man 5 proc_pid_mountinfo`).
fn mount_points(mounts: &str) -> Vec<PathBuf> {
    let point = |line: &str| {
        let (mount, system) = line.split_once(" - ")?;
        let point = mount.split(' ').nth(4)?;
        system.starts_with("cgroup2 ").then(|| PathBuf::from(point))
    };
    mounts.lines().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_found() {
        let mounts = "29 1 0:26 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw\n\
            30 29 0:27 /part /mnt rw - cgroup2 cgroup2 rw\n\
            31 29 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw\n";
        assert_eq!(mount_points(mounts), ["/mnt", "/sys/fs/cgroup/unified"].map(PathBuf::from));
        assert!(mount_points("31 29 0:27 / /x").is_empty());
    }

    #[test]
    fn folders_are_listed_from_the_top() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("a/b")).expect("folders");
        fs::create_dir(path("c")).expect("a folder");
        fs::write(path("a/cgroup.procs"), "7\n9\n").expect("a file");
        let mut all = below(folder.path().to_owned());
        assert_eq!((&all[0], &all[3]), (&folder.path().to_owned(), &path("a/b")));
        all.sort();
        assert_eq!(all, [folder.path().to_owned(), path("a"), path("a/b"), path("c")]);
        assert_eq!((processes(&path("a")), processes(&path("c"))), (vec![7, 9], vec![]));
    }
}
