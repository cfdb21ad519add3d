//! Links: a program at uprobes, at a tracepoint, or at all objects of a kind.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use super::call::{TRACE_ITER, TRACE_UPROBE_MULTI, open};
use crate::sys::error::{Error, Step};

const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
pub(in crate::sys) const LINK_CREATE: libc::c_int = 28;
const ITER_CREATE: libc::c_int = 33;

#[repr(C)]
struct UprobeMulti {
    prog_fd: u32,
    target_fd: u32,
    attach_type: u32,
    flags: u32,
    path: u64,
    offsets: u64,
    ref_ctr_offsets: u64,
    cookies: u64,
    count: u32,
    uprobe_flags: u32,
    pid: u32,
    unused: u32,
}

/// Checks that the kernel can attach a program to many offsets.
pub(in crate::sys) fn check_attach(program: &OwnedFd) -> Result<(), Error> {
    // A folder cannot have probes. A kernel that does not know such links does not look at it.
    match attach_many(program, "/", &[At::default()], None) {
        Err(why) if why.errno != libc::EBADF => Err(why),
        _ => Ok(()),
    }
}

/// Whether probes can be limited to a process. The first kernels with `uprobe_multi` took the number
/// of a process for that of a thread; the correction also made -1 invalid.
pub(in crate::sys) fn filters_processes(program: &OwnedFd) -> bool {
    let errno = |process| attach_many(program, "/", &[At::default()], process).err().map(|why| why.errno);
    (errno(None), errno(Some(u32::MAX))) == (Some(libc::EBADF), Some(libc::EINVAL))
}

/// Where a program is attached in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sys) struct At {
    /// The offset of the instruction.
    pub(in crate::sys) offset: u64,
    /// The offset of the switch that the kernel arms while a uprobe is set in a process; 0 for none.
    /// It counts the uprobes, not the links.
    pub(in crate::sys) switch: u64,
    /// What the program gets from `bpf_get_attach_cookie`.
    pub(in crate::sys) cookie: u64,
}

/// Attaches a program to places in a file, in one process or in all. The probes are removed, and
/// switches disarmed, when the link is closed.
pub(in crate::sys) fn attach_many(
    program: &OwnedFd,
    path: &str,
    at: &[At],
    process: Option<u32>,
) -> Result<OwnedFd, Error> {
    let invalid = |_| Error::new(Step::Attach, &io::Error::from_raw_os_error(libc::EINVAL));
    let path = CString::new(path).map_err(invalid)?;
    let offsets: Vec<u64> = at.iter().map(|at| at.offset).collect();
    let switches: Vec<u64> = at.iter().map(|at| at.switch).collect();
    let cookies: Vec<u64> = at.iter().map(|at| at.cookie).collect();
    let mut attributes = UprobeMulti {
        prog_fd: program.as_raw_fd() as u32,
        target_fd: 0,
        attach_type: TRACE_UPROBE_MULTI,
        flags: 0,
        path: path.as_ptr() as u64,
        offsets: offsets.as_ptr() as u64,
        ref_ctr_offsets: switches.as_ptr() as u64,
        cookies: cookies.as_ptr() as u64,
        count: at.len() as u32,
        uprobe_flags: 0,
        pid: process.unwrap_or(0),
        unused: 0,
    };
    open(LINK_CREATE, &mut attributes).map_err(|why| Error::new(Step::Attach, &why))
}

#[repr(C)]
struct RawTracepoint {
    name: u64,
    prog_fd: u32,
    unused: u32,
}

/// Attaches a program to a tracepoint of the kernel. A program of [`Kind::TypedTracepoint`](super::Kind::TypedTracepoint) needs no name.
pub(in crate::sys) fn attach_tracepoint(program: &OwnedFd, name: Option<&CStr>) -> Result<OwnedFd, Error> {
    let name = name.map_or(0, |name| name.as_ptr() as u64);
    let mut attributes = RawTracepoint { name, prog_fd: program.as_raw_fd() as u32, unused: 0 };
    open(RAW_TRACEPOINT_OPEN, &mut attributes).map_err(|why| Error::new(Step::Attach, &why))
}

#[repr(C)]
struct IteratorLink {
    prog_fd: u32,
    target_fd: u32,
    attach_type: u32,
    flags: u32,
    info: u64,
    info_size: u32,
    unused: u32,
}

/// A link that runs a program of [`Kind::Iterator`](super::Kind::Iterator).
pub(in crate::sys) fn link_iterator(program: &OwnedFd) -> Result<OwnedFd, Error> {
    let mut attributes = IteratorLink {
        prog_fd: program.as_raw_fd() as u32,
        target_fd: 0,
        attach_type: TRACE_ITER,
        flags: 0,
        info: 0,
        info_size: 0,
        unused: 0,
    };
    open(LINK_CREATE, &mut attributes).map_err(|why| Error::new(Step::Attach, &why))
}

/// Runs the program of a link for all objects, after `before`. The program must write nothing.
pub(in crate::sys) fn run_iterator(link: &OwnedFd, before: impl FnOnce()) -> Result<(), Error> {
    #[repr(C)]
    struct Create {
        link: u32,
        flags: u32,
    }
    let failed = |why: io::Error| Error::new(Step::Attach, &why);
    let run = open(ITER_CREATE, &mut Create { link: link.as_raw_fd() as u32, flags: 0 }).map_err(failed)?;
    let mut run = std::fs::File::from(run);
    before();
    // The kernel ends a read after a million objects, and goes on with the next.
    loop {
        match io::Read::read(&mut run, &mut [0; 64]) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(why) if matches!(why.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {}
            Err(why) => return Err(failed(why)),
        }
    }
}
