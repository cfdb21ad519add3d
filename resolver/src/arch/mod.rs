//! Architectures: one folder and one line in the list below for each.
//!
//! [`InstructionSet`] has everything that depends on the processor: instructions, registers,
//! relocations, what the kernel does with a uprobe, and what tools call a register. No other module
//! names a processor (`tests/rust/architectures.rs`). `docs/design.md`, "A new architecture", lists
//! the steps for adding one.

pub(crate) mod aarch64;
mod instruction_set;
pub(crate) mod returned_value;
pub(crate) mod riscv64;
pub(crate) mod x86;

pub(crate) use instruction_set::{
    EffectsReader, GdbFloat, InstructionSet, NamedRegister, OperandSyntax, PartialField, PartialOperation,
    PartialRelocation,
};

use crate::image::Architecture;

/// Defines [`Processor`], and the architectures of images for each.
macro_rules! processors {
    ($($(#[$doc:meta])* $name:ident: $set:expr, $image:ident $(| $narrow:ident)*;)+) => {
        /// The processor architecture, which determines register names and operand syntax.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Processor {
            $($(#[$doc])* $name,)+
            /// Any other architecture. Its registers have numbers but no names.
            Other,
        }

        impl Processor {
            /// The processor of an image.
            pub(crate) fn of(image: Architecture) -> Self {
                match image {
                    $(Architecture::$image $(| Architecture::$narrow)* => Self::$name,)+
                    _ => Self::Other,
                }
            }

            /// What depends on the processor; `None` if it is not supported.
            pub(crate) fn set(self) -> Option<&'static dyn InstructionSet> {
                match self {
                    $(Self::$name => Some($set),)+
                    Self::Other => None,
                }
            }
        }

        /// The first architecture of each processor. Images of the others have shorter addresses than the
        /// registers, and are not exported.
        pub(crate) const SUPPORTED: &[Architecture] = &[$(Architecture::$image),+];
    };
}

processors! {
    /// x86-64, including x32.
    X86_64: &x86::X86_64, X86_64 | X32;
    /// i386.
    I386: &x86::I386, I386;
    /// AArch64.
    Aarch64: &aarch64::AARCH64, Aarch64;
    /// RISC-V with 64 bits.
    Riscv64: &riscv64::RISCV64, Riscv64;
}
