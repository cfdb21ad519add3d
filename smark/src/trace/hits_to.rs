//! Where the hits go: stdout, or the file of `--output`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::output;

/// Where the hits go.
pub(crate) struct HitsTo {
    pub(super) out: Box<dyn Write>,
    /// The file, if it was created for the hits.
    created: Option<PathBuf>,
}

impl HitsTo {
    /// Opens the file of `--output`. No input is overwritten, and another file only if `force`. A device
    /// or a named pipe is written to as it is.
    pub(super) fn open(file: Option<&Path>, inputs: &[PathBuf], force: bool) -> anyhow::Result<Self> {
        let Some(path) = file else { return Ok(Self { out: Box::new(io::stdout().lock()), created: None }) };
        let is_special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        let mut options = OpenOptions::new();
        options.write(true);
        let mut created = None;
        if !is_special {
            output::check(path, inputs, force)?;
            created = fs::symlink_metadata(path).is_err().then(|| path.to_owned());
            match created {
                Some(_) => options.create_new(true),
                None => options.truncate(true),
            };
        }
        let file: File = options.open(path).with_context(|| path.display().to_string())?;
        Ok(Self { out: Box::new(file), created })
    }

    /// Removes the file again if nothing was started.
    pub(super) fn keep_if<T>(&mut self, result: anyhow::Result<T>) -> anyhow::Result<T> {
        if let (Err(_), Some(path)) = (&result, self.created.take()) {
            // What cannot be removed is an empty file.
            let _ = fs::remove_file(path);
        }
        result
    }
}

impl Write for HitsTo {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
