//! Starts a program so that it waits before its first instruction.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::error::{Error, Step};
use super::tree::{Tree, TreeEvent};

/// A program that was started.
///
/// If the value is dropped while the program waits, the program never runs.
#[derive(Debug)]
pub struct Child {
    pid: libc::pid_t,
    /// The program runs when a byte is written here.
    gate: Option<File>,
    /// What the program writes here is the error number of `execve`.
    failure: File,
    /// Whether it waits at its first instruction.
    stops: bool,
    is_stopped: bool,
    status: Option<i32>,
    /// What makes the programs wait that it executes.
    tree: Option<Tree>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// It exited with this status.
    Exited(u8),
    /// A signal killed it.
    Killed(i32),
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: it fills the array.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened both, and nobody else knows them.
    let [reader, writer] = ends.map(|end| File::from(unsafe { OwnedFd::from_raw_fd(end) }));
    Ok((reader, writer))
}

impl Child {
    /// Starts a program that waits until [`Child::release`], and then, if it `stops`, until
    /// [`Child::run`]. `program` is a path.
    ///
    /// # Errors
    ///
    /// The process cannot be created.
    pub fn start(program: &Path, arguments: &[OsString], stops: bool) -> Result<Self, Error> {
        let failed = |why: &io::Error| Error::new(Step::Start, why);
        let text = |text: &OsStr| {
            CString::new(text.as_bytes()).map_err(|_| failed(&io::Error::from_raw_os_error(libc::EINVAL)))
        };
        let path = text(program.as_os_str())?;
        let arguments: Vec<CString> = arguments.iter().map(|it| text(it)).collect::<Result<_, _>>()?;
        let mut pointers: Vec<*const libc::c_char> = arguments.iter().map(|it| it.as_ptr()).collect();
        pointers.push(std::ptr::null());
        let (wait, gate) = pipe().map_err(|why| failed(&why))?;
        let (failure, report) = pipe().map_err(|why| failed(&why))?;
        let (wait_fd, gate_fd) = (std::os::fd::AsRawFd::as_raw_fd(&wait), std::os::fd::AsRawFd::as_raw_fd(&gate));
        let report_fd = std::os::fd::AsRawFd::as_raw_fd(&report);
        // SAFETY: the child calls only functions that are safe after `fork` in a process with
        // several threads (`man 7 signal-safety`), and its memory is a copy.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(failed(&io::Error::last_os_error())),
            0 => {
                let mut byte = 0u8;
                // SAFETY: as above. The pointers are valid: they were made before `fork`.
                unsafe {
                    // Otherwise the pipe stays open in the child when the parent dies.
                    libc::close(gate_fd);
                    if libc::read(wait_fd, (&raw mut byte).cast(), 1) != 1 {
                        libc::_exit(0);
                    }
                    libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                    // It stops at the first instruction of the program.
                    if stops {
                        libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                    }
                    libc::execv(path.as_ptr(), pointers.as_ptr());
                    let errno = (*libc::__errno_location()).to_ne_bytes();
                    libc::write(report_fd, errno.as_ptr().cast(), errno.len());
                    libc::_exit(127)
                }
            }
            pid => Ok(Self { pid, gate: Some(gate), failure, stops, is_stopped: false, status: None, tree: None }),
        }
    }

    /// The number of the process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Lets the program run. If it stops, it is at its first instruction then, with its file mapped.
    ///
    /// # Errors
    ///
    /// The program cannot be executed.
    pub fn release(&mut self) -> Result<(), Error> {
        let failed = |why: &io::Error| Error::new(Step::Start, why);
        let Some(mut gate) = self.gate.take() else { return Ok(()) };
        gate.write_all(&[1]).map_err(|why| failed(&why))?;
        drop(gate);
        let mut errno = [0; 4];
        match self.failure.read(&mut errno) {
            // The pipe was closed by `execve`.
            Ok(0) => {
                // Otherwise it waits for the tree.
                if self.stops && self.tree.is_none() {
                    self.wait_for_stop();
                }
                Ok(())
            }
            Ok(_) => Err(failed(&io::Error::from_raw_os_error(i32::from_ne_bytes(errno)))),
            Err(why) => Err(failed(&why)),
        }
    }

    /// From now on each program that it or a child of it executes waits before its first instruction,
    /// until [`Child::go_on`].
    ///
    /// # Errors
    ///
    /// It must not be traced, or the right is missing without which programs with the set-user-ID bit
    /// would fail (`CAP_SYS_PTRACE`).
    pub fn follow(&mut self) -> Result<(), Error> {
        self.tree = Some(Tree::start(self.pid())?);
        Ok(())
    }

    /// What has happened to the programs that it executes since the last call.
    pub fn traced(&mut self) -> Vec<TreeEvent> {
        self.tree.as_mut().map(Tree::take).unwrap_or_default()
    }

    /// Lets a process that waits go on.
    pub fn go_on(&self, pid: u32) {
        if let Some(tree) = &self.tree {
            tree.go_on(pid);
        }
    }

    /// Every program that is executed waits, also if its files are known.
    pub fn wait_at_each_exec(&self) {
        if let Some(tree) = &self.tree {
            tree.tell_each_exec();
        }
    }

    /// Lets all processes go on, and none waits any more.
    pub fn let_go(&mut self) {
        if let Some(tree) = &mut self.tree {
            tree.end();
        }
    }

    /// Whether the programs that it executes wait.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        self.tree.is_some()
    }

    /// Whether its end is known. What told it may have been taken with [`Child::traced`].
    pub(super) fn is_known_to_end(&self) -> bool {
        self.status.is_some() || self.tree.as_ref().is_some_and(|tree| tree.status().is_some())
    }

    /// Readable when something has happened; `None` if nothing waits.
    pub(super) fn descriptor(&self) -> Option<RawFd> {
        self.tree.as_ref().map(Tree::descriptor)
    }

    /// Waits until the program has stopped, or has ended.
    fn wait_for_stop(&mut self) {
        let mut status = 0;
        // SAFETY: it fills the status of our own child.
        if unsafe { libc::waitpid(self.pid, &raw mut status, 0) } != self.pid {
            return;
        }
        if libc::WIFSTOPPED(status) {
            self.is_stopped = true;
        } else {
            self.status = Some(status);
        }
    }

    /// Lets a program that has stopped run.
    pub fn run(&mut self) {
        if std::mem::take(&mut self.is_stopped) {
            // SAFETY: it lets go of our own child. No signal is handed to it.
            unsafe { libc::ptrace(libc::PTRACE_DETACH, self.pid, 0, 0) };
        }
    }

    /// Passes a signal on to the program, unless it has ended.
    pub fn send(&self, signal: i32) {
        if self.status.is_none() {
            // SAFETY: our own child has this number until it was waited for.
            unsafe { libc::kill(self.pid, signal) };
        }
    }

    /// How the program ended; `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.tree.as_ref().and_then(Tree::status);
        }
        // Its tracer waits for it.
        if self.status.is_none() && self.tree.as_ref().is_none_or(Tree::is_root_free) {
            let mut status = 0;
            // SAFETY: it fills the status of our own child.
            if unsafe { libc::waitpid(self.pid, &raw mut status, libc::WNOHANG) } == self.pid {
                self.status = Some(status);
            }
        }
        let status = self.status?;
        Some(match libc::WIFSIGNALED(status) {
            true => ExitStatus::Killed(libc::WTERMSIG(status)),
            false => ExitStatus::Exited(libc::WEXITSTATUS(status) as u8),
        })
    }

    /// The path of a program that is given as a command, with the folders of `PATH` if it has no
    /// `/`; `None` if there is none.
    #[must_use]
    pub fn find(command: &OsStr) -> Option<PathBuf> {
        if command.as_bytes().contains(&b'/') {
            return Some(PathBuf::from(command));
        }
        let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from_vec(b"/bin:/usr/bin".to_vec()));
        let is_program = |file: &PathBuf| {
            use std::os::unix::fs::PermissionsExt as _;
            file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
        };
        std::env::split_paths(&path).map(|folder| folder.join(command)).find(is_program)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.run();
        self.let_go();
        // The child that waits for the gate ends when the gate closes.
        if self.gate.take().is_some() {
            // SAFETY: it waits for our own child, which ends at once.
            unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
        }
    }
}
