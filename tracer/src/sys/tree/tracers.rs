//! What a program that traces others is told to trace, by its arguments (`gdb -p 17`, `strace ./program`).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::elf;
use crate::sys::mapped::MappedFile;
use crate::sys::mapping::FileMapping;
use crate::sys::numbers::numbers;

/// The most arguments that are looked at.
const MOST: usize = 64;

/// How long a thread may take to stand still, in ms.
const MOST_TIME: u32 = 200;

/// The arguments of a process without its name.
fn arguments(pid: u32) -> Vec<Vec<u8>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).skip(1).filter(|it| !it.is_empty()).take(MOST).map(<[u8]>::to_vec).collect()
}

/// The programs that the arguments of a process name: ELF files that may be executed.
pub(super) fn programs(pid: u32) -> Vec<MappedFile> {
    let (cwd, root) = (PathBuf::from(format!("/proc/{pid}/cwd")), PathBuf::from(format!("/proc/{pid}/root")));
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let path = environment.split(|byte| *byte == 0).find_map(|it| it.strip_prefix(b"PATH=")).unwrap_or_default();
    let inside = |path: &Path| match path.strip_prefix("/") {
        Ok(path) => root.join(path),
        Err(_) => cwd.join(path),
    };
    let mut found: Vec<MappedFile> = Vec::new();
    for argument in arguments(pid) {
        let name = Path::new(OsStr::from_bytes(&argument));
        let mut places = vec![inside(name)];
        if !argument.contains(&b'/') {
            places.extend(std::env::split_paths(OsStr::from_bytes(path)).map(|folder| inside(&folder.join(name))));
        }
        let of = |place: &PathBuf| {
            let metadata = fs::metadata(place).ok()?;
            if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
                return None;
            }
            let file = fs::File::open(place).ok()?;
            if !elf::is_elf(FileMapping::of(&file)?.get()) {
                return None;
            }
            MappedFile::named(place).ok()
        };
        if let Some(file) = places.iter().find_map(of).filter(|file| found.iter().all(|it| it.id != file.id)) {
            found.push(file);
        }
    }
    found
}

/// The numbers in the arguments of a process.
pub(super) fn processes(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for argument in arguments(pid) {
        let digits = argument.split(|byte| !byte.is_ascii_digit());
        let numbers = digits.filter_map(|digits| std::str::from_utf8(digits).ok()?.parse::<u32>().ok());
        found.extend(numbers.filter(|number| *number != 0 && *number != pid));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The threads of a process that the calling thread traces.
pub(super) fn traced_threads(pid: u32) -> Vec<libc::pid_t> {
    // SAFETY: it only asks for a number.
    let own = unsafe { libc::gettid() };
    let is_traced = |thread: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).unwrap_or_default();
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        tracer.is_some_and(|tracer| tracer.trim().parse() == Ok(own))
    };
    let threads = numbers(&format!("/proc/{pid}/task")).filter(is_traced);
    threads.filter_map(|thread| libc::pid_t::try_from(thread).ok()).collect()
}

/// Makes a thread stand still, and lets go of it. A signal that it was about to get is handed to it.
pub(super) fn interrupt_and_detach(thread: libc::pid_t) {
    // SAFETY: it stops a thread that this one traces.
    unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, thread, 0, 0) };
    for _ in 0..MOST_TIME {
        let mut status = 0;
        // SAFETY: it fills the status.
        match unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::WNOHANG) } {
            0 => sleep(Duration::from_millis(1)),
            _ if libc::WIFSTOPPED(status) => {
                let is_of_signal = status >> 16 == 0 && libc::WSTOPSIG(status) & 0x80 == 0;
                return detach(thread, if is_of_signal { libc::WSTOPSIG(status) } else { 0 });
            }
            _ => return,
        }
    }
}

/// Lets go of a thread that stands still.
pub(super) fn detach(pid: libc::pid_t, signal: libc::c_int) {
    // SAFETY: it lets a thread that stands still go on. One that was killed is not there any more.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, libc::c_long::from(signal)) };
}
