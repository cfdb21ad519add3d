//! The programs that a started program executes, and those that its children execute: each waits before
//! its first instruction until its files are watched (`man 2 ptrace`).
//!
//! A thread of its own is the tracer of all of them, so they go on while the files of one are looked at.
//! It passes every signal on as it came. If it dies, the kernel lets go of all of them.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

mod call;
mod loads;
mod tracers;

use super::error::{Error, Step};
use super::eventfd::{EventFd, clear, wait};
use super::mapped::{self, FileId, MappedFile};
use call::Call;
use loads::Loads;

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
pub enum TreeEvent {
    /// A process waits until the tree lets it go on.
    Waits {
        /// The process.
        pid: u32,
        /// The files that it has mapped or is about to map, and that were not told before.
        files: Vec<MappedFile>,
        /// Whether it executes another program.
        is_exec: bool,
    },
    /// A process has created another one, which has the same mapped. Both go on. Told if each program that is
    /// executed waits.
    Forks {
        /// The process.
        pid: u32,
        /// The one that it has created.
        child: u32,
    },
    /// A process traces others itself, or may do so. It waits until the tree lets it go on. From then on it
    /// is not traced, and neither are its children.
    LetGo {
        /// The process.
        pid: u32,
        /// Its program.
        program: PathBuf,
        /// The programs that its arguments name, which it may execute.
        files: Vec<MappedFile>,
        /// The processes that its arguments name, and that are not traced any more so that it can trace them.
        released: Vec<u32>,
    },
}

/// A program that is traced, and all that it starts.
#[derive(Debug)]
pub(super) struct Tree {
    commands: Sender<i32>,
    /// Readable when there are commands, or the thread is to end.
    wake: Arc<EventFd>,
    told: Receiver<TreeEvent>,
    /// Readable when something was told.
    ready: Arc<EventFd>,
    shared: Arc<SharedState>,
    thread: Option<JoinHandle<()>>,
}

