//! The files that a process runs code of (`man 5 proc_pid_maps`).

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::numbers::numbers;
use super::process_stat::ProcessStat;

/// What a file is: not its name, which may lead to another file in another mount namespace or at
/// another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
    /// What changes when another program is written to the file.
    size: u64,
    modified: (i64, i64),
}

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Self { device: metadata.dev(), inode: metadata.ino(), size: metadata.size(), modified }
    }

    /// The file that a path leads to; `None` if there is none.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        Some(Self::of(&fs::metadata(path).ok()?))
    }

    /// The device and the inode.
    #[must_use]
    pub fn number(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// A file that a process has mapped, or that was named.
#[derive(Clone, Debug)]
pub struct MappedFile {
    /// Its path, in the mount namespace of the process. Another file may have it by now.
    pub path: PathBuf,
    /// What it is.
    pub id: FileId,
    /// The file, unless the path leads to it here.
    file: Option<Arc<File>>,
    /// Where the path is that of the file, if not here.
    pub beside: Option<PathBuf>,
}

impl MappedFile {
    /// The file that a path leads to. Its path is the canonical one, if that leads to the same file: of
    /// links such as `/proc/PID/exe` it need not.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be opened. Only regular files are opened.
    pub fn named(path: &Path) -> io::Result<Self> {
        let id = FileId::of(&fs::metadata(path)?);
        if let Some(canonical) = fs::canonicalize(path).ok().filter(|it| leads_to(it, id)) {
            return Ok(Self { path: canonical, id, file: None, beside: None });
        }
        let file = open_regular(path)?;
        Ok(Self { path: path.to_owned(), id: FileId::of(&file.metadata()?), file: Some(Arc::new(file)), beside: None })
    }

    /// An opened file that a process knows by a path.
    pub(super) fn opened(pid: u32, path: PathBuf, file: File) -> io::Result<Self> {
        let id = FileId::of(&file.metadata()?);
        if leads_to(&path, id) {
            return Ok(Self { path, id, file: None, beside: None });
        }
        let inside = in_root(pid, &path);
        let beside = leads_to(&inside, id).then_some(inside);
        Ok(Self { path, id, file: Some(Arc::new(file)), beside })
    }

    /// The path under which this process can open it, if its own path leads elsewhere. It is valid as
    /// long as the value or a clone of it lives.
    #[must_use]
    pub fn opened_as(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|file| PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))
    }

    /// Whether it is in memory alone: a program made it (`man 2 memfd_create`).
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.path.as_os_str().as_bytes().starts_with(b"/memfd:")
    }

    /// Keeps the file open, so that no other one can get its number.
    #[must_use]
    pub fn pin(&self) -> Option<Arc<File>> {
        let open = || open_regular(&self.path).ok().map(Arc::new);
        self.file.clone().or_else(open)
    }
}

/// Whether a path leads to a file.
fn leads_to(path: &Path, id: FileId) -> bool {
    fs::metadata(path).is_ok_and(|metadata| FileId::of(&metadata) == id)
}

/// A path of the mount namespace of a process, as a path of ours.
fn in_root(pid: u32, path: &Path) -> PathBuf {
    let mut inside = PathBuf::from(format!("/proc/{pid}/root"));
    inside.push(path.strip_prefix("/").unwrap_or(path));
    inside
}

/// Opens a file if it is a regular one: to open a named pipe blocks.
fn open_regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    File::open(path)
}

/// The files that are mapped executable, in the order of their addresses, and the paths of those
/// that cannot be opened. `None` if there is no such process, or its list must not be read.
#[must_use]
pub fn files(pid: u32) -> Option<(Vec<MappedFile>, Vec<PathBuf>)> {
    let (mut files, mut unopened, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for region in regions(pid)?.iter().filter(|region| region.is_mapped_file()) {
        if seen.contains(&region.file) {
            continue;
        }
        seen.push(region.file);
        match region.open(pid) {
            Ok(file) => files.push(file),
            Err(_) => unopened.push(region.path()),
        }
    }
    Some((files, unopened))
}

/// Whether a process has mapped the file with this device and inode. `None` if no process is known to have,
/// and the list of one must not be read.
#[must_use]
pub fn is_in_use(number: (u64, u64)) -> Option<bool> {
    let mut is_known = true;
    for pid in numbers("/proc") {
        match regions(pid) {
            Some(regions) if regions.iter().any(|region| region.has_number(pid, number)) => return Some(true),
            Some(_) => {}
            None => is_known &= !exists(pid),
        }
    }
    is_known.then_some(false)
}

/// Whether a process exists.
#[must_use]
pub fn exists(pid: u32) -> bool {
    // A process that has ended and was not waited for is a zombie.
    ProcessStat::of(pid).is_some_and(|stat| !stat.has_ended())
}

/// The link to the file that a process has mapped at addresses.
fn link(pid: u32, Range { start, end }: &Range<u64>) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/map_files/{start:x}-{end:x}"))
}

/// The size of a page, or a part of it.
const PAGE: u64 = 4096;

