//! Where a function is left: its returns, and the jumps to other functions (tail calls).
//!
//! Only instructions that control reaches count, by edges that are known. So bytes of data that look
//! like a return are none. What may leave the function besides is an [`ExitGap`].

use std::collections::BTreeSet;

use super::cfg::{Cfg, Indirect};
use super::instruction::{Callee, Instruction, Successors};
use super::reached::FlowGraph;
use super::{Function, stack_depth};
use crate::address::Vaddr;

/// Where a function is left. Each list is in the order of the addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodeExits {
    /// The instructions that return to the caller.
    pub(crate) returns: Vec<Vaddr>,
    /// The jumps that leave the function.
    pub(crate) tail_calls: Vec<TailJump>,
    /// The jumps out of the function where its frame is still on the stack. Each is a gap too.
    pub(crate) inner_jumps: Vec<TailJump>,
    /// Why it may be left elsewhere too; empty if it is not.
    pub(crate) gaps: Vec<ExitGap>,
    /// Returns that no known edge leads to. Empty without a gap, and if some bytes are not an
    /// instruction.
    pub(crate) unreached: Vec<Vaddr>,
}

/// A jump that leaves a function. The function that it leads to returns to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TailJump {
    pub(crate) at: Vaddr,
    /// Where it leads; `None` if only the running program knows.
    pub(crate) callee: Option<Callee>,
}

/// Why the exits of a function may not be known completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum ExitGap {
    /// The bytes at an address are not an instruction.
    Undecoded(Vaddr),
    /// An indirect jump whose targets are unknown.
    IndirectJump(Vaddr),
    /// A conditional branch to another function. A probe there also fires if the function goes on.
    ConditionalTailCall(Vaddr),
    /// A jump out of the function, with its frame still on the stack: code that a linker moved, or the
    /// end of the function that others share.
    JumpOut(Vaddr),
    /// The code continues behind the end of the function.
    FallsOut(Vaddr),
    /// There may be edges that the instructions do not show.
    HiddenEdges,
}

impl ExitGap {
    /// The name of the gap, stable over versions.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Cfg {
    /// Where the function is left. `has_hidden_edges` tells whether there may be edges that the graph does
    /// not have. Takes time in proportion to the code.
    pub(crate) fn function_exits(&self, function: &Function<'_>, has_hidden_edges: bool) -> CodeExits {
        let mut exits = CodeExits::default();
        let mut gaps: BTreeSet<ExitGap> = self.undecoded.map(ExitGap::Undecoded).into_iter().collect();
        gaps.extend(has_hidden_edges.then_some(ExitGap::HiddenEdges));
        let reached = FlowGraph::of(self).reached(&BTreeSet::new());
        let depths = stack_depth::depths(function, self);
        for ((index, it), depth) in self.instructions.iter().enumerate().zip(depths) {
            let is_reached = reached.contains(&index);
            match it.successors {
                Successors::Returns if is_reached => exits.returns.push(Vaddr(it.at)),
                Successors::Returns => exits.unreached.push(Vaddr(it.at)),
                _ if is_reached => {
                    let (jump, gap) = self.leaves(function, it);
                    gaps.extend(gap);
                    match (jump, depth) {
                        (Some(jump), Some(1.. | ..=-1)) => {
                            gaps.insert(ExitGap::JumpOut(jump.at));
                            exits.inner_jumps.push(jump);
                        }
                        (jump, _) => exits.tail_calls.extend(jump),
                    }
                }
                _ => {}
            }
        }
        exits.gaps = gaps.into_iter().collect();
        if exits.gaps.is_empty() || self.has_undecoded() {
            exits.unreached.clear();
        }
        exits
    }

