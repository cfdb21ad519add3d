//! BPF programs as plain data: instructions, and the compilers that write them.

mod amounts;
pub mod assembler;
pub mod cookie;
pub mod count;
mod elements;
pub mod entry;
pub mod event;
pub mod expression;
mod filter;
pub mod input;
pub mod instruction;
pub mod kernel_number;
pub mod off_cpu;
pub mod program;
mod read_again;
pub mod slot;
mod split;
mod stack;
pub mod stack_sums;
pub mod top;
pub mod trace;
pub mod whole;

pub use assembler::{Assembler, Code, TooLong};
pub use expression::{KernelOffsets, Target};
pub use instruction::{Instruction, Map};
