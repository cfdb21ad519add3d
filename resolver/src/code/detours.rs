//! What a function executes on the ways that avoid some of its addresses.

use std::collections::BTreeSet;

use super::cfg::Cfg;
use super::reached::FlowGraph;
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
        let flow = FlowGraph::of(self);
        let addresses = |found: BTreeSet<usize>| {
            let others = found.difference(&avoided);
            others.filter_map(|index| Some(self.instructions.get(*index)?.at)).collect()
        };
        Detours { reached: addresses(flow.reached(&avoided)), leaving: addresses(flow.leaving(&avoided)) }
    }
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
