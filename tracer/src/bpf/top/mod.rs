//! The programs of `smark top`, which keep `Map::Threads` (`crate::top::entry`).
//!
//! All numbers of a thread are absolute: the programs copy what the kernel counts since the thread was
//! created, and the reader takes differences. So nothing is lost if the reader is slow, and removing
//! a thread that has ended loses nothing.

mod fields;
mod program;

pub use fields::{CLOCK_AHEAD, END, INTERVAL, RunQueue, SHARED_SIZE, TaskFields, UNCOUNTED};

use self::program::TaskProgram;
use super::assembler::{Code, TooLong};
use super::instruction::{Helper, JumpCondition as Jump, Reg, Size};
use crate::top::entry::{GROUP, NO_GROUP, VISITED};

/// What visits the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// To note all threads that are there.
    All,
    /// To note the CPU time of the threads that are on a CPU.
    Running,
}

/// The program at `sched_switch`: it notes the thread that leaves the CPU. `group_level` is the level of
/// the control group that is noted; `None` for no group.
///
/// # Errors
///
/// Never in practice: the jumps are short.
pub fn switched(fields: &TaskFields, group_level: Option<u32>) -> Result<Code, TooLong> {
    let mut program = TaskProgram::new(fields);
    program.code.load(Size::Eight, Reg::R6, Reg::R1, 8);
    // The thread of an idle CPU has the number 0.
    program.read(Reg::R1, fields.pid);
    program.code.jump_if_immediate(Jump::Equal, Reg::R1, 0, program.end);
    let known = program.lookup();
    program.zero();
    program.insert();
    program.code.place(known);
    program.counts();
    program.wait_until_switch();
    program.names();
    if let Some(level) = group_level {
        program.code.set(Reg::R1, level.into());
        program.code.call(Helper::GetCurrentAncestorCgroupId);
        let is_there = program.code.label();
        program.code.jump_if_immediate(Jump::NotEqual, Reg::R0, 0, is_there);
        program.code.set(Reg::R0, NO_GROUP);
        program.code.place(is_there);
        program.code.store(Size::Eight, Reg::R7, GROUP, Reg::R0);
    }
    program.end_of_thread();
    program.finish()
}

/// The program that visits threads.
///
/// # Errors
///
/// Never in practice: the jumps are short.
pub fn visited(fields: &TaskFields, visit: Visit) -> Result<Code, TooLong> {
    let mut program = TaskProgram::new(fields);
    program.code.load(Size::Eight, Reg::R6, Reg::R1, 8);
    // After the last thread there is none.
    program.code.jump_if_immediate(Jump::Equal, Reg::R6, 0, program.end);
    program.clock();
    // The last switch of a thread that exits notes it.
    program.read(Reg::R1, fields.exit_state);
    program.code.jump_if_immediate(Jump::NotEqual, Reg::R1, 0, program.end);
    if visit == Visit::Running {
        program.read(Reg::R1, fields.on_cpu);
        program.code.jump_if_immediate(Jump::Equal, Reg::R1, 0, program.end);
    }
    let known = program.lookup();
    program.zero();
    if visit == Visit::All {
        program.seed();
    }
    program.insert();
    program.names();
    program.code.place(known);
    program.cpu_now();
    program.wait_until_now();
    if visit == Visit::All {
        program.load_interval(Reg::R1);
        program.code.store(Size::Eight, Reg::R7, VISITED, Reg::R1);
    }
    program.finish()
}
