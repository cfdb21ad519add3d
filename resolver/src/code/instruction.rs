//! What is known of an instruction, in plain values.

use super::EdgeKind;
use crate::address::Vaddr;

/// One instruction, as the control-flow graph needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) at: u64,
    pub(crate) size: u8,
    pub(crate) successors: Successors,
    pub(crate) kind: InstructionKind,
}

/// What runs after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Successors {
    /// The next instruction.
    Next,
    /// The next instruction, once the callee returns.
    Call,
    /// Another instruction, or the next one.
    Conditional(u64),
    /// Another instruction.
    Jump(u64),
    /// The target of an indirect jump.
    Indirect,
    /// The caller.
    Returns,
    /// Nothing in this function.
    Ends,
    /// Nothing. In a kernel, the next instruction.
    Traps,
}

/// The role of an instruction, apart from control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstructionKind {
    Plain,
    /// It does nothing. It aligns functions and loops.
    Padding,
    /// A landing mark for indirect jumps (`endbr64`, `bti j`).
    LandingMark,
}

impl Instruction {
    pub(crate) fn end(&self) -> u64 {
        self.at.wrapping_add(u64::from(self.size))
    }

    /// The edge to the next instruction; `None` if there is no such edge.
    pub(crate) fn edge_to_next(&self) -> Option<EdgeKind> {
        match self.successors {
            Successors::Next | Successors::Conditional(_) => Some(EdgeKind::FallThrough),
            Successors::Call => Some(EdgeKind::CallReturn),
            Successors::Jump(_) | Successors::Indirect | Successors::Returns | Successors::Ends | Successors::Traps => {
                None
            }
        }
    }

    /// The target of a direct branch.
    pub(crate) fn branch_target(&self) -> Option<u64> {
        match self.successors {
            Successors::Conditional(target) | Successors::Jump(target) => Some(target),
            _ => None,
        }
    }
}

/// What an instruction may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effects {
    /// The registers that it may write, with one bit each in the numbering of the instruction set.
    /// There may be too many, but never too few.
    pub(crate) written: u64,
    /// Whether it may write memory, or has an effect outside of registers.
    pub(crate) stores: bool,
}

impl Effects {
    /// It may change everything.
    pub(crate) const UNKNOWN: Self = Self { written: u64::MAX, stores: true };
}

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// The instruction at an address.
    At(Vaddr),
    /// The address in the word at this address.
    Through(Vaddr),
}

/// The depth of the stack at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackDepth {
    /// Bytes on the stack since the function was entered.
    pub(crate) stack: i64,
    /// The same for the address in the frame pointer; `None` if it holds none.
    pub(crate) frame: Option<i64>,
}
