//! The part of the programs that adds to the sums of stacks, and the program that samples them.

use super::assembler::{Assembler, Code, TooLong};
use super::instruction::{
    Alu, EXISTS, Helper, JumpCondition as Jump, KERNEL_STACK, Map, NO_EXIST, Reg, Size, USER_STACK,
};
use crate::aggregate::{NOTHING, OPEN, QUEUED, STACKS, SUM_COUNT, SUM_MOMENT, SUM_PROCESS, StackMoment};

/// The lowest bytes of the stack that have a key of `Map::StackSums` and a value, of 16 bytes each.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumWords {
    pub(super) key: i16,
    pub(super) value: i16,
}

/// Reads both stacks of the thread that runs, and leaves their numbers in `R0` as a key has them. `context` has the
/// context of the program. `R7` is used.
pub(super) fn read_stacks(code: &mut Assembler, context: Reg) {
    for flags in [KERNEL_STACK, USER_STACK] {
        code.copy(Reg::R1, context);
        code.set_map(Reg::R2, Map::Stacks);
        code.set(Reg::R3, flags);
        code.call(Helper::GetStackid);
        code.alu_immediate(Alu::Lsh, Reg::R0, 32);
        if flags == KERNEL_STACK {
            code.copy(Reg::R7, Reg::R0);
            code.alu_immediate(Alu::Rsh, Reg::R7, 32);
        }
    }
    code.alu(Alu::Or, Reg::R0, Reg::R7);
}

/// Adds the last time off a CPU of the thread that runs to the sum of the stacks that were noted of it, unless that was
/// done. `R8` has the address of its value in `Map::OffCpu`, the first word of the value how long the time was, and
/// `R3` how long the thread has waited for CPUs altogether.
pub(super) fn add_blocked(code: &mut Assembler, words: SumWords) {
    let SumWords { key, value } = words;
    let done = code.label();
    code.load(Size::Eight, Reg::R1, Reg::R8, QUEUED);
    code.alu(Alu::Sub, Reg::R3, Reg::R1);
    code.load(Size::Eight, Reg::R2, Reg::Frame, value);
    code.alu(Alu::Sub, Reg::R2, Reg::R3);
    code.jump_if_immediate(Jump::SignedLessEqual, Reg::R2, 0, done);
    code.store(Size::Eight, Reg::Frame, value, Reg::R2);
    code.load(Size::Eight, Reg::R0, Reg::R8, STACKS);
    code.store(Size::Eight, Reg::Frame, key, Reg::R0);
    code.jump_if_immediate(Jump::Equal, Reg::R0, NOTHING as i32, done);
    // The thread may leave its CPU here, and the program at the switch adds the time.
    code.set(Reg::R2, NOTHING);
    code.exchange_atomically(Reg::R8, STACKS, Reg::R2);
    code.load(Size::Eight, Reg::R1, Reg::Frame, key);
    code.jump_if(Jump::NotEqual, Reg::R0, Reg::R1, done);
    add(code, words, StackMoment::Blocked);
    code.place(done);
}

/// Adds the first word of the value to the sum of the stacks in the first word of the key.
fn add(code: &mut Assembler, SumWords { key, value }: SumWords, moment: StackMoment) {
    code.call(Helper::GetCurrentPidTgid);
    code.alu_immediate(Alu::Rsh, Reg::R0, 32);
    code.store(Size::Four, Reg::Frame, key + SUM_PROCESS, Reg::R0);
    code.store_immediate(Size::Four, Reg::Frame, key + SUM_MOMENT, moment.number() as i32);
    code.store_immediate(Size::Eight, Reg::Frame, value + SUM_COUNT, 1);
    let (absent, full, done) = (code.label(), code.label(), code.label());
    let increase = |code: &mut Assembler, absent| {
        map_and_key(code, Map::StackSums, key);
        code.call(Helper::MapLookupElem);
        code.jump_if_immediate(Jump::Equal, Reg::R0, 0, absent);
        code.load(Size::Eight, Reg::R1, Reg::Frame, value);
        code.add_atomically(Reg::R0, 0, Reg::R1);
        code.set(Reg::R1, 1);
        code.add_atomically(Reg::R0, SUM_COUNT, Reg::R1);
        code.jump(done);
    };
    increase(code, absent);
    code.place(absent);
    map_and_key(code, Map::StackSums, key);
    code.copy(Reg::R3, Reg::Frame);
    code.alu_immediate(Alu::Add, Reg::R3, value.into());
    code.set(Reg::R4, NO_EXIST);
    code.call(Helper::MapUpdateElem);
    // Before Linux 6.4 the upper half of a negative result is 0.
    code.alu_immediate(Alu::Lsh, Reg::R0, 32);
    code.alu_immediate(Alu::Arsh, Reg::R0, 32);
    code.jump_if_immediate(Jump::Equal, Reg::R0, 0, done);
    code.jump_if_immediate(Jump::NotEqual, Reg::R0, EXISTS, full);
    // Another CPU was faster.
    increase(code, full);
    code.place(full);
    // The word of the key is free now.
    code.store_immediate(Size::Eight, Reg::Frame, key, moment.number() as i32);
    map_and_key(code, Map::StackLosses, key);
    code.call(Helper::MapLookupElem);
    code.jump_if_immediate(Jump::Equal, Reg::R0, 0, done);
    code.load(Size::Eight, Reg::R1, Reg::Frame, value);
    code.add_atomically(Reg::R0, 0, Reg::R1);
    code.place(done);
}

/// `R1 = map`, `R2 = address of the key`.
pub(super) fn map_and_key(code: &mut Assembler, map: Map, key: i16) {
    code.set_map(Reg::R1, map);
    code.copy(Reg::R2, Reg::Frame);
    code.alu_immediate(Alu::Add, Reg::R2, key.into());
}

/// The program that runs on each CPU every so often, and counts the stacks of a thread that is in an interval.
///
/// # Errors
///
/// Never in practice: the jumps are short.
pub fn sampled() -> Result<Code, TooLong> {
    let words = SumWords { key: -16, value: -32 };
    let mut code = Assembler::default();
    let end = code.label();
    code.copy(Reg::R6, Reg::R1);
    code.call(Helper::GetCurrentTask);
    code.store(Size::Eight, Reg::Frame, words.key, Reg::R0);
    map_and_key(&mut code, Map::OffCpu, words.key);
    code.call(Helper::MapLookupElem);
    code.jump_if_immediate(Jump::Equal, Reg::R0, 0, end);
    code.load(Size::Eight, Reg::R1, Reg::R0, OPEN);
    code.jump_if_immediate(Jump::SignedLessEqual, Reg::R1, 0, end);
    read_stacks(&mut code, Reg::R6);
    code.store(Size::Eight, Reg::Frame, words.key, Reg::R0);
    code.store_immediate(Size::Eight, Reg::Frame, words.value, 1);
    add(&mut code, words, StackMoment::OnCpu);
    code.place(end);
    code.set(Reg::R0, 0);
    code.exit();
    code.finish()
}
