//! The names of registers, in AT&T syntax.

use std::borrow::Cow;

/// System V ABI for x86-64, figure 3.36.
const NAMES_64: [&str; 17] = [
    "%rax", "%rdx", "%rcx", "%rbx", "%rsi", "%rdi", "%rbp", "%rsp", "%r8", "%r9", "%r10", "%r11", "%r12", "%r13",
    "%r14", "%r15", "%rip",
];

/// System V ABI for i386, table 2.14.
const NAMES_32: [&str; 10] = ["%eax", "%ecx", "%edx", "%ebx", "%esp", "%ebp", "%esi", "%edi", "%eip", "%eflags"];

const SEGMENTS: [&str; 6] = ["%es", "%cs", "%ss", "%ds", "%fs", "%gs"];

fn listed(names: &[&'static str], index: u16) -> Option<Cow<'static, str>> {
    names.get(usize::from(index)).copied().map(Cow::Borrowed)
}

pub(super) fn name_64(number: u16) -> Option<Cow<'static, str>> {
    Some(match number {
        17..=32 => format!("%xmm{}", number - 17).into(),
        33..=40 => format!("%st({})", number - 33).into(),
        41..=48 => format!("%mm{}", number - 41).into(),
        49 => "%rflags".into(),
        50..=55 => return listed(&SEGMENTS, number - 50),
        58 => "%fs.base".into(),
        59 => "%gs.base".into(),
        67..=82 => format!("%xmm{}", number - 51).into(),
        118..=125 => format!("%k{}", number - 118).into(),
        _ => return listed(&NAMES_64, number),
    })
}

pub(super) fn name_32(number: u16) -> Option<Cow<'static, str>> {
    Some(match number {
        11..=18 => format!("%st({})", number - 11).into(),
        21..=28 => format!("%xmm{}", number - 21).into(),
        29..=36 => format!("%mm{}", number - 29).into(),
        40..=45 => return listed(&SEGMENTS, number - 40),
        _ => return listed(&NAMES_32, number),
    })
}

/// The number of the register that a name refers to, and the first of its bits.
pub(super) fn named_64(name: &str) -> Option<(u16, u64)> {
    const LEGACY: [(&str, &str); 8] =
        [("a", "x"), ("d", "x"), ("c", "x"), ("b", "x"), ("si", ""), ("di", ""), ("bp", ""), ("sp", "")];
    if let Some(rest) = name.strip_prefix("xmm") {
        let number: u16 = rest.parse().ok()?;
        return match number {
            0..=15 => Some((17 + number, 0)),
            16..=31 => Some((67 + number - 16, 0)),
            _ => None,
        };
    }
    for (number, (stem, x)) in (0u16..).zip(LEGACY) {
        let wide = name.strip_prefix(['r', 'e']).unwrap_or(name);
        if wide.strip_prefix(stem) == Some(x) {
            return Some((number, 0));
        }
        match name.strip_prefix(stem) {
            Some("l") => return Some((number, 0)),
            Some("h") if x == "x" => return Some((number, 8)),
            _ => {}
        }
    }
    let rest = name.strip_prefix('r')?;
    let digits = rest.trim_end_matches(['b', 'l', 'w', 'd']);
    let number: u16 = digits.parse().ok().filter(|number| (8..=15).contains(number))?;
    (rest.len() <= digits.len() + 1).then_some((number, 0))
}

/// The same on i386, which numbers `ecx`, `edx`, `ebx`, `esp`, `ebp`, `esi` and `edi`
/// differently from AMD64.
pub(super) fn named_32(name: &str) -> Option<(u16, u64)> {
    if let Some(number) = name.strip_prefix("xmm") {
        return number.parse::<u16>().ok().filter(|&number| number < 8).map(|number| (21 + number, 0));
    }
    if name.starts_with('r') {
        return None;
    }
    let (number, offset) = named_64(name)?;
    let number = match number {
        0 => 0,
        1 => 2,
        2 => 1,
        3 => 3,
        4 => 6,
        5 => 7,
        6 => 5,
        7 => 4,
        _ => return None,
    };
    Some((number, offset))
}