/// The addresses that a process can read, in ascending order. `None` if there is no such process, or
/// its list must not be read. What is mapped behind the end of a file cannot be read.
pub(super) fn readable(pid: u32) -> Option<Vec<Range<u64>>> {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let ranges = maps.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (start, end) = words.next()?.split_once('-')?;
        let of = |text| u64::from_str_radix(text, 16).ok();
        let addresses = of(start)?..of(end)?;
        if !words.next()?.starts_with('r') {
            return None;
        }
        let offset = of(words.next()?)?;
        let is_file = words.nth(1).is_some_and(|inode| inode != "0");
        let file = is_file.then(|| fs::metadata(link(pid, &addresses)).ok()).flatten();
        let size = file.filter(Metadata::is_file).map(|file| file.len().saturating_sub(offset));
        // The rest of the last page can be read.
        let size = size.and_then(|size| size.checked_next_multiple_of(PAGE));
        let end = size.map_or(addresses.end, |size| addresses.end.min(addresses.start.saturating_add(size)));
        (addresses.start < end).then_some(addresses.start..end)
    });
    let ranges: Vec<_> = ranges.collect();
    // A process that has ended has an empty list.
    (!ranges.is_empty()).then_some(ranges)
}

/// A part of the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The addresses.
    pub addresses: Range<u64>,
    /// The offset of the first byte in the file.
    pub offset: u64,
    /// The device and the inode of the file.
    pub file: (u64, u64),
    /// The path of the file, or a name such as `[vdso]`. Empty if it has none.
    pub name: PathBuf,
}

/// What the kernel adds to the path of a file that was removed.
const DELETED: &[u8] = b" (deleted)";

impl Region {
    /// The address of a byte of its file; `None` if it is not in the region.
    pub(super) fn address_of(&self, offset: u64) -> Option<u64> {
        let address = self.addresses.start.checked_add(offset.checked_sub(self.offset)?)?;
        self.addresses.contains(&address).then_some(address)
    }

    /// The offset of an address in its file; `None` if it is not in the region.
    pub(super) fn offset_of(&self, address: u64) -> Option<u64> {
        self.addresses.contains(&address).then(|| address.wrapping_sub(self.addresses.start).wrapping_add(self.offset))
    }

    /// Whether its name is the path of a file that exists.
    #[must_use]
    pub fn is_file(&self) -> bool {
        let name = self.name.as_os_str().as_bytes();
        name.starts_with(b"/") && !name.ends_with(DELETED)
    }

    /// Whether it is a part of a file, which may have been removed.
    pub(super) fn is_mapped_file(&self) -> bool {
        self.name.as_os_str().as_bytes().starts_with(b"/") && self.file.1 != 0
    }

    /// The path of the file, which may have been removed.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let name = self.name.as_os_str().as_bytes();
        PathBuf::from(OsStr::from_bytes(name.strip_suffix(DELETED).unwrap_or(name)))
    }

    /// Whether it is a part of the file with these properties.
    fn is_of(&self, metadata: &Metadata) -> bool {
        self.file == (metadata.dev(), metadata.ino())
    }

    /// A path under which the file can be opened; `None` if there is none, or its own path leads to
    /// another file.
    fn place(&self, pid: u32) -> Option<PathBuf> {
        let linked = fs::metadata(link(pid, &self.addresses)).ok().map(|it| (it.dev(), it.ino()));
        let is_it =
            |path: &PathBuf| fs::metadata(path).is_ok_and(|it| self.is_of(&it) || linked == Some((it.dev(), it.ino())));
        [self.path(), in_root(pid, &self.path())].into_iter().find(is_it)
    }

    /// The file that is mapped here.
    fn open(&self, pid: u32) -> io::Result<MappedFile> {
        // Some file systems tell another device here than `stat` does. Then the link tells.
        for path in [self.name.clone(), self.path()] {
            if let Some(metadata) = fs::metadata(&path).ok().filter(|metadata| self.is_of(metadata)) {
                return Ok(MappedFile { path, id: FileId::of(&metadata), file: None, beside: None });
            }
        }
        if let Ok(file) = open_regular(&link(pid, &self.addresses)) {
            return MappedFile::opened(pid, self.path(), file);
        }
        // To follow such a link takes a right that the owner of a process need not have.
        for link in [in_root(pid, &self.path()), PathBuf::from(format!("/proc/{pid}/exe"))] {
            if let Some(file) = open_regular(&link).ok().filter(|it| it.metadata().is_ok_and(|it| self.is_of(&it))) {
                return MappedFile::opened(pid, self.path(), file);
            }
        }
        // An image that a program made has no path, but may be open.
        if self.name.as_os_str().as_bytes().ends_with(DELETED) {
            let folder = format!("/proc/{pid}/fd");
            let links = numbers(&folder).map(|number| PathBuf::from(format!("{folder}/{number}")));
            for link in links.filter(|link| fs::metadata(link).is_ok_and(|it| self.is_of(&it))) {
                if let Ok(file) = open_regular(&link) {
                    return MappedFile::opened(pid, self.path(), file);
                }
            }
        }
        Err(io::ErrorKind::PermissionDenied.into())
    }

    /// Whether the file with this device and inode is mapped here.
    fn has_number(&self, pid: u32, number: (u64, u64)) -> bool {
        // As in `open`: another device may be told here than by `stat`.
        let is_linked = || fs::metadata(link(pid, &self.addresses)).is_ok_and(|it| (it.dev(), it.ino()) == number);
        self.file == number || self.file.1 == number.1 && self.is_mapped_file() && is_linked()
    }

    /// Whether a file is mapped here. `number` is its device and inode.
    pub(super) fn has(&self, pid: u32, path: &Path, number: Option<(u64, u64)>) -> bool {
        let Some(number) = number else { return self.path() == path };
        // As in `open`.
        let is_same = || fs::metadata(in_root(pid, path)).is_ok_and(|it| (it.dev(), it.ino()) == number);
        self.file == number || self.is_file() && self.name == path && is_same()
    }
}

