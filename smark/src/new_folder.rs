//! A folder of output: its files are beside its place until all of them are complete.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use tempfile::TempDir;

/// A folder that is written.
pub(crate) struct NewFolder {
    pub(crate) path: PathBuf,
    /// Where its files are until they are complete.
    pub(crate) temporary: TempDir,
    /// Whether there is one that is replaced.
    pub(crate) is_old: bool,
}

/// What a folder will have.
pub(crate) struct FolderContents {
    /// Whether a folder has them.
    pub(crate) is_there: fn(&Path) -> bool,
    /// The options that write it.
    pub(crate) writer: &'static str,
    /// What it is called.
    pub(crate) name: &'static str,
}

impl NewFolder {
    /// Accepts a folder that does not exist; with `force` also one with such contents.
    pub(crate) fn prepare(path: PathBuf, force: bool, contents: &FolderContents) -> anyhow::Result<Self> {
        let shown = path.display();
        let FolderContents { is_there, writer, name } = contents;
        let is_old = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(error).with_context(|| shown.to_string()),
            Ok(_) if !path.is_dir() => bail!("{shown}: not a folder"),
            Ok(_) if !is_there(&path) => bail!("{shown}: it exists, and `{writer}` did not write it"),
            Ok(_) if !force => bail!("{shown}: it exists; --force replaces the {name}"),
            Ok(_) => true,
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix(".smark-").permissions(Permissions::from_mode(0o777)).tempdir_in(parent);
        let temporary = folder.with_context(|| format!("{shown}: the folder cannot be created"))?;
        Ok(Self { path, temporary, is_old })
    }
}
