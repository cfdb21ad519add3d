//! Straight-line code and loops around an address.

use std::collections::HashSet;

use super::EdgeKind;
use super::cfg::Cfg;
use super::instruction::{InstructionKind, Successors};
use crate::address::Vaddr;

/// The instructions that run exactly when an address is passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// Those before the address, the nearest first.
    pub(crate) before: Vec<Vaddr>,
    /// Those from the address on, in order.
    pub(crate) after: Vec<Vaddr>,
}

/// The most instructions of a block or a loop.
const MOST: usize = 20_000;

/// The most instructions of padding in one place: one for each byte of a cache line.
const MOST_PADDING: usize = 64;

impl Cfg {
    /// The block of an address; `None` if no instruction begins there.
    pub(crate) fn block(&self, at: Vaddr) -> Option<Block> {
        let index = self.index(at.0)?;
        let goes_on = |index: usize| self.is(index, |it| matches!(it.successors, Successors::Next | Successors::Call));
        let mut block = Block::default();
        let mut first = index;
        while let [only] = &*self.predecessors(first) {
            let before = self.index(only.from.0)?;
            let is_previous = matches!(only.kind, EdgeKind::FallThrough | EdgeKind::CallReturn);
            if !is_previous || !goes_on(before) || block.before.len() == MOST {
                break;
            }
            block.before.push(only.from);
            first = before;
        }
        let mut last = index;
        loop {
            let it = self.instructions.get(last)?;
            block.after.push(Vaddr(it.at));
            match self.index(it.end()) {
                Some(next) if goes_on(last) && self.predecessors(next).len() == 1 && block.after.len() < MOST => {
                    last = next;
                }
                _ => return Some(block),
            }
        }
    }

    /// Whether the instruction at an address is a branch.
    pub(crate) fn is_branch(&self, at: Vaddr) -> bool {
        let is_branch = |what| matches!(what, Successors::Conditional(_) | Successors::Jump(_) | Successors::Indirect);
        self.at(at.0).is_some_and(|it| is_branch(it.successors))
    }

    /// Whether the instruction at an address is a conditional branch.
    pub(crate) fn is_conditional(&self, at: Vaddr) -> bool {
        self.at(at.0).is_some_and(|it| matches!(it.successors, Successors::Conditional(_)))
    }

    /// Whether the instruction at an address is a call.
    pub(crate) fn is_call(&self, at: Vaddr) -> bool {
        self.at(at.0).is_some_and(|it| it.successors == Successors::Call)
    }

    /// The next instruction from an address on that is no padding; the address itself if there is none
    /// near.
    pub(crate) fn after_padding(&self, at: Vaddr) -> Vaddr {
        let mut next = at.0;
        for _ in 0..MOST_PADDING {
            match self.at(next) {
                Some(it) if it.kind == InstructionKind::Padding => next = it.end(),
                Some(it) => return Vaddr(it.at),
                None => break,
            }
        }
        at
    }

    /// Whether the code leads from an address back to it.
    pub(crate) fn is_in_loop(&self, at: Vaddr) -> bool {
        let Some(start) = self.index(at.0) else { return false };
        let mut seen = HashSet::new();
        let mut todo = vec![start];
        while let Some(index) = todo.pop() {
            for edge in self.predecessors(index).into_iter().filter(|edge| edge.kind != EdgeKind::Entry) {
                match self.index(edge.from.0) {
                    Some(from) if from == start => return true,
                    Some(from) if seen.len() < MOST && seen.insert(from) => todo.push(from),
                    _ => {}
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::x86;
    use crate::code::{Function, NoMemory};

    #[test]
    fn a_block_ends_where_ways_part_or_meet() {
        // 1000: xor %eax,%eax; 1002: inc %eax; 1004: cmp %edi,%eax; 1006: jne 1002; 1008: inc %eax; 100a: ret
        let code = [0x31, 0xc0, 0xff, 0xc0, 0x39, 0xf8, 0x75, 0xfa, 0xff, 0xc0, 0xc3];
        let function = Function::in_one_piece(Vaddr(0x1000), &code);
        let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
        let block = |at| cfg.block(Vaddr(at)).map(|block| (block.before, block.after));
        let addresses = |all: &[u64]| all.iter().copied().map(Vaddr).collect::<Vec<_>>();
        assert_eq!(block(0x1004), Some((addresses(&[0x1002]), addresses(&[0x1004, 0x1006]))));
        assert_eq!(block(0x1000), Some((addresses(&[]), addresses(&[0x1000]))));
        assert_eq!(block(0x100a), Some((addresses(&[0x1008]), addresses(&[0x100a]))));
        assert_eq!(block(0x1001), None);
        assert!(cfg.is_branch(Vaddr(0x1006)) && !cfg.is_branch(Vaddr(0x1004)));
        assert!(cfg.is_conditional(Vaddr(0x1006)) && !cfg.is_conditional(Vaddr(0x100a)));
        assert!(cfg.is_in_loop(Vaddr(0x1004)));
        assert!(!cfg.is_in_loop(Vaddr(0x1000)) && !cfg.is_in_loop(Vaddr(0x1008)));
    }
}
