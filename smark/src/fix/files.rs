//! The source files of markers: which ones may be changed, and how one is replaced.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::vcs;

/// The largest file that is taken for source text, in bytes.
const LARGEST: u64 = 16 << 20;

/// Why a file is not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum FileRefusal {
    NotFound,
    Unreadable,
    /// It is not below the root.
    Outside,
    /// It is a package of a registry, or a copy of one.
    Dependency,
    /// A build made it.
    Generated,
    ReadOnly,
}

impl FileRefusal {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "its source file is not found: it was moved, or the build wrote another path for it",
            Self::Unreadable => "its source file cannot be read",
            Self::Outside => "its source file is outside of the folder that may be changed",
            Self::Dependency => "its source file belongs to a dependency",
            Self::Generated => "its source file was made by a build",
            Self::ReadOnly => "its source file is read-only",
        }
    }
}

/// The folders that sources are looked for and changed in.
#[derive(Debug)]
pub(super) struct Folders {
    /// Where relative paths may start.
    starts: Vec<PathBuf>,
    /// What is below it may be changed. Without links.
    root: PathBuf,
}

impl Folders {
    /// # Errors
    ///
    /// The root is not there.
    pub(super) fn new(root: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        let current = std::env::current_dir()?;
        let starts = if current == root { vec![current] } else { vec![current, root.clone()] };
        Ok(Self { starts, root })
    }

    /// The files that a path in the debug information may mean, which are there; without links.
    pub(super) fn candidates(&self, file: &str) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        for start in &self.starts {
            let path = fs::canonicalize(start.join(file)).ok().filter(|path| path.is_file());
            found.extend(path.filter(|path| !found.contains(path)));
        }
        found
    }

    /// Whether a file without links in its path may be changed.
    pub(super) fn may_change(&self, path: &Path) -> Result<(), FileRefusal> {
        let metadata = fs::metadata(path).map_err(|_| FileRefusal::Unreadable)?;
        let holds = |folder: &Path, name: &str| folder.join(name).is_file();
        let below = path.ancestors().skip(1).take_while(|folder| *folder != self.root);
        // What cargo unpacks and vendors has these.
        if below.clone().any(|folder| holds(folder, ".cargo-checksum.json") || holds(folder, ".cargo-ok")) {
            return Err(FileRefusal::Dependency);
        }
        if !path.starts_with(&self.root) {
            return Err(FileRefusal::Outside);
        }
        if below.clone().any(|folder| holds(folder, "CACHEDIR.TAG")) || vcs::is_ignored(path) {
            return Err(FileRefusal::Generated);
        }
        if metadata.permissions().readonly() {
            return Err(FileRefusal::ReadOnly);
        }
        Ok(())
    }

    /// A path as people name it.
    pub(super) fn shown(&self, path: &Path) -> String {
        let short = self.starts.iter().find_map(|start| path.strip_prefix(start).ok());
        short.unwrap_or(path).display().to_string()
    }
}

/// The bytes of a source file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, FileRefusal> {
    let metadata = fs::metadata(path).map_err(|_| FileRefusal::NotFound)?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(FileRefusal::Unreadable);
    }
    fs::read(path).map_err(|_| FileRefusal::Unreadable)
}

/// Puts a new file in the place of one, whole or not at all: whoever reads it meanwhile finds the one or the other. It keeps the permissions.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Of a link what it points at.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?.to_string_lossy();
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // What any new file has: the mask of the process takes away what it always does.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut new = builder.tempfile_in(folder)?;
    new.write_all(bytes)?;
    if let Ok(known) = fs::metadata(&path) {
        new.as_file().set_permissions(known.permissions())?;
    }
    new.as_file().sync_all()?;
    new.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
