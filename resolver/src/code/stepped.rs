//! Whether a register counts the passes of a loop, and is a step ahead of the value that the code behind
//! the loop uses.
//!
//! A loop that leaves in its middle has two values of its counter: the one of the test, and the next one.
//! Where the code computes the next one before it leaves, the code behind takes the step back.

use std::collections::HashSet;

use super::cfg::Cfg;
use super::data_flow::{DataFlow, Gpr, RegisterValue};
use super::values::Values;
use crate::address::Vaddr;

/// The most instructions that are searched in each direction.
const STEPS: usize = 2_000;

/// An instruction that adds a constant to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoopStep {
    /// Its address.
    pub(crate) at: Vaddr,
    by: i64,
}

impl Values {
    /// The steps in loops that may have made the value of a register at an address.
    pub(crate) fn steps(&self, cfg: &Cfg, pc: Vaddr, register: Gpr) -> Vec<LoopStep> {
        let mut steps = Vec::new();
        let mut seen = HashSet::new();
        let mut todo: Vec<usize> = cfg.index(pc.0).into_iter().collect();
        while let Some(at) = todo.pop() {
            for before in self.predecessors(cfg, at) {
                if seen.len() >= STEPS || !seen.insert(before) {
                    continue;
                }
                let Some(flow) = self.flows.get(before) else { continue };
                match (sum(flow, register, register), cfg.instructions.get(before)) {
                    (Some(by), Some(it)) if by != 0 && cfg.is_in_loop(Vaddr(it.at)) => {
                        steps.push(LoopStep { at: Vaddr(it.at), by });
                    }
                    _ if flow.writes.iter().any(|(written, _)| *written == register) => {}
                    _ => todo.push(before),
                }
            }
        }
        steps
    }

    /// Whether the loop of a step copies the register before it, and uses the copy behind it, in the same
    /// block.
    pub(crate) fn uses_previous(&self, cfg: &Cfg, register: Gpr, step: LoopStep) -> bool {
        let Some(block) = cfg.block(step.at) else { return false };
        let flow = |at: &Vaddr| cfg.index(at.0).and_then(|at| self.flows.get(at));
        let (mut copies, mut written): (HashSet<Gpr>, HashSet<Gpr>) = Default::default();
        for flow in block.before.iter().map_while(flow) {
            if flow.writes.iter().any(|(to, _)| *to == register) {
                break;
            }
            for (to, computed) in &flow.writes {
                let is_copy = *computed == RegisterValue::Low(register) || sum(flow, *to, register) == Some(0);
                if written.insert(*to) && is_copy {
                    copies.insert(*to);
                }
            }
        }
        for flow in block.after.iter().skip(1).map_while(flow) {
            if flow.uses.iter().any(|used| copies.contains(&used.register)) {
                return true;
            }
            for (to, _) in &flow.writes {
                copies.remove(to);
            }
        }
        false
    }

    /// Whether the code behind a step takes it back: computes the value that the register had before it.
    pub(crate) fn takes_back(&self, cfg: &Cfg, register: Gpr, step: LoopStep) -> bool {
        let mut seen = HashSet::new();
        let mut todo: Vec<usize> = cfg.at(step.at.0).and_then(|it| cfg.index(it.end())).into_iter().collect();
        while let Some(at) = todo.pop() {
            if seen.len() >= STEPS || !seen.insert(at) {
                continue;
            }
            let (Some(it), Some(flow)) = (cfg.instructions.get(at), self.flows.get(at)) else { continue };
            let is_back = |to: Gpr| sum(flow, to, register) == step.by.checked_neg();
            if flow.writes.iter().any(|(to, _)| is_back(*to)) {
                return true;
            }
            if flow.writes.iter().any(|(written, _)| *written == register) {
                continue;
            }
            todo.extend(it.edge_to_next().and_then(|_| cfg.index(it.end())));
            todo.extend(it.branch_target().and_then(|target| cfg.index(target)));
            todo.extend(self.hidden(at));
        }
        false
    }
}

/// The constant that an instruction adds to a register for its result in another one.
fn sum(flow: &DataFlow, to: Gpr, from: Gpr) -> Option<i64> {
    flow.writes.iter().find(|(written, _)| *written == to).and_then(|(_, computed)| match computed {
        RegisterValue::Sum(of, by) | RegisterValue::LowSum(of, by) if *of == from => Some(*by),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::x86;
    use crate::code::{Function, NoMemory};

    #[test]
    fn a_step_that_is_taken_back_behind_the_loop() {
        // 1000: mov %ecx,%edx; 1002: add $-1,%ecx; 1005: cmpl $0,(%rdi,%rdx,4); 1009: je 1000;
        // 100b: lea 1(%rcx),%eax; 100e: ret
        let code = [0x89, 0xca, 0x83, 0xc1, 0xff, 0x83, 0x3c, 0x97, 0x00, 0x74, 0xf5, 0x8d, 0x41, 0x01, 0xc3];
        let values = |code: &[u8]| {
            let function = Function::in_one_piece(Vaddr(0x1000), code);
            let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
            let values = Values::of_function(&function, &cfg).expect("its paths are known");
            (cfg, values)
        };
        let (cfg, of) = values(&code);
        let step = LoopStep { at: Vaddr(0x1002), by: -1 };
        assert_eq!(of.steps(&cfg, Vaddr(0x100b), 1), [step]);
        assert!(of.takes_back(&cfg, 1, step));
        assert!(of.steps(&cfg, Vaddr(0x100b), 2).is_empty());
        // lea 2(%rcx),%eax is another number.
        let mut other = code;
        other[13] = 2;
        let (cfg, of) = values(&other);
        assert!(!of.takes_back(&cfg, 1, step));
    }
}
