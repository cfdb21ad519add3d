//! The programs that a started program executes, and those that its children execute: each waits before
//! its first instruction until its files are watched (`man 2 ptrace`).
//!
//! A thread of its own is the tracer of all of them, so they go on while the files of one are looked at.
//! It passes every signal on as it came. If it dies, the kernel lets go of all of them.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use super::error::{Error, Step};
use super::eventfd::{EventFd, clear, wait};
use super::mapped::{self, FileId, MappedFile};
use crate::elf;

const PTRACE_EVENT_STOP: libc::c_int = 128;

const OPTIONS: libc::c_int = libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACESYSGOOD;

/// The most system calls of a loader that are looked at.
const MOST_CALLS: u32 = 1 << 14;

/// What the tracer tells.
#[derive(Debug)]
pub enum Traced {
    /// A process waits until the tree lets it go on.
    Waits {
        /// The process.
        pid: u32,
        /// The files that it has mapped or is about to map, and that were not told before.
        files: Vec<MappedFile>,
        /// Whether it executes another program.
        is_exec: bool,
    },
    /// A process traces others itself, or may do so. It is not traced any more, and neither are its
    /// children.
    LetGo {
        /// The process.
        pid: u32,
        /// Its program.
        program: PathBuf,
    },
}

/// A program that is traced, and all that it starts.
#[derive(Debug)]
pub(super) struct Tree {
    commands: Sender<i32>,
    /// Readable when there are commands, or the thread is to end.
    wake: Arc<EventFd>,
    told: Receiver<Traced>,
    /// Readable when something was told.
    ready: Arc<EventFd>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What both threads know.
#[derive(Debug)]
struct Shared {
    ends: AtomicBool,
    /// Whether it is told of each process that executes a program, also if all of its files are known.
    each_exec: AtomicBool,
    /// How the first process ended, as `wait` says it; [`RUNS`] before.
    status: AtomicI64,
    /// Whether the first process is not traced any more.
    is_root_free: AtomicBool,
}

const RUNS: i64 = i64::MIN;

/// Readable after `SIGCHLD`; -1 before there is a tracer.
static STOPS: AtomicI32 = AtomicI32::new(-1);

extern "C" fn stopped(_: libc::c_int) {
    let (descriptor, one) = (STOPS.load(Ordering::Relaxed), 1u64);
    // SAFETY: the kernel reads 8 bytes. The error number is that of the interrupted code.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::write(descriptor, (&raw const one).cast(), 8);
        *errno = before;
    }
}

/// Makes [`STOPS`] readable at each `SIGCHLD`.
fn catch_stops() -> io::Result<()> {
    static DESCRIPTOR: OnceLock<Option<EventFd>> = OnceLock::new();
    let Some(descriptor) = DESCRIPTOR.get_or_init(|| EventFd::new().ok()) else {
        return Err(io::ErrorKind::OutOfMemory.into());
    };
    STOPS.store(descriptor.descriptor(), Ordering::Relaxed);
    // SAFETY: zeros are a valid value, and the handler does what is allowed in a handler.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = stopped as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGCHLD, &raw const action, std::ptr::null_mut());
    }
    Ok(())
}