/// The memory of a process that is mapped executable, in the order of the addresses. `None` if
/// there is no such process, or its list must not be read. Empty if the process has ended.
#[must_use]
pub fn regions(pid: u32) -> Option<Vec<Region>> {
    Some(parse(&std::fs::read(format!("/proc/{pid}/maps")).ok()?, 2, b'x'))
}

/// The same, with the paths under which the files can be opened here. A file that has none is named as one
/// that was removed.
#[must_use]
pub fn regions_here(pid: u32) -> Option<Vec<Region>> {
    let mut regions = regions(pid)?;
    for region in regions.iter_mut().filter(|region| region.is_file()) {
        match region.place(pid) {
            Some(place) => region.name = place,
            None => region.name.as_mut_os_string().push(OsStr::from_bytes(DELETED)),
        }
    }
    Some(regions)
}

/// The region of this process that holds the code at an address, if it is of a file.
pub(super) fn own_region(address: u64) -> Option<Region> {
    regions(std::process::id())?.into_iter().find(|it| it.is_file() && it.addresses.contains(&address))
}

/// The memory of a process that it may write to, in the order of the addresses. `None` if there is no
/// such process, or its list must not be read.
#[must_use]
pub(super) fn writable(pid: u32) -> Option<Vec<Region>> {
    Some(parse(&std::fs::read(format!("/proc/{pid}/maps")).ok()?, 1, b'w'))
}

/// The regions whose right number `index` (`rwxp`) is `right`.
fn parse(maps: &[u8], index: usize, right: u8) -> Vec<Region> {
    let region = |line: &[u8]| {
        // ADDRESSES RIGHTS OFFSET DEVICE INODE PATH, and the path may have spaces.
        let mut words = line.splitn(6, |byte| *byte == b' ');
        let number = |digits: &[u8]| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let mut ends = words.next()?.splitn(2, |byte| *byte == b'-');
        let addresses = number(ends.next()?)?..number(ends.next()?)?;
        words.next().filter(|rights| rights.get(index) == Some(&right))?;
        let offset = number(words.next()?)?;
        let mut device = words.next()?.splitn(2, |byte| *byte == b':');
        let (major, minor) = (number(device.next()?)?, number(device.next()?)?);
        let device = libc::makedev(u32::try_from(major).ok()?, u32::try_from(minor).ok()?);
        let inode = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let name = words.next().unwrap_or_default().trim_ascii_start();
        let name = PathBuf::from(OsStr::from_bytes(name));
        Some(Region { addresses, offset, file: (device, inode), name })
    };
    maps.split(|byte| *byte == b'\n').filter_map(region).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_files_are_listed() {
        let maps = b"55d0-55d1 r--p 00000000 fe:00 123    /usr/bin/a b\n\
            55d1-55d2 r-xp 00001000 fe:00 123    /usr/bin/a b\n\
            55d4-55d5 r-xp 00004000 fe:00 123    /usr/bin/a b\n\
            7f00-7f01 r-xp 00000000 fe:00 9      /lib/gone.so (deleted)\n\
            7f02-7f03 r-xp 00000000 fe:00 10     /lib/libc.so.6\n\
            7ffe-7fff r-xp 00000000 00:00 0      [vdso]\n\
            7fff-8000 rw-p 00000000 00:00 0\n";
        let regions = parse(maps, 2, b'x');
        let files: Vec<_> = regions.iter().filter(|it| it.is_mapped_file()).map(Region::path).collect();
        assert_eq!(files, ["/usr/bin/a b", "/usr/bin/a b", "/lib/gone.so", "/lib/libc.so.6"].map(PathBuf::from));
        let [first, .., vdso] = &regions[..] else { panic!("{regions:?}") };
        assert_eq!(first.file, (libc::makedev(0xfe, 0), 123));
        assert_eq!((&first.addresses, first.offset, regions.len()), (&(0x55d1..0x55d2), 0x1000, 5));
        assert_eq!((vdso.name.to_str(), vdso.is_file()), (Some("[vdso]"), false));
        assert_eq!([0xfff, 0x1000, 0x1001].map(|offset| first.address_of(offset)), [None, Some(0x55d1), None]);
    }
}
