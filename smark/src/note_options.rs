//! `--provider` and `--note-format`: what the user says of the arguments of static probes.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Args;
use simple_markers_resolver::english;
use simple_markers_resolver::notes::{NoteDescriptions, NoteFormat, ProviderFile};
use simple_markers_resolver::resolve::Resolution;

use crate::console::Console;
use crate::files;

/// The largest provider file that is read, in bytes.
const LARGEST: u64 = 4 << 20;

/// The options that describe static probes.
#[derive(Debug, Default, Args)]
pub(crate) struct NoteOptions {
    /// Take the types and names of the arguments of static probes from this provider file of DTrace (`probes.d`); may be given
    /// several times
    #[arg(long, value_name = "FILE")]
    provider: Vec<PathBuf>,
    /// Show the static probes with this name or glob in this format: NAME="FORMAT"[, ARGUMENT]..; may be given several times
    #[arg(long, value_name = "NOTE", value_parser = format)]
    note_format: Vec<NoteFormat>,
    /// What the options mean, once the files are read.
    #[arg(skip)]
    said: OnceLock<NoteDescriptions>,
}

fn format(text: &str) -> Result<NoteFormat, String> {
    NoteFormat::parse(text).map_err(|problem| english::notes::format(&problem))
}

impl NoteOptions {
    /// What the options say. The provider files are read once.
    pub(crate) fn read(&self) -> anyhow::Result<&NoteDescriptions> {
        if let Some(said) = self.said.get() {
            return Ok(said);
        }
        let providers = self.provider.iter().map(|path| provider(path)).collect::<Result<_, _>>()?;
        let said = NoteDescriptions { providers, formats: self.note_format.clone(), is_plain: false };
        Ok(self.said.get_or_init(|| said))
    }

    /// Says which of them describe nothing.
    pub(crate) fn tell_unused(&self, console: &Console, said: &NoteDescriptions, resolution: &Resolution) {
        let notes: Vec<&str> = resolution
            .images
            .iter()
            .flat_map(|image| &image.markers)
            .filter(|marker| marker.is_note)
            .map(|marker| &*marker.name)
            .collect();
        for (path, file) in self.provider.iter().zip(&said.providers) {
            if !notes.iter().any(|name| file.probe(name).is_some()) {
                console.note(&format!("--provider {}: none of its probes is in the files", path.display()));
            }
        }
        for format in &said.formats {
            if !notes.iter().any(|name| format.matches(name)) {
                console.note(&format!("--note-format: no static probe matches `{}`", format.name));
            }
        }
    }
}

fn provider(path: &Path) -> anyhow::Result<ProviderFile> {
    let bytes = files::read_small(path, LARGEST, "for a provider file")?;
    ProviderFile::parse(&bytes).map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))
}
