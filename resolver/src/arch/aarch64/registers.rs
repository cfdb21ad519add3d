//! The names of registers (DWARF for the Arm 64-bit Architecture, 4.1).

use std::borrow::Cow;

use crate::arch::NamedRegister;

pub(super) fn name(number: u16) -> Option<Cow<'static, str>> {
    Some(match number {
        0..=30 => format!("x{number}").into(),
        31 => "sp".into(),
        32 => "pc".into(),
        64..=95 => format!("v{}", number - 64).into(),
        _ => return None,
    })
}

pub(super) fn named(name: &str) -> Option<NamedRegister> {
    let number = match name {
        "xzr" | "wzr" => return Some(NamedRegister::Zero),
        "sp" | "wsp" => 31,
        "fp" => 29,
        "lr" => 30,
        _ => {
            let mut characters = name.chars();
            let class = characters.next()?;
            let number: u16 = characters.as_str().parse().ok()?;
            match class {
                'x' | 'w' if number <= 30 => number,
                'v' | 'q' | 'd' | 's' | 'h' | 'b' if number <= 31 => 64 + number,
                _ => return None,
            }
        }
    };
    Some(NamedRegister::Bits(number, 0))
}
