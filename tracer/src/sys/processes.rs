//! Which processes are watched. Programs at the kernel's tracepoints follow `fork`.

use std::os::fd::{OwnedFd, RawFd};

use super::bpf::{self, Kind};
use super::error::{Error, Step};
use super::groups::Group;
use super::mapping::Mapping;
use super::numbers::numbers;
use super::request::Scope;
use super::uprobes::Uprobes;
use crate::bpf::Code;
use crate::bpf::assembler::{Assembler, TooLong};
use crate::bpf::instruction::{Alu, Helper, JumpCondition, Reg, Size};
use crate::bpf::kernel_number::KernelNumber;
use crate::bpf::program::{MAX_PROCESSES, ProcessFilter, process_byte};

/// Where the numbers of a thread and its process are in the kernel's `task_struct`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskNumbers {
    pub(super) pid: KernelNumber,
    pub(super) tgid: KernelNumber,
}

const PROCESS: i16 = -8;
const THREAD: i16 = -16;

/// Reads a number of the task in `R7` to a word of the stack.
pub(super) fn read_number(code: &mut Assembler, number: KernelNumber, word: i16) {
    code.copy(Reg::R3, Reg::R7);
    code.alu_immediate(Alu::Add, Reg::R3, number.offset as i32);
    code.store_immediate(Size::Eight, Reg::Frame, word, 0);
    code.copy(Reg::R1, Reg::Frame);
    code.alu_immediate(Alu::Add, Reg::R1, word.into());
    code.set(Reg::R2, number.size.bytes().into());
    code.call(Helper::ProbeReadKernel);
}

/// Says whether the process in a word of the stack is traced.
fn set(code: &mut Assembler, word: i16, is_traced: bool) {
    code.load(Size::Four, Reg::R2, Reg::Frame, word);
    process_byte(code, Reg::R2);
    code.store_immediate(Size::One, Reg::R1, 0, is_traced.into());
}

fn end(mut code: Assembler) -> Result<Code, TooLong> {
    code.set(Reg::R0, 0);
    code.exit();
    code.finish()
}

/// At `sched_process_fork(parent, child)`: the child of a traced process is traced, be it a process or a
/// thread. No thread has the number of another one's process. If it does not `follow`, only threads are.
fn forked(numbers: TaskNumbers, follow: bool) -> Result<Code, TooLong> {
    let mut code = Assembler::default();
    let done = code.label();
    code.load(Size::Eight, Reg::R7, Reg::R1, 8);
    code.call(Helper::GetCurrentPidTgid);
    code.alu_immediate(Alu::Rsh, Reg::R0, 32);
    code.copy(Reg::R8, Reg::R0);
    process_byte(&mut code, Reg::R0);
    code.load(Size::One, Reg::R1, Reg::R1, 0);
    code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, done);
    read_number(&mut code, numbers.tgid, PROCESS);
    if !follow {
        code.load(Size::Four, Reg::R1, Reg::Frame, PROCESS);
        code.jump_if(JumpCondition::NotEqual, Reg::R1, Reg::R8, done);
    }
    set(&mut code, PROCESS, true);
    read_number(&mut code, numbers.pid, THREAD);
    set(&mut code, THREAD, true);
    code.place(done);
    end(code)
}

/// At `sched_process_free(task)`, when nothing has the number of a process any more.
fn freed(numbers: TaskNumbers) -> Result<Code, TooLong> {
    let mut code = Assembler::default();
    code.load(Size::Eight, Reg::R7, Reg::R1, 0);
    // The first thread, which has the number of the process, is freed last.
    read_number(&mut code, numbers.pid, THREAD);
    set(&mut code, THREAD, false);
    end(code)
}

/// The set of traced processes.
#[derive(Debug)]
pub(super) struct Processes {
    map: bpf::KernelMap,
    /// A byte for each process number.
    bytes: Mapping,
    /// The processes that were named.
    named: Vec<u32>,
    /// The programs that keep the set.
    _links: Vec<OwnedFd>,
}