/// What both threads know.
#[derive(Debug)]
struct SharedState {
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
        let shared = Arc::new(SharedState {
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
                let (tasks, known, pending) = (HashMap::new(), HashSet::new(), HashMap::new());
                let loads = Loads::default();
                Tracer { root, tasks, known, pending, loads, tell, ready: readies, shared: theirs }.run(&to_do, &wakes);
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
    pub(super) fn take(&mut self) -> Vec<TreeEvent> {
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
            self.ready.clear();
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
    Loads { program: FileId, code: Vec<Range<u64>>, calls: u32 },
    /// It is traced no more.
    Leaves,
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
    /// Those of them that may not be watched yet, with the process that waits for it.
    pending: HashMap<FileId, libc::pid_t>,
    loads: Loads,
    tell: Sender<TreeEvent>,
    ready: Arc<EventFd>,
    shared: Arc<SharedState>,
}

impl Tracer {
    fn run(mut self, to_do: &Receiver<i32>, wake: &EventFd) {
        let stops = STOPS.load(Ordering::Relaxed);
        while !self.shared.ends.load(Ordering::Relaxed) {
            wait(&[stops, wake.descriptor()], None);
            clear(stops);
            wake.clear();
            for pid in to_do.try_iter() {
                self.pending.retain(|_, waiting| *waiting != pid);
                if let Some(Task::Waits(then)) = self.tasks.remove(&pid) {
                    match then.map(|task| *task) {
                        Some(Task::Leaves) => self.let_go(pid),
                        Some(task) => {
                            self.tasks.insert(pid, task);
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

    fn tell(&self, what: TreeEvent) {
        let _ = self.tell.send(what);
        self.ready.set();
    }

    fn stopped(&mut self, pid: libc::pid_t, status: libc::c_int) {
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        match event {
            PTRACE_EVENT_STOP if is_of_group(signal) => resume(pid, libc::PTRACE_LISTEN, 0),
            libc::PTRACE_EVENT_EXEC => self.executed(pid),
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => {
                self.forked(pid);
                self.go_on(pid, 0);
            }
            0 if signal == libc::SIGTRAP | 0x80 => self.called(pid),
            0 => self.go_on(pid, signal),
            _ => self.go_on(pid, 0),
        }
    }

    /// Lets a thread do what it did.
    fn go_on(&self, pid: libc::pid_t, signal: libc::c_int) {
        let request = match self.tasks.get(&pid) {
            Some(Task::Loads { .. }) => libc::PTRACE_SYSCALL,
            Some(Task::Waits(_) | Task::Leaves) | None => libc::PTRACE_CONT,
        };
        resume(pid, request, signal);
    }

    /// A thread has created a process.
    fn forked(&self, pid: libc::pid_t) {
        if !self.shared.each_exec.load(Ordering::Relaxed) {
            return;
        }
        let mut child: libc::c_ulong = 0;
        // SAFETY: it fills the number for a thread that stands still.
        let result = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, pid, 0, &raw mut child) };
        if let (0, Some(pid), Ok(child)) = (result, process_of(pid), u32::try_from(child)) {
            self.tell(TreeEvent::Forks { pid, child });
        }
    }

    /// A process is about to run another program.
    fn executed(&mut self, pid: libc::pid_t) {
        // All other threads are gone, and this one has the number of the process now.
        self.tasks.remove(&pid);
        let Ok(process) = u32::try_from(pid) else { return };
        let Some(program) = self.loads.program(process) else { return resume(pid, libc::PTRACE_CONT, 0) };
        if program.may_trace {
            let released = self.release(tracers::processes(process));
            let (path, files) = (program.path, tracers::programs(process));
            self.tasks.insert(pid, Task::Waits(Some(Box::new(Task::Leaves))));
            return self.tell(TreeEvent::LetGo { pid: process, program: path, files, released });
        }
        let is_told = self.shared.each_exec.load(Ordering::Relaxed);
        // Nothing can be mapped that is not watched.
        if !is_told && self.loads.are_known(process, program.id, &|file| self.is_watched(file)) {
            return resume(pid, libc::PTRACE_CONT, 0);
        }
        let regions = mapped::regions(process).unwrap_or_default();
        let mut files = mapped::files(process).unwrap_or_default().0;
        let are_watched = files.iter().all(|file| self.is_watched(file.id));
        files.retain(|file| self.known.insert(file.id));
        let then = program.has_loader.then(|| {
            // The loader is mapped behind the program. A static program, or a loader that is executed as a
            // program, is alone.
            let last = regions.iter().rfind(|region| region.is_mapped_file()).map(|region| region.file);
            let code = regions.iter().filter(|region| Some(region.file) == last);
            let code = code.map(|region| region.addresses.clone()).collect();
            Task::Loads { program: program.id, code, calls: 0 }
        });
        if are_watched && !is_told {
            let request = if then.is_some() { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
            self.tasks.extend(then.map(|then| (pid, then)));
            return resume(pid, request, 0);
        }
        self.wait_for(pid, files, true, then);
    }

    /// Traces a process that stands still no more.
    fn let_go(&mut self, pid: libc::pid_t) {
        tracers::detach(pid, 0);
        if pid == self.root {
            self.shared.is_root_free.store(true, Ordering::Release);
        }
    }

    /// Traces processes no more, so that another one can. Returns those that were traced.
    fn release(&mut self, pids: Vec<u32>) -> Vec<u32> {
        let mut released = Vec::new();
        for pid in pids {
            let threads = tracers::traced_threads(pid);
            if threads.is_empty() {
                continue;
            }
            for thread in threads {
                match self.tasks.remove(&thread) {
                    // It stands still already.
                    Some(Task::Waits(_)) => tracers::detach(thread, 0),
                    _ => tracers::interrupt_and_detach(thread),
                }
            }
            if i32::try_from(pid) == Ok(self.root) {
                self.shared.is_root_free.store(true, Ordering::Release);
            }
            released.push(pid);
        }
        released
    }

    /// Whether a file was told, and nobody waits for it any more.
    fn is_watched(&self, file: FileId) -> bool {
        self.known.contains(&file) && !self.pending.contains_key(&file)
    }

    /// Makes a thread wait until the files are watched, and all that were told before.
    fn wait_for(&mut self, pid: libc::pid_t, files: Vec<MappedFile>, is_exec: bool, then: Option<Task>) {
        self.pending.extend(files.iter().map(|file| (file.id, pid)));
        self.tasks.insert(pid, Task::Waits(then.map(Box::new)));
        self.tell(TreeEvent::Waits { pid: pid.unsigned_abs(), files, is_exec });
    }

    /// A thread whose loader maps libraries is at a system call.
    fn called(&mut self, pid: libc::pid_t) {
        let Some(Task::Loads { program, code, calls }) = self.tasks.get_mut(&pid) else {
            return resume(pid, libc::PTRACE_CONT, 0);
        };
        *calls += 1;
        let call = Call::of(pid);
        let is_loading = match &call {
            Some(call) => *calls < MOST_CALLS && call.is_of_loader(code),
            None => false,
        };
        if !is_loading {
            if let (Ok(process), true) = (u32::try_from(pid), call.is_some() && *calls < MOST_CALLS) {
                self.loads.add(process, *program);
            }
            let task = self.tasks.remove(&pid);
            // Programs that record their probes themselves are told to do so.
            if self.shared.each_exec.load(Ordering::Relaxed) && task.is_some() {
                return self.wait_for(pid, Vec::new(), true, None);
            }
            return resume(pid, libc::PTRACE_CONT, 0);
        }
        let file = call.and_then(|call| call.maps(pid)).filter(|file| !self.is_watched(file.id));
        match file {
            Some(file) => {
                let then = self.tasks.remove(&pid);
                // Another process may wait for it already.
                let new = self.known.insert(file.id).then_some(file);
                self.wait_for(pid, new.into_iter().collect(), false, then);
            }
            None => resume(pid, libc::PTRACE_SYSCALL, 0),
        }
    }
}

/// The process of a thread.
fn process_of(thread: libc::pid_t) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}

fn resume(pid: libc::pid_t, request: libc::c_uint, signal: libc::c_int) {
    // SAFETY: it lets a thread that stands still go on. One that was killed is not there any more.
    unsafe { libc::ptrace(request, pid, 0, libc::c_long::from(signal)) };
}

/// Whether a signal stops all threads of a process.
fn is_of_group(signal: libc::c_int) -> bool {
    matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}
