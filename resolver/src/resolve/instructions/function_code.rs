//! What is known of the code of one function: its blocks and edges, what its instructions read and write,
//! and which values registers and memory hold.
//!
//! The analyses are those of `code`; this file answers from them, and says what a question means where the
//! graph of the function is not complete.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::decoded_function::DecodedFunction;
use crate::address::Vaddr;
use crate::arch::InstructionSet;
use crate::code::{
    Block, CallEffect, Cfg, CodeExits, Detours, ExactReason, LoopStep, MemoryPlace, NextUse, Outcome, ValuePlace,
    Values,
};
use crate::location::Register;
use crate::ranges::Region;

/// What calls do, by the names of their callees.
pub(super) trait Calls {
    /// What a call does with the memory of the program, if the compiler knows its callee; `None` if
    /// not.
    fn effect(&self, call: Vaddr) -> Option<CallEffect>;
}

/// The code of a function.
pub(in crate::resolve) struct FunctionCode<'c> {
    pub(super) decoded: Arc<DecodedFunction<'c>>,
    pub(super) set: &'static dyn InstructionSet,
    pub(super) calls: &'c dyn Calls,
    /// Instructions that may still be walked over to answer questions about whole functions.
    pub(super) walks_left: &'c AtomicU64,
}

impl FunctionCode<'_> {
    fn cfg(&self) -> &Cfg {
        &self.decoded.cfg
    }

    /// The graph, if all of its edges are known.
    fn complete(&self) -> Option<&Cfg> {
        self.decoded.unknown_edges.is_none().then(|| self.cfg())
    }

    /// The graph, if all of its edges are known and it may be walked over once more. `more` is what the walk
    /// costs in addition to one step for each instruction.
    fn walk(&self, more: usize) -> Option<&Cfg> {
        let cfg = self.complete().filter(|cfg| !cfg.has_unknown_edges())?;
        let charged = |left: u64| left.checked_sub(cfg.size().saturating_add(more as u64));
        self.walks_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, charged).ok()?;
        Some(cfg)
    }

    /// The values of registers and memory; `None` if they cannot be followed.
    fn values(&self) -> Option<&Values> {
        self.decoded.values()
    }

    /// Where calls enter the function.
    pub(in crate::resolve) fn entry(&self) -> Vaddr {
        self.decoded.function.entry
    }

    /// Whether the function is entered at an address, and nothing in it leads back there.
    pub(in crate::resolve) fn is_entry(&self, pc: Vaddr) -> bool {
        self.complete().is_some_and(|cfg| cfg.exactness(pc, false).outcome == Outcome::Exact(ExactReason::Entry))
    }

    /// Where the instruction starts that holds the byte at an address; `None` if none does.
    pub(in crate::resolve) fn holding(&self, byte: Vaddr) -> Option<Vaddr> {
        self.cfg().holding(byte)
    }

    /// Who reads a place in memory next after an address.
    pub(in crate::resolve) fn next_use(&self, pc: Vaddr, place: &MemoryPlace) -> NextUse {
        let Some(values) = self.values() else { return NextUse::Unknown };
        let mut effects = BTreeMap::new();
        loop {
            let next = values.next_use(self.cfg(), pc, place, &effects);
            let NextUse::Passed(call) = next else { return next };
            match self.calls.effect(call) {
                Some(effect) if effects.insert(call, effect).is_none() => {}
                _ => return next,
            }
        }
    }

    /// Whether two places have the same value at an address, in the lower `size` bytes.
    pub(in crate::resolve) fn are_equal(&self, pc: Vaddr, one: &ValuePlace, other: &ValuePlace, size: u64) -> bool {
        self.values().is_some_and(|values| values.are_equal(self.cfg(), pc, one, other, size))
    }

    /// What made the value of `size` bytes that a register has at an address; `None` if that is not known.
    pub(in crate::resolve) fn made(&self, pc: Vaddr, register: u32, size: u64) -> Option<Vec<Vaddr>> {
        self.values()?.made(self.cfg(), pc, register, size)
    }

    /// The calls that changed a register last on a way to an address, and leave no result in it; `None` if they
    /// are not known.
    pub(in crate::resolve) fn clobbered(&self, pc: Vaddr, register: u32) -> Option<Vec<Range<u64>>> {
        self.values()?.clobbered(self.cfg(), pc, register)
    }

    /// An instruction that stores another value over the copy in the frame of a register of `size`
    /// bytes that still has the value of the function's entry.
    pub(in crate::resolve) fn stored_over(&self, pc: Vaddr, register: u32, size: u64) -> Option<Vaddr> {
        self.decoded.flows().filter(|flows| flows.may_spill(size))?;
        self.values()?.stored_over(self.cfg(), pc, register, size)
    }

    /// An instruction that stores another value over the copy in the frame of a register of `size` bytes at
    /// the function's entry.
    pub(in crate::resolve) fn stored_over_entry(&self, pc: Vaddr, register: u32, size: u64) -> Option<Vaddr> {
        self.decoded.flows().filter(|flows| flows.may_spill(size))?;
        self.values()?.stored_over_entry(self.cfg(), pc, register, size)
    }

    /// Whether the code shows that an object is at a place, if that is in the frame.
    pub(in crate::resolve) fn is_object(&self, pc: Vaddr, place: &MemoryPlace) -> bool {
        self.values().is_none_or(|values| values.is_object(self.cfg(), pc, place))
    }

    /// Whether the code takes the address of an object in its frame; `None` if that is not known, or the
    /// place is not in the frame.
    pub(in crate::resolve) fn takes_address(&self, pc: Vaddr, place: &MemoryPlace) -> Option<bool> {
        self.values()?.takes_address(self.cfg(), pc, place)
    }

    /// The steps in loops that may have made the value that a register has at an address.
    pub(in crate::resolve) fn steps(&self, pc: Vaddr, register: u32) -> Vec<LoopStep> {
        let steps = || Some(self.values()?.steps(self.cfg(), pc, u8::try_from(register).ok()?));
        steps().unwrap_or_default()
    }

    /// Whether the function takes a step of a register back.
    pub(in crate::resolve) fn takes_back(&self, register: u32, step: LoopStep) -> bool {
        let takes = || Some(self.values()?.takes_back(self.cfg(), u8::try_from(register).ok()?, step));
        takes().unwrap_or(false)
    }

    /// Whether a loop uses the value that a register had before a step.
    pub(in crate::resolve) fn uses_previous(&self, register: u32, step: LoopStep) -> bool {
        let uses = || Some(self.values()?.uses_previous(self.cfg(), u8::try_from(register).ok()?, step));
        uses().unwrap_or(false)
    }

    /// The first instructions behind an address that write a register, if they also read it and do not lead
    /// back to the address.
    pub(in crate::resolve) fn changed_behind(&self, pc: Vaddr, register: u32) -> Vec<Range<u64>> {
        let changed = || Some(self.values()?.changed_behind(self.complete()?, pc, u8::try_from(register).ok()?));
        changed().unwrap_or_default()
    }

    /// Whether an instruction in some address ranges writes another value to a register than the one that it
    /// has at an address; `None` if that is not known.
    pub(in crate::resolve) fn has_other_values(&self, pc: Vaddr, register: u32, ranges: &[Range<u64>]) -> Option<bool> {
        self.values()?.has_other_values(self.cfg(), (pc, u8::try_from(register).ok()?), ranges)
    }

    /// The block of an address; `None` if it is not known.
    pub(in crate::resolve) fn block(&self, pc: Vaddr) -> Option<Block> {
        self.complete()?.block(pc)
    }

    /// Whether the instruction at an address is a branch.
    pub(in crate::resolve) fn is_branch(&self, at: Vaddr) -> bool {
        self.cfg().is_branch(at)
    }

    /// Whether straight code leads from an address to a later one, without a call.
    pub(in crate::resolve) fn is_straight(&self, from: Vaddr, to: Vaddr) -> bool {
        let Some(block) = self.block(from) else { return false };
        let mut between = block.after.iter().take_while(|at| **at < to);
        block.after.contains(&to) && !between.any(|at| self.cfg().is_call(*at))
    }

    /// Whether the instruction at an address is a conditional branch.
    pub(in crate::resolve) fn is_conditional(&self, at: Vaddr) -> bool {
        self.cfg().is_conditional(at)
    }

    /// Whether the function leads from an address back to it.
    pub(in crate::resolve) fn is_in_loop(&self, pc: Vaddr) -> bool {
        self.cfg().is_in_loop(pc)
    }

    /// Whether a loop of the function leads to an address; true if its code is not known completely.
    pub(in crate::resolve) fn is_behind_loop(&self, pc: Vaddr) -> bool {
        let Some(mut left) = self.walk(0).map(Cfg::size) else { return true };
        let before = |at: u64| self.predecessors(Vaddr(at)).map(|all| all.into_iter().map(|it| it.start).collect());
        let Some(first): Option<Vec<u64>> = before(pc.0) else { return true };
        // From an instruction back to those before it; those of the way are open.
        let (mut open, mut seen) = (HashSet::from([pc.0]), HashSet::from([pc.0]));
        let mut way = vec![(pc.0, first)];
        while let Some((at, todo)) = way.last_mut() {
            let Some(next) = todo.pop() else {
                open.remove(at);
                way.pop();
                continue;
            };
            if open.contains(&next) {
                return true;
            }
            if !seen.insert(next) {
                continue;
            }
            let (Some(rest), Some(more)) = (left.checked_sub(1), before(next)) else { return true };
            left = rest;
            open.insert(next);
            way.push((next, more));
        }
        false
    }

    /// Whether the function leads from an address, or from the end of the padding there, back to it.
    pub(in crate::resolve) fn begins_in_loop(&self, at: Vaddr) -> bool {
        self.is_in_loop(self.after_padding(at))
    }

    /// The next instruction from an address on that is no padding.
    pub(in crate::resolve) fn after_padding(&self, at: Vaddr) -> Vaddr {
        self.cfg().after_padding(at)
    }

    /// The instructions that lead to an address, without calls of the function; `None` if they are not known
    /// completely.
    pub(in crate::resolve) fn predecessors(&self, pc: Vaddr) -> Option<Vec<Range<u64>>> {
        self.complete()?.leading_to(pc)
    }

    /// Where control enters a region; `None` if that is not known completely.
    pub(in crate::resolve) fn entries(&self, region: &Region) -> Option<Vec<Vaddr>> {
        Some(self.walk(region.ranges().len())?.entries(region))
    }

    /// How many blocks have an address at which control enters a region, those included that it reaches
    /// through another one; `None` if that is not known completely.
    pub(in crate::resolve) fn entered_blocks(&self, region: &Region) -> Option<usize> {
        let cfg = self.walk(region.ranges().len())?;
        let blocks = cfg.entered(region).into_iter().filter_map(|at| {
            let block = cfg.block(at)?;
            Some(block.before.last().copied().unwrap_or(at))
        });
        Some(blocks.collect::<BTreeSet<Vaddr>>().len())
    }

    /// Where control leaves a region; `None` if that is not known completely.
    pub(in crate::resolve) fn exits(&self, region: &Region) -> Option<Vec<Vaddr>> {
        Some(self.walk(region.ranges().len())?.exits(region))
    }

    /// Where the function is left; `None` if it is too large.
    pub(super) fn function_exits(&self) -> Option<CodeExits> {
        let (cfg, hidden) = (self.cfg(), self.decoded.unknown_edges.is_some());
        let charged = |left: u64| left.checked_sub(cfg.size());
        self.walks_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, charged).ok()?;
        Some(cfg.function_exits(&self.decoded.function, hidden))
    }

    /// The ways through the function that avoid these addresses; `None` if they are not known completely.
    pub(in crate::resolve) fn detours(&self, avoided: &[Vaddr]) -> Option<Detours> {
        Some(self.walk(self.cfg().size() as usize)?.detours(avoided))
    }

    /// Whether code of a region leads to an address in it.
    pub(in crate::resolve) fn is_repeated(&self, region: &Region, at: Vaddr) -> bool {
        self.cfg().is_repeated(region, at)
    }

    /// Whether an instruction may write one of the registers of a mask.
    pub(in crate::resolve) fn writes(&self, at: u64, registers: u64) -> bool {
        self.cfg().writes(&self.decoded.function, at, registers)
    }

    /// Whether any instruction may write one of the registers of a mask.
    pub(in crate::resolve) fn writes_anywhere(&self, registers: u64) -> bool {
        self.cfg().writes_anywhere(&self.decoded.function, registers)
    }

    /// Whether a register is the stack pointer. False if the values of this instruction set are not followed.
    pub(in crate::resolve) fn is_stack_pointer(&self, register: Register) -> bool {
        let number = self.set.data_flow().map(|(_, convention)| u32::from(convention.stack_pointer));
        number.is_some() && self.register_bit(register) == number
    }

    /// The bit of a register in masks of written registers; `None` if it has none.
    pub(in crate::resolve) fn any_bit(&self, register: Register) -> Option<u32> {
        self.set.register_bit(register.0)
    }

    /// The number of a general-purpose register, which is its bit in masks too; `None` if it is another one.
    pub(in crate::resolve) fn register_bit(&self, register: Register) -> Option<u32> {
        self.any_bit(register).filter(|bit| *bit < 16)
    }
}
