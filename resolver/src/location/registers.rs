//! Registers, identified by the DWARF register numbers of the processor's ABI: System V ABI AMD64
//! 3.6.2, i386 2.4.2, AADWARF64 4.1.

use std::borrow::Cow;

/// The processor architecture, which determines register names and operand syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// x86-64, including x32.
    X86_64,
    /// i386.
    I386,
    /// AArch64.
    Aarch64,
    /// Any other architecture. Its registers have numbers but no names.
    Other,
}

/// A register (DWARF 5, 2.6.1.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(pub u16);

const X86_64: [&str; 17] = [
    "%rax", "%rdx", "%rcx", "%rbx", "%rsi", "%rdi", "%rbp", "%rsp", "%r8", "%r9", "%r10", "%r11", "%r12", "%r13",
    "%r14", "%r15", "%rip",
];

const I386: [&str; 10] = ["%eax", "%ecx", "%edx", "%ebx", "%esp", "%ebp", "%esi", "%edi", "%eip", "%eflags"];

/// Segment registers start at number 40 on i386 and at number 50 on x86-64.
const SEGMENTS: [&str; 6] = ["%es", "%cs", "%ss", "%ds", "%fs", "%gs"];

impl Register {
    /// Whether it belongs to the vector or floating-point unit, whose registers the kernel hands to no
    /// BPF program.
    #[must_use]
    pub fn is_vector(self, processor: Processor) -> bool {
        match processor {
            Processor::X86_64 => matches!(self.0, 17..=48 | 67..=82),
            Processor::I386 => matches!(self.0, 11..=36),
            Processor::Aarch64 => matches!(self.0, 64..=127),
            Processor::Other => false,
        }
    }

    /// The register's assembly name, in AT&T syntax on x86. If the name is not known, the number,
    /// as in `r12`.
    #[must_use]
    pub fn name(self, processor: Processor) -> Cow<'static, str> {
        let number = self.0;
        let listed = |names: &[&'static str], first: u16| {
            let name = names.get(usize::from(number.wrapping_sub(first))).copied();
            name.map_or_else(|| format!("r{number}").into(), Cow::Borrowed)
        };
        match (processor, number) {
            (Processor::X86_64, 17..=32) => format!("%xmm{}", number - 17).into(),
            (Processor::X86_64, 33..=40) => format!("%st({})", number - 33).into(),
            (Processor::X86_64, 41..=48) => format!("%mm{}", number - 41).into(),
            (Processor::X86_64, 49) => "%rflags".into(),
            (Processor::X86_64, 50..=55) => listed(&SEGMENTS, 50),
            (Processor::X86_64, 58) => "%fs.base".into(),
            (Processor::X86_64, 59) => "%gs.base".into(),
            (Processor::X86_64, 67..=82) => format!("%xmm{}", number - 51).into(),
            (Processor::X86_64, 118..=125) => format!("%k{}", number - 118).into(),
            (Processor::X86_64, _) => listed(&X86_64, 0),
            (Processor::I386, 11..=18) => format!("%st({})", number - 11).into(),
            (Processor::I386, 21..=28) => format!("%xmm{}", number - 21).into(),
            (Processor::I386, 29..=36) => format!("%mm{}", number - 29).into(),
            (Processor::I386, 40..=45) => listed(&SEGMENTS, 40),
            (Processor::I386, _) => listed(&I386, 0),
            (Processor::Aarch64, 0..=30) => format!("x{number}").into(),
            (Processor::Aarch64, 31) => "sp".into(),
            (Processor::Aarch64, 32) => "pc".into(),
            (Processor::Aarch64, 64..=95) => format!("v{}", number - 64).into(),
            _ => format!("r{number}").into(),
        }
    }

    /// Whether this is an x87 stack register. Such a register stores numbers in a different format
    /// from memory and moves with the top of the stack.
    #[must_use]
    pub fn is_x87(self, processor: Processor) -> bool {
        match processor {
            Processor::X86_64 => (33..=40).contains(&self.0),
            Processor::I386 => (11..=18).contains(&self.0),
            Processor::Aarch64 | Processor::Other => false,
        }
    }

    /// Whether the register is callee-saved (AMD64 ABI 3.2.1, i386 ABI 2.2, AAPCS64 6.1.1).
    #[must_use]
    pub fn is_callee_saved(self, processor: Processor) -> bool {
        match processor {
            Processor::X86_64 => matches!(self.0, 3 | 6 | 12..=15),
            Processor::I386 => matches!(self.0, 3 | 5..=7),
            Processor::Aarch64 => matches!(self.0, 19..=29),
            Processor::Other => false,
        }
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
        assert_eq!(name(Processor::Other, 12), "r12");
    }
}
