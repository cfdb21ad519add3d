//! Whether the sources may be changed: only if version control can show and undo the changes, as
//! with `cargo fix`.
//!
//! `cargo-smark` includes this file too. It asks before it builds, because a first build writes
//! `Cargo.lock`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

/// The states of the repository in which changes are allowed, although they may be hard to identify
/// or undo.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FixPermissions {
    /// Uncommitted changes.
    pub(crate) dirty: bool,
    /// Staged changes.
    pub(crate) staged: bool,
    /// Folders outside of any repository.
    pub(crate) no_vcs: bool,
}

/// The highest number of files in the message.
const MOST: usize = 10;

/// Whether files below `root` may be changed.
///
/// # Errors
///
/// They may not be changed; the message names the option that allows it.
pub(crate) fn check(root: &Path, allowed: FixPermissions) -> anyhow::Result<()> {
    if allowed.dirty && allowed.no_vcs {
        return Ok(());
    }
    let Some(repository) = repository(root) else {
        if allowed.no_vcs {
            return Ok(());
        }
        anyhow::bail!(
            "{}: not in a git repository, so the changes could not be taken back; --allow-no-vcs changes the sources anyway",
            root.display()
        );
    };
    if allowed.dirty {
        return Ok(());
    }
    let mut status = git(&repository);
    let output = status.args(["status", "--porcelain", "-z"]).output().context("git status")?;
    if !output.status.success() {
        anyhow::bail!("{}: git status fails; --allow-dirty changes the sources anyway", repository.display());
    }
    let mut files = Vec::new();
    let mut entries = output.stdout.split(|byte| *byte == 0);
    while let Some(entry) = entries.next() {
        // An entry is `XY PATH`: the states in the index and in the work tree.
        let [index, work_tree, _, path @ ..] = entry else { continue };
        // The old path follows a rename.
        if matches!(index, b'R' | b'C') {
            entries.next();
        }
        let is_staged = *work_tree == b' ';
        if !(is_staged && allowed.staged) {
            let state = if is_staged { "staged" } else { "dirty" };
            files.push(format!("{} ({state})", String::from_utf8_lossy(path)));
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    let more = files.len().checked_sub(MOST).filter(|more| *more > 0).map(|more| format!(" and {more} more"));
    files.truncate(MOST);
    anyhow::bail!(
        "the repository has changes that are not committed: commit them first, or allow it with --allow-dirty (or \
         --allow-staged, where all are staged): {}{}",
        files.join(", "),
        more.unwrap_or_default()
    );
}

/// The git work tree of a folder; `None` if there is none, or git is not installed.
pub(crate) fn repository(folder: &Path) -> Option<PathBuf> {
    let output = git(folder).args(["rev-parse", "--show-toplevel"]).stderr(Stdio::null()).output().ok()?;
    let path = output.stdout.strip_suffix(b"\n").filter(|path| output.status.success() && !path.is_empty())?;
    std::str::from_utf8(path).ok().map(PathBuf::from)
}

/// Whether git ignores a file, as it usually does with build output.
#[allow(dead_code, reason = "only one of the two programs, `smark`, calls it")]
pub(crate) fn is_ignored(file: &Path) -> bool {
    let Some(folder) = file.parent() else { return false };
    let mut check = git(folder);
    check.args([OsStr::new("check-ignore"), OsStr::new("-q"), file.as_os_str()]);
    check.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).stdin(Stdio::null());
    git
}
