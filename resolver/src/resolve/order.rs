//! Whether an assignment is in another order in the code than in the source, seen from a site.
//!
//! A compiler moves an assignment across a marker if that changes nothing else. The debug
//! information says where the new value begins, but it does not end the old one in time. What
//! shows it are the lines of the instructions that write the register.

use std::collections::HashSet;
use std::ops::Range;

use super::arguments::Stop;
use super::computed;
use super::doubt::{Code, moved_behind, register};
use super::instructions::Instructions;
use super::{Argument, Reason};
use crate::address::Vaddr;
use crate::code::Block;
use crate::dwarf::{DebugInfo, Die};
use crate::location::{Location, Node, Register, Source};

/// The most instructions of the range of a location that are looked at.
const STEPS: usize = 4096;
/// The most instructions in other ranges that are looked at.
const LOOKED: usize = 64;

/// The code around a site, with its lines.
pub(super) struct Order<'r, 'd, 'c, 'i, 'data, 's> {
    debug: &'r DebugInfo<'d>,
    instructions: &'r Instructions<'c, 'i, 'data, 's>,
    function: Die,
    pc: Vaddr,
    stop: &'r Stop<'r>,
    /// The line of the marker's function.
    declared: u32,
    block: Block,
    result: Option<u64>,
}

/// Where a line is, seen from the marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
    /// On the marker's line, in another function, or not known.
    Neither,
}

impl<'r, 'd, 'c, 'i, 'data, 's> Order<'r, 'd, 'c, 'i, 'data, 's> {
    /// `None` if the code is not known.
    pub(super) fn new(
        debug: &'r DebugInfo<'d>,
        stop: &'r Stop<'r>,
        code: &Code<'r, 'c, 'i, 'data, 's>,
    ) -> Option<Self> {
        let (instructions, function, pc) = (code.instructions?, code.function?, code.pc);
        let declared = stop.scope?.frames.first()?.decl_line?;
        let block = instructions.block(function, pc)?;
        Some(Self { debug, instructions, function, pc, stop, declared, block, result: code.result })
    }

    /// Why an argument in a register may have its value of another time. `described` gives the
    /// location of the argument at another address.
    pub(super) fn doubt(
        &self,
        argument: &Argument,
        is_parameter: bool,
        begins_here: bool,
        described: impl Fn(Vaddr) -> Option<Location>,
    ) -> Option<Reason> {
        let location = argument.location.as_ref()?;
        if let Some(reason) = self.other_constant(argument, location, &described) {
            return Some(reason);
        }
        // gcc makes a copy of a function for a constant argument, and a loop of the calls in it. The
        // parameter keeps the constant.
        let is_whole_function = argument.ranges.is_empty() && self.stop.scope?.frames.len() == 1;
        if is_parameter && is_whole_function && is_constant(location) && self.is_in_loop() {
            return Some(Reason::ParameterInLoop);
        }
        let held = register(location)?;
        let bit = self.instructions.register_bit(held)?;
        // gcc describes a parameter that is in the frame, because its address is taken, in the register
        // of the entry. LLVM does not.
        if is_parameter && self.stop.scope?.frames.len() == 1 && self.debug.is_by_gcc(self.function) {
            if let Some(at) = self.instructions.stored_over(self.function, self.pc, bit, argument.size?) {
                return Some(Reason::StoredOver { at: at.0 });
            }
        }
        let mask = 1u64.checked_shl(bit)?;
        if let Some(reason) = self.other_offset(argument, held, mask, &described) {
            return Some(reason);
        }
        let is_written = |at: &Vaddr| self.instructions.writes(self.function, at.0, mask);
        let leads_here = || self.instructions.predecessors(self.function, self.pc);
        let is_next_value = |at: Vaddr| is_written(&at) && self.side(at) == Side::After;
        if is_parameter && begins_here && leads_here()?.iter().any(|before| is_next_value(Vaddr(before.start))) {
            return Some(Reason::BeginsHere);
        }
        let after = self.block.after.iter().position(is_written);
        let update = after.and_then(|index| Some((*self.block.after.get(index)?, self.block.after.get(index + 1))));
        let branch = self.block.after.last().and_then(|last| self.line(*last));
        let later = update.and_then(|(_, next)| described(*next?));
        let is_tracked = later.as_ref() == Some(location);
        if let Some((at, _)) = update {
            // The increment of a `for` loop has the line of its test.
            let is_step = self.line(at) == branch;
            if is_tracked && !is_step && self.side(at) == Side::Before {
                return Some(Reason::AssignedLate { at: at.0 });
            }
        }
        let is_before = |at: Vaddr| self.side(at) == Side::Before && self.is_in_instance(at);
        if !self.debug.is_by_gcc(self.function) {
            let place = (self.function, self.pc);
            let late = moved_behind(self.instructions, place, (location, bit), is_before, &described);
            if late.is_some() {
                return late;
            }
        }
        // A tail call that became a loop assigns the parameters. They stay described as they were.
        let before = self.block.before.iter().find(|at| is_written(at));
        let is_update = |at: Vaddr| self.side(at) == Side::After;
        let leaves =
            update.is_some_and(|(at, _)| is_update(at) && (later.is_none() || (is_tracked && self.line(at) == branch)));
        // The loop of an inlined function may also be one of its caller.
        let is_own = |at: Vaddr| is_update(at) && self.is_in_instance(at);
        if is_parameter
            && (leaves && update.is_some_and(|(at, _)| is_own(at)) || before.is_some_and(|at| is_own(*at)))
            && self.holds_from_loop(argument)
            && self.is_in_loop()
        {
            let made = self.instructions.made(self.function, self.pc, bit, (argument.size?, self.result))?;
            if made.by.iter().any(|at| is_own(*at)) {
                return Some(Reason::ParameterInLoop);
            }
        }
        None
    }

