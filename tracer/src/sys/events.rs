//! Events of the kernel that BPF programs are attached to.

use std::fs::File;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use super::bpf::{self, Kind};
use super::error::{Error, Step};
use super::{limits, signals};
use crate::bpf::cookie::set_cookie;
use crate::bpf::{Code, Map, program};

const OBJ_GET_INFO_BY_FD: libc::c_int = 15;
/// The type of links to events (`BPF_PERF_EVENT`).
const PERF_EVENT: u32 = 41;
pub(super) const TYPE_SOFTWARE: u32 = 1;
pub(super) const TYPE_TRACEPOINT: u32 = 2;
/// `PERF_EVENT_IOC_SET_BPF`.
const SET_BPF: libc::c_ulong = 0x4004_2408;
const FLAG_FD_CLOEXEC: libc::c_ulong = 8;
/// The thread is the descriptor of a control group's folder.
const FLAG_PID_CGROUP: libc::c_ulong = 4;
/// The event is not counted. The programs run all the same.
pub(super) const DISABLED: u64 = 1;

/// `struct perf_event_attr`, as long as it is in all kernels.
#[repr(C)]
#[derive(Default)]
pub(super) struct Attributes {
    of: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    /// How many bytes of records make it readable.
    wakeup: u32,
    breakpoint: u32,
    address: u64,
    length: u64,
}

impl Attributes {
    /// Of an event by its type and number.
    pub(super) fn new(of: u32, config: u64, flags: u64) -> Self {
        Self { of, config, flags, size: size_of::<Self>() as u32, ..Self::default() }
    }

    /// Of a uprobe: the address of the path of the file, and the offset there.
    pub(super) fn at(self, path: u64, offset: u64) -> Self {
        Self { address: path, length: offset, ..self }
    }

    /// With a sample each time that the event has counted so much.
    pub(super) fn every(self, sample_period: u64) -> Self {
        Self { sample_period, ..self }
    }

    /// Readable as soon as there is a record.
    pub(super) fn telling_at_once(self) -> Self {
        Self { wakeup: 1, ..self }
    }
}

#[repr(C)]
struct Link {
    prog_fd: u32,
    target_fd: u32,
    attach_type: u32,
    flags: u32,
    cookie: u64,
}

/// Attaches a program to an event, which is open until the link is closed. `cookie` is what the program gets
/// from `bpf_get_attach_cookie`.
pub(super) fn link(program: &OwnedFd, event: &OwnedFd, cookie: u64) -> Result<OwnedFd, Error> {
    link_by_number(program, event.as_raw_fd(), cookie)
}

fn link_by_number(program: &OwnedFd, event: RawFd, cookie: u64) -> Result<OwnedFd, Error> {
    let (prog_fd, target_fd) = (program.as_raw_fd() as u32, event as u32);
    let mut attributes = Link { prog_fd, target_fd, attach_type: PERF_EVENT, flags: 0, cookie };
    bpf::open(bpf::LINK_CREATE, &mut attributes).map_err(|why| Error::new(Step::Attach, &why))
}

/// Whether a link can hand a number to a program (Linux 5.15).
pub(super) fn has_cookies(program: &OwnedFd) -> bool {
    // A kernel that does not know such links does not look at the event.
    link_by_number(program, -1, 0).is_err_and(|why| why.errno == libc::EBADF)
}

/// Attaches a program to an event, until that is closed.
pub(super) fn set_program(event: &OwnedFd, program: &OwnedFd) -> Result<(), Error> {
    // SAFETY: the call takes a descriptor by value.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), SET_BPF as _, program.as_raw_fd()) };
    if result == 0 { Ok(()) } else { Err(Error::new(Step::Attach, &std::io::Error::last_os_error())) }
}

/// The start of `struct bpf_prog_info`, in words of 8 bytes.
const PROG_INFO_WORDS: usize = 27;
/// The word with `recursion_misses`.
const RECURSION_MISSES: usize = 26;

#[repr(C)]
struct ObjectInfo {
    fd: u32,
    size: u32,
    info: u64,
}

