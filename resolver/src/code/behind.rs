//! Which instructions change a register behind an address that they do not lead back to.

use std::collections::HashSet;
use std::ops::Range;

use super::cfg::Cfg;
use super::data_flow::Gpr;
use super::instruction::Successors;
use super::values::Values;
use crate::address::Vaddr;

/// The most instructions that are searched.
const STEPS: usize = 2_000;

impl Values {
    /// The first instructions behind an address that write a register, each with its end, if they also read
    /// it and the code does not lead from them back to the address.
    pub(crate) fn changed_behind(&self, cfg: &Cfg, pc: Vaddr, register: Gpr) -> Vec<Range<u64>> {
        let Some(start) = cfg.index(pc.0) else { return Vec::new() };
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut todo = vec![start];
        while let Some(at) = todo.pop() {
            if seen.len() >= STEPS || !seen.insert(at) {
                continue;
            }
            let (Some(it), Some(flow)) = (cfg.instructions.get(at), self.flows.get(at)) else { continue };
            if flow.writes.iter().any(|(written, _)| *written == register) {
                if flow.uses.iter().any(|used| used.register == register) {
                    found.push((at, it.at..it.end()));
                }
            } else if it.successors != Successors::Call || !self.is_clobbered(register) {
                todo.extend(self.next(cfg, at));
            }
        }
        if found.is_empty() {
            return Vec::new();
        }
        let leads_back = self.leading_to(cfg, start);
        found.retain(|(at, _)| !leads_back.contains(at));
        found.into_iter().map(|(_, range)| range).collect()
    }

    /// The instructions that may run after another one.
    pub(super) fn next(&self, cfg: &Cfg, at: usize) -> Vec<usize> {
        let Some(it) = cfg.instructions.get(at) else { return Vec::new() };
        let mut next: Vec<usize> = it.edge_to_next().and_then(|_| cfg.index(it.end())).into_iter().collect();
        next.extend(it.branch_target().and_then(|target| cfg.index(target)));
        next.extend(self.hidden(at));
        next
    }

    /// The instructions from which the code leads to another one.
    fn leading_to(&self, cfg: &Cfg, to: usize) -> HashSet<usize> {
        let mut seen = HashSet::new();
        let mut todo = vec![to];
        while let Some(at) = todo.pop() {
            let before = self.predecessors(cfg, at).into_iter();
            todo.extend(before.filter(|before| seen.insert(*before)));
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::x86;
    use crate::code::{Function, NoMemory};

    #[test]
    fn a_change_behind_a_loop_is_found() {
        // 1000: add $1,%ecx; 1003: cmp %ecx,%edx; 1005: jne 1000; 1007: cmovne %eax,%esi; 100a: add $1,%ecx;
        // 100d: mov %eax,%ebx; 100f: ret
        let code = [0x83, 0xc1, 1, 0x39, 0xca, 0x75, 0xf9, 0x0f, 0x45, 0xf0, 0x83, 0xc1, 1, 0x89, 0xc3, 0xc3];
        let function = Function::in_one_piece(Vaddr(0x1000), &code);
        let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
        let of = Values::of_function(&function, &cfg).expect("its paths are known");
        let (ecx, esi) = (1, 6);
        let changed = |pc, register| {
            let all = of.changed_behind(&cfg, Vaddr(pc), register).into_iter();
            all.map(|range| (range.start, range.end)).collect::<Vec<_>>()
        };
        assert_eq!(changed(0x1000, esi), [(0x1007, 0x100a)]);
        assert_eq!(changed(0x1003, esi), [(0x1007, 0x100a)]);
        assert_eq!(changed(0x1005, ecx), [(0x100a, 0x100d)]);
        assert!(changed(0x1000, 3).is_empty(), "a copy is no change");
        // The code leads back from the first write.
        assert!(changed(0x1000, ecx).is_empty());
    }
}
