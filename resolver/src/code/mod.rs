//! What the instructions show: whether a probe at an address fires exactly when a marker there is
//! passed, and what the probe costs.
//!
//! This folder works on plain bytes and addresses. It does not know records, debug information or
//! output. A [`Function`] is decoded once into a control-flow graph ([`Cfg`], `cfg`). `jump_tables`
//! reads its jump tables. It uses `reaching_definitions` for the values of registers and
//! `stack_depth` for jumps that leave the function. The graph gives the predecessors of an address
//! ([`Cfg::exactness`], `exactness`) and the other addresses where a probe sees the same
//! ([`Cfg::equivalents`], `equivalent`). `function_exits` finds where the function is left. `probe` describes what the kernel does with a uprobe.
//! What depends on the processor is behind [`InstructionSet`](crate::arch::InstructionSet).
//! `docs/design.md`, "Exactness", explains the answers.

mod behind;
mod blocks;
mod cfg;
pub(crate) mod data_flow;
mod detours;
mod edge;
mod equivalent;
mod exactness;
mod flows;
mod function;
mod function_exits;
pub(crate) mod instruction;
pub(crate) mod jump_table;
mod jump_tables;
mod made;
mod memory;
mod other_values;
pub(crate) mod probe;
mod reached;
mod reaching_definitions;
mod red_zone;
mod regions;
mod settled;
mod spilled;
mod stack_depth;
mod stepped;
mod values;

pub(crate) use blocks::Block;
pub(crate) use cfg::{Cfg, Indirect};
pub(crate) use detours::Detours;
pub(crate) use edge::Edge;
pub use edge::EdgeKind;
pub(crate) use equivalent::Equivalent;
pub(crate) use exactness::{Assessment, ExactReason, Outcome, UnprovenReason};
pub(crate) use flows::Flows;
pub(crate) use function::{CodeRange, Function};
pub(crate) use function_exits::CodeExits;
pub use function_exits::ExitGap;
pub(crate) use instruction::Callee;
pub(crate) use memory::{Memory, NoMemory};
pub(crate) use probe::Effect;
pub use probe::{BreaksReason, ProbeCost, RefusedReason};
pub(crate) use settled::{CallEffect, MemoryPlace, NextUse, PlaceRoot, ValuePlace};
pub(crate) use stepped::LoopStep;
pub(crate) use values::Values;

#[cfg(test)]
mod tests;
