//! The files of a recording.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, bail};
use simple_markers_tracer::ctf;

/// A folder that will have a recording.
pub(super) struct Folder {
    path: PathBuf,
    /// Whether it has a recording that is replaced.
    is_old: bool,
}

/// The folder of a recording of `name` that begins now, in the current folder.
pub(super) fn default_folder(name: &str) -> PathBuf {
    free_folder(Path::new(&format!("{DEFAULT}{name}-{}", compact_time())))
}

/// The time in UTC as ISO 8601 writes it without separators.
fn compact_time() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string().replace(['-', ':'], "")
}

/// A path that does not exist, with a number behind it if need be.
fn free_folder(first: &Path) -> PathBuf {
    let later = (2u32..).map(|number| PathBuf::from(format!("{}-{number}", first.display())));
    let free = std::iter::once(first.to_owned()).chain(later).find(|path| !path.exists());
    free.unwrap_or_else(|| first.to_owned())
}

/// The folder of a part of a recording that begins now, in a folder.
pub(super) fn part_folder(inside: &Path) -> PathBuf {
    free_folder(&inside.join(compact_time()))
}

/// The newest recording with a name of [`default_folder`] in the current folder.
pub(crate) fn newest() -> io::Result<Option<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(".")? {
        let entry = entry?;
        let is_default = entry.file_name().to_str().is_some_and(|name| name.starts_with(DEFAULT));
        let description = entry.path().join(ctf::DESCRIPTION);
        if let (true, Ok(metadata)) = (is_default, fs::metadata(&description)) {
            found.push((metadata.modified()?, PathBuf::from(entry.file_name())));
        }
    }
    Ok(found.into_iter().max().map(|(_, path)| path))
}

/// How the names of recordings begin that the user did not name.
const DEFAULT: &str = "smark-";

/// The files of a recording.
const FILES: [&str; 4] = [ctf::STREAM, ctf::METADATA, ctf::DESCRIPTION, ctf::END];

impl Folder {
    /// Creates the folder, or accepts one with a recording if `force`.
    pub(super) fn prepare(path: PathBuf, force: bool) -> anyhow::Result<Self> {
        let shown = path.display();
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self { path, is_old: false }),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(error).with_context(|| format!("{shown}: the folder cannot be created"))
            }
            Err(_) if !path.is_dir() => bail!("{shown}: not a folder"),
            Err(_) if !path.join(ctf::DESCRIPTION).is_file() => bail!("{shown}: it exists, and is not a recording"),
            Err(_) if !force => bail!("{shown}: it exists; --force replaces the recording"),
            Err(_) => Ok(Self { path, is_old: true }),
        }
    }

    /// Removes the folder if it is new.
    pub(super) fn abandon(self) {
        if !self.is_old {
            // It is empty.
            let _ = fs::remove_dir(&self.path);
        }
    }

    /// Creates the files of a recording of at most `most` bytes.
    pub(super) fn create(self, most: u64) -> anyhow::Result<Output> {
        let failed = |path: &Path| format!("{}: it cannot be created", path.display());
        for file in FILES {
            match fs::remove_file(self.path.join(file)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("{}: it cannot be replaced", self.path.display()));
                }
                _ => {}
            }
        }
        let inner = self.path.join(ctf::FOLDER);
        match fs::create_dir(&inner) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).with_context(|| failed(&inner));
            }
            _ => {}
        }
        let path = self.path.join(ctf::STREAM);
        let stream = File::create(&path).with_context(|| failed(&path))?;
        Ok(Output { folder: self.path, stream, written: 0, described: 0, most, stopped: None })
    }
}

/// Why nothing more is written.
pub(super) enum RecordEnd {
    /// The recording would have more bytes.
    Full(u64),
    /// A file could not be written.
    Failed(io::Error),
}

impl RecordEnd {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Full(_) => "max-size",
            Self::Failed(error) if error.kind() == io::ErrorKind::StorageFull => "no-space",
            Self::Failed(_) => "write-error",
        }
    }
}

/// The files of a recording.
pub(super) struct Output {
    pub(super) folder: PathBuf,
    stream: File,
    /// The bytes of the packets.
    written: u64,
    /// The bytes of the other files.
    described: u64,
    /// The most bytes of all files.
    most: u64,
    pub(super) stopped: Option<RecordEnd>,
}

/// The most bytes of the file that is written at the end.
const END_SIZE: u64 = 256;

impl Output {
    pub(super) fn size(&self) -> u64 {
        self.written + self.described
    }

    /// How many bytes may be written yet.
    pub(super) fn left(&self) -> u64 {
        self.most.saturating_sub(self.size() + END_SIZE)
    }

    /// Writes a packet. Returns whether it is in the file.
    pub(super) fn write(&mut self, packet: &[u8]) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        if packet.len() as u64 > self.left() {
            self.stopped = Some(RecordEnd::Full(self.most));
            return false;
        }
        if let Err(error) = self.stream.write_all(packet) {
            // A part of it may be there. If it stays, readers read up to it.
            let _ = self.stream.set_len(self.written);
            self.stopped = Some(RecordEnd::Failed(error));
            return false;
        }
        self.written += packet.len() as u64;
        true
    }

    /// Writes the metadata and the description.
    pub(super) fn describe(&mut self, metadata: &str, description: &str) {
        if self.stopped.is_some() {
            return;
        }
        let size = (metadata.len() + description.len()) as u64;
        // The old files are there until the new ones are complete.
        if self.written + self.described + size + END_SIZE > self.most {
            self.stopped = Some(RecordEnd::Full(self.most));
            return;
        }
        // The description first: it may say more than the metadata, but not less.
        let written = replace(&self.folder.join(ctf::DESCRIPTION), description)
            .and_then(|()| replace(&self.folder.join(ctf::METADATA), metadata));
        match written {
            Ok(()) => self.described = size,
            Err(error) => self.stopped = Some(RecordEnd::Failed(error)),
        }
    }

    /// Writes how the recording ended.
    pub(super) fn end(&mut self, end: &str) {
        // If the disk is full, it is not there, and the recording counts as cut off.
        let written = replace(&self.folder.join(ctf::END), end);
        if let (Err(error), None) = (written, &self.stopped) {
            self.stopped = Some(RecordEnd::Failed(error));
        }
    }
}

/// Writes a file whole or not at all. Its temporary name starts with a dot, so readers of CTF
/// ignore it.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".smark-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    use std::os::unix::fs::PermissionsExt as _;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    file.persist(path).map(|_| ()).map_err(|error| error.error)
}