    /// Why a constant may not hold on all ways to the site, of which some are parts of a loop.
    fn other_constant(
        &self,
        argument: &Argument,
        location: &Location,
        described: &impl Fn(Vaddr) -> Option<Location>,
    ) -> Option<Reason> {
        // An entry that ends at the site holds there up to a view.
        let holds = |range: &&Range<u64>| range.start < self.pc.0 && self.pc.0 <= range.end;
        let range = argument.ranges.iter().find(holds).filter(|_| is_constant(location))?;
        let is_by_gcc = self.debug.is_by_gcc(self.function);
        let mut seen = HashSet::new();
        let mut todo = vec![self.pc.0];
        let mut looked = 0;
        while let Some(at) = todo.pop().filter(|_| seen.len() < STEPS && looked < LOOKED) {
            for before in self.instructions.predecessors(self.function, Vaddr(at))? {
                if seen.contains(&before.start) {
                    continue;
                }
                let is_same = range.contains(&before.start) || {
                    looked += 1;
                    // gcc does not end a constant where a loop begins that assigns the variable.
                    let is_back = before.start > self.pc.0 && at <= self.pc.0;
                    let is_known = |other: &Location| is_constant(other) || (is_by_gcc && is_back);
                    match described(Vaddr(before.end.saturating_sub(1))).filter(is_known) {
                        Some(other) if other != *location => {
                            // An assignment of the constant may be behind an instruction, not behind a branch.
                            if at != range.start && range.contains(&at)
                                || self.instructions.is_branch(self.function, Vaddr(before.start))
                            {
                                return self.is_in_loop().then_some(Reason::OtherConstant { from: before.start });
                            }
                            false
                        }
                        other => other.is_some(),
                    }
                };
                if is_same {
                    seen.insert(before.start);
                    todo.push(before.start);
                }
            }
        }
        None
    }

    /// Why a register in a loop may have the value of another pass. Where a loop counts one step ahead of
    /// the variable, LLVM describes that as the register plus a constant, and forgets the constant in a
    /// part of the loop: between the two descriptions no instruction changes the register.
    fn other_offset(
        &self,
        argument: &Argument,
        register: Register,
        mask: u64,
        described: &impl Fn(Vaddr) -> Option<Location>,
    ) -> Option<Reason> {
        let range = argument.ranges.iter().find(|range| range.contains(&self.pc.0))?;
        if self.debug.is_by_gcc(self.function) || !self.is_in_loop() {
            return None;
        }
        let mut seen = HashSet::new();
        let mut todo = vec![self.pc.0];
        let mut looked = 0;
        while let Some(at) = todo.pop().filter(|_| seen.len() < STEPS && looked < LOOKED) {
            for before in self.instructions.predecessors(self.function, Vaddr(at))? {
                if !seen.insert(before.start) {
                    continue;
                }
                if range.contains(&before.start) {
                    todo.push(before.start);
                    continue;
                }
                looked += 1;
                let is_offset = |other: Location| computed::is_offset(&other, register);
                if !self.instructions.writes(self.function, before.start, mask)
                    && described(Vaddr(before.end.saturating_sub(1))).is_some_and(is_offset)
                {
                    return Some(Reason::OtherOffset { from: before.start });
                }
            }
        }
        None
    }

    fn is_in_loop(&self) -> bool {
        self.instructions.is_in_loop(self.function, self.pc)
    }

    /// Whether an instruction is a part of the marker's function, also where that is inlined.
    fn is_in_instance(&self, at: Vaddr) -> bool {
        let frames = self.stop.scope.map_or(&[][..], |scope| &scope.frames);
        match frames {
            [instance, _, ..] => {
                let code = self.debug.code_of(instance.instance).unwrap_or_default();
                code.iter().any(|range| range.contains(&at.0))
            }
            _ => true,
        }
    }

    /// Whether the location that holds at the site begins after the function's entry, or holds
    /// everywhere.
    fn holds_from_loop(&self, argument: &Argument) -> bool {
        let range = argument.ranges.iter().find(|range| range.contains(&self.pc.0));
        range.is_none_or(|range| {
            range.start < self.pc.0 && self.instructions.begins_in_loop(self.function, Vaddr(range.start))
        })
    }

    /// The line of an instruction of the marker's file.
    fn line(&self, at: Vaddr) -> Option<u32> {
        let (file, line) = self.debug.line_at(at)?;
        let is_same = *file == *self.stop.file || file.ends_with(self.stop.file) || self.stop.file.ends_with(&*file);
        is_same.then_some(line)
    }

    fn side(&self, at: Vaddr) -> Side {
        match self.line(at) {
            Some(line) if line > self.stop.line => Side::After,
            Some(line) if line < self.stop.line && line > self.declared => Side::Before,
            _ => Side::Neither,
        }
    }
}

fn is_constant(location: &Location) -> bool {
    match location.source() {
        Some(Source::Bytes(_)) => true,
        Some(Source::Value(value)) => matches!(value.node(), Node::Constant(_)),
        _ => false,
    }
}
