//! What the programs of `smark top` have in common.

use super::fields::{CLOCK_AHEAD, END, INTERVAL, RunQueue, TaskFields, UNCOUNTED};
use crate::bpf::assembler::{Assembler, Code, Label, TooLong};
use crate::bpf::instruction::{Alu, Helper, JumpCondition as Jump, Map, NO_EXIST, Reg, Size};
use crate::bpf::kernel_number::KernelNumber;
use crate::top::entry::{
    CPU, ENDED_BEFORE, FLAGS, HAS_ENDED, INVOLUNTARY, IS_SEEDED, KEY_SIZE, NAME, NAME_SIZE, PROCESS, PROCESS_HAS_ENDED,
    PROCESS_NAME, PROCESS_START, SEEN_CPU, SEEN_WAIT, SEEN_WAITED, THREAD, VALUE_SIZE, VOLUNTARY, WAITED, WAITS,
};

/// `TASK_DEAD` of the kernel: the thread leaves its CPU for the last time.
const DEAD: i32 = 0x80;

const KEY: i16 = -(KEY_SIZE as i16);
const VALUE: i16 = KEY - VALUE_SIZE as i16;
const CPU_NOW: i16 = VALUE - 8;

/// A program that is being written. `R6` has the address of the thread, `R7` that of its value.
pub(super) struct TaskProgram<'f> {
    pub(super) code: Assembler,
    fields: &'f TaskFields,
    pub(super) end: Label,
}

impl<'f> TaskProgram<'f> {
    pub(super) fn new(fields: &'f TaskFields) -> Self {
        let mut code = Assembler::default();
        let end = code.label();
        Self { code, fields, end }
    }

    pub(super) fn finish(mut self) -> Result<Code, TooLong> {
        self.code.place(self.end);
        self.code.set(Reg::R0, 0);
        self.code.exit();
        self.code.finish()
    }

    /// Reads a field of the thread. The verifier knows the type of `R6`.
    pub(super) fn read(&mut self, to: Reg, number: KernelNumber) {
        self.read_at(to, Reg::R6, number);
    }

    fn read_at(&mut self, to: Reg, from: Reg, number: KernelNumber) {
        // Structures of the kernel are smaller than 32 KiB. The verifier refuses a wrong offset.
        self.code.load(number.size, to, from, i16::try_from(number.offset).unwrap_or(i16::MAX));
    }

    /// Copies a number of the thread into its value.
    fn copy(&mut self, to: i16, number: KernelNumber) {
        self.read(Reg::R1, number);
        self.code.store(Size::Eight, Reg::R7, to, Reg::R1);
    }

    pub(super) fn load_interval(&mut self, to: Reg) {
        self.code.set_map_value(to, Map::Shared);
        self.code.load(Size::Eight, to, to, INTERVAL as i16);
    }