/// How often the kernel did not run a program because another one ran on the same CPU.
fn misses(program: &OwnedFd) -> Result<u64, Error> {
    let mut info = [0u64; PROG_INFO_WORDS];
    let size = (PROG_INFO_WORDS * 8) as u32;
    let mut attributes = ObjectInfo { fd: program.as_raw_fd() as u32, size, info: info.as_mut_ptr() as u64 };
    bpf::bpf(OBJ_GET_INFO_BY_FD, &mut attributes).map_err(|why| Error::new(Step::Program, &why))?;
    Ok(info.get(RECURSION_MISSES).copied().unwrap_or(0))
}

/// Opens an event of a thread on a CPU; -1 stands for all threads.
pub(super) fn open(attributes: &Attributes, thread: libc::pid_t, cpu: libc::c_int) -> Result<OwnedFd, Error> {
    open_with(attributes, thread, cpu, FLAG_FD_CLOEXEC)
}

/// Opens an event of all threads in a control group, and in those below it, on a CPU. `folder` is that
/// of the group.
pub(super) fn open_of_group(attributes: &Attributes, folder: &File, cpu: libc::c_int) -> Result<OwnedFd, Error> {
    open_with(attributes, folder.as_raw_fd(), cpu, FLAG_FD_CLOEXEC | FLAG_PID_CGROUP)
}

fn open_with(
    attributes: &Attributes,
    thread: libc::c_int,
    cpu: libc::c_int,
    flags: libc::c_ulong,
) -> Result<OwnedFd, Error> {
    let group: libc::c_int = -1;
    let call = || {
        signals::undisturbed(|| {
            // SAFETY: the attributes are valid until the call returns, and have the size that they say.
            unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const *attributes, thread, cpu, group, flags) }
        })
    };
    let opened = match call() {
        Err(why) if why.raw_os_error() == Some(libc::EMFILE) && limits::raise_files() => call(),
        result => result,
    };
    // SAFETY: the kernel has just opened it, and nobody else knows it.
    opened.map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) }).map_err(|why| Error::new(Step::Attach, &why))
}

/// Programs that are attached to events.
#[derive(Debug, Default)]
pub(super) struct EventPrograms {
    /// They are kept to be asked how often they did not run.
    programs: Vec<OwnedFd>,
    /// Whether links hand numbers to programs, once it is known.
    has_cookies: Option<bool>,
}

impl EventPrograms {
    /// Attaches a program to the event with the number `id`. Returns what detaches it when it is closed.
    /// `site` is what the program gets from `bpf_get_attach_cookie`.
    pub(super) fn add(
        &mut self,
        code: &Code,
        descriptor: &dyn Fn(Map) -> i32,
        id: u16,
        site: u64,
    ) -> Result<OwnedFd, Error> {
        let code = code.link(descriptor);
        // Programs that are attached to it run on all CPUs.
        let open = || open(&Attributes::new(TYPE_TRACEPOINT, id.into(), DISABLED), -1, 0);
        let (program, link) = if self.has_cookies()? {
            let program = bpf::load(&code, Kind::Event)?;
            let link = link(&program, &open()?, site)?;
            (program, link)
        } else {
            let (program, event) = (bpf::load(&set_cookie(&code, site), Kind::Event)?, open()?);
            set_program(&event, &program)?;
            (program, event)
        };
        self.programs.push(program);
        Ok(link)
    }

    fn has_cookies(&mut self) -> Result<bool, Error> {
        if let Some(known) = self.has_cookies {
            return Ok(known);
        }
        let nothing = program::nothing().map_or_else(|_| Vec::new(), |code| code.link(&|_| -1));
        let has_cookies = has_cookies(&bpf::load(&nothing, Kind::Event)?);
        self.has_cookies = Some(has_cookies);
        Ok(has_cookies)
    }

    /// How often a program did not run because another one ran on the same CPU.
    pub(super) fn misses(&self) -> Result<u64, Error> {
        self.programs.iter().try_fold(0, |sum: u64, program| Ok(sum.saturating_add(misses(program)?)))
    }
}
