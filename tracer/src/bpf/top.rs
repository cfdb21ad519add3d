//! The programs of `smark top`, which keep [`Map::Threads`] (`crate::top::entry`).
//!
//! All numbers of a thread are absolute: the programs copy what the kernel counts since the thread was
//! created, and the reader takes differences. So nothing is lost if the reader is slow, and removing
//! a thread that has ended loses nothing.

use super::assembler::{Assembler, Code, Label, TooLong};
use super::instruction::{Alu, Condition as Jump, Helper, Map, Reg, Size};
use crate::top::entry::{
    CPU, ENDED_BEFORE, FLAGS, GROUP, HAS_ENDED, INVOLUNTARY, IS_SEEDED, KEY_SIZE, NAME, NAME_SIZE, NO_GROUP, PROCESS,
    PROCESS_HAS_ENDED, PROCESS_NAME, PROCESS_START, SEEN_CPU, SEEN_WAIT, SEEN_WAITED, THREAD, VALUE_SIZE, VISITED,
    VOLUNTARY, WAITED, WAITS,
};

/// Offsets in the kernel's `task_struct`, and in what it points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the kernel's")]
pub struct TaskFields {
    pub pid: u32,
    pub tgid: u32,
    /// `start_boottime`.
    pub start: u32,
    pub comm: u32,
    pub group_leader: u32,
    pub exit_state: u32,
    pub on_cpu: u32,
    /// `__state`.
    pub state: u32,
    pub sum_exec_runtime: u32,
    pub exec_start: u32,
    pub nvcsw: u32,
    pub nivcsw: u32,
    /// `sched_info.run_delay`; `None` if the kernel does not account waits.
    pub run_delay: Option<u32>,
    pub signal: u32,
    /// In `signal_struct`.
    pub live: u32,
    /// In `signal_struct`.
    pub sum_sched_runtime: u32,
    pub run_queue: Option<RunQueue>,
}

/// Where the kernel's clocks of a CPU are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the kernel's")]
pub struct RunQueue {
    /// `se.cfs_rq`, in `task_struct`.
    pub cfs_rq: u32,
    /// In `cfs_rq`.
    pub rq: u32,
    /// In `rq`.
    pub clock: u32,
    /// In `rq`.
    pub clock_task: u32,
}

/// The size of the value of [`Map::Shared`].
pub const SHARED_SIZE: u32 = 32;
/// The number of the interval.
pub const INTERVAL: u16 = 0;
/// How many switches were not counted because [`Map::Threads`] was full.
pub const UNCOUNTED: u16 = 8;
/// What `CLOCK_MONOTONIC` is ahead of the kernel's clock of the CPUs; 0 if it is not known.
pub const CLOCK_AHEAD: u16 = 16;
/// The end of the interval in ns (`CLOCK_MONOTONIC`).
pub const END: u16 = 24;

/// What visits the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// To note all threads that are there.
    All,
    /// To note the CPU time of the threads that are on a CPU.
    Running,
}

/// `TASK_DEAD` of the kernel: the thread leaves its CPU for the last time.
const DEAD: i32 = 0x80;

/// Flag of `bpf_map_update_elem`.
const NO_EXIST: u64 = 1;

const KEY: i16 = -(KEY_SIZE as i16);
const VALUE: i16 = KEY - VALUE_SIZE as i16;
const CPU_NOW: i16 = VALUE - 8;

