//! Which file an address of a process is in, and what that file says about it. The files of the process are
//! read while it lives.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use simple_markers_tracer::Hit;
use simple_markers_tracer::plan::PlannedImage;
use simple_markers_tracer::sys::mapped::{self, Region};

use crate::call_frames::CallFrames;
use crate::symbols::{Symbols, VDSO};

/// How long the list of a process's files is used before an unknown address makes it be read again.
const LOOK: Duration = Duration::from_millis(20);

/// The most processes whose files are kept.
const PROCESSES: usize = 4096;

/// Reads the symbols of a file. The folders have separate debug files.
type SymbolReader = fn(&Path, &[PathBuf]) -> Option<Symbols>;

/// What a process has mapped executable, and when that was looked at.
#[derive(Clone, Debug)]
struct ProcessRegions {
    looked: Instant,
    regions: Vec<Region>,
}

/// What processes have mapped.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegionCache(Rc<RefCell<HashMap<u32, ProcessRegions>>>);

impl RegionCache {
    /// Notes what a process has mapped now. What is known stays known if it has ended.
    pub(crate) fn look(&self, process: u32) {
        let regions = mapped::regions_here(process).unwrap_or_default();
        let mut processes = self.0.borrow_mut();
        if processes.len() >= PROCESSES {
            processes.clear();
        }
        let looked = Instant::now();
        let known = processes.entry(process).or_insert(ProcessRegions { looked, regions: Vec::new() });
        known.looked = looked;
        if !regions.is_empty() {
            known.regions = regions;
        }
    }

    /// Notes that a process has created another one, with the same regions.
    pub(crate) fn fork(&self, process: u32, child: u32) {
        let mut processes = self.0.borrow_mut();
        if let Some(regions) = processes.get(&process).cloned() {
            processes.entry(child).or_insert(regions);
        }
    }

    /// What is found in the regions of a process; they are looked at again if nothing is found.
    fn find<T>(&self, process: u32, find: &dyn Fn(&[Region]) -> Option<T>) -> Option<T> {
        if let Some(ProcessRegions { looked, regions }) = self.0.borrow().get(&process) {
            let found = find(regions);
            if found.is_some() || looked.elapsed() < LOOK {
                return found;
            }
        }
        self.look(process);
        find(&self.0.borrow().get(&process)?.regions)
    }
}

/// Where a hit was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HitPlace<'h> {
    pub(crate) process: u32,
    /// The image that has the first address; `None` at an event of the kernel, where any file has it.
    pub(crate) image: Option<&'h PlannedImage>,
}

impl<'h> HitPlace<'h> {
    pub(crate) fn of(hit: &Hit<'h>) -> Self {
        Self { process: hit.process, image: hit.marker.event.is_none().then_some(hit.image) }
    }
}

/// The files that processes have mapped.
pub(crate) struct MappedSymbols {
    folders: Vec<PathBuf>,
    load: SymbolReader,
    files: HashMap<PathBuf, Option<Symbols>>,
    frames: HashMap<PathBuf, Option<Rc<CallFrames>>>,
    /// The path of the image of the hit, and where it can be opened.
    own: (PathBuf, PathBuf),
    processes: RegionCache,
}

impl MappedSymbols {
    pub(crate) fn new(folders: Vec<PathBuf>, load: SymbolReader, processes: RegionCache) -> Self {
        let (files, frames) = (HashMap::new(), HashMap::new());
        Self { folders, load, files, frames, own: Default::default(), processes }
    }

    /// Goes on with the image of a hit.
    pub(crate) fn enter(&mut self, image: &PlannedImage) {
        if self.own.1.as_os_str() != image.place() {
            self.own = (PathBuf::from(&image.path), PathBuf::from(image.place()));
        }
    }

    /// The file that is mapped at an address in the process of a hit, and the link-time address. `first` is
    /// an address in the image of the hit.
    pub(crate) fn mapped(
        &mut self,
        HitPlace { process, image }: HitPlace<'_>,
        first: u64,
        address: u64,
    ) -> Option<(PathBuf, Option<u64>)> {
        let find = |regions: &[Region], address| regions.iter().find(|it| it.addresses.contains(&address)).cloned();
        // After `execve` the process has other files: then the probe's address is in none of them,
        // or in another one.
        let knows = |regions: &[Region]| {
            let is_known = image.is_none_or(|image| {
                let is_its =
                    |region: Region| region.path() == Path::new(&image.path) || Some(region.file) == image.file.number;
                find(regions, first).is_some_and(is_its)
            });
            find(regions, address).filter(|_| is_known)
        };
        let region = self.processes.find(process, &knows)?;
        let offset = address.checked_sub(region.addresses.start)?.checked_add(region.offset)?;
        let linked = match region.is_file() || region.name == Path::new(VDSO) {
            true => self.symbols(&region.name).and_then(|symbols| symbols.address(offset)),
            false => None,
        };
        Some((region.name, linked))
    }

    /// What a file says of its frames.
    pub(crate) fn call_frames(&mut self, path: &Path) -> Option<Rc<CallFrames>> {
        let path = if path == self.own.0 { &self.own.1 } else { path };
        if !self.frames.contains_key(path) {
            self.frames.insert(path.to_owned(), CallFrames::load(path, &self.folders).map(Rc::new));
        }
        self.frames.get(path)?.clone()
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
