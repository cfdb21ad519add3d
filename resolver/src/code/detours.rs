//! What a function executes on the ways that avoid some of its addresses.

use std::collections::BTreeSet;

use super::EdgeKind;
use super::cfg::Cfg;
use crate::address::Vaddr;

/// The ways through a function that avoid some addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Detours {
    /// The addresses that control reaches from the entry, ascending.
    reached: Vec<u64>,
    /// The addresses from which control leaves the function, ascending.
    leaving: Vec<u64>,
}

impl Detours {
    /// Whether control reaches an address without passing one of those that are avoided.
    pub(crate) fn reach(&self, at: Vaddr) -> bool {
        self.reached.binary_search(&at.0).is_ok()
    }

    /// Whether a way through the whole function passes an address, and none of those that are avoided.
    pub(crate) fn pass(&self, at: Vaddr) -> bool {
        self.reach(at) && self.leaving.binary_search(&at.0).is_ok()
    }
}

impl Cfg {
    /// The ways through the function that avoid these addresses.
    pub(crate) fn detours(&self, avoided: &[Vaddr]) -> Detours {
        let avoided: BTreeSet<usize> = avoided.iter().filter_map(|at| self.index(at.0)).collect();
        let count = self.instructions.len();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut entered = Vec::new();
        for index in 0..count {
            for edge in self.predecessors(index) {
                match (edge.kind, self.index(edge.from.0)) {
                    (EdgeKind::Entry | EdgeKind::OtherFunction, _) | (_, None) => entered.push(index),
                    (_, Some(from)) => {
                        next.get_mut(from).into_iter().for_each(|next| next.push(index));
                        before.get_mut(index).into_iter().for_each(|before| before.push(from));
                    }
                }
            }
        }
        let ends = next.iter().enumerate().filter(|(_, next)| next.is_empty()).map(|(index, _)| index).collect();
        let addresses = |found: BTreeSet<usize>| {
            found.into_iter().filter_map(|index| Some(self.instructions.get(index)?.at)).collect()
        };
        Detours {
            reached: addresses(spread(entered, &next, &avoided)),
            leaving: addresses(spread(ends, &before, &avoided)),
        }
    }
}

/// What is reached from some instructions along edges, without those that are avoided.
fn spread(from: Vec<usize>, edges: &[Vec<usize>], avoided: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut todo: Vec<usize> = from.into_iter().filter(|index| !avoided.contains(index)).collect();
    let mut seen: BTreeSet<usize> = todo.iter().copied().collect();
    while let Some(index) = todo.pop() {
        let new = edges.get(index).into_iter().flatten().copied().filter(|to| !avoided.contains(to));
        todo.extend(new.filter(|to| seen.insert(*to)));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::x86;
    use crate::code::{Function, NoMemory};

    #[test]
    fn a_branch_is_a_way_around_what_it_jumps_over() {
        // 1000: test %edi,%edi; 1002: je 1008; 1004: inc %eax; 1006: inc %ecx; 1008: inc %edx; 100a: ret
        let code = [0x85, 0xff, 0x74, 0x04, 0xff, 0xc0, 0xff, 0xc1, 0xff, 0xc2, 0xc3];
        let cfg = Cfg::of(&Function::in_one_piece(Vaddr(0x1000), &code), &NoMemory, &x86::X86_64);
        let around = cfg.detours(&[Vaddr(0x1004)]);
        let reached = |at: u64| around.reach(Vaddr(at));
        assert_eq!([0x1000, 0x1004, 0x1006, 0x1008].map(reached), [true, false, false, true]);
        assert!(around.pass(Vaddr(0x1002)));
        let around = cfg.detours(&[Vaddr(0x1008)]);
        assert!(around.reach(Vaddr(0x1004)) && !around.pass(Vaddr(0x1004)), "each way out passes 1008");
    }
}
