//! The folder of a data set: its files have their names when all are complete.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use tempfile::TempDir;

/// The folder of the table of recordings, which every data set has. Readers pass over it unless
/// they are told to read it.
pub(super) const RECORDINGS: &str = "_recordings";

/// Where a data set is written.
pub(crate) struct DataSetFolder {
    path: PathBuf,
    /// Where its files are until they are complete: beside its place.
    temporary: TempDir,
    /// Whether there is one that is replaced.
    is_old: bool,
}

impl DataSetFolder {
    /// Accepts a folder that does not exist; with `force` also one with a data set.
    pub(crate) fn prepare(path: PathBuf, force: bool) -> anyhow::Result<Self> {
        let shown = path.display();
        let is_old = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(error).with_context(|| shown.to_string()),
            Ok(_) if !path.is_dir() => bail!("{shown}: not a folder"),
            Ok(_) if !path.join(RECORDINGS).is_dir() => {
                bail!("{shown}: it exists, and `--to parquet` did not write it")
            }
            Ok(_) if !force => bail!("{shown}: it exists; --force replaces the data set"),
            Ok(_) => true,
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix(".smark-").permissions(Permissions::from_mode(0o777)).tempdir_in(parent);
        let temporary = folder.with_context(|| format!("{shown}: the folder cannot be created"))?;
        Ok(Self { path, temporary, is_old })
    }

    pub(super) fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Moves the files to their place. Returns it.
    pub(super) fn finish(self) -> anyhow::Result<PathBuf> {
        let Self { path, temporary, is_old } = self;
        let failed = || format!("{}: it cannot be written", path.display());
        if is_old {
            // What was there goes when the new files are in its place.
            let old = temporary.path().with_extension("old");
            fs::rename(&path, &old).with_context(failed)?;
            if let Err(error) = fs::rename(temporary.path(), &path) {
                fs::rename(&old, &path).with_context(failed)?;
                return Err(error).with_context(failed);
            }
            fs::remove_dir_all(&old).with_context(|| old.display().to_string())?;
        } else {
            fs::rename(temporary.path(), &path).with_context(failed)?;
        }
        // It is not there any more.
        let _ = temporary.keep();
        Ok(path)
    }
}
