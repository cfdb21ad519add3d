//! The process: its ids, its rights, and what it was started with.

use core::ffi::CStr;
use core::fmt::Write as _;

use super::call::plain;
use super::file::File;
use crate::text::Text;

/// The id of the process.
pub(crate) fn getpid() -> u32 {
    plain(libc::SYS_getpid, [0; 6]).unwrap_or(0) as u32
}

/// Whether the thread is one of the process.
pub(crate) fn has_thread(pid: u32, tid: u32) -> bool {
    plain(libc::SYS_tgkill, [pid as usize, tid as usize, 0, 0, 0, 0]) != Err(libc::ESRCH)
}

/// Whether the process runs in the memory of its parent, after `vfork`. If the kernel does not say:
/// no.
pub(crate) fn shares_memory_with_parent() -> bool {
    const KCMP_VM: usize = 1;
    let parent = plain(libc::SYS_getppid, [0; 6]).unwrap_or(0);
    parent != 0 && plain(libc::SYS_kcmp, [getpid() as usize, parent, KCMP_VM, 0, 0, 0]) == Ok(0)
}

/// When a process was started: field 22 of `/proc/PID/stat`; `None` if it does not run.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    let mut path = Text::<32>::new();
    write!(path, "/proc/{pid}/stat").ok()?;
    let file = File::open(path.as_c_str().ok()?, libc::O_RDONLY).ok()?;
    let mut room = [0u8; 1024];
    let size = file.read(&mut room).ok()?;
    let stat = core::str::from_utf8(room.get(..size)?).ok()?;
    // The name in parentheses can have spaces; field 3 follows it.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(22 - 3)?.parse().ok()
}

/// Whether the program has rights that its caller may not have, as after `setuid`. Then the
/// environment is not to be trusted.
pub(crate) fn is_privileged() -> bool {
    // SAFETY: it reads what the kernel gave the program.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// What the kernel says that the processor has: `HWCAP` bits.
#[cfg(target_arch = "aarch64")]
pub(crate) fn hardware() -> u64 {
    // SAFETY: it reads what the kernel gave the program.
    unsafe { libc::getauxval(libc::AT_HWCAP) }
}

/// Where the program's own headers are in memory.
pub(crate) fn program_headers() -> usize {
    // SAFETY: it reads what the kernel gave the program.
    unsafe { libc::getauxval(libc::AT_PHDR) as usize }
}

/// The variable of the environment with this name, without `=`.
///
/// Only for the start of a program, before it has threads.
pub(crate) fn variable(name: &[u8]) -> Option<&'static CStr> {
    unsafe extern "C" {
        static environ: *const *const core::ffi::c_char;
    }
    // SAFETY: the C library has set it before it runs the functions of `.init_array`.
    let mut entry = unsafe { environ };
    if entry.is_null() {
        return None;
    }
    loop {
        // SAFETY: the list ends with a null pointer, and its entries are strings that nobody
        // changes at the start of a program.
        let text = unsafe {
            if (*entry).is_null() {
                return None;
            }
            CStr::from_ptr(*entry)
        };
        let value = text.to_bytes_with_nul().strip_prefix(name).and_then(|rest| rest.strip_prefix(b"="));
        if let Some(value) = value {
            return CStr::from_bytes_with_nul(value).ok();
        }
        // SAFETY: it is not the end of the list.
        entry = unsafe { entry.add(1) };
    }
}