/// The program at `sched_switch`: it notes the thread that leaves the CPU. `group_level` is the level of
/// the control group that is noted; `None` for no group.
///
/// # Errors
///
/// Never in practice: the jumps are short.
pub fn switched(fields: &TaskFields, group_level: Option<u32>) -> Result<Code, TooLong> {
    let mut program = Program::new(fields);
    program.code.load(Size::Eight, Reg::R6, Reg::R1, 8);
    // The thread of an idle CPU has the number 0.
    program.read(Size::Four, Reg::R1, fields.pid);
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
    let mut program = Program::new(fields);
    program.code.load(Size::Eight, Reg::R6, Reg::R1, 8);
    // After the last thread there is none.
    program.code.jump_if_immediate(Jump::Equal, Reg::R6, 0, program.end);
    program.clock();
    // The last switch of a thread that exits notes it.
    program.read(Size::Four, Reg::R1, fields.exit_state);
    program.code.jump_if_immediate(Jump::NotEqual, Reg::R1, 0, program.end);
    if visit == Visit::Running {
        program.read(Size::Four, Reg::R1, fields.on_cpu);
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

/// A program that is being written. `R6` has the address of the thread, `R7` that of its value.
struct Program<'f> {
    code: Assembler,
    fields: &'f TaskFields,
    end: Label,
}

impl<'f> Program<'f> {
    fn new(fields: &'f TaskFields) -> Self {
        let mut code = Assembler::default();
        let end = code.label();
        Self { code, fields, end }
    }

    fn finish(mut self) -> Result<Code, TooLong> {
        self.code.place(self.end);
        self.code.set(Reg::R0, 0);
        self.code.exit();
        self.code.finish()
    }

    /// Reads a field of the thread. The verifier knows the type of `R6`.
    fn read(&mut self, size: Size, to: Reg, offset: u32) {
        self.read_at(size, to, Reg::R6, offset);
    }

    fn read_at(&mut self, size: Size, to: Reg, from: Reg, offset: u32) {
        // Structures of the kernel are smaller than 32 KiB. The verifier refuses a wrong offset.
        self.code.load(size, to, from, i16::try_from(offset).unwrap_or(i16::MAX));
    }

    /// Copies a number of 8 bytes of the thread into its value.
    fn copy(&mut self, to: i16, offset: u32) {
        self.read(Size::Eight, Reg::R1, offset);
        self.code.store(Size::Eight, Reg::R7, to, Reg::R1);
    }

    fn load_interval(&mut self, to: Reg) {
        self.code.set_map_value(to, Map::Shared);
        self.code.load(Size::Eight, to, to, INTERVAL as i16);
    }

    /// Looks the thread up. If it is there, `R7` has its value, and the program jumps.
    fn lookup(&mut self) -> Label {
        self.code.store(Size::Eight, Reg::Frame, KEY, Reg::R6);
        self.read(Size::Eight, Reg::R1, self.fields.start);
        self.code.store(Size::Eight, Reg::Frame, KEY + 8, Reg::R1);
        self.call_with_key(Helper::MapLookupElem);
        let known = self.code.label();
        self.code.copy(Reg::R7, Reg::R0);
        self.code.jump_if_immediate(Jump::NotEqual, Reg::R7, 0, known);
        known
    }

    fn call_with_key(&mut self, helper: Helper) {
        self.code.set_map(Reg::R1, Map::Threads);
        self.code.copy(Reg::R2, Reg::Frame);
        self.code.alu_immediate(Alu::Add, Reg::R2, KEY.into());
        self.code.call(helper);
    }

    /// Makes a value of zeros on the stack.
    fn zero(&mut self) {
        for word in 0..VALUE_SIZE as i16 / 8 {
            self.code.store_immediate(Size::Eight, Reg::Frame, VALUE + word * 8, 0);
        }
        for (to, from) in [(PROCESS, self.fields.tgid), (THREAD, self.fields.pid)] {
            self.read(Size::Four, Reg::R1, from);
            self.code.store(Size::Four, Reg::Frame, VALUE + to, Reg::R1);
        }
    }

    /// Notes in the value on the stack what the thread and its process did before.
    fn seed(&mut self) {
        let fields = self.fields;
        let counts = [(CPU, fields.sum_exec_runtime), (VOLUNTARY, fields.nvcsw), (INVOLUNTARY, fields.nivcsw)];
        let waited = fields.run_delay.map(|offset| (WAITED, offset));
        for (to, from) in counts.into_iter().chain(waited) {
            self.read(Size::Eight, Reg::R1, from);
            self.code.store(Size::Eight, Reg::Frame, VALUE + to, Reg::R1);
        }
        self.read(Size::Eight, Reg::R1, fields.signal);
        self.read_at(Size::Eight, Reg::R1, Reg::R1, fields.sum_sched_runtime);
        self.code.store(Size::Eight, Reg::Frame, VALUE + ENDED_BEFORE, Reg::R1);
        self.code.store_immediate(Size::Four, Reg::Frame, VALUE + FLAGS, IS_SEEDED as i32);
    }

    /// Adds the value on the stack, and leaves its address in `R7`. If there is no space, it is
    /// counted and the program ends.
    fn insert(&mut self) {
        let added = self.code.label();
        self.code.set_map(Reg::R1, Map::Threads);
        self.code.copy(Reg::R2, Reg::Frame);
        self.code.alu_immediate(Alu::Add, Reg::R2, KEY.into());
        self.code.copy(Reg::R3, Reg::Frame);
        self.code.alu_immediate(Alu::Add, Reg::R3, VALUE.into());
        self.code.set(Reg::R4, NO_EXIST);
        self.code.call(Helper::MapUpdateElem);
        // Another CPU may have added it: so it is looked up in any case.
        self.call_with_key(Helper::MapLookupElem);
        self.code.copy(Reg::R7, Reg::R0);
        self.code.jump_if_immediate(Jump::NotEqual, Reg::R7, 0, added);
        self.code.set_map_value(Reg::R1, Map::Shared);
        self.code.set(Reg::R2, 1);
        self.code.add_atomically(Reg::R1, UNCOUNTED as i16, Reg::R2);
        self.code.jump(self.end);
        self.code.place(added);
    }

    /// Copies what the kernel counts at a switch.
    fn counts(&mut self) {
        self.copy(CPU, self.fields.sum_exec_runtime);
        self.copy(VOLUNTARY, self.fields.nvcsw);
        self.copy(INVOLUNTARY, self.fields.nivcsw);
        // `execve` in a thread that is not the first gives it the number of the process.
        self.read(Size::Four, Reg::R1, self.fields.pid);
        self.code.store(Size::Four, Reg::R7, THREAD, Reg::R1);
    }

    /// Leaves in `R1` how long the thread has waited altogether, and in `R2` how long before its
    /// last wait. Jumps if it did not wait.
    fn waits(&mut self, offset: u32, none: Label) {
        let is_later = self.code.label();
        self.read(Size::Eight, Reg::R1, offset);
        self.code.load(Size::Eight, Reg::R2, Reg::R7, WAITED);
        self.code.load(Size::Eight, Reg::R3, Reg::R7, SEEN_WAITED);
        self.code.jump_if(Jump::GreaterEqual, Reg::R2, Reg::R3, is_later);
        self.code.copy(Reg::R2, Reg::R3);
        self.code.place(is_later);
        self.code.jump_if(Jump::LessEqual, Reg::R1, Reg::R2, none);
    }

    /// Notes the wait before the time on the CPU that ends now.
    fn wait_until_switch(&mut self) {
        let Some(offset) = self.fields.run_delay else { return };
        let (none, is_first, done) = (self.code.label(), self.code.label(), self.code.label());
        self.waits(offset, none);
        self.code.store(Size::Eight, Reg::R7, WAITED, Reg::R1);
        self.code.alu(Alu::Sub, Reg::R1, Reg::R2);
        self.load_interval(Reg::R3);
        let code = &mut self.code;
        code.copy(Reg::R4, Reg::R3);
        code.alu_immediate(Alu::And, Reg::R4, 1);
        code.alu_immediate(Alu::Lsh, Reg::R4, 4);
        code.copy(Reg::R5, Reg::R7);
        code.alu(Alu::Add, Reg::R5, Reg::R4);
        code.load(Size::Eight, Reg::R4, Reg::R5, WAITS);
        code.jump_if(Jump::NotEqual, Reg::R4, Reg::R3, is_first);
        code.load(Size::Eight, Reg::R4, Reg::R5, WAITS + 8);
        code.jump_if(Jump::LessEqual, Reg::R1, Reg::R4, done);
        code.place(is_first);
        code.store(Size::Eight, Reg::R5, WAITS, Reg::R3);
        code.store(Size::Eight, Reg::R5, WAITS + 8, Reg::R1);
        code.place(none);
        code.place(done);
    }

    /// Notes the last wait of a thread that is on a CPU. The program at the switch does not count it
    /// again.
    fn wait_until_now(&mut self) {
        let Some(offset) = self.fields.run_delay else { return };
        let none = self.code.label();
        self.waits(offset, none);
        self.code.store(Size::Eight, Reg::R7, SEEN_WAITED, Reg::R1);
        self.code.alu(Alu::Sub, Reg::R1, Reg::R2);
        self.load_interval(Reg::R3);
        self.code.store(Size::Eight, Reg::R7, SEEN_WAIT, Reg::R3);
        self.code.store(Size::Eight, Reg::R7, SEEN_WAIT + 8, Reg::R1);
        self.code.place(none);
    }

    /// Notes the names and the process, which `execve` changes.
    fn names(&mut self) {
        let fields = self.fields;
        let words = (0..NAME_SIZE as i16 / 8).map(|word| word * 8);
        for word in words.clone() {
            self.copy(NAME + word, fields.comm + word as u32);
        }
        self.read(Size::Eight, Reg::R2, fields.group_leader);
        for word in words {
            self.read_at(Size::Eight, Reg::R1, Reg::R2, fields.comm + word as u32);
            self.code.store(Size::Eight, Reg::R7, PROCESS_NAME + word, Reg::R1);
        }
        self.read_at(Size::Eight, Reg::R1, Reg::R2, fields.start);
        self.code.store(Size::Eight, Reg::R7, PROCESS_START, Reg::R1);
    }

    /// Notes that the thread leaves its CPU for the last time. It is the last thing that is written.
    fn end_of_thread(&mut self) {
        let is_last = self.code.label();
        self.read(Size::Four, Reg::R1, self.fields.state);
        self.code.jump_if_immediate(Jump::NotEqual, Reg::R1, DEAD, self.end);
        self.code.load(Size::Four, Reg::R2, Reg::R7, FLAGS);
        self.code.alu_immediate(Alu::Or, Reg::R2, HAS_ENDED as i32);
        self.read(Size::Eight, Reg::R1, self.fields.signal);
        self.read_at(Size::Four, Reg::R1, Reg::R1, self.fields.live);
        self.code.jump_if_immediate(Jump::NotEqual, Reg::R1, 0, is_last);
        self.code.alu_immediate(Alu::Or, Reg::R2, PROCESS_HAS_ENDED as i32);
        self.code.place(is_last);
        self.code.store(Size::Four, Reg::R7, FLAGS, Reg::R2);
    }

    /// Leaves in `R1` the run queue of the CPU of a thread.
    fn run_queue(&mut self, task: Reg, queue: RunQueue) {
        self.read_at(Size::Eight, Reg::R1, task, queue.cfs_rq);
        self.read_at(Size::Eight, Reg::R1, Reg::R1, queue.rq);
    }

    /// Notes the clock of this CPU, which the reader has just made the kernel update.
    fn clock(&mut self) {
        let Some(queue) = self.fields.run_queue else { return };
        let is_known = self.code.label();
        self.code.set_map_value(Reg::R8, Map::Shared);
        self.code.load(Size::Eight, Reg::R1, Reg::R8, CLOCK_AHEAD as i16);
        self.code.jump_if_immediate(Jump::NotEqual, Reg::R1, 0, is_known);
        self.code.call(Helper::KtimeGetNs);
        self.code.copy(Reg::R9, Reg::R0);
        self.code.call(Helper::GetCurrentTaskBtf);
        self.run_queue(Reg::R0, queue);
        self.read_at(Size::Eight, Reg::R1, Reg::R1, queue.clock);
        self.code.alu(Alu::Sub, Reg::R9, Reg::R1);
        self.code.store(Size::Eight, Reg::R8, CLOCK_AHEAD as i16, Reg::R9);
        self.code.place(is_known);
    }

    /// Notes the CPU time that a thread has at the end of the interval, if it is on a CPU. The kernel
    /// adds it up at switches and ticks: what it has not added yet is added here.
    fn cpu_now(&mut self) {
        let fields = self.fields;
        let done = self.code.label();
        self.read(Size::Eight, Reg::R8, fields.sum_exec_runtime);
        if let Some(queue) = fields.run_queue {
            let code = &mut self.code;
            code.store(Size::Eight, Reg::Frame, CPU_NOW, Reg::R8);
            let off_cpu = code.label();
            self.read(Size::Four, Reg::R1, fields.on_cpu);
            self.code.jump_if_immediate(Jump::Equal, Reg::R1, 0, off_cpu);
            // The end of the interval on the clock of the CPUs.
            self.code.set_map_value(Reg::R1, Map::Shared);
            self.code.load(Size::Eight, Reg::R9, Reg::R1, END as i16);
            self.code.load(Size::Eight, Reg::R1, Reg::R1, CLOCK_AHEAD as i16);
            self.code.alu(Alu::Sub, Reg::R9, Reg::R1);
            self.run_queue(Reg::R6, queue);
            self.code.copy(Reg::R4, Reg::R1);
            // From the kernel's last addition to its last look at the clock, and from there to the
            // end of the interval, which may be before it.
            self.read_at(Size::Eight, Reg::R3, Reg::R4, queue.clock);
            self.code.jump_if_immediate(Jump::Equal, Reg::R3, 0, off_cpu);
            self.read_at(Size::Eight, Reg::R1, Reg::R4, queue.clock_task);
            self.read(Size::Eight, Reg::R2, fields.exec_start);
            let is_past = self.code.label();
            self.code.jump_if(Jump::SignedLessEqual, Reg::R1, Reg::R2, is_past);
            self.code.alu(Alu::Add, Reg::R8, Reg::R1);
            self.code.alu(Alu::Sub, Reg::R8, Reg::R2);
            self.code.place(is_past);
            self.code.alu(Alu::Add, Reg::R8, Reg::R9);
            self.code.alu(Alu::Sub, Reg::R8, Reg::R3);
            // Unless it was switched meanwhile, these numbers belong together.
            self.read(Size::Eight, Reg::R1, fields.sum_exec_runtime);
            self.code.load(Size::Eight, Reg::R2, Reg::Frame, CPU_NOW);
            self.code.jump_if(Jump::Equal, Reg::R1, Reg::R2, off_cpu);
            self.code.copy(Reg::R8, Reg::R1);
            self.code.place(off_cpu);
        }
        self.code.load(Size::Eight, Reg::R1, Reg::R7, SEEN_CPU);
        self.code.jump_if(Jump::SignedGreaterEqual, Reg::R1, Reg::R8, done);
        self.code.store(Size::Eight, Reg::R7, SEEN_CPU, Reg::R8);
        self.code.place(done);
    }
}