impl Tree {
    /// Traces a child of this process, and all that it creates from now on.
    pub(super) fn start(pid: u32) -> Result<Self, Error> {
        let failed = |why: io::Error| Error::new(Step::Trace, &why);
        if !has_right() {
            return Err(failed(io::Error::from_raw_os_error(libc::EPERM)));
        }
        catch_stops().map_err(failed)?;
        let wake = Arc::new(EventFd::new().map_err(failed)?);
        let ready = Arc::new(EventFd::new().map_err(failed)?);
        let shared = Arc::new(Shared {
            ends: AtomicBool::new(false),
            each_exec: AtomicBool::new(false),
            status: AtomicI64::new(RUNS),
            is_root_free: AtomicBool::new(false),
        });
        let (commands, to_do) = channel();
        let (tell, told) = channel();
        let (started, result) = channel();
        let root = libc::pid_t::try_from(pid).unwrap_or(-1);
        let (theirs, wakes, readies) = (Arc::clone(&shared), Arc::clone(&wake), Arc::clone(&ready));
        let run = move || {
            // SAFETY: it starts to trace a child of this process.
            let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, root, 0, OPTIONS) } == 0;
            let why = io::Error::last_os_error();
            let _ = started.send(if seized { Ok(()) } else { Err(why) });
            if seized {
                let (tasks, known) = (HashMap::new(), HashSet::new());
                Tracer { root, tasks, known, tell, ready: readies, shared: theirs }.run(&to_do, &wakes);
            }
        };
        let thread = std::thread::Builder::new().name("tracer".to_owned()).spawn(run).map_err(failed)?;
        let mut tree = Self { commands, wake, told, ready, shared, thread: Some(thread) };
        match result.recv() {
            Ok(Ok(())) => Ok(tree),
            Ok(Err(why)) => {
                tree.end();
                Err(failed(why))
            }
            Err(_) => Err(failed(io::ErrorKind::Other.into())),
        }
    }

    /// What was told since the last call.
    pub(super) fn take(&mut self) -> Vec<Traced> {
        self.ready.clear();
        self.told.try_iter().collect()
    }

    /// Readable when something was told.
    pub(super) fn descriptor(&self) -> std::os::fd::RawFd {
        self.ready.descriptor()
    }

    /// Lets a process that waits go on.
    pub(super) fn go_on(&self, pid: u32) {
        // If the thread has ended, the kernel has let go of the process.
        let _ = self.commands.send(i32::try_from(pid).unwrap_or(-1));
        self.wake.set();
    }

    /// Also tells of processes that execute a program of which all files are known.
    pub(super) fn tell_each_exec(&self) {
        self.shared.each_exec.store(true, Ordering::Relaxed);
    }

    /// How the first process ended; `None` while it runs, or if it has to be waited for.
    pub(super) fn status(&self) -> Option<libc::c_int> {
        libc::c_int::try_from(self.shared.status.load(Ordering::Acquire)).ok()
    }

    /// Whether the first process has to be waited for, because nobody traces it any more.
    pub(super) fn is_root_free(&self) -> bool {
        self.thread.is_none() || self.shared.is_root_free.load(Ordering::Acquire)
    }

    /// Lets go of all processes.
    pub(super) fn end(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        self.wake.set();
        if let Some(thread) = self.thread.take() {
            // Its end is what lets go of them.
            let _ = thread.join();
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether programs with the set-user-ID bit keep their rights when this process traces them
/// (`CAP_SYS_PTRACE`).
fn has_right() -> bool {
    const CAP_SYS_PTRACE: u32 = 19;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|it| it >> CAP_SYS_PTRACE & 1 != 0)
}

/// What a thread does.
#[derive(Clone, Debug)]
enum Task {
    /// Its loader maps libraries. The addresses are those of the loader's code.
    Loads { code: Vec<Range<u64>>, calls: u32 },
    /// It waits, and then goes on with this; `None`: it runs.
    Waits(Option<Box<Task>>),
}

/// The thread that traces.
struct Tracer {
    root: libc::pid_t,
    /// The threads that do not just run.
    tasks: HashMap<libc::pid_t, Task>,
    /// The files that were told.
    known: HashSet<FileId>,
    tell: Sender<Traced>,
    ready: Arc<EventFd>,
    shared: Arc<Shared>,
}

impl Tracer {
    fn run(mut self, to_do: &Receiver<i32>, wake: &EventFd) {
        let stops = STOPS.load(Ordering::Relaxed);
        while !self.shared.ends.load(Ordering::Relaxed) {
            wait(&[stops, wake.descriptor()], None);
            clear(stops);
            wake.clear();
            for pid in to_do.try_iter() {
                if let Some(Task::Waits(then)) = self.tasks.remove(&pid) {
                    match then {
                        Some(task) => {
                            self.tasks.insert(pid, *task);
                            resume(pid, libc::PTRACE_SYSCALL, 0);
                        }
                        None => resume(pid, libc::PTRACE_CONT, 0),
                    }
                }
            }
            if !self.take_stops() {
                return;
            }
        }
    }

    /// Handles all stops. Returns whether there are processes left.
    fn take_stops(&mut self) -> bool {
        loop {
            let mut status = 0;
            // Not those that other threads of this process have created.
            let options = libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG;
            // SAFETY: it fills the status.
            match unsafe { libc::waitpid(-1, &raw mut status, options) } {
                0 => return true,
                pid @ 1.. if libc::WIFSTOPPED(status) => self.stopped(pid, status),
                pid @ 1.. => self.ended(pid, status),
                _ if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
                // There is none, now or later.
                _ => return false,
            }
        }
    }

    fn ended(&mut self, pid: libc::pid_t, status: libc::c_int) {
        self.tasks.remove(&pid);
        if pid == self.root {
            self.shared.status.store(status.into(), Ordering::Release);
            self.ready.set();
        }
    }

    fn tell(&self, what: Traced) {
        let _ = self.tell.send(what);
        self.ready.set();
    }

    fn stopped(&mut self, pid: libc::pid_t, status: libc::c_int) {
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        match event {
            PTRACE_EVENT_STOP if is_of_group(signal) => resume(pid, libc::PTRACE_LISTEN, 0),
            libc::PTRACE_EVENT_EXEC => self.executed(pid),
            0 if signal == libc::SIGTRAP | 0x80 => self.called(pid),
            0 => self.go_on(pid, signal),
            _ => self.go_on(pid, 0),
        }
    }

    /// Lets a thread do what it did.
    fn go_on(&self, pid: libc::pid_t, signal: libc::c_int) {
        let request = match self.tasks.get(&pid) {
            Some(Task::Loads { .. }) => libc::PTRACE_SYSCALL,
            Some(Task::Waits(_)) | None => libc::PTRACE_CONT,
        };
        resume(pid, request, signal);
    }

    /// A process is about to run another program.
    fn executed(&mut self, pid: libc::pid_t) {
        // All other threads are gone, and this one has the number of the process now.
        self.tasks.remove(&pid);
        let Ok(process) = u32::try_from(pid) else { return };
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let image = File::open(format!("/proc/{pid}/exe")).ok();
        let bytes = image.as_ref().and_then(super::mapping::Bytes::of);
        let bytes = bytes.as_ref().map_or(&[][..], super::mapping::Bytes::get);
        if elf::may_trace(bytes) {
            // SAFETY: it lets go of a process that stands still.
            unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) };
            if pid == self.root {
                self.shared.is_root_free.store(true, Ordering::Release);
            }
            return self.tell(Traced::LetGo { pid: process, program });
        }
        let regions = mapped::regions(process).unwrap_or_default();
        let exe = image.and_then(|image| MappedFile::opened(process, program, image).ok());
        let mut files: Vec<MappedFile> = exe.into_iter().collect();
        files.extend(mapped::files(process).unwrap_or_default().0);
        files.retain(|file| self.known.insert(file.id));
        let then = elf::has_loader(bytes).then(|| {
            // The loader is mapped behind the program. A static program, or a loader that is executed as a
            // program, is alone.
            let last = regions.iter().rfind(|region| region.is_mapped_file()).map(|region| region.file);
            let code = regions.iter().filter(|region| Some(region.file) == last);
            Task::Loads { code: code.map(|region| region.addresses.clone()).collect(), calls: 0 }
        });
        if files.is_empty() && !self.shared.each_exec.load(Ordering::Relaxed) {
            let request = if then.is_some() { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
            self.tasks.extend(then.map(|then| (pid, then)));
            return resume(pid, request, 0);
        }
        self.wait_for(pid, files, true, then);
    }

    /// Makes a thread wait until the files are watched.
    fn wait_for(&mut self, pid: libc::pid_t, files: Vec<MappedFile>, is_exec: bool, then: Option<Task>) {
        self.tasks.insert(pid, Task::Waits(then.map(Box::new)));
        self.tell(Traced::Waits { pid: pid.unsigned_abs(), files, is_exec });
    }

    /// A thread whose loader maps libraries is at a system call.
    fn called(&mut self, pid: libc::pid_t) {
        let Some(Task::Loads { code, calls }) = self.tasks.get_mut(&pid) else {
            return resume(pid, libc::PTRACE_CONT, 0);
        };
        *calls += 1;
        let call = Call::of(pid);
        let is_loading = match &call {
            Some(call) => *calls < MOST_CALLS && call.is_of_loader(code),
            None => false,
        };
        if !is_loading {
            let task = self.tasks.remove(&pid);
            // Programs that record their probes themselves are told to do so.
            if self.shared.each_exec.load(Ordering::Relaxed) && task.is_some() {
                return self.wait_for(pid, Vec::new(), true, None);
            }
            return resume(pid, libc::PTRACE_CONT, 0);
        }
        let file = call.and_then(|call| call.maps(pid)).filter(|file| self.known.insert(file.id));
        match file {
            Some(file) => {
                let then = self.tasks.remove(&pid);
                self.wait_for(pid, vec![file], false, then);
            }
            None => resume(pid, libc::PTRACE_SYSCALL, 0),
        }
    }
}

