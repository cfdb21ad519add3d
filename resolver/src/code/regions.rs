//! Where control enters and leaves a region of a function, and which branches decide whether an address is
//! reached.

use std::collections::BTreeSet;

use super::EdgeKind;
use super::cfg::{Cfg, Indirect};
use super::instruction::Successors;
use crate::address::Vaddr;
use crate::ranges::Region;

/// The most instructions of a function whose branches are followed.
const MOST: usize = 20_000;

/// Whether the code reaches an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The branches that decide it: one way always leads there, and another one may not. A call that
    /// does not return and is the last instruction does not count.
    pub(crate) branches: Vec<Vaddr>,
    /// Whether each call of the function reaches it exactly once.
    pub(crate) is_once: bool,
}

impl Cfg {
    /// The number of instructions.
    pub(crate) fn size(&self) -> u64 {
        self.instructions.len() as u64
    }

    /// The addresses in a region at which control enters it, ascending. Leaves out those that
    /// control reaches only through another one.
    pub(crate) fn entries(&self, region: &Region) -> Vec<Vaddr> {
        let mut entries = BTreeSet::new();
        for range in region.ranges() {
            let first = self.instructions.partition_point(|it| it.at < range.start);
            let instructions = self.instructions.iter().enumerate().skip(first);
            for (index, _) in instructions.take_while(|(_, it)| it.at < range.end) {
                let enters = |edge: &super::Edge| edge.kind == EdgeKind::Entry || !region.contains(edge.from.0);
                if self.predecessors(index).iter().any(enters) {
                    entries.insert(index);
                }
            }
        }
        if entries.len() > 1 && self.instructions.len() <= MOST {
            let reached = self.reached_first(&entries);
            entries.retain(|index| reached.contains(index));
        }
        entries.into_iter().filter_map(|index| Some(Vaddr(self.instructions.get(index)?.at))).collect()
    }

    /// The addresses outside of a region to which control leaves it, ascending. Leaves out those that
    /// only the unwinder enters.
    pub(crate) fn exits(&self, region: &Region) -> Vec<Vaddr> {
        let is_exit = |index: &usize| {
            let leaves = |edge: &super::Edge| {
                !matches!(edge.kind, EdgeKind::Entry | EdgeKind::OtherFunction | EdgeKind::LandingPad)
                    && region.contains(edge.from.0)
            };
            !self.is(*index, |it| region.contains(it.at)) && self.predecessors(*index).iter().any(leaves)
        };
        let exits = (0..self.instructions.len()).filter(is_exit);
        exits.filter_map(|index| Some(Vaddr(self.instructions.get(index)?.at))).collect()
    }

