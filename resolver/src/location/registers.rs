//! Registers, identified by the DWARF register numbers of the processor's ABI.

use std::borrow::Cow;

use crate::arch::{InstructionSet, Processor};

/// A register (DWARF 5, 2.6.1.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(pub u16);

impl Register {
    /// Whether it belongs to the vector or floating-point unit, whose registers the kernel hands to no
    /// BPF program.
    #[must_use]
    pub fn is_vector(self, processor: Processor) -> bool {
        processor.set().is_some_and(|set| set.is_vector(self.0))
    }

    /// The register's assembly name, in AT&T syntax where that is usual. If the name is not known, the
    /// number, as in `r12`.
    #[must_use]
    pub fn name(self, processor: Processor) -> Cow<'static, str> {
        let name = processor.set().and_then(|set| set.register_name(self.0));
        name.unwrap_or_else(|| format!("r{}", self.0).into())
    }

    /// Whether this is an x87 stack register. Such a register stores numbers in a different format
    /// from memory and moves with the top of the stack.
    #[must_use]
    pub fn is_x87(self, processor: Processor) -> bool {
        processor.set().and_then(InstructionSet::x87).is_some_and(|registers| registers.contains(&self.0))
    }

    /// Whether the register is callee-saved.
    #[must_use]
    pub fn is_callee_saved(self, processor: Processor) -> bool {
        processor.set().is_some_and(|set| set.is_callee_saved(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_abi() {
        let name = |processor, number| Register(number).name(processor).into_owned();
        let x86_64 = [0, 1, 4, 5, 6, 7, 8, 15, 16, 17, 32, 33, 41, 49, 50, 55, 56, 58, 59, 67, 82, 118, 200, u16::MAX];
        let expected = "%rax %rdx %rsi %rdi %rbp %rsp %r8 %r15 %rip %xmm0 %xmm15 %st(0) %mm0 %rflags %es %gs r56 \
                        %fs.base %gs.base %xmm16 %xmm31 %k0 r200 r65535";
        assert_eq!(x86_64.map(|number| name(Processor::X86_64, number)).join(" "), expected);
        let i386 = [0, 1, 4, 5, 8, 9, 10, 11, 21, 29, 40, 45, 46];
        let expected = "%eax %ecx %esp %ebp %eip %eflags r10 %st(0) %xmm0 %mm0 %es %gs r46";
        assert_eq!(i386.map(|number| name(Processor::I386, number)).join(" "), expected);
        let aarch64 = [0, 30, 31, 32, 33, 64, 95, 96];
        assert_eq!(aarch64.map(|number| name(Processor::Aarch64, number)).join(" "), "x0 x30 sp pc r33 v0 v31 r96");
        let riscv64 = [0, 1, 2, 8, 10, 27, 31, 32, 42, 63, 64];
        assert_eq!(
            riscv64.map(|number| name(Processor::Riscv64, number)).join(" "),
            "zero ra sp s0 a0 s11 t6 ft0 fa0 ft11 r64"
        );
        assert_eq!(name(Processor::Other, 12), "r12");
    }
}