    /// Looks the thread up. If it is there, `R7` has its value, and the program jumps.
    pub(super) fn lookup(&mut self) -> Label {
        self.code.store(Size::Eight, Reg::Frame, KEY, Reg::R6);
        self.read(Reg::R1, self.fields.start);
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
    pub(super) fn zero(&mut self) {
        for word in 0..VALUE_SIZE as i16 / 8 {
            self.code.store_immediate(Size::Eight, Reg::Frame, VALUE + word * 8, 0);
        }
        for (to, from) in [(PROCESS, self.fields.tgid), (THREAD, self.fields.pid)] {
            self.read(Reg::R1, from);
            self.code.store(Size::Four, Reg::Frame, VALUE + to, Reg::R1);
        }
    }

    /// Notes in the value on the stack what the thread and its process did before.
    pub(super) fn seed(&mut self) {
        let fields = self.fields;
        let counts = [(CPU, fields.sum_exec_runtime), (VOLUNTARY, fields.nvcsw), (INVOLUNTARY, fields.nivcsw)];
        let waited = fields.run_delay.map(|number| (WAITED, number));
        for (to, from) in counts.into_iter().chain(waited) {
            self.read(Reg::R1, from);
            self.code.store(Size::Eight, Reg::Frame, VALUE + to, Reg::R1);
        }
        self.read(Reg::R1, fields.signal);
        self.read_at(Reg::R1, Reg::R1, fields.sum_sched_runtime);
        self.code.store(Size::Eight, Reg::Frame, VALUE + ENDED_BEFORE, Reg::R1);
        self.code.store_immediate(Size::Four, Reg::Frame, VALUE + FLAGS, IS_SEEDED as i32);
    }

    /// Adds the value on the stack, and leaves its address in `R7`. If there is no space, it is
    /// counted and the program ends.
    pub(super) fn insert(&mut self) {
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
    pub(super) fn counts(&mut self) {
        self.copy(CPU, self.fields.sum_exec_runtime);
        self.copy(VOLUNTARY, self.fields.nvcsw);
        self.copy(INVOLUNTARY, self.fields.nivcsw);
        // `execve` in a thread that is not the first gives it the number of the process.
        self.read(Reg::R1, self.fields.pid);
        self.code.store(Size::Four, Reg::R7, THREAD, Reg::R1);
    }

    /// Leaves in `R1` how long the thread has waited altogether, and in `R2` how long before its
    /// last wait. Jumps if it did not wait.
    fn waits(&mut self, run_delay: KernelNumber, none: Label) {
        let is_later = self.code.label();
        self.read(Reg::R1, run_delay);
        self.code.load(Size::Eight, Reg::R2, Reg::R7, WAITED);
        self.code.load(Size::Eight, Reg::R3, Reg::R7, SEEN_WAITED);
        self.code.jump_if(Jump::GreaterEqual, Reg::R2, Reg::R3, is_later);
        self.code.copy(Reg::R2, Reg::R3);
        self.code.place(is_later);
        self.code.jump_if(Jump::LessEqual, Reg::R1, Reg::R2, none);
    }

    /// Notes the wait before the time on the CPU that ends now.
    pub(super) fn wait_until_switch(&mut self) {
        let Some(run_delay) = self.fields.run_delay else { return };
        let (none, is_first, done) = (self.code.label(), self.code.label(), self.code.label());
        self.waits(run_delay, none);
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
    pub(super) fn wait_until_now(&mut self) {
        let Some(run_delay) = self.fields.run_delay else { return };
        let none = self.code.label();
        self.waits(run_delay, none);
        self.code.store(Size::Eight, Reg::R7, SEEN_WAITED, Reg::R1);
        self.code.alu(Alu::Sub, Reg::R1, Reg::R2);
        self.load_interval(Reg::R3);
        self.code.store(Size::Eight, Reg::R7, SEEN_WAIT, Reg::R3);
        self.code.store(Size::Eight, Reg::R7, SEEN_WAIT + 8, Reg::R1);
        self.code.place(none);
    }

    /// Notes the names and the process, which `execve` changes.
    pub(super) fn names(&mut self) {
        let fields = self.fields;
        let words = (0..NAME_SIZE as i16 / 8).map(|word| word * 8);
        let of_name = |word: i16| KernelNumber { offset: fields.comm + word as u32, size: Size::Eight };
        for word in words.clone() {
            self.copy(NAME + word, of_name(word));
        }
        self.read(Reg::R2, fields.group_leader);
        for word in words {
            self.read_at(Reg::R1, Reg::R2, of_name(word));
            self.code.store(Size::Eight, Reg::R7, PROCESS_NAME + word, Reg::R1);
        }
        self.read_at(Reg::R1, Reg::R2, fields.start);
        self.code.store(Size::Eight, Reg::R7, PROCESS_START, Reg::R1);
    }

    /// Notes that the thread leaves its CPU for the last time. It is the last thing that is written.
    pub(super) fn end_of_thread(&mut self) {
        let is_last = self.code.label();
        self.read(Reg::R1, self.fields.state);
        self.code.jump_if_immediate(Jump::NotEqual, Reg::R1, DEAD, self.end);
        self.code.load(Size::Four, Reg::R2, Reg::R7, FLAGS);
        self.code.alu_immediate(Alu::Or, Reg::R2, HAS_ENDED as i32);
        self.read(Reg::R1, self.fields.signal);
        self.read_at(Reg::R1, Reg::R1, self.fields.live);
        self.code.jump_if_immediate(Jump::NotEqual, Reg::R1, 0, is_last);
        self.code.alu_immediate(Alu::Or, Reg::R2, PROCESS_HAS_ENDED as i32);
        self.code.place(is_last);
        self.code.store(Size::Four, Reg::R7, FLAGS, Reg::R2);
    }

    /// Leaves in `R1` the run queue of the CPU of a thread.
    fn run_queue(&mut self, task: Reg, queue: RunQueue) {
        self.read_at(Reg::R1, task, queue.cfs_rq);
        self.read_at(Reg::R1, Reg::R1, queue.rq);
    }

    /// Notes the clock of this CPU, which the reader has just made the kernel update.
    pub(super) fn clock(&mut self) {
        let Some(queue) = self.fields.run_queue else { return };
        let is_known = self.code.label();
        self.code.set_map_value(Reg::R8, Map::Shared);
        self.code.load(Size::Eight, Reg::R1, Reg::R8, CLOCK_AHEAD as i16);
        self.code.jump_if_immediate(Jump::NotEqual, Reg::R1, 0, is_known);
        self.code.call(Helper::KtimeGetNs);
        self.code.copy(Reg::R9, Reg::R0);
        self.code.call(Helper::GetCurrentTaskBtf);
        self.run_queue(Reg::R0, queue);
        self.read_at(Reg::R1, Reg::R1, queue.clock);
        self.code.alu(Alu::Sub, Reg::R9, Reg::R1);
        self.code.store(Size::Eight, Reg::R8, CLOCK_AHEAD as i16, Reg::R9);
        self.code.place(is_known);
    }

    /// Notes the CPU time that a thread has at the end of the interval, if it is on a CPU. The kernel
    /// adds it up at switches and ticks: what it has not added yet is added here.
    pub(super) fn cpu_now(&mut self) {
        let fields = self.fields;
        let done = self.code.label();
        self.read(Reg::R8, fields.sum_exec_runtime);
        if let Some(queue) = fields.run_queue {
            let code = &mut self.code;
            code.store(Size::Eight, Reg::Frame, CPU_NOW, Reg::R8);
            let off_cpu = code.label();
            self.read(Reg::R1, fields.on_cpu);
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
            self.read_at(Reg::R3, Reg::R4, queue.clock);
            self.code.jump_if_immediate(Jump::Equal, Reg::R3, 0, off_cpu);
            self.read_at(Reg::R1, Reg::R4, queue.clock_task);
            self.read(Reg::R2, fields.exec_start);
            let is_past = self.code.label();
            self.code.jump_if(Jump::SignedLessEqual, Reg::R1, Reg::R2, is_past);
            self.code.alu(Alu::Add, Reg::R8, Reg::R1);
            self.code.alu(Alu::Sub, Reg::R8, Reg::R2);
            self.code.place(is_past);
            self.code.alu(Alu::Add, Reg::R8, Reg::R9);
            self.code.alu(Alu::Sub, Reg::R8, Reg::R3);
            // Unless it was switched meanwhile, these numbers belong together.
            self.read(Reg::R1, fields.sum_exec_runtime);
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