    /// How an instruction that does not return leaves the function, if it does.
    fn leaves(&self, function: &Function<'_>, it: &Instruction) -> (Option<TailJump>, Option<ExitGap>) {
        let at = Vaddr(it.at);
        let tail_call = |callee| Some(TailJump { at, callee });
        match it.successors {
            Successors::Jump(target) if !self.contains(Vaddr(target)) => {
                (tail_call(Some(Callee::At(Vaddr(target)))), None)
            }
            Successors::Indirect => match self.indirect.iter().find(|(jump, _)| *jump == at) {
                Some((_, Indirect::Leaves)) => (tail_call(self.set.callee(it.at, function.code_at(it.at))), None),
                Some((_, Indirect::JumpTable { .. })) => (None, None),
                _ => (None, Some(ExitGap::IndirectJump(at))),
            },
            Successors::Conditional(target) if !self.contains(Vaddr(target)) => {
                (None, Some(ExitGap::ConditionalTailCall(at)))
            }
            // A call at the end does not return.
            Successors::Next | Successors::Conditional(_) if !self.contains(Vaddr(it.end())) => {
                (None, Some(ExitGap::FallsOut(at)))
            }
            _ => (None, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{InstructionSet, aarch64, riscv64, x86};
    use crate::code::NoMemory;

    fn exits(set: &'static dyn InstructionSet, code: &[u8]) -> CodeExits {
        let function = Function::in_one_piece(Vaddr(0x1000), code);
        Cfg::of(&function, &NoMemory, set).function_exits(&function, false)
    }

    fn at(all: &[u64]) -> Vec<Vaddr> {
        all.iter().copied().map(Vaddr).collect()
    }

    fn to(at: u64, callee: Option<u64>) -> TailJump {
        TailJump { at: Vaddr(at), callee: callee.map(|target| Callee::At(Vaddr(target))) }
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn every_form_of_a_return_is_one() {
        for code in [&[0xc3][..], &[0xf3, 0xc3], &[0xf2, 0xc3], &[0xc2, 8, 0]] {
            for set in [&x86::X86_64 as &'static dyn InstructionSet, &x86::I386] {
                let expected = CodeExits { returns: at(&[0x1000]), ..CodeExits::default() };
                assert_eq!(exits(set, code), expected, "{code:x?}");
            }
        }
        // ret, retaa, retab, br x30; eret leaves the function and does not return.
        for (word, is_return) in
            [(0xd65f_03c0, true), (0xd65f_0bff, true), (0xd65f_0fff, true), (0xd61f_03c0, true), (0xd69f_03e0, false)]
        {
            let found = exits(&aarch64::AARCH64, &words(&[word]));
            assert_eq!((found.returns.len(), found.gaps.len()), (usize::from(is_return), 0), "{word:x}");
        }
        // c.jr ra; jalr x0, 0(ra)
        for code in [&[0x82, 0x80][..], &[0x67, 0x80, 0, 0]] {
            assert_eq!(exits(&riscv64::RISCV64, code).returns, at(&[0x1000]), "{code:x?}");
        }
        // `ud2`, and a call that does not return, lead nowhere.
        assert_eq!(exits(&x86::X86_64, &[0x0f, 0x0b]), CodeExits::default());
        assert_eq!(exits(&x86::X86_64, &[0xe8, 0, 0x10, 0, 0]), CodeExits::default());
    }

    #[test]
    fn jumps_out_of_the_function_are_tail_calls() {
        // 1000: test %edi,%edi; 1002: je 100a; 1004: inc %edi; 1006: jmp *%rax; 1008: nop; 1009: nop;
        // 100a: jmp 2000
        let code = [0x85, 0xff, 0x74, 6, 0xff, 0xc7, 0xff, 0xe0, 0x90, 0x90, 0xe9, 0xf1, 0x0f, 0, 0];
        let found = exits(&x86::X86_64, &code);
        assert_eq!(found.tail_calls, [to(0x1006, None), to(0x100a, Some(0x2000))]);
        assert_eq!((found.returns, found.gaps), (vec![], vec![]));
        // jmp *0x2ff0(%rip)
        let found = exits(&x86::X86_64, &[0xff, 0x25, 0xf0, 0x2f, 0, 0]);
        assert_eq!(found.tail_calls, [TailJump { at: Vaddr(0x1000), callee: Some(Callee::Through(Vaddr(0x3ff6))) }]);
        // b 2000; br x16
        assert_eq!(exits(&aarch64::AARCH64, &words(&[0x1400_0400])).tail_calls, [to(0x1000, Some(0x2000))]);
        assert_eq!(exits(&aarch64::AARCH64, &words(&[0xd61f_0200])).tail_calls, [to(0x1000, None)]);
        // auipc t1, 0x20; jr -1792(t1)
        let code = [0x17, 0x03, 2, 0, 0x67, 0, 3, 0x90];
        assert_eq!(exits(&riscv64::RISCV64, &code).tail_calls, [to(0x1004, Some(0x2_0900))]);
    }

    #[test]
    fn a_tail_that_is_not_understood_is_a_gap() {
        let gaps = |code: &[u8]| exits(&x86::X86_64, code).gaps;
        // jne 2000; ret
        assert_eq!(gaps(&[0x0f, 0x85, 0xfa, 0x0f, 0, 0, 0xc3]), [ExitGap::ConditionalTailCall(Vaddr(0x1000))]);
        // inc %edi
        assert_eq!(gaps(&[0xff, 0xc7]), [ExitGap::FallsOut(Vaddr(0x1000))]);
        // ret; (bad)
        assert_eq!(gaps(&[0xc3, 0x06]), [ExitGap::Undecoded(Vaddr(0x1001))]);
        // push %rbx; jmp *%rax; ret
        let found = exits(&x86::X86_64, &[0x53, 0xff, 0xe0, 0xc3]);
        assert_eq!(found.gaps, [ExitGap::IndirectJump(Vaddr(0x1001))]);
        assert_eq!((found.returns, found.unreached), (vec![], at(&[0x1003])));
        // push %rbx; jmp *%rax; ret; (bad): what is no instruction may be data before too.
        let found = exits(&x86::X86_64, &[0x53, 0xff, 0xe0, 0xc3, 0x06]);
        assert_eq!((found.returns, found.unreached), (vec![], vec![]));
    }

    #[test]
    fn a_jump_out_of_the_frame_is_no_tail_call() {
        // stp x29, x30, [sp, #-144]!; b 2004, where a linker moved an instruction; ldp; ret
        let found = exits(&aarch64::AARCH64, &words(&[0xa9b7_7bfd, 0x1400_0400, 0xa8c9_7bfd, 0xd65f_03c0]));
        assert_eq!((found.tail_calls, found.inner_jumps), (vec![], vec![to(0x1004, Some(0x2004))]));
        assert_eq!((found.gaps, found.unreached), (vec![ExitGap::JumpOut(Vaddr(0x1004))], at(&[0x100c])));
        // push %rbx; pop %rbx; jmp 2000
        let found = exits(&x86::X86_64, &[0x53, 0x5b, 0xe9, 0xf9, 0x0f, 0, 0]);
        assert_eq!((found.tail_calls, found.gaps), (vec![to(0x1002, Some(0x2000))], vec![]));
    }

    #[test]
    fn a_return_that_nothing_leads_to_is_none() {
        // jmp 1003; ret; 1003: ret
        let found = exits(&x86::X86_64, &[0xeb, 1, 0xc3, 0xc3]);
        assert_eq!(found, CodeExits { returns: at(&[0x1003]), ..CodeExits::default() });
        let code = [0xeb, 1, 0xc3, 0xc3];
        let function = Function::in_one_piece(Vaddr(0x1000), &code);
        let found = Cfg::of(&function, &NoMemory, &x86::X86_64).function_exits(&function, true);
        assert_eq!(found.gaps, [ExitGap::HiddenEdges]);
        assert_eq!(found.unreached, at(&[0x1002]));
    }
}
