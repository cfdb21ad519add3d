//! The files that a process runs code of (`man 5 proc_pid_maps`).

use std::path::PathBuf;

/// The files that are mapped executable, without duplicates, in the order of their addresses.
/// `None` if there is no such process, or its list must not be read.
#[must_use]
pub fn files(pid: u32) -> Option<Vec<PathBuf>> {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).ok()?;
    Some(parse(&maps))
}

/// Whether a process exists.
#[must_use]
pub fn exists(pid: u32) -> bool {
    // A process that has ended and was not waited for is a zombie.
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

fn parse(maps: &[u8]) -> Vec<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let mut files: Vec<PathBuf> = Vec::new();
    for line in maps.split(|byte| *byte == b'\n') {
        // ADDRESSES RIGHTS OFFSET DEVICE INODE PATH, and the path may have spaces.
        let mut words = line.splitn(6, |byte| *byte == b' ');
        let (rights, path) = (words.nth(1), words.nth(3));
        let (Some(rights), Some(path)) = (rights, path) else { continue };
        let path = path.trim_ascii_start();
        if rights.get(2) == Some(&b'x') && path.starts_with(b"/") && !path.ends_with(b" (deleted)") {
            let file = PathBuf::from(std::ffi::OsString::from_vec(path.to_vec()));
            if !files.contains(&file) {
                files.push(file);
            }
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
        assert_eq!(parse(maps), [PathBuf::from("/usr/bin/a b"), PathBuf::from("/lib/libc.so.6")]);
    }
}
