//! Which bits of a value the code uses.
//!
//! A compiler that sees that only some bits of a value are used computes only these, and describes
//! the register as the whole value. So only the bits are certain that are used from the
//! instructions on that made the value. They are found backwards, until nothing changes: an
//! addition needs the lower bits of its operands, `movzbl` needs 8.

use std::collections::HashSet;

use super::cfg::Cfg;
use super::data_flow::{Computed, DataFlow, GPRS, Gpr, How};
use super::instruction::Successors;
use super::values::Values;
use crate::address::Vaddr;

/// The bits of each register that are used from an instruction on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bits {
    registers: [u64; GPRS],
    flags: bool,
}

impl Bits {
    fn of(&self, register: Gpr) -> u64 {
        self.registers.get(usize::from(register)).copied().unwrap_or(u64::MAX)
    }

    fn add(&mut self, register: Gpr, bits: u64) {
        if let Some(mine) = self.registers.get_mut(usize::from(register)) {
            *mine |= bits;
        }
    }

    fn join(&mut self, other: &Self) {
        self.registers.iter_mut().zip(other.registers).for_each(|(mine, theirs)| *mine |= theirs);
        self.flags |= other.flags;
    }

    fn clear(&mut self, registers: u64) {
        let cleared = (0..).zip(&mut self.registers).filter(|(register, _)| has(registers, *register));
        cleared.for_each(|(_, bits)| *bits = 0);
    }

    /// All bits of the registers of a mask.
    fn all(registers: u64) -> Self {
        let bits = |register: usize| if has(registers, register) { u64::MAX } else { 0 };
        Self { registers: std::array::from_fn(bits), flags: false }
    }

    /// The bits that are used before an instruction, from those after it.
    fn before(&self, flow: &DataFlow) -> Self {
        let mut before = *self;
        before.clear(flow.overwrites);
        before.flags = (self.flags && !flow.sets_flags) || flow.reads_flags;
        let sets_used_flags = self.flags && flow.sets_flags;
        for used in &flow.uses {
            let result = |to: Gpr| self.of(to) & used.bits;
            let bits = match used.how {
                _ if sets_used_flags => used.bits,
                How::Always => used.bits,
                How::Same(to) => result(to),
                How::Lower(to) => up_to(result(to)),
                How::Signed(to) => {
                    let sign = used.bits & !(used.bits >> 1);
                    let is_sign_used = self.of(to) & !up_to(used.bits) != 0;
                    result(to) | if is_sign_used { sign } else { 0 }
                }
                How::FromLeft(to, by) => result(to).checked_shl(by.into()).unwrap_or(0) & used.bits,
                How::FromRight(to, by) => result(to).checked_shr(by.into()).unwrap_or(0),
            };
            before.add(used.register, bits);
        }
        before
    }
}

fn has(registers: u64, register: usize) -> bool {
    registers.checked_shr(u32::try_from(register).unwrap_or(u32::MAX)).unwrap_or(0) & 1 == 1
}

/// The highest bit of a mask and all bits below.
fn up_to(bits: u64) -> u64 {
    u64::MAX.checked_shr(bits.leading_zeros()).unwrap_or(0)
}

/// Where the value of a register comes from, and what the code does with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    /// The bits that are used from the instructions on that made it.
    pub(crate) used: u64,
    /// These instructions. The entry of the function stands for its caller.
    pub(crate) by: Vec<Vaddr>,
    /// Whether one of them computes it, so that the compiler may have left out bits.
    pub(crate) is_computed: bool,
}

/// The bits that are used from each instruction of a function on.
#[derive(Debug)]
pub(super) struct Demand {
    before: Vec<Bits>,
    /// Bytes of the function's result; `None` if that is not known.
    result: Option<u64>,
}

/// The most passes over a function.
const PASSES: usize = 64;
/// The most instructions that are searched for those that made a value.
const STEPS: usize = 20_000;
/// The registers of a result, rax and rdx.
const RESULTS: u64 = 0b101;

