//! What is known of programs that were executed before: their files need not be looked at again, and
//! neither what their loader does if it can map only the same libraries again.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::elf;
use crate::sys::mapped::{self, FileId, MappedFile};
use crate::sys::mapping::FileMapping;

/// Where the loader of the GNU C library finds most libraries.
const CACHE: &str = "/etc/ld.so.cache";
/// The file with libraries for all programs.
const PRELOAD: &str = "/etc/ld.so.preload";

/// A program that is executed.
#[derive(Clone, Debug)]
pub(super) struct Executable {
    pub(super) id: FileId,
    pub(super) path: PathBuf,
    /// Whether it may trace other processes.
    pub(super) may_trace: bool,
    /// Whether its loader maps further files.
    pub(super) has_loader: bool,
}

/// The programs, and the libraries that their loaders have mapped.
#[derive(Debug, Default)]
pub(super) struct Loads {
    programs: HashMap<FileId, Executable>,
    /// The libraries of a program, if only the files below say which ones they are. `None`: it is not so.
    libraries: HashMap<FileId, Option<Vec<(PathBuf, FileId)>>>,
    /// What the cache was when the libraries were noted.
    cache: Option<FileId>,
    /// The files in it, with the paths that it has for each.
    cached: HashMap<FileId, Vec<PathBuf>>,
}

impl Loads {
    /// The program that a process has executed. `None` if it has ended.
    pub(super) fn program(&mut self, pid: u32) -> Option<Executable> {
        let link = PathBuf::from(format!("/proc/{pid}/exe"));
        let id = FileId::at(&link)?;
        if let Some(known) = self.programs.get(&id) {
            return Some(known.clone());
        }
        let path = fs::read_link(&link).unwrap_or_default();
        let image = File::open(&link).ok();
        let bytes = image.as_ref().and_then(FileMapping::of);
        let bytes = bytes.as_ref().map_or(&[][..], FileMapping::get);
        let (may_trace, has_loader) = (elf::may_trace(bytes), elf::has_loader(bytes));
        let program = Executable { id, path, may_trace, has_loader };
        self.programs.insert(id, program.clone());
        Some(program)
    }

    /// Notes the libraries of a program whose loader has mapped all of them.
    pub(super) fn add(&mut self, pid: u32, program: FileId) {
        let cache = FileId::at(Path::new(CACHE));
        if self.cache != cache {
            self.libraries.clear();
            self.cached = cached();
            self.cache = cache;
        }
        if !self.libraries.contains_key(&program) {
            let libraries = self.libraries(pid, program);
            self.libraries.insert(program, libraries);
        }
    }

    /// The libraries of a process and its loader, by their paths in the cache; `None` if the next process
    /// that executes the program may get others.
    fn libraries(&self, pid: u32, program: FileId) -> Option<Vec<(PathBuf, FileId)>> {
        let (files, unopened) = mapped::files(pid)?;
        if !unopened.is_empty() || !is_usual(pid) {
            return None;
        }
        let mut found = Vec::new();
        for file in files {
            if file.opened_as().is_some() || !uses_cache_only(&file) {
                return None;
            }
            if file.id != program {
                found.extend(self.cached.get(&file.id)?.iter().map(|path| (path.clone(), file.id)));
            }
        }
        Some(found)
    }

    /// Whether the loader of a process can map only files of which `is_known` says so, because it has to find
    /// the libraries that it found before.
    pub(super) fn are_known(&self, pid: u32, program: FileId, is_known: &dyn Fn(FileId) -> bool) -> bool {
        let Some(Some(libraries)) = self.libraries.get(&program) else { return false };
        let is_same = |(path, id): &(PathBuf, FileId)| is_known(*id) && FileId::at(path) == Some(*id);
        is_known(program)
            && is_usual(pid)
            && FileId::at(Path::new(CACHE)) == self.cache
            && libraries.iter().all(is_same)
    }
}

/// Whether nothing but the program and the cache says which libraries a process gets.
fn is_usual(pid: u32) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let is_of_loader = |it: &[u8]| it.starts_with(b"LD_") || it.starts_with(b"GLIBC_TUNABLES=");
    let same = |file: &str| {
        let of = |pid: &str| fs::read_link(format!("/proc/{pid}/{file}")).ok();
        of("self").is_some_and(|own| of(&pid.to_string()) == Some(own))
    };
    // The variables of a program that has changed its own are of no use.
    !environment.is_empty()
        && !environment.split(|byte| *byte == 0).any(is_of_loader)
        && !Path::new(PRELOAD).exists()
        && same("ns/mnt")
        && same("root")
}

/// Whether the loader looks for the libraries of a file only where it looks for those of all files.
fn uses_cache_only(file: &MappedFile) -> bool {
    let Ok(image) = File::open(&file.path) else { return false };
    FileMapping::of(&image).is_some_and(|bytes| !elf::has_search_path(bytes.get()))
}

/// The files in the cache of the loader, with the paths that it has for each.
fn cached() -> HashMap<FileId, Vec<PathBuf>> {
    let bytes = fs::read(CACHE).unwrap_or_default();
    let mut files: HashMap<FileId, Vec<PathBuf>> = HashMap::new();
    for path in bytes.split(|byte| *byte == 0).filter(|path| path.first() == Some(&b'/')) {
        let path = PathBuf::from(OsStr::from_bytes(path));
        if let Some(id) = FileId::at(&path) {
            files.entry(id).or_default().push(path);
        }
    }
    files
}