    /// The instructions of a set that the function reaches before any other one of the set.
    fn reached_first(&self, set: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); self.instructions.len()];
        let mut todo = Vec::new();
        for index in 0..self.instructions.len() {
            for edge in self.predecessors(index) {
                match (edge.kind, self.index(edge.from.0)) {
                    (EdgeKind::Entry | EdgeKind::OtherFunction, _) | (_, None) => todo.push(index),
                    (_, Some(from)) => next.get_mut(from).into_iter().for_each(|next| next.push(index)),
                }
            }
        }
        let mut seen: BTreeSet<usize> = todo.iter().copied().collect();
        while let Some(index) = todo.pop() {
            if !set.contains(&index) {
                let new = next.get(index).into_iter().flatten().copied();
                todo.extend(new.filter(|next| seen.insert(*next)));
            }
        }
        set.intersection(&seen).copied().collect()
    }

    /// What decides whether the code reaches an address; `None` if no instruction begins there, or
    /// the function is too large.
    pub(crate) fn decision(&self, at: Vaddr) -> Option<Decision> {
        let target = self.index(at.0)?;
        if self.instructions.len() > MOST {
            return None;
        }
        let before: Vec<Vec<usize>> = (0..self.instructions.len()).map(|index| self.before_by_edges(index)).collect();
        let walk = |mut todo: Vec<usize>, stop: Option<usize>| {
            let mut seen = vec![false; before.len()];
            todo.iter().for_each(|&index| seen.get_mut(index).into_iter().for_each(|seen| *seen = true));
            while let Some(index) = todo.pop() {
                for &from in before.get(index).into_iter().flatten() {
                    let Some(seen) = seen.get_mut(from).filter(|seen| !**seen && Some(from) != stop) else { continue };
                    *seen = true;
                    todo.push(from);
                }
            }
            seen
        };
        let leads = walk(vec![target], None);
        let exits = (0..self.instructions.len()).filter(|&index| index != target && self.is_exit(index));
        let misses = walk(exits.collect(), Some(target));
        let is = |of: &[bool], index: usize| of.get(index) == Some(&true);
        let mut branches: BTreeSet<usize> = BTreeSet::new();
        for index in (0..self.instructions.len()).filter(|&index| index == target || !is(&misses, index)) {
            let from = before.get(index).into_iter().flatten();
            branches.extend(from.filter(|&&from| from != target && is(&misses, from) && is(&leads, from)));
        }
        let is_missed = self.index(self.entry).is_none_or(|entry| entry != target && is(&misses, entry));
        let branches = branches.into_iter().filter_map(|index| Some(Vaddr(self.instructions.get(index)?.at)));
        Some(Decision { branches: branches.collect(), is_once: !is_missed && !self.is_in_loop(at) })
    }

    /// The instructions of the function that lead to the one at `index`.
    fn before_by_edges(&self, index: usize) -> Vec<usize> {
        let edges = self.predecessors(index);
        let edges = edges.iter().filter(|edge| !matches!(edge.kind, EdgeKind::Entry | EdgeKind::OtherFunction));
        edges.filter_map(|edge| self.index(edge.from.0)).collect()
    }

    /// Whether the function is left behind an instruction.
    fn is_exit(&self, index: usize) -> bool {
        let Some(it) = self.instructions.get(index) else { return false };
        let leaves = |target: u64| !self.contains(Vaddr(target));
        match it.successors {
            Successors::Next | Successors::Call | Successors::Traps => false,
            Successors::Conditional(target) | Successors::Jump(target) => leaves(target),
            Successors::Indirect => {
                let leaves = |(jump, what): &(Vaddr, Indirect)| jump.0 == it.at && *what == Indirect::Leaves;
                self.indirect.iter().any(leaves)
            }
            Successors::Ends => true,
        }
    }

    /// The addresses of the calls, ascending, with jumps to other functions.
    pub(crate) fn calls(&self) -> impl Iterator<Item = Vaddr> + '_ {
        let is_call = |what| match what {
            Successors::Call => true,
            Successors::Jump(target) => !self.contains(Vaddr(target)),
            _ => false,
        };
        self.instructions.iter().filter(move |it| is_call(it.successors)).map(|it| Vaddr(it.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Function, NoMemory, x86};

    fn cfg(code: &[u8]) -> Cfg {
        Cfg::of(&Function::in_one_piece(Vaddr(0x1000), code), &NoMemory, &x86::X86_64)
    }

    fn addresses(all: &[u64]) -> Vec<Vaddr> {
        all.iter().copied().map(Vaddr).collect()
    }

    #[test]
    fn a_region_is_entered_where_control_comes_from_outside() {
        // 1000: test %edi,%edi; 1002: je 1008; 1004: inc %eax; 1006: inc %ecx; 1008: inc %edx; 100a: ret
        let cfg = cfg(&[0x85, 0xff, 0x74, 0x04, 0xff, 0xc0, 0xff, 0xc1, 0xff, 0xc2, 0xc3]);
        let entries = |ranges: &[(u64, u64)]| {
            let ranges: Vec<_> = ranges.iter().map(|&(start, end)| start..end).collect();
            cfg.entries(&Region::new(&ranges))
        };
        assert_eq!(entries(&[(0x1004, 0x1008)]), addresses(&[0x1004]));
        assert_eq!(entries(&[(0x1006, 0x100b)]), addresses(&[0x1006, 0x1008]));
        assert_eq!(entries(&[(0x1000, 0x1002), (0x1008, 0x100a)]), addresses(&[0x1000]));
        assert_eq!(entries(&[(0x2000, 0x2008), (0x1009, 0x100a), (8, 4)]), addresses(&[]));
        assert_eq!(entries(&[]), addresses(&[]));
        let exits = |start: u64, end| cfg.exits(&Region::new(std::slice::from_ref(&(start..end))));
        assert_eq!(exits(0x1002, 0x1006), addresses(&[0x1006, 0x1008]));
        assert_eq!(cfg.exits(&Region::new(&[0x1008..0x100b, 0x1000..0x1008])), addresses(&[]));
    }

    #[test]
    fn a_branch_decides_what_only_one_of_its_ways_reaches() {
        // 1000: test %edi,%edi; 1002: je 1008; 1004: inc %eax; 1006: inc %ecx; 1008: inc %edx; 100a: ret
        let straight = cfg(&[0x85, 0xff, 0x74, 0x04, 0xff, 0xc0, 0xff, 0xc1, 0xff, 0xc2, 0xc3]);
        let decision = |branches: &[u64], is_once| Some(Decision { branches: addresses(branches), is_once });
        assert_eq!(straight.decision(Vaddr(0x1006)), decision(&[0x1002], false));
        assert_eq!(straight.decision(Vaddr(0x1008)), decision(&[], true));
        assert_eq!(straight.decision(Vaddr(0x1000)), decision(&[], true));
        assert_eq!(straight.decision(Vaddr(0x1001)), None);
        // 1000: xor %eax,%eax; 1002: inc %eax; 1004: cmp %edi,%eax; 1006: jne 1002; 1008: ret
        let looped = cfg(&[0x31, 0xc0, 0xff, 0xc0, 0x39, 0xf8, 0x75, 0xfa, 0xc3]);
        assert_eq!(looped.decision(Vaddr(0x1002)), decision(&[0x1006], false));
    }

    #[test]
    fn calls_are_listed() {
        // 1000: call 1006; 1005: nop; 1006: jmp 1005; 1008: jmp 2000
        let cfg = cfg(&[0xe8, 1, 0, 0, 0, 0x90, 0xeb, 0xfd, 0xe9, 0xf3, 0x0f, 0, 0]);
        assert_eq!(cfg.calls().collect::<Vec<_>>(), addresses(&[0x1000, 0x1008]));
    }
}