impl Demand {
    /// `None` if the function has too many nested loops.
    pub(super) fn of(values: &Values, cfg: &Cfg, result: Option<u64>) -> Option<Self> {
        let mut demand = Self { before: vec![Bits::default(); cfg.instructions.len()], result };
        let leads_back = cfg.edges.iter().any(|(target, edges)| edges.iter().any(|edge| edge.from.0 >= *target));
        for _ in 0..PASSES {
            let mut has_changed = false;
            for index in (0..cfg.instructions.len()).rev() {
                let before = demand.after(values, cfg, index).before(values.flows.get(index)?);
                let mine = demand.before.get_mut(index)?;
                has_changed |= *mine != before;
                *mine = before;
            }
            // Backwards, one pass knows all that comes later, unless code leads back.
            if !has_changed || !leads_back {
                return Some(demand);
            }
        }
        None
    }

    fn of_result(&self) -> Bits {
        match self.result.and_then(|size| u32::try_from(size).ok()?.checked_mul(8)) {
            Some(bits @ 0..=64) => {
                let mut only = Bits::default();
                only.add(0, u64::MAX.checked_shr(64 - bits).unwrap_or(0));
                only
            }
            _ => Bits::all(RESULTS),
        }
    }

    /// The bits that are used after an instruction.
    fn after(&self, values: &Values, cfg: &Cfg, index: usize) -> Bits {
        let (Some(it), Some(flow)) = (cfg.instructions.get(index), values.flows.get(index)) else {
            return Bits::all(u64::MAX);
        };
        // No register of a variable is passed in rax.
        let arguments = values.machine.arguments & !1;
        let mut after = Bits::default();
        let mut add = |to: Option<usize>| match to.and_then(|to| self.before.get(to)) {
            Some(bits) => after.join(bits),
            None => after.join(&Bits::all(arguments | RESULTS)),
        };
        if it.edge_to_next().is_some() {
            add(cfg.index(it.end()));
        }
        if let Some(target) = it.branch_target() {
            add(cfg.index(target));
        }
        let hidden = values.hidden(index);
        hidden.iter().for_each(|to| add(Some(*to)));
        if it.successors == Successors::Indirect && hidden.is_empty() {
            add(None);
        }
        if flow.returns {
            after.join(&self.of_result());
        }
        if it.successors == Successors::Call {
            after.clear(values.machine.clobbered);
            after.flags = false;
            after.join(&Bits::all(arguments));
        }
        after
    }

    /// What made the value that a register has at an address, looking through copies; `None` if
    /// that is not known. A value that the caller made is used with all bits or not at all.
    pub(super) fn made(&self, values: &Values, cfg: &Cfg, pc: Vaddr, register: Gpr, size: u64) -> Option<Made> {
        let mut made = Made::default();
        let mut seen = HashSet::new();
        let mut todo = vec![(cfg.index(pc.0)?, register)];
        let mut left = STEPS;
        while let Some((at, register)) = todo.pop() {
            if !seen.insert((at, register)) {
                continue;
            }
            left = left.checked_sub(1)?;
            let used = self.before.get(at)?.of(register);
            if cfg.is(at, |it| it.at == cfg.entry) {
                made.used |= if used == 0 { 0 } else { u64::MAX };
                made.by.push(Vaddr(cfg.entry));
            }
            for before in values.predecessors(cfg, at) {
                let flow = values.flows.get(before)?;
                let is_call = cfg.is(before, |it| it.successors == Successors::Call);
                let is_result = is_call && has(values.machine.clobbered, register.into());
                let written = flow.writes.iter().find(|(written, _)| *written == register).map(|(_, value)| *value);
                let copied = match written {
                    Some(Computed::Sum(from, 0)) => Some(from),
                    Some(Computed::Low(from)) if size <= 4 => Some(from),
                    _ => None,
                };
                if written.is_none() && !is_result {
                    todo.push((before, register));
                    continue;
                }
                made.used |= used;
                match copied {
                    Some(from) => todo.push((before, from)),
                    None => {
                        made.is_computed |=
                            matches!(written, Some(Computed::Unknown | Computed::Constant(_) | Computed::LowSum(..)));
                        made.by.push(Vaddr(cfg.instructions.get(before)?.at));
                    }
                }
            }
        }
        Some(made)
    }
}

#[cfg(test)]
#[path = "demand_tests.rs"]
mod tests;
