//! Which file an address of a process is in, and what that file says about it. The files of the process are
//! read while it lives.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use simple_markers_tracer::Hit;
use simple_markers_tracer::sys::mapped::{self, Region};

use crate::symbols::Symbols;

/// How long the list of a process's files is used before an unknown address makes it be read again.
const LOOK: Duration = Duration::from_millis(20);

/// The most processes whose files are kept.
const PROCESSES: usize = 4096;

/// Reads the symbols of a file. The folders have separate debug files.
type SymbolReader = fn(&Path, &[PathBuf]) -> Option<Symbols>;

/// The files that processes have mapped.
pub(crate) struct MappedSymbols {
    folders: Vec<PathBuf>,
    load: SymbolReader,
    files: HashMap<PathBuf, Option<Symbols>>,
    /// The path of the image of the hit, and where it can be opened.
    own: (PathBuf, PathBuf),
    processes: HashMap<u32, (Instant, Vec<Region>)>,
}

impl MappedSymbols {
    pub(crate) fn new(folders: Vec<PathBuf>, load: SymbolReader) -> Self {
        Self { folders, load, files: HashMap::new(), own: Default::default(), processes: HashMap::new() }
    }

    /// Goes on with the image of a hit.
    pub(crate) fn enter(&mut self, hit: &Hit<'_>) {
        if self.own.1.as_os_str() != hit.image.place() {
            self.own = (PathBuf::from(&hit.image.path), PathBuf::from(hit.image.place()));
        }
    }

    /// The file that is mapped at an address in the process of a hit, and the link-time address. `first` is
    /// an address in the image of the hit.
    pub(crate) fn mapped(&mut self, hit: &Hit<'_>, first: u64, address: u64) -> Option<(PathBuf, Option<u64>)> {
        let process = hit.process;
        let find = |regions: &[Region], address| regions.iter().find(|it| it.addresses.contains(&address)).cloned();
        // After `execve` the process has other files: then the probe's address is in none of them,
        // or in another one.
        let knows = |regions: &[Region]| {
            let is_its = |region: Region| {
                region.path() == Path::new(&hit.image.path) || Some(region.file) == hit.image.file.number
            };
            let is_known = hit.marker.event.is_some() || find(regions, first).is_some_and(is_its);
            find(regions, address).filter(|_| is_known)
        };
        let known = self.processes.get(&process);
        let region = match known.and_then(|(_, regions)| knows(regions)) {
            Some(region) => region,
            None if known.is_some_and(|(looked, _)| looked.elapsed() < LOOK) => return None,
            None => {
                if self.processes.len() >= PROCESSES {
                    self.processes.clear();
                }
                let regions = mapped::regions_here(process).unwrap_or_default();
                let region = knows(&regions);
                self.processes.insert(process, (Instant::now(), regions));
                region?
            }
        };
        let offset = address.checked_sub(region.addresses.start)?.checked_add(region.offset)?;
        let linked = match region.is_file() {
            true => self.symbols(&region.name).and_then(|symbols| symbols.address(offset)),
            false => None,
        };
        Some((region.name, linked))
    }

    /// What a file says.
    pub(crate) fn symbols(&mut self, path: &Path) -> Option<&Symbols> {
        let path = if path == self.own.0 { &self.own.1 } else { path };
        if !self.files.contains_key(path) {
            self.files.insert(path.to_owned(), (self.load)(path, &self.folders));
        }
        self.files.get(path)?.as_ref()
    }
}
