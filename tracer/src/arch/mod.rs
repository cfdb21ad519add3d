//! Everything in the tracer that depends on the processor of a program: one file and one line in the
//! list below for each. What this machine needs for itself is in `sys/processor.rs`.

mod aarch64;
mod conventions;
mod riscv64;
mod x86_64;

pub use conventions::{Conventions, ThreadLocalSlot};

use serde::de::{Deserialize, Deserializer, Error as _, Unexpected};
use serde::{Serialize, Serializer};
use simple_markers_resolver::resolve::Architecture;

/// Defines [`Platform`], and what holds on each.
macro_rules! platforms {
    ($($(#[$doc:meta])* $name:ident: $conventions:expr, $machine:literal;)+) => {
        /// A processor with Linux and the GNU C library, on which programs are watched.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Platform {
            $($(#[$doc])* $name,)+
        }

        impl Platform {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// This machine; `None` if no programs are watched on it.
            pub const HOST: Option<Self> = $(if cfg!(target_arch = $machine) { Some(Self::$name) } else)+ { None };

            /// What holds on it.
            #[must_use]
            pub fn conventions(self) -> &'static dyn Conventions {
                match self {
                    $(Self::$name => &$conventions,)+
                }
            }

            /// The architecture of its images.
            #[must_use]
            pub fn architecture(self) -> Architecture {
                match self {
                    $(Self::$name => Architecture::$name,)+
                }
            }
        }
    };
}

platforms! {
    /// x86-64.
    X86_64: x86_64::X86_64, "x86_64";
    /// AArch64.
    Aarch64: aarch64::Aarch64, "aarch64";
    /// 64-bit RISC-V.
    Riscv64: riscv64::Riscv64, "riscv64";
}

impl Platform {
    /// The platform of plan files that name none: those of versions that watched no other.
    pub const OF_OLD_PLANS: Self = Self::X86_64;

    /// The platform of images of an architecture; `None` if their programs are not watched.
    #[must_use]
    pub fn of(architecture: Architecture) -> Option<Self> {
        Self::ALL.iter().copied().find(|platform| platform.architecture() == architecture)
    }

    /// The platform with a name of `uname -m`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|platform| platform.architecture().as_str() == name)
    }

    /// The platform with this number in the header of its ELF files (`e_machine`).
    #[must_use]
    pub fn of_elf(machine: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|platform| platform.conventions().elf_machine() == machine)
    }
}

/// The name that `uname -m` has for it.
impl Serialize for Platform {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.architecture().as_str())
    }
}

impl<'de> Deserialize<'de> for Platform {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unknown = || D::Error::invalid_value(Unexpected::Str(&name), &"a processor that uname -m names");
        Self::from_name(&name).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_have_the_names_of_uname() {
        let names: Vec<&str> = Platform::ALL.iter().map(|platform| platform.architecture().as_str()).collect();
        assert_eq!(names, ["x86_64", "aarch64", "riscv64"]);
        for platform in Platform::ALL.iter().copied() {
            assert_eq!(Platform::from_name(platform.architecture().as_str()), Some(platform));
            assert_eq!(Platform::of(platform.architecture()), Some(platform));
            assert_eq!(Platform::of_elf(platform.conventions().elf_machine()), Some(platform));
        }
        assert_eq!((Platform::from_name("vax"), Platform::of_elf(0)), (None, None));
    }
}
