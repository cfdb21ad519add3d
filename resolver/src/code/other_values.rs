//! Whether a register has other values than the one that it has at an address.
//!
//! A compiler gives a register to several values that are never needed at the same time. The instructions
//! that write one value, change it in place, or read it belong together: each read belongs to all writes
//! that reach it.

use std::collections::HashSet;
use std::ops::Range;

use super::cfg::Cfg;
use super::data_flow::{DataFlow, Gpr};
use super::instruction::{Instruction, Successors};
use super::values::Values;
use crate::address::Vaddr;

/// The most instructions that are searched.
const STEPS: usize = 20_000;

impl Values {
    /// Whether an instruction in some address ranges writes another value to a register than the one that
    /// it has at an address. A call does not count. `None` if there are too many instructions.
    pub(crate) fn has_other_values(
        &self,
        cfg: &Cfg,
        (pc, register): (Vaddr, Gpr),
        ranges: &[Range<u64>],
    ) -> Option<bool> {
        let own = self.writes_of_value(cfg, cfg.index(pc.0)?, register)?;
        let is_in = |at: u64| ranges.iter().any(|range| range.contains(&at));
        let other =
            |(at, it): (usize, &Instruction)| is_in(it.at) && self.is_assigned(at, register) && !own.contains(&at);
        Some(cfg.instructions.iter().enumerate().any(other))
    }

    /// The instructions that write the value that a register has before an instruction, also if they only
    /// change it.
    fn writes_of_value(&self, cfg: &Cfg, start: usize, register: Gpr) -> Option<HashSet<usize>> {
        let (mut writes, mut behind, mut ahead): (HashSet<usize>, HashSet<usize>, HashSet<usize>) = Default::default();
        let (mut back, mut forward) = (vec![start], Vec::new());
        loop {
            if behind.len().saturating_add(ahead.len()) > STEPS {
                return None;
            }
            if let Some(at) = back.pop() {
                if !behind.insert(at) {
                    continue;
                }
                for before in self.predecessors(cfg, at) {
                    match self.ends_value(cfg, before, register) {
                        false => back.push(before),
                        true if writes.insert(before) => {
                            forward.extend(self.next(cfg, before));
                            back.extend(self.reads(before, register).then_some(before));
                        }
                        true => {}
                    }
                }
            } else if let Some(at) = forward.pop() {
                if !ahead.insert(at) {
                    continue;
                }
                let (reads, ends) = (self.reads(at, register), self.ends_value(cfg, at, register));
                back.extend(reads.then_some(at));
                // An instruction that changes the value in place belongs to it.
                if !ends || reads && writes.insert(at) {
                    forward.extend(self.next(cfg, at));
                }
            } else {
                return Some(writes);
            }
        }
    }

    /// Whether an instruction gives a register another value. One that widens it in place does not.
    fn is_assigned(&self, at: usize, register: Gpr) -> bool {
        let writes = |flow: &DataFlow| flow.writes.iter().any(|(to, _)| *to == register);
        self.flows.get(at).is_some_and(|flow| flow.widens() != Some(register) && writes(flow))
    }

    /// Whether a register may have another value behind an instruction or the function that it calls.
    fn ends_value(&self, cfg: &Cfg, at: usize, register: Gpr) -> bool {
        let is_call = cfg.instructions.get(at).is_some_and(|it| it.successors == Successors::Call);
        self.is_assigned(at, register) || is_call && self.is_clobbered(register)
    }

    fn reads(&self, at: usize, register: Gpr) -> bool {
        self.flows.get(at).is_some_and(|flow| flow.uses.iter().any(|used| used.register == register))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::x86;
    use crate::code::{Function, NoMemory};

    #[test]
    fn a_register_has_another_value_in_the_other_branch() {
        // 1000: test %esi,%esi; 1002: jne 100b; 1004: mov (%rdi),%ecx; 1006: add $1,%ecx; 1009: jmp 1010;
        // 100b: mov 8(%rdi),%ecx; 100e: mov %ecx,%eax; 1010: ret
        let code = [0x85, 0xf6, 0x75, 7, 0x8b, 0x0f, 0x83, 0xc1, 1, 0xeb, 5, 0x8b, 0x4f, 8, 0x89, 0xc8, 0xc3];
        let function = Function::in_one_piece(Vaddr(0x1000), &code);
        let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
        let of = Values::of_function(&function, &cfg).expect("its paths are known");
        let ecx = 1;
        let other = |pc, range| of.has_other_values(&cfg, (Vaddr(pc), ecx), std::slice::from_ref(&range));
        let all = 0x1000..0x1011;
        assert_eq!(other(0x1006, all.clone()), Some(true));
        assert_eq!(other(0x100e, all.clone()), Some(true));
        assert_eq!(other(0x100e, 0x100b..0x1010), Some(false));
        // The sum is the same value, changed in place.
        assert_eq!(other(0x1009, 0x1000..0x100b), Some(false));
        assert_eq!(other(0x1006, 0x1000..0x100b), Some(false));
        // Behind the branches it may be either.
        assert_eq!(other(0x1010, all), Some(false));
    }
}