/// A system call of a thread that stands still before it or behind it.
struct Call {
    /// The address of the next instruction.
    next: u64,
    /// The number and the arguments; `None` behind it.
    entered: Option<(u64, [u64; 6])>,
}

/// `struct ptrace_syscall_info`.
#[repr(C)]
#[derive(Default)]
struct Info {
    op: u8,
    padding: [u8; 3],
    arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    /// The number and the arguments, or the result.
    words: [u64; 7],
    more: [u64; 2],
}

const PTRACE_GET_SYSCALL_INFO: libc::c_uint = 0x420e;
const ENTRY: u8 = 1;
const EXIT: u8 = 2;
#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCH: u32 = 0;

impl Call {
    /// `None` if the kernel does not tell, or the program is of another architecture.
    fn of(pid: libc::pid_t) -> Option<Self> {
        let mut info = Info::default();
        // SAFETY: the kernel fills at most so many bytes.
        let size = unsafe { libc::ptrace(PTRACE_GET_SYSCALL_INFO, pid, size_of::<Info>(), &raw mut info) };
        if size <= 0 || info.arch != ARCH {
            return None;
        }
        let entered = match info.op {
            ENTRY => {
                let [number, arguments @ ..] = info.words;
                Some((number, arguments))
            }
            EXIT => None,
            _ => return None,
        };
        Some(Self { next: info.instruction_pointer, entered })
    }

