//! Where control enters and leaves a region of a function.

use std::collections::BTreeSet;

use super::EdgeKind;
use super::cfg::Cfg;
use super::reached::FlowGraph;
use crate::address::Vaddr;
use crate::ranges::Region;

/// The most instructions of a function whose branches are followed.
const MOST: usize = 20_000;

impl Cfg {
    /// The number of instructions.
    pub(crate) fn size(&self) -> u64 {
        self.instructions.len() as u64
    }

    /// The addresses in a region at which control enters it, ascending. Leaves out those that
    /// control reaches only through another one.
    pub(crate) fn entries(&self, region: &Region) -> Vec<Vaddr> {
        let mut entries = self.entered_indices(region);
        if entries.len() > 1 && self.instructions.len() <= MOST {
            let reached = FlowGraph::of(self).reached(&entries);
            entries.retain(|index| reached.contains(index));
        }
        self.addresses(entries)
    }

    /// All addresses in a region at which control enters it, ascending.
    pub(crate) fn entered(&self, region: &Region) -> Vec<Vaddr> {
        self.addresses(self.entered_indices(region))
    }

    fn addresses(&self, indices: BTreeSet<usize>) -> Vec<Vaddr> {
        indices.into_iter().filter_map(|index| Some(Vaddr(self.instructions.get(index)?.at))).collect()
    }

    fn entered_indices(&self, region: &Region) -> BTreeSet<usize> {
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
        entries
    }

    /// Whether code of a region leads to an address in it.
    pub(crate) fn is_repeated(&self, region: &Region, at: Vaddr) -> bool {
        let is_inside = |edge: &super::Edge| edge.kind != EdgeKind::Entry && region.contains(edge.from.0);
        self.index(at.0).is_some_and(|index| self.predecessors(index).iter().any(is_inside))
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::x86;
    use crate::code::{Function, NoMemory};

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
    fn a_region_that_begins_with_a_loop_is_repeated() {
        // 1000: xor %eax,%eax; 1002: inc %eax; 1004: cmp %edi,%eax; 1006: jne 1002; 1008: ret
        let cfg = cfg(&[0x31, 0xc0, 0xff, 0xc0, 0x39, 0xf8, 0x75, 0xfa, 0xc3]);
        let is_repeated =
            |start: u64, end, at| cfg.is_repeated(&Region::new(std::slice::from_ref(&(start..end))), Vaddr(at));
        assert!(is_repeated(0x1002, 0x1008, 0x1002));
        // The branch back is no part of the region.
        assert!(!is_repeated(0x1002, 0x1006, 0x1002));
        assert!(!is_repeated(0x1008, 0x1009, 0x1008));
        assert!(!is_repeated(0x1001, 0x1009, 0x1001), "no instruction begins there");
    }
}
