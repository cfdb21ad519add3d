//! Runs a program under ptrace and stops it at sites. Supports x86-64 Linux.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::personality::{self, Persona};
use nix::sys::ptrace::{self, Event, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use object::elf::PT_TLS;
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};

use super::machine::Stopped;
use super::twin::{input, limit};

/// What the caller wants after a stop at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Stop there again.
    Again,
    /// Do not stop there again.
    Remove,
}

/// The instruction `int3`.
const BREAKPOINT: u8 = 0xcc;

/// Runs a program to its end, and calls `stopped` each time an instruction at one of `sites` is
/// about to run. Sites are link-time addresses. Returns what it writes to its standard output.
///
/// # Errors
///
/// The program cannot be run under ptrace, forks, passes a site in a second thread, or takes more
/// `seconds` of a processor.
pub fn run(
    image: &Path,
    (arguments, stdin): (&[String], Option<&Path>),
    seconds: u64,
    sites: &[u64],
    stopped: &mut dyn FnMut(u64, &Stopped<'_>) -> Next,
) -> Result<Vec<u8>, String> {
    let output = tempfile::NamedTempFile::new().map_err(|why| why.to_string())?;
    let stdout = output.reopen().map_err(|why| why.to_string())?;
    let process = Process::start(image, arguments, stdin, stdout)?;
    limit(process.pid.as_raw().unsigned_abs(), seconds);
    let result = process.attend(sites, stopped);
    if result.is_err() {
        let _ = ptrace::kill(process.pid);
        let _ = waitpid(process.pid, Some(WaitPidFlag::__WALL));
    }
    result?;
    std::fs::read(output.path()).map_err(|why| why.to_string())
}

struct Process {
    pid: Pid,
    memory: File,
    bias: u64,
    thread_local_size: Option<u64>,
}

impl Process {
    /// Starts the program and stops it before its first instruction.
    fn start(image: &Path, arguments: &[String], stdin: Option<&Path>, stdout: File) -> Result<Self, String> {
        let say = |why: &dyn std::fmt::Display| format!("{}: {why}", image.display());
        let bytes = std::fs::read(image).map_err(|why| say(&why))?;
        let elf = ElfFile64::<object::Endianness>::parse(&*bytes).map_err(|why| say(&why))?;
        let endian = elf.endian();
        let storage = elf.elf_program_headers().iter().find(|header| header.p_type(endian) == PT_TLS);
        let thread_local_size = storage.map(|header| {
            let (size, align) = (header.p_memsz(endian), header.p_align(endian).max(1));
            size.next_multiple_of(align)
        });
        let entry = elf.elf_header().e_entry(endian);
        let mut command = Command::new(image);
        command.args(arguments).stdin(input(stdin)?).stdout(stdout).stderr(Stdio::null());
        let trace = || {
            personality::set(Persona::ADDR_NO_RANDOMIZE)?;
            ptrace::traceme()?;
            Ok(())
        };
        // SAFETY: the two system calls are allowed between fork and exec.
        unsafe { command.pre_exec(trace) };
        #[allow(clippy::zombie_processes, reason = "it is awaited by its number")]
        let child = command.spawn().map_err(|why| say(&why))?;
        let pid = Pid::from_raw(child.id() as i32);
        match waitpid(pid, Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::Stopped(_, Signal::SIGTRAP)) => {}
            other => return Err(say(&format!("it does not start under ptrace: {other:?}"))),
        }
        let options = Options::PTRACE_O_EXITKILL | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_TRACEFORK;
        ptrace::setoptions(pid, options).map_err(|why| say(&why))?;
        let memory =
            File::options().read(true).write(true).open(format!("/proc/{pid}/mem")).map_err(|why| say(&why))?;
        let auxiliary = std::fs::read(format!("/proc/{pid}/auxv")).map_err(|why| say(&why))?;
        let bias = loaded_entry(&auxiliary).ok_or_else(|| say(&"no entry in auxv"))?.wrapping_sub(entry);
        Ok(Self { pid, memory, bias, thread_local_size })
    }

    fn attend(&self, sites: &[u64], stopped: &mut dyn FnMut(u64, &Stopped<'_>) -> Next) -> Result<(), String> {
        let failed = |why: &dyn std::fmt::Display| format!("process {}: {why}", self.pid);
        // The first byte of each instruction, by run-time address.
        let mut replaced = HashMap::new();
        for site in sites {
            let address = site.wrapping_add(self.bias);
            let mut byte = [0];
            self.memory.read_exact_at(&mut byte, address).map_err(|why| failed(&why))?;
            replaced.insert(address, byte[0]);
        }
        for address in replaced.keys() {
            self.write(*address, BREAKPOINT)?;
        }
        let mut signal = None;
        loop {
            ptrace::cont(self.pid, signal.take()).map_err(|why| failed(&why))?;
            match waitpid(self.pid, Some(WaitPidFlag::__WALL)).map_err(|why| failed(&why))? {
                WaitStatus::Signaled(_, Signal::SIGKILL, _) => return Err(failed(&"it does not end")),
                WaitStatus::Exited(..) | WaitStatus::Signaled(..) => return Ok(()),
                WaitStatus::Stopped(_, Signal::SIGTRAP) => {
                    let mut registers = ptrace::getregs(self.pid).map_err(|why| failed(&why))?;
                    let address = registers.rip.wrapping_sub(1);
                    let Some(byte) = replaced.get(&address).copied() else {
                        signal = Some(Signal::SIGTRAP);
                        continue;
                    };
                    registers.rip = address;
                    let machine = Stopped {
                        thread: self.pid,
                        registers,
                        memory: &self.memory,
                        bias: self.bias,
                        thread_local_size: self.thread_local_size,
                        vectors: OnceCell::new(),
                    };
                    let next = stopped(address.wrapping_sub(self.bias), &machine);
                    ptrace::setregs(self.pid, registers).map_err(|why| failed(&why))?;
                    self.write(address, byte)?;
                    match next {
                        Next::Again => {
                            if !self.step()? {
                                return Ok(());
                            }
                            self.write(address, BREAKPOINT)?;
                        }
                        Next::Remove => drop(replaced.remove(&address)),
                    }
                }
                WaitStatus::Stopped(_, other) => signal = Some(other),
                WaitStatus::PtraceEvent(_, _, event) => {
                    let what = if event == Event::PTRACE_EVENT_CLONE as i32 { "starts a thread" } else { "forks" };
                    return Err(failed(&format!("it {what}, which is not followed")));
                }
                other => return Err(failed(&format!("{other:?}"))),
            }
        }
    }

    /// Runs one instruction. Returns whether the process still exists.
    fn step(&self) -> Result<bool, String> {
        let failed = |why: &dyn std::fmt::Display| format!("process {}: {why}", self.pid);
        let mut signal = None;
        loop {
            ptrace::step(self.pid, signal.take()).map_err(|why| failed(&why))?;
            match waitpid(self.pid, Some(WaitPidFlag::__WALL)).map_err(|why| failed(&why))? {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => return Ok(true),
                WaitStatus::Stopped(_, other) => signal = Some(other),
                WaitStatus::Exited(..) | WaitStatus::Signaled(..) => return Ok(false),
                other => return Err(failed(&format!("{other:?}"))),
            }
        }
    }

    fn write(&self, address: u64, byte: u8) -> Result<(), String> {
        let written = self.memory.write_all_at(&[byte], address);
        written.map_err(|why| format!("process {}: {address:#x}: {why}", self.pid))
    }
}

/// `AT_ENTRY`.
fn loaded_entry(auxiliary: &[u8]) -> Option<u64> {
    const AT_ENTRY: u64 = 9;
    let word = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
    auxiliary.chunks_exact(16).find(|pair| word(&pair[..8]) == Some(AT_ENTRY)).and_then(|pair| word(&pair[8..]))
}
