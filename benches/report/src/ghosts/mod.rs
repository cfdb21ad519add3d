//! Real programs with a ghost at every fourth statement, against the same programs with an empty macro
//! in place of the ghosts: which functions and which loaded sections differ.
//!
//! Both builds read the same text in the same folder, and only the definition of the macro differs.
//! cargo fetches the sources.

mod c;
mod image;
mod in_c;
mod in_rust;
mod rust;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

pub(crate) use c::table as c;
pub(crate) use rust::table as rust;

use crate::generate::{run, workspace};

/// At every which statement there is a ghost.
const EVERY: usize = 4;

/// The two definitions of the macro.
#[derive(Clone, Copy)]
enum Form {
    Ghosts,
    Empty,
}

/// The folder with the sources of these crates, each in a folder of its name.
fn fetched(folder: &Path, dependencies: &[(&str, &str)]) -> Result<PathBuf> {
    let dependencies: String =
        dependencies.iter().map(|(name, version)| format!("{name} = \"={version}\"\n")).collect();
    let manifest = format!(
        "[package]\nname = \"fetched\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n[workspace]\n\n\
         [dependencies]\n{dependencies}"
    );
    fs::create_dir_all(folder)?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("lib.rs"), "")?;
    run(Command::new("cargo").args(["vendor", "--quiet", "vendor"]).current_dir(folder))?;
    Ok(folder.join("vendor"))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &to)?,
            false => drop(fs::copy(entry.path(), to)?),
        }
    }
    Ok(())
}

/// Inserts ghosts into the text of a file; the number is that of the first ghost. Returns the new text,
/// and how many there are.
type Insert<'i> = dyn FnMut(&str, usize) -> Result<(String, usize)> + 'i;

/// Inserts ghosts into the files below a folder that have this extension. Returns their number.
fn insert(folder: &Path, extension: &str, insert: &mut Insert<'_>) -> Result<usize> {
    let mut folders = vec![folder.to_owned()];
    let mut ghosts = 0;
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> = fs::read_dir(&folder)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(fs::DirEntry::path);
        for path in entries.iter().map(fs::DirEntry::path) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == extension) {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                let (text, more) = insert(&text, ghosts).with_context(|| path.display().to_string())?;
                fs::write(&path, text)?;
                ghosts += more;
            }
        }
    }
    Ok(ghosts)
}

/// The folder of the markers.
fn markers() -> Result<PathBuf> {
    let folder = std::env::var("MARKERS").map_or_else(|_| workspace().join("../markers"), PathBuf::from);
    fs::canonicalize(&folder).with_context(|| folder.display().to_string())
}
