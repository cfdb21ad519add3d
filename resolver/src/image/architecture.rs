//! The architecture of an image, from `e_machine` and the class of the file.

use std::fmt;

/// An architecture. `Display` gives the name of `uname -m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[non_exhaustive]
#[allow(missing_docs, reason = "the variants are the architectures")]
pub enum Architecture {
    Aarch64,
    Arm,
    Bpf,
    I386,
    LoongArch32,
    LoongArch64,
    M68k,
    Mips,
    Mips64,
    #[strum(serialize = "ppc")]
    PowerPc,
    #[strum(serialize = "ppc64")]
    PowerPc64,
    Riscv32,
    Riscv64,
    S390x,
    Sparc,
    Sparc64,
    /// x86-64 with 32-bit addresses.
    X32,
    X86_64,
    /// An `e_machine` that is not in this list.
    Unknown,
}

impl Architecture {
    /// The name of `uname -m`; `unknown` for [`Architecture::Unknown`].
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub(super) fn of(architecture: object::Architecture) -> Self {
        use object::Architecture as Elf;
        match architecture {
            Elf::Aarch64 | Elf::Aarch64_Ilp32 => Self::Aarch64,
            Elf::Arm => Self::Arm,
            Elf::Bpf => Self::Bpf,
            Elf::I386 => Self::I386,
            Elf::LoongArch32 => Self::LoongArch32,
            Elf::LoongArch64 => Self::LoongArch64,
            Elf::M68k => Self::M68k,
            Elf::Mips => Self::Mips,
            Elf::Mips64 | Elf::Mips64_N32 => Self::Mips64,
            Elf::PowerPc => Self::PowerPc,
            Elf::PowerPc64 => Self::PowerPc64,
            Elf::Riscv32 => Self::Riscv32,
            Elf::Riscv64 => Self::Riscv64,
            Elf::S390x => Self::S390x,
            Elf::Sparc | Elf::Sparc32Plus => Self::Sparc,
            Elf::Sparc64 => Self::Sparc64,
            Elf::X86_64 => Self::X86_64,
            Elf::X86_64_X32 => Self::X32,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
