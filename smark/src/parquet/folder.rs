//! The folder of a data set: its files have their names when all are complete.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::new_folder::{FolderContents, NewFolder};

/// The folders of the tables of recordings and of columns, which every data set has. Readers pass over them unless they
/// are told to read them.
pub(super) const RECORDINGS: &str = "_recordings";
pub(super) const COLUMNS: &str = "_columns";

/// Where a data set is written.
pub(crate) struct DataSetFolder(NewFolder);

impl DataSetFolder {
    /// Accepts a folder that does not exist; with `force` also one with a data set.
    pub(crate) fn prepare(path: PathBuf, force: bool) -> anyhow::Result<Self> {
        let contents = FolderContents {
            is_there: |folder| folder.join(RECORDINGS).is_dir(),
            writer: "--to parquet",
            name: "data set",
        };
        NewFolder::prepare(path, force, &contents).map(Self)
    }

    pub(super) fn temporary(&self) -> &Path {
        self.0.temporary.path()
    }

    /// Moves the files to their place. Returns it.
    pub(super) fn finish(self) -> anyhow::Result<PathBuf> {
        let Self(NewFolder { path, temporary, is_old }) = self;
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
