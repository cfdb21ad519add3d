//! Follows `fork`: programs at the kernel's tracepoints keep the set of traced processes.

use std::os::fd::OwnedFd;

use super::bpf::{self, Kind};
use super::error::Error;
use crate::bpf::Code;
use crate::bpf::assembler::{Assembler, TooLong};
use crate::bpf::instruction::{Alu, Condition, Helper, Map, Reg, Size};

/// Offsets in the kernel's `task_struct`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskOffsets {
    pub(super) pid: u32,
    pub(super) tgid: u32,
}

const KEY: i16 = -8;
const WORD: i16 = -16;

/// Reads a number of 4 bytes of the task in `R7` to a word of the stack.
fn read(code: &mut Assembler, offset: u32, word: i16) {
    code.copy(Reg::R3, Reg::R7);
    code.alu_immediate(Alu::Add, Reg::R3, offset as i32);
    code.copy(Reg::R1, Reg::Frame);
    code.alu_immediate(Alu::Add, Reg::R1, word.into());
    code.set(Reg::R2, 4);
    code.call(Helper::ProbeReadKernel);
}

fn call(code: &mut Assembler, helper: Helper, key: i16) {
    code.set_map(Reg::R1, Map::Processes);
    code.copy(Reg::R2, Reg::Frame);
    code.alu_immediate(Alu::Add, Reg::R2, key.into());
    code.call(helper);
}

fn end(mut code: Assembler) -> Result<Code, TooLong> {
    code.set(Reg::R0, 0);
    code.exit();
    code.finish()
}

/// At `sched_process_fork(parent, child)`: the child of a traced process is traced.
fn forked(offsets: TaskOffsets) -> Result<Code, TooLong> {
    let mut code = Assembler::default();
    let done = code.label();
    code.load(Size::Eight, Reg::R7, Reg::R1, 8);
    code.call(Helper::GetCurrentPidTgid);
    code.alu_immediate(Alu::Rsh, Reg::R0, 32);
    code.store(Size::Four, Reg::Frame, KEY, Reg::R0);
    call(&mut code, Helper::MapLookupElem, KEY);
    code.jump_if_immediate(Condition::Equal, Reg::R0, 0, done);
    read(&mut code, offsets.tgid, KEY);
    code.store_immediate(Size::Eight, Reg::Frame, WORD, 1);
    code.copy(Reg::R3, Reg::Frame);
    code.alu_immediate(Alu::Add, Reg::R3, WORD.into());
    code.set(Reg::R4, 0);
    call(&mut code, Helper::MapUpdateElem, KEY);
    code.place(done);
    end(code)
}

/// At `sched_process_free(task)`, when nothing has the number of a process any more.
fn freed(offsets: TaskOffsets) -> Result<Code, TooLong> {
    let mut code = Assembler::default();
    let done = code.label();
    code.load(Size::Eight, Reg::R7, Reg::R1, 0);
    code.store_immediate(Size::Eight, Reg::Frame, KEY, 0);
    code.store_immediate(Size::Eight, Reg::Frame, WORD, 0);
    read(&mut code, offsets.pid, WORD);
    read(&mut code, offsets.tgid, KEY);
    code.load(Size::Four, Reg::R1, Reg::Frame, KEY);
    code.load(Size::Four, Reg::R2, Reg::Frame, WORD);
    // The first thread is freed last.
    code.jump_if(Condition::NotEqual, Reg::R1, Reg::R2, done);
    call(&mut code, Helper::MapDeleteElem, KEY);
    code.place(done);
    end(code)
}

/// The links of the programs, which keep the set as long as they are open. `follow` says that
/// children are added.
pub(super) fn follow(processes: &bpf::Map, offsets: TaskOffsets, follow: bool) -> Result<Vec<OwnedFd>, Error> {
    let mut links = Vec::new();
    let fork = follow.then(|| (forked(offsets), c"sched_process_fork"));
    for (code, tracepoint) in fork.into_iter().chain([(freed(offsets), c"sched_process_free")]) {
        // The jumps are a few instructions long.
        let Ok(code) = code else { continue };
        let program = bpf::load(&code.link(&|_| processes.descriptor()), Kind::Tracepoint)?;
        links.push(bpf::attach_tracepoint(&program, tracepoint)?);
    }
    Ok(links)
}
