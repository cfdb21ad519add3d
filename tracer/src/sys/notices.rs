//! The kernel tells when a watched process executes another program, or its loader has mapped a
//! library, or a process is moved to the watched control group. So nobody has to look again and again.

use std::os::fd::RawFd;

use super::bpf::{self, Kind, MapType};
use super::error::Error;
use super::groups::Group;
use super::mmaps::Mmaps;
use super::processes::{Among, TaskNumbers, read_number};
use super::ring::RingBuffer;
use super::uprobes::{UprobeLink, UprobeProgram, Uprobes};
use crate::bpf::assembler::{Assembler, Code, Label, TooLong};
use crate::bpf::instruction::{Alu, Helper, JumpCondition, Map, Reg, Size};
use crate::bpf::program::{process_byte, require_group};

/// The size of the buffer in bytes. A notice takes 16.
const SIZE: u32 = 1 << 16;

/// The numbers of processes that have mapped something.
#[derive(Debug)]
pub(super) struct Notices {
    map: bpf::KernelMap,
    ring: RingBuffer,
    uprobes: Uprobes,
    program: UprobeProgram,
    links: Vec<UprobeLink>,
    /// What the processes that were named and their children map; `None` if their loaders have to tell.
    mmaps: Option<Mmaps>,
    /// Whether the kernel tells of all processes that were added.
    is_complete: bool,
    /// The control group that is watched.
    group: Option<Group>,
}

/// Writes the number of the process, if it is watched.
fn notice(among: &Among) -> Result<Code, TooLong> {
    let mut code = Assembler::default();
    let (is_watched, end) = (code.label(), code.label());
    code.call(Helper::GetCurrentPidTgid);
    code.alu_immediate(Alu::Rsh, Reg::R0, 32);
    code.copy(Reg::R8, Reg::R0);
    match among {
        Among::All => {}
        Among::Links(pids) => {
            for pid in pids {
                code.jump_if_immediate(JumpCondition::Equal, Reg::R8, *pid as i32, is_watched);
            }
            code.jump(end);
        }
        Among::Set(_) => {
            process_byte(&mut code, Reg::R0);
            code.load(Size::One, Reg::R1, Reg::R1, 0);
            code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, end);
        }
        Among::Group(group) => require_group(&mut code, group.id, group.level, end),
    }
    if code.is_used(is_watched) {
        code.place(is_watched);
    }
    write(code, end)
}

/// At `cgroup_attach_task(group, path, task, ...)`: writes the number of the process that was moved.
fn moved(numbers: TaskNumbers) -> Result<Code, TooLong> {
    let mut code = Assembler::default();
    let end = code.label();
    code.load(Size::Eight, Reg::R7, Reg::R1, 16);
    read_number(&mut code, numbers.tgid, -8);
    code.load(Size::Eight, Reg::R8, Reg::Frame, -8);
    write(code, end)
}

/// Writes the number in `R8`.
fn write(mut code: Assembler, end: Label) -> Result<Code, TooLong> {
    code.set_map(Reg::R1, Map::Ring);
    code.set(Reg::R2, 8);
    code.set(Reg::R3, 0);
    code.call(Helper::RingbufReserve);
    code.jump_if_immediate(JumpCondition::Equal, Reg::R0, 0, end);
    code.store(Size::Eight, Reg::R0, 0, Reg::R8);
    code.copy(Reg::R1, Reg::R0);
    code.set(Reg::R2, 0);
    code.call(Helper::RingbufSubmit);
    code.place(end);
    code.set(Reg::R0, 0);
    code.exit();
    code.finish()
}

impl Notices {
    /// Starts with the programs that processes execute. `None` if all processes are watched: then none is
    /// looked at. The children of the named processes are, if they are wanted.
    pub(super) fn start(
        among: &Among,
        with_children: bool,
        tasks: Option<TaskNumbers>,
        uprobes: Uprobes,
    ) -> Result<Option<Self>, Error> {
        if matches!(among, Among::All) {
            return Ok(None);
        }
        let Ok(code) = notice(among) else { return Ok(None) };
        let map = bpf::KernelMap::new(MapType::Ringbuf, 0, SIZE)?;
        let ring = RingBuffer::new(map.descriptor(), SIZE as usize)?;
        let descriptor = |it| if it == Map::Ring { map.descriptor() } else { among.descriptor() };
        let at_exec = bpf::load(&code.link(&descriptor), Kind::Tracepoint)?;
        let mut links = vec![bpf::attach_tracepoint(&at_exec, Some(c"sched_process_exec"))?.into()];
        let program = uprobes.load(&code, &descriptor, false)?;
        let (mmaps, is_complete, group) = match among {
            Among::Group(group) => {
                let mmaps = Mmaps::of_group(&group.folder);
                let code = tasks.and_then(|tasks| moved(tasks).ok());
                let load = |code: Code| bpf::load(&code.link(&descriptor), Kind::Tracepoint);
                let at_move = code.and_then(|code| load(code).ok());
                let link = at_move.and_then(|it| bpf::attach_tracepoint(&it, Some(c"cgroup_attach_task")).ok());
                let is_complete = mmaps.is_some() && link.is_some();
                links.extend(link.map(UprobeLink::from));
                (mmaps, is_complete, Some(group.clone()))
            }
            _ if with_children => (Mmaps::start(among.named()), true, None),
            _ => (None, true, None),
        };
        Ok(Some(Self { map, ring, uprobes, program, links, mmaps, is_complete, group }))
    }

    /// Also tells when a loader has mapped libraries in a process that was named. `offset` is that of the
    /// function in the file of the loader that it calls then. Returns whether it does.
    ///
    /// No other process gets this probe: a debugger has a breakpoint there, which it would not see any more.
    pub(super) fn add_loader(&mut self, path: &str, offset: u64, among: &Among) -> bool {
        // A group has processes with any loader.
        if self.mmaps.is_some() || self.group.is_some() {
            return true;
        }
        let at = [bpf::At { offset, switch: 0, cookie: 0 }];
        let mut attach = |pid: &u32| match self.uprobes.attach(&self.program, path, &at, Some(*pid)) {
            Ok(links) => {
                self.links.extend(links);
                true
            }
            Err(_) => false,
        };
        self.uprobes.filters_processes() && among.named().iter().all(&mut attach)
    }

    /// Also tells what a process maps that a named one has created, and that executes a program.
    pub(super) fn add_process(&mut self, pid: u32) {
        self.is_complete &= self.mmaps.as_mut().is_some_and(|mmaps| mmaps.add(pid));
    }

    /// Whether nobody has to look what processes map.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The processes of the notices since the last call, without duplicates.
    pub(super) fn take(&mut self) -> Vec<u32> {
        let mut pids: Vec<u32> = Vec::new();
        self.ring.read(&mut |record| pids.push(record.first_chunk().map_or(0, |pid| u32::from_ne_bytes(*pid))));
        if let Some(mmaps) = &mut self.mmaps {
            mmaps.take(&mut pids);
        }
        pids.sort_unstable();
        pids.dedup();
        if let (Some(group), false) = (&self.group, pids.is_empty()) {
            // Others are moved too.
            let processes = group.processes();
            pids.retain(|pid| processes.binary_search(pid).is_ok());
        }
        pids
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let mmaps = self.mmaps.iter().flat_map(Mmaps::descriptors);
        std::iter::once(self.map.descriptor()).chain(mmaps)
    }

    /// The links, to be closed when no program is to run any more.
    pub(super) fn take_links(&mut self) -> Vec<UprobeLink> {
        std::mem::take(&mut self.links)
    }
}
