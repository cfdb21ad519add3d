//! The names of registers (RISC-V ABIs, "Register Convention" and "DWARF Register Numbers").

use std::borrow::Cow;

use crate::arch::NamedRegister;

/// x0 to x31, then f0 to f31.
const NAMES: [&str; 64] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2",
    "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6", "ft0", "ft1", "ft2", "ft3", "ft4",
    "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "fs2", "fs3", "fs4",
    "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
];

pub(super) fn name(number: u16) -> Option<Cow<'static, str>> {
    NAMES.get(usize::from(number)).copied().map(Cow::Borrowed)
}

pub(super) fn named(name: &str) -> Option<NamedRegister> {
    let by_number = |prefix, first: u16| {
        let number: u16 = name.strip_prefix(prefix)?.parse().ok()?;
        (number < 32).then_some(first + number)
    };
    let listed = || (0u16..).zip(NAMES).find(|(_, listed)| *listed == name).map(|(number, _)| number);
    let number = match name {
        "fp" => 8,
        _ => listed().or_else(|| by_number('x', 0)).or_else(|| by_number('f', 32))?,
    };
    Some(if number == 0 { NamedRegister::Zero } else { NamedRegister::Bits(number, 0) })
}
