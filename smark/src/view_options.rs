//! `--views`: the user's own views of types (`docs/views.md`).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::bail;
use clap::Args;
use simple_markers_resolver::views::ViewTable;

use crate::files;
use crate::project::ProjectSettings;

/// The largest file of views that is read, in bytes.
const LARGEST: u64 = 4 << 20;

/// The option that names files of views.
#[derive(Debug, Default, Args)]
pub(crate) struct ViewOptions {
    /// Show values by the views in this file (docs/views.md) before the built-in ones; may be given several times
    #[arg(long, value_name = "FILE")]
    views: Vec<PathBuf>,
    /// The views, once the files are read.
    #[arg(skip)]
    read: OnceLock<ViewTable>,
}

impl ViewOptions {
    /// The views of the option, or else of the settings. The files are read once.
    pub(crate) fn read(&self, project: &ProjectSettings) -> anyhow::Result<&ViewTable> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let set = if self.views.is_empty() { project.views().unwrap_or_default() } else { Vec::new() };
        let mut table = ViewTable::default();
        for path in self.views.iter().chain(&set) {
            table.append(views(path)?);
        }
        Ok(self.read.get_or_init(|| table))
    }

    /// The files that the option names.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.views
    }
}

fn views(path: &Path) -> anyhow::Result<ViewTable> {
    let bytes = files::read_small(path, LARGEST, "for a file of views")?;
    let Ok(text) = std::str::from_utf8(&bytes) else { bail!("{}: it is not UTF-8", path.display()) };
    ViewTable::parse(text).map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))
}
