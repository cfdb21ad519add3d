//! Writes a file as a whole, and never over an input.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// Fails if the output must not be written.
pub(crate) fn check(output: &Path, inputs: &[PathBuf], force: bool) -> anyhow::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(output) else { return Ok(()) };
    let same = |input: &PathBuf| match (fs::canonicalize(input), fs::canonicalize(output)) {
        (Ok(input), Ok(output)) if input == output => true,
        _ => is_same_file(input, output),
    };
    if inputs.iter().any(same) {
        bail!("{}: is an input, and inputs are never overwritten", output.display());
    }
    // A rename would replace a device such as `/dev/null` for everybody.
    if !fs::metadata(output).unwrap_or(metadata).is_file() {
        bail!("{}: is not a regular file", output.display());
    }
    if !force {
        bail!("{}: already exists (--force overwrites it)", output.display());
    }
    Ok(())
}

/// Whether two paths name the same file, hard links included.
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Writes a page to stdout, unless that is a terminal.
pub(crate) fn print(html: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        bail!("--to html writes a page for a browser: name a file with -o FILE, or write to a pipe");
    }
    out.write_all(html.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes a temporary file beside the output and moves it into place, so that nobody sees a
/// half-written file.
pub(crate) fn place(
    output: &Path,
    bytes: &[u8],
    permissions: Option<fs::Permissions>,
    inputs: &[PathBuf],
    force: bool,
) -> anyhow::Result<()> {
    let shown = || output.display().to_string();
    let Some(name) = output.file_name() else { bail!("{}: is not a file name", shown()) };
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}", std::process::id()));
    let temporary = output.with_file_name(temporary);
    let write = || -> anyhow::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        drop(file);
        check(output, inputs, force)?;
        if force {
            fs::rename(&temporary, output)?;
        } else {
            // Unlike a rename, a link fails if the name was taken in the meantime.
            fs::hard_link(&temporary, output)?;
            fs::remove_file(&temporary)?;
        }
        Ok(())
    };
    let result = write().with_context(shown);
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    result
}
