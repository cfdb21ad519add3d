//! What the kernel refused.

use std::io;

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// To create or read a BPF map.
    Map,
    /// To create a BPF map with more memory than the process may lock (`RLIMIT_MEMLOCK`).
    Memory,
    /// To load a BPF program.
    Program,
    /// To attach a BPF program.
    Attach,
    /// To attach a BPF program at a probe whose site another tool watches without its switch.
    Switch,
    /// To map the ring buffer into memory.
    Ring,
    /// To read the types of the kernel (`/sys/kernel/btf/vmlinux`).
    Types,
    /// To start the program.
    Start,
    /// To make the programs that a program executes wait.
    Trace,
    /// To use the kernel's tracing files.
    Tracefs,
    /// To create an instance in them.
    Instance,
    /// To set a probe in them.
    Probe,
    /// To read the pages of an instance.
    Pages,
    /// To read the format of an event.
    Format,
}

/// The kernel refused something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What was tried.
    pub step: Step,
    /// The error number (`man 3 errno`); 0 if there is none.
    pub errno: i32,
    /// What the verifier of BPF programs, or the kernel's parser of probes, said; empty if it said
    /// nothing.
    pub log: String,
}

impl Error {
    pub(super) fn new(step: Step, why: &io::Error) -> Self {
        Self { step, errno: why.raw_os_error().unwrap_or(0), log: String::new() }
    }

    pub(super) fn with_log(mut self, log: String) -> Self {
        self.log = log;
        self
    }

    /// The error for a site that may have a switch. The kernel's log does not say that another uprobe
    /// there has none, but may end with another error.
    pub(super) fn of_switch(self, has_switch: bool) -> Self {
        match has_switch && self.errno == libc::EINVAL {
            true => Self { step: Step::Switch, log: String::new(), ..self },
            false => self,
        }
    }

    /// Whether a right is missing.
    #[must_use]
    pub fn is_permission(&self) -> bool {
        matches!(self.errno, libc::EPERM | libc::EACCES) && self.log.is_empty()
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.step {
            Step::Map => "cannot create a BPF map",
            Step::Memory => {
                "cannot create a BPF map: before Linux 5.11 its memory is limited by RLIMIT_MEMLOCK, which cannot be raised"
            }
            Step::Program => "cannot load a BPF program",
            Step::Attach => "cannot set the probes",
            Step::Switch => {
                let why =
                    "another tool has a uprobe at its site that does not arm it, and the kernel allows only one kind";
                return write!(f, "cannot arm a probe: {why}");
            }
            Step::Ring => "cannot map the ring buffer",
            Step::Types => "cannot read the types of the kernel in /sys/kernel/btf/vmlinux",
            Step::Start => "cannot start the program",
            Step::Trace => "cannot trace the programs that it executes",
            Step::Tracefs if self.errno == libc::ENOENT => {
                return write!(f, "tracefs is not mounted (mount -t tracefs tracefs /sys/kernel/tracing)");
            }
            Step::Tracefs => "cannot use tracefs",
            Step::Instance => "cannot create an instance in tracefs",
            Step::Probe => "cannot set a probe in tracefs",
            Step::Pages => "cannot read an instance in tracefs",
            Step::Format => "cannot read the format of an event in tracefs",
        };
        write!(f, "{what}: {}", io::Error::from_raw_os_error(self.errno))?;
        if let Some(last) = self.log.lines().rev().find(|line| !line.starts_with("processed ")) {
            let who = if self.step == Step::Program { "verifier" } else { "kernel" };
            write!(f, " (the {who} says: {last})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
