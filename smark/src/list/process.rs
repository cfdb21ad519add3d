//! `smark list -p`: the files that processes have mapped.

use std::path::Path;

use anyhow::bail;
use simple_markers_tracer::sys::mapped::{self, MappedFile};

use crate::console::Console;
use crate::files::{Input, NoteChoice};

/// The files that some processes run code of. They are open as long as this lives.
#[derive(Default)]
pub(super) struct ProcessFiles {
    files: Vec<(MappedFile, NoteChoice)>,
}

impl ProcessFiles {
    /// Finds them, each once.
    pub(super) fn find(console: &Console, pids: &[u32]) -> anyhow::Result<Self> {
        let mut found: Vec<(MappedFile, NoteChoice)> = Vec::new();
        for pid in pids {
            let Some((files, unopened)) = mapped::files(*pid) else {
                match mapped::exists(*pid) {
                    true => bail!("process {pid}: its files must not be read (root may)"),
                    false => bail!("process {pid}: there is no such process"),
                }
            };
            for path in unopened {
                console.note(&format!("process {pid}: {} cannot be opened", path.display()));
            }
            let program = MappedFile::named(Path::new(&format!("/proc/{pid}/exe"))).ok().map(|file| file.id);
            for file in files {
                // As where they are watched: those of the C library are named, or not wanted.
                let is_own = Some(file.id) == program || file.is_in_memory();
                let notes = if is_own { NoteChoice::All } else { NoteChoice::ByName };
                if !found.iter().any(|(known, _)| known.id == file.id) {
                    found.push((file, notes));
                }
            }
        }
        Ok(Self { files: found })
    }

    /// The same to look at.
    pub(super) fn inputs(&self) -> Vec<Input> {
        let input = |(file, notes): &(MappedFile, NoteChoice)| Input {
            path: file.path.clone(),
            found: true,
            opened: file.opened_as(),
            beside: file.beside.clone(),
            notes: *notes,
        };
        self.files.iter().map(input).collect()
    }
}
