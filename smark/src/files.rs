//! Files and folders: which files the operands name, and their bytes.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use memmap2::Mmap;
use simple_markers_resolver::resolve::is_elf_or_archive;

use crate::compressed::{self, Compression};

/// A file to look at.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    /// Whether it was found in a folder. Such a file is silently skipped if it has no markers.
    pub(crate) found: bool,
    /// The path under which it is open, if its own path leads to another file, or to none.
    pub(crate) opened: Option<PathBuf>,
    /// The path beside which its debug files are, if that is not its own.
    pub(crate) beside: Option<PathBuf>,
    /// Which notes of static probes are read.
    pub(crate) notes: NoteChoice,
}

/// Which notes of static probes are read in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteChoice {
    All,
    /// Those that a pattern names.
    ByName,
    None,
}

impl Input {
    pub(crate) fn new(path: PathBuf, found: bool) -> Self {
        Self { path, found, opened: None, beside: None, notes: NoteChoice::All }
    }
}

/// A path that cannot be opened, and why.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) path: PathBuf,
    pub(crate) why: String,
}

/// The files to read, in the order of `named`. If `recursive`, a folder stands for the files below
/// it, sorted by path. Symbolic links inside a folder are not followed: the target is either below
/// the folder too, or the user did not ask for it.
pub(crate) fn expand(named: &[PathBuf], recursive: bool) -> Vec<Result<Input, Unreadable>> {
    let mut files = Vec::new();
    for path in named {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() && recursive => walk(path.clone(), &mut files),
            Ok(metadata) if metadata.is_dir() => files.push(unreadable(path, "is a folder (-r searches it)")),
            Ok(metadata) if metadata.is_file() => files.push(Ok(Input::new(path.clone(), false))),
            Ok(_) => files.push(unreadable(path, "is not a regular file")),
            Err(error) => files.push(unreadable(path, &reason(&error))),
        }
    }
    files
}

fn walk(root: PathBuf, files: &mut Vec<Result<Input, Unreadable>>) {
    // Depth first, with an explicit stack because folders can be nested deeply. Sorted in reverse
    // because the last entry is popped first.
    let mut stack = vec![(root, true)];
    while let Some((path, is_folder)) = stack.pop() {
        if !is_folder {
            files.push(Ok(Input::new(path, true)));
            continue;
        }
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) => {
                files.push(unreadable(&path, &reason(&error)));
                continue;
            }
        };
        let mut inside = Vec::new();
        for entry in entries {
            match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
                Ok((entry, kind)) if kind.is_dir() || kind.is_file() => inside.push((entry, kind.is_dir())),
                Ok(_) => {}
                Err(error) => files.push(unreadable(&path, &reason(&error))),
            }
        }
        inside.sort_unstable_by(|one, other| other.cmp(one));
        stack.append(&mut inside);
    }
}

fn unreadable(path: &Path, why: &str) -> Result<Input, Unreadable> {
    Err(Unreadable { path: path.to_owned(), why: why.to_owned() })
}

/// The bytes of a small file that the user names.
///
/// # Errors
///
/// It cannot be read, or has more than `largest` bytes, which is too large for `what`.
pub(crate) fn read_small(path: &Path, largest: u64, what: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(largest.saturating_add(1)).read_to_end(&mut bytes));
    read.map_err(|error| anyhow::anyhow!("{}", reason(&error))).with_context(|| path.display().to_string())?;
    if bytes.len() as u64 > largest {
        bail!("{}: it is too large {what}", path.display());
    }
    Ok(bytes)
}

/// The text of an I/O error without the error number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_lowercase(),
        None => text,
    }
}

/// The bytes of a file, unpacked if it is compressed. `None` if it was found in a folder and is
/// neither ELF nor an archive.
pub(crate) fn open(input: &Input) -> io::Result<Option<Bytes>> {
    let mut file = File::open(input.opened.as_ref().unwrap_or(&input.path))?;
    let mut magic = Vec::with_capacity(8);
    file.by_ref().take(8).read_to_end(&mut magic)?;
    let compression = Compression::of(&magic);
    if input.found && compression.is_none() && !is_elf_or_archive(&magic) {
        return Ok(None);
    }
    let bytes = map(&file)?;
    match compression {
        Some(compression) => {
            let unpacked = compressed::unpack(compression, &bytes, |magic| !input.found || is_elf_or_archive(magic));
            match unpacked {
                // A file that only looks compressed.
                Err(_) if input.found => Ok(None),
                unpacked => Ok(unpacked?.map(Bytes::Unpacked)),
            }
        }
        None => Ok(Some(bytes)),
    }
}

/// The bytes of a regular file, unpacked if it is compressed. `None` if the file does not exist or
/// cannot be read. Other kinds of file are not opened: opening a named pipe blocks, and opening a
/// device can have effects.
pub(crate) fn map_regular(path: &Path) -> Option<Bytes> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let bytes = map(&File::open(path).ok()?).ok()?;
    match Compression::of(&bytes) {
        Some(compression) => {
            let is_elf = |magic: &[u8]| magic.starts_with(b"\x7fELF");
            compressed::unpack(compression, &bytes, is_elf).ok()?.map(Bytes::Unpacked)
        }
        None => Some(bytes),
    }
}

/// The bytes of a file as they are.
pub(crate) fn map(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::Unpacked(Vec::new()));
    }
    // SAFETY: the map is read-only and private, and is only read. It relies on nobody truncating
    // the file meanwhile: that would end this process with SIGBUS, as it does with ld, gdb and
    // perf.
    let map = unsafe { Mmap::map(file)? };
    Ok(Bytes::Mapped(map))
}

/// The bytes of a file. An empty file cannot be mapped, so it is an empty `Unpacked`.
pub(crate) enum Bytes {
    Mapped(Mmap),
    Unpacked(Vec<u8>),
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Unpacked(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}
