//! Control groups of version 2 (`man 7 cgroups`).

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A control group. It includes the groups below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its path below the root group.
    path: PathBuf,
    /// Its number, which is that of its folder.
    pub(super) id: u64,
    /// How many groups are above it.
    pub(super) level: u32,
}

/// Why there is no such group.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The file system of the groups is not mounted, or only a part of it.
    #[error("the file system of control groups (cgroup2) is not mounted with its root")]
    NotMounted,
    /// The group cannot be found.
    #[error("{}: {why}", path.display())]
    NotFound {
        /// Where it should be.
        path: PathBuf,
        /// Why it is not there.
        why: io::Error,
    },
    /// The folder is no group.
    #[error("{}: is not in the file system of control groups, which is mounted at {}", path.display(), mount.display())]
    Elsewhere {
        /// The folder.
        path: PathBuf,
        /// Where the groups are.
        mount: PathBuf,
    },
}

impl Group {
    /// The group with this name: the path of its folder, or its path below the root group.
    ///
    /// # Errors
    ///
    /// There is no such group.
    pub fn find(name: &Path) -> Result<Self, GroupError> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = mount_point(&mounts).ok_or(GroupError::NotMounted)?;
        let path = match name.starts_with(&mount) {
            true => name.to_path_buf(),
            false => mount.join(name.strip_prefix("/").unwrap_or(name)),
        };
        let not_found = |why| GroupError::NotFound { path: path.clone(), why };
        let folder = path.canonicalize().map_err(not_found)?;
        let metadata = folder.metadata().map_err(not_found)?;
        match folder.strip_prefix(&mount) {
            Ok(below) if metadata.is_dir() => {
                let level = u32::try_from(below.components().count()).unwrap_or(u32::MAX);
                Ok(Self { path: Path::new("/").join(below), id: metadata.ino(), level })
            }
            _ => Err(GroupError::Elsewhere { path, mount }),
        }
    }

    /// Whether a thread that has not ended is in the group.
    pub(super) fn has(&self, thread: u32) -> bool {
        let text = std::fs::read_to_string(format!("/proc/{thread}/cgroup")).unwrap_or_default();
        let path = text.lines().find_map(|line| line.strip_prefix("0::"));
        path.is_some_and(|path| Path::new(path).starts_with(&self.path))
    }
}

/// Where the root group is mounted (`man 5 proc_pid_mountinfo`).
fn mount_point(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut words = mount.split(' ').skip(3);
        let (root, point) = (words.next()?, words.next()?);
        (root == "/" && system.starts_with("cgroup2 ")).then(|| PathBuf::from(point))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_found() {
        let mounts = "29 1 0:26 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw\n\
            30 29 0:27 /part /mnt rw - cgroup2 cgroup2 rw\n\
            31 29 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw\n";
        assert_eq!(mount_point(mounts), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(mount_point("31 29 0:27 / /x"), None);
    }
}
