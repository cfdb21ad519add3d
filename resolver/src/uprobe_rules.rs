//! What kernels do with uprobes in ways of their own. All else is the same from Linux 5.10 on.

use std::fmt;

/// The rules of a kernel.
pub trait UprobeRules: fmt::Debug + Sync {
    /// No-operations of several bytes are emulated. Before, they are stepped.
    fn emulates_long_nops(&self) -> bool;

    /// A no-operation of five bytes becomes a call, which writes below the stack pointer.
    fn rewrites_five_byte_nops(&self) -> bool;

    /// The no-operation of ten bytes with a segment prefix becomes `lea -128(%rsp),%rsp` and a
    /// call. Other kernels refuse it, and say nothing if the file is mapped later.
    fn rewrites_ten_byte_nops(&self) -> bool;

    /// Where all instructions have one size: `nop` is emulated. Before, it is stepped.
    fn emulates_fixed_size_nops(&self) -> bool;
}

/// A version of Linux: its first two numbers. Distributors may have added rules of a newer one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinuxVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl LinuxVersion {
    /// A version by its first two numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }
}

/// The rules of all supported kernels: of the oldest version, and of those from which on one differs.
pub const ALL_KERNELS: &[&dyn UprobeRules] =
    &[&LinuxVersion::new(5, 10), &LinuxVersion::new(6, 14), &LinuxVersion::new(6, 18), &LinuxVersion::new(7, 2)];

impl UprobeRules for LinuxVersion {
    fn emulates_long_nops(&self) -> bool {
        *self >= Self::new(6, 18)
    }

    fn rewrites_five_byte_nops(&self) -> bool {
        *self >= Self::new(6, 18) && *self < Self::new(7, 2)
    }

    fn rewrites_ten_byte_nops(&self) -> bool {
        *self >= Self::new(7, 2)
    }

    fn emulates_fixed_size_nops(&self) -> bool {
        *self >= Self::new(6, 14)
    }
}

impl std::str::FromStr for LinuxVersion {
    type Err = &'static str;

    /// Reads what `uname -r` prints, or the first two numbers of it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut numbers = text.trim_end().split(['.', '-', '+']).map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok(Self { major, minor }),
            _ => Err("a version of Linux starts with two numbers, as 6.1"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_uname() {
        for text in ["6.1", "6.1.0-50-amd64", "6.1-rc3", "6.1+\n"] {
            assert_eq!(text.parse(), Ok(LinuxVersion::new(6, 1)), "{text}");
        }
        for text in ["", "6", "six.one", "6.", ".1", "-6.1"] {
            assert!(text.parse::<LinuxVersion>().is_err(), "{text}");
        }
    }
}