    /// Whether a loader makes it to map libraries. That of musl is also the C library of the program.
    fn is_of_loader(&self, code: &[Range<u64>]) -> bool {
        let is_its = code.iter().any(|range| range.contains(&self.next));
        is_its && self.entered.is_none_or(|(number, _)| LOADING.iter().any(|known| *known as u64 == number))
    }

    /// The file that it maps executable.
    fn maps(&self, pid: libc::pid_t) -> Option<MappedFile> {
        let (number, [_, _, protection, _, descriptor, _]) = self.entered?;
        if number != libc::SYS_mmap as u64 || protection & libc::PROT_EXEC as u64 == 0 {
            return None;
        }
        // The kernel looks at 4 bytes of it.
        let descriptor = descriptor as i32;
        let link = format!("/proc/{pid}/fd/{descriptor}");
        if descriptor < 0 || !std::fs::metadata(&link).ok()?.is_file() {
            return None;
        }
        let path = std::fs::read_link(&link).ok()?;
        MappedFile::opened(pid.unsigned_abs(), path, File::open(link).ok()?).ok()
    }
}

/// The system calls by which loaders map libraries and prepare the first thread.
#[rustfmt::skip]
#[cfg(target_arch = "x86_64")]
const LOADING: [libc::c_long; 27] = [
    libc::SYS_open, libc::SYS_openat, libc::SYS_read, libc::SYS_pread64, libc::SYS_close, libc::SYS_stat,
    libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_lseek, libc::SYS_mmap, libc::SYS_mprotect,
    libc::SYS_munmap, libc::SYS_brk, libc::SYS_access, libc::SYS_arch_prctl, libc::SYS_set_tid_address,
    libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_prlimit64, libc::SYS_readlink, libc::SYS_uname,
    libc::SYS_getrandom, libc::SYS_fcntl, libc::SYS_writev, libc::SYS_getcwd, libc::SYS_readlinkat,
];
#[rustfmt::skip]
#[cfg(not(target_arch = "x86_64"))]
const LOADING: [libc::c_long; 21] = [
    libc::SYS_openat, libc::SYS_read, libc::SYS_pread64, libc::SYS_close, libc::SYS_fstat, libc::SYS_statx,
    libc::SYS_lseek, libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_munmap, libc::SYS_brk, libc::SYS_faccessat,
    libc::SYS_set_tid_address, libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_prlimit64, libc::SYS_uname,
    libc::SYS_getrandom, libc::SYS_fcntl, libc::SYS_getcwd, libc::SYS_readlinkat,
];

fn resume(pid: libc::pid_t, request: libc::c_uint, signal: libc::c_int) {
    // SAFETY: it lets a thread that stands still go on. One that was killed is not there any more.
    unsafe { libc::ptrace(request, pid, 0, libc::c_long::from(signal)) };
}

/// Whether a signal stops all threads of a process.
fn is_of_group(signal: libc::c_int) -> bool {
    matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}
