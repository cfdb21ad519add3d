//! The files that a process runs code of (`man 5 proc_pid_maps`).

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// The files that are mapped executable, without duplicates, in the order of their addresses.
/// `None` if there is no such process, or its list must not be read.
#[must_use]
pub fn files(pid: u32) -> Option<Vec<PathBuf>> {
    regions(pid).map(files_of)
}

/// Whether a process exists.
#[must_use]
pub fn exists(pid: u32) -> bool {
    // A process that has ended and was not waited for is a zombie.
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// The addresses that a process may read, in ascending order. `None` if there is no such process, or
/// its list must not be read.
pub(super) fn readable(pid: u32) -> Option<Vec<Range<u64>>> {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let ranges = maps.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (start, end) = words.next()?.split_once('-')?;
        let of = |text| u64::from_str_radix(text, 16).ok();
        words.next()?.starts_with('r').then_some(of(start)?..of(end)?)
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
    /// The path of the file, or a name such as `[vdso]`. Empty if it has none.
    pub name: PathBuf,
}

impl Region {
    /// The address of a byte of its file; `None` if it is not in the region.
    pub(super) fn address_of(&self, offset: u64) -> Option<u64> {
        let address = self.addresses.start.checked_add(offset.checked_sub(self.offset)?)?;
        self.addresses.contains(&address).then_some(address)
    }

    /// Whether its name is the path of a file that exists.
    #[must_use]
    pub fn is_file(&self) -> bool {
        let name = self.name.as_os_str().as_bytes();
        name.starts_with(b"/") && !name.ends_with(b" (deleted)")
    }
}

/// The memory of a process that is mapped executable, in the order of the addresses. `None` if
/// there is no such process, or its list must not be read. Empty if the process has ended.
#[must_use]
pub fn regions(pid: u32) -> Option<Vec<Region>> {
    Some(parse(&std::fs::read(format!("/proc/{pid}/maps")).ok()?, 2, b'x'))
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
        let name = words.nth(2).unwrap_or_default().trim_ascii_start();
        Some(Region { addresses, offset, name: PathBuf::from(OsStr::from_bytes(name)) })
    };
    maps.split(|byte| *byte == b'\n').filter_map(region).collect()
}

/// The files of some regions, without duplicates.
fn files_of(regions: Vec<Region>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for region in regions.into_iter().filter(Region::is_file) {
        if !files.contains(&region.name) {
            files.push(region.name);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_files_are_listed_once() {
        let maps = b"55d0-55d1 r--p 00000000 fe:00 123    /usr/bin/a b\n\
            55d1-55d2 r-xp 00001000 fe:00 123    /usr/bin/a b\n\
            55d4-55d5 r-xp 00004000 fe:00 123    /usr/bin/a b\n\
            7f00-7f01 r-xp 00000000 fe:00 9      /lib/gone.so (deleted)\n\
            7f02-7f03 r-xp 00000000 fe:00 10     /lib/libc.so.6\n\
            7ffe-7fff r-xp 00000000 00:00 0      [vdso]\n\
            7fff-8000 rw-p 00000000 00:00 0\n";
        let regions = parse(maps, 2, b'x');
        assert_eq!(files_of(regions.clone()), [PathBuf::from("/usr/bin/a b"), PathBuf::from("/lib/libc.so.6")]);
        let [first, .., vdso] = &regions[..] else { panic!("{regions:?}") };
        assert_eq!((&first.addresses, first.offset, regions.len()), (&(0x55d1..0x55d2), 0x1000, 5));
        assert_eq!((vdso.name.to_str(), vdso.is_file()), (Some("[vdso]"), false));
        assert_eq!([0xfff, 0x1000, 0x1001].map(|offset| first.address_of(offset)), [None, Some(0x55d1), None]);
    }
}