impl Processes {
    /// An empty set. `follow` says that the children of its processes are added. Their threads always
    /// are.
    fn new(numbers: TaskNumbers, follow: bool) -> Result<Self, Error> {
        let map = bpf::KernelMap::mappable(MAX_PROCESSES)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let bytes = Mapping::new(map.descriptor(), access, MAX_PROCESSES as usize, 0);
        let bytes = bytes.map_err(|why| Error::new(Step::Map, &why))?;
        let mut links = Vec::new();
        let fork = (forked(numbers, follow), c"sched_process_fork");
        for (code, tracepoint) in [fork, (freed(numbers), c"sched_process_free")] {
            // The jumps are a few instructions long.
            let Ok(code) = code else { continue };
            let program = bpf::load(&code.link(&|_| map.descriptor()), Kind::Tracepoint)?;
            links.push(bpf::attach_tracepoint(&program, Some(tracepoint))?);
        }
        Ok(Self { map, bytes, named: Vec::new(), _links: links })
    }

    fn descriptor(&self) -> RawFd {
        self.map.descriptor()
    }

    /// Adds a process with the threads that it has.
    fn add(&self, process: u32) {
        let threads = numbers(&format!("/proc/{process}/task"));
        threads.chain([process]).for_each(|number| self.bytes.set(number as usize, 1));
    }
}

/// The processes that are watched.
#[derive(Debug)]
pub(super) enum Among {
    All,
    /// The kernel sets the probes in these processes only, so others run at full speed. It does not
    /// set them in their children.
    Links(Vec<u32>),
    /// The probes are in all processes that run the file, and the programs end at once in others.
    Set(Processes),
    /// The same for processes outside of a control group.
    Group(Group),
}

impl Among {
    /// `has_events` says that events of the kernel are watched, whose programs need the set.
    pub(super) fn new(
        scope: &Scope,
        tasks: Option<TaskNumbers>,
        has_events: bool,
        uprobes: Uprobes,
    ) -> Result<Self, Error> {
        let (pids, with_children) = match scope {
            Scope::All => return Ok(Self::All),
            Scope::Group(group) => return Ok(Self::Group(group.clone())),
            Scope::Processes { pids, with_children } => (pids, with_children),
        };
        if !*with_children && !has_events && uprobes.filters_processes() {
            return Ok(Self::Links(pids.clone()));
        }
        let unknown = || Error::new(Step::Types, &std::io::Error::from_raw_os_error(libc::ENOENT));
        let mut processes = Processes::new(tasks.ok_or_else(unknown)?, *with_children)?;
        pids.iter().for_each(|pid| processes.add(*pid));
        processes.named.clone_from(pids);
        Ok(Self::Set(processes))
    }

    /// In which processes the programs do something.
    pub(super) fn filter(&self) -> ProcessFilter {
        match self {
            Self::All | Self::Links(_) => ProcessFilter::All,
            Self::Set(_) => ProcessFilter::Set,
            Self::Group(group) => ProcessFilter::Group { id: group.id, level: group.level },
        }
    }

    /// The process of each link that a program needs; `None` for a link in all processes.
    pub(super) fn links(&self) -> Vec<Option<u32>> {
        match self {
            Self::All | Self::Set(_) | Self::Group(_) => vec![None],
            Self::Links(pids) => pids.iter().copied().map(Some).collect(),
        }
    }

    /// The processes that were named.
    pub(super) fn named(&self) -> &[u32] {
        match self {
            Self::All | Self::Group(_) => &[],
            Self::Links(pids) => pids,
            Self::Set(processes) => &processes.named,
        }
    }

    /// The file descriptor of [`crate::bpf::KernelMap::Processes`]; -1 if no program uses it.
    pub(super) fn descriptor(&self) -> RawFd {
        match self {
            Self::Set(processes) => processes.descriptor(),
            Self::All | Self::Links(_) | Self::Group(_) => -1,
        }
    }
}
