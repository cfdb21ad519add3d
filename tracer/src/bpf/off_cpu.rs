//! The programs that note how long threads are off the CPUs: those of `Map::OffCpu`, which pass the start of
//! an interval that is split.
//!
//! Only the switch from such a thread is looked at, which runs in that thread: in some virtual machines the kernel
//! runs no program at a switch from an idle CPU. When the thread comes back the kernel notes it itself
//! (`sched_info.last_arrival`). Both times are of the clock of the CPUs, by which the kernel also counts the time
//! on a CPU and the waits for one. So all of them agree, whatever happens between the kernel's look at the clock and
//! the program.

use super::assembler::{Assembler, Code, TooLong};
use super::instruction::{Alu, Helper, JumpCondition as Jump, Map, Reg, Size};
use super::kernel_number::KernelNumber;
use super::stack_sums::{SumWords, add_blocked, map_and_key, read_stacks};
use crate::aggregate::{LAST, NOTHING, OFF, OPEN, QUEUED, RUNNABLE, SINCE, STACKS};

/// Where the kernel keeps how long a thread waits for CPUs: numbers of 8 bytes in its `task_struct`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitOffsets {
    /// How long it waited altogether in ns (`sched_info.run_delay`).
    pub run_delay: u32,
    /// When it last came to a CPU, by the clock of the CPUs (`sched_info.last_arrival`).
    pub last_arrival: u32,
}

/// Where the program at `sched_switch` finds the clock of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the kernel's")]
pub struct SwitchFields {
    /// `sched_info.last_arrival`, in `task_struct`.
    pub last_arrival: KernelNumber,
    /// `sched_info.run_delay`.
    pub run_delay: KernelNumber,
    /// `__state`, or `state` before Linux 5.14: 0 if the thread can run.
    pub state: KernelNumber,
    /// `se.cfs_rq`, in `task_struct`.
    pub cfs_rq: KernelNumber,
    /// In `cfs_rq`.
    pub rq: KernelNumber,
    /// In `rq`. The kernel updates it at the beginning of each switch.
    pub clock: KernelNumber,
}

const KEY: i16 = -8;
const WORDS: SumWords = SumWords { key: KEY - 16, value: KEY - 32 };

/// The program at `sched_switch(preempt, prev, ..)`. `has_stacks` says that it notes with which stacks threads are
/// blocked.
///
/// # Errors
///
/// Never in practice: the jumps are short.
pub fn switched(fields: &SwitchFields, has_stacks: bool) -> Result<Code, TooLong> {
    let mut code = Assembler::default();
    let (is_first, end) = (code.label(), code.label());
    let read = |code: &mut Assembler, to, from, number: KernelNumber| {
        // The verifier refuses a wrong offset.
        code.load(number.size, to, from, i16::try_from(number.offset).unwrap_or(i16::MAX));
    };
    code.copy(Reg::R9, Reg::R1);
    code.load(Size::Eight, Reg::R6, Reg::R1, 8);
    thread_key(&mut code, Reg::R6);
    code.call(Helper::MapLookupElem);
    code.jump_if_immediate(Jump::Equal, Reg::R0, 0, end);
    code.copy(Reg::R8, Reg::R0);
    // How long it was off a CPU the last time.
    code.load(Size::Eight, Reg::R1, Reg::R8, SINCE);
    code.jump_if_immediate(Jump::Equal, Reg::R1, 0, is_first);
    read(&mut code, Reg::R2, Reg::R6, fields.last_arrival);
    code.jump_if(Jump::SignedLessEqual, Reg::R2, Reg::R1, is_first);
    code.alu(Alu::Sub, Reg::R2, Reg::R1);
    code.load(Size::Eight, Reg::R3, Reg::R8, OFF);
    code.alu(Alu::Add, Reg::R3, Reg::R2);
    code.store(Size::Eight, Reg::R8, OFF, Reg::R3);
    if has_stacks {
        code.store(Size::Eight, Reg::Frame, WORDS.value, Reg::R2);
        read(&mut code, Reg::R3, Reg::R6, fields.run_delay);
        add_blocked(&mut code, WORDS);
    }
    code.place(is_first);
    read(&mut code, Reg::R1, Reg::R6, fields.cfs_rq);
    read(&mut code, Reg::R1, Reg::R1, fields.rq);
    read(&mut code, Reg::R1, Reg::R1, fields.clock);
    code.store(Size::Eight, Reg::R8, SINCE, Reg::R1);
    code.call(Helper::KtimeGetNs);
    code.store(Size::Eight, Reg::R8, LAST, Reg::R0);
    if has_stacks {
        let (is_runnable, is_known) = (code.label(), code.label());
        code.store_immediate(Size::Eight, Reg::R8, STACKS, NOTHING as i32);
        code.load(Size::Eight, Reg::R1, Reg::R8, OPEN);
        code.jump_if_immediate(Jump::SignedLessEqual, Reg::R1, 0, end);
        read(&mut code, Reg::R1, Reg::R6, fields.run_delay);
        code.store(Size::Eight, Reg::R8, QUEUED, Reg::R1);
        code.load(Size::Eight, Reg::R1, Reg::R9, 0);
        code.jump_if_immediate(Jump::NotEqual, Reg::R1, 0, is_runnable);
        read(&mut code, Reg::R1, Reg::R6, fields.state);
        code.jump_if_immediate(Jump::Equal, Reg::R1, 0, is_runnable);
        read_stacks(&mut code, Reg::R9);
        code.jump(is_known);
        code.place(is_runnable);
        code.set(Reg::R0, RUNNABLE);
        code.place(is_known);
        code.store(Size::Eight, Reg::R8, STACKS, Reg::R0);
    }
    code.place(end);
    code.set(Reg::R0, 0);
    code.exit();
    code.finish()
}

/// The program at `sched_process_exit(task)`, which forgets the thread.
///
/// # Errors
///
/// Never in practice: the program has no jumps.
pub fn exited() -> Result<Code, TooLong> {
    let mut code = Assembler::default();
    code.load(Size::Eight, Reg::R1, Reg::R1, 0);
    thread_key(&mut code, Reg::R1);
    code.call(Helper::MapDeleteElem);
    code.set(Reg::R0, 0);
    code.exit();
    code.finish()
}

/// `R1 = map`, `R2 = address of the key` of a thread.
fn thread_key(code: &mut Assembler, task: Reg) {
    code.store(Size::Eight, Reg::Frame, KEY, task);
    map_and_key(code, Map::OffCpu, KEY);
}
