//! Parses an assembler operand as a location. A marker's record uses such operands to describe its
//! values.
//!
//! The parser supports AArch64 and x86 in AT&T syntax, with or without `%` before a register.
//! Compilers emit a register, an immediate, or memory at a register plus an offset.

use super::{Binary, Expr, Location, Node, Piece, Processor, Register, Source, ValueType};

/// Parses `operand` as the location of a value of `size` bytes. `None` if the operand has another
/// form or refers to a symbol.
#[must_use]
pub fn location(operand: &str, size: u8, processor: Processor) -> Option<Location> {
    if let Some(value) = immediate(operand) {
        let bits = value.to_le_bytes();
        let known: &[u8] = bits.get(..usize::from(size)).unwrap_or(&bits);
        return Some(Location::whole(Source::Bytes(known.into())));
    }
    if let Some((register, offset)) = register(operand, processor) {
        return Some(match register {
            Some(register) => {
                Location { pieces: [Piece { bits: None, source: Source::Register(register), offset }].into() }
            }
            // The AArch64 zero register.
            None => Location::whole(Source::Bytes(vec![0; usize::from(size)].into())),
        });
    }
    let address = match processor {
        Processor::Aarch64 => memory_of_aarch64(operand)?,
        Processor::Other => return None,
        Processor::X86_64 | Processor::I386 => memory_of_x86(operand, processor)?,
    };
    Some(Location::whole(Source::Memory(address)))
}

/// Parses an immediate: `$5` on x86, `5` or `#5` elsewhere. `None` if the operand is not an
/// immediate.
#[must_use]
pub fn immediate(operand: &str) -> Option<i64> {
    let value = operand.strip_prefix(['$', '#']).unwrap_or(operand);
    let (negative, digits) = match value.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, value),
    };
    let magnitude = match digits.strip_prefix("0x") {
        Some(digits) if is_digits(digits, 16) => u64::from_str_radix(digits, 16).ok()?,
        None if is_digits(digits, 10) => digits.parse::<u64>().ok()?,
        _ => return None,
    };
    let value = magnitude as i64;
    Some(if negative { value.wrapping_neg() } else { value })
}

fn is_digits(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_digit(radix))
}

/// The register, and the first of its bits that the name refers to. The inner `Option` is `None`
/// for a register that always reads as zero.
fn register(name: &str, processor: Processor) -> Option<(Option<Register>, u64)> {
    let name = name.strip_prefix('%').unwrap_or(name);
    match processor {
        Processor::X86_64 => x86_64(name).map(|(number, offset)| (Some(Register(number)), offset)),
        Processor::I386 => i386(name).map(|(number, offset)| (Some(Register(number)), offset)),
        Processor::Aarch64 => aarch64(name).map(|number| (number.map(Register), 0)),
        Processor::Other => None,
    }
}

/// System V ABI for AMD64, figure 3.36.
fn x86_64(name: &str) -> Option<(u16, u64)> {
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

/// System V ABI for i386, table 2.14. It numbers `ecx`, `edx`, `ebx`, `esp`, `ebp`, `esi` and `edi`
/// differently from AMD64.
fn i386(name: &str) -> Option<(u16, u64)> {
    if let Some(number) = name.strip_prefix("xmm") {
        return number.parse::<u16>().ok().filter(|&number| number < 8).map(|number| (21 + number, 0));
    }
    if name.starts_with('r') {
        return None;
    }
    let (number, offset) = x86_64(name)?;
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

/// DWARF for the Arm 64-bit Architecture, 4.1. Returns `Some(None)` for the zero register.
fn aarch64(name: &str) -> Option<Option<u16>> {
    match name {
        "xzr" | "wzr" => return Some(None),
        "sp" | "wsp" => return Some(Some(31)),
        "fp" => return Some(Some(29)),
        "lr" => return Some(Some(30)),
        _ => {}
    }
    let mut characters = name.chars();
    let class = characters.next()?;
    let number: u16 = characters.as_str().parse().ok()?;
    match class {
        'x' | 'w' if number <= 30 => Some(Some(number)),
        'v' | 'q' | 'd' | 's' | 'h' | 'b' if number <= 31 => Some(Some(64 + number)),
        _ => None,
    }
}

/// Parses `disp(base,index,scale)`.
fn memory_of_x86(operand: &str, processor: Processor) -> Option<Expr> {
    let (displacement, rest) = operand.strip_suffix(')')?.split_once('(')?;
    let displacement =
        if displacement.is_empty() { 0 } else { immediate(displacement).filter(|_| !displacement.starts_with('$'))? };
    let mut parts = rest.split(',').map(str::trim);
    let value = |name: &str| match register(name, processor)? {
        (Some(register), 0) => Expr::new(Node::Register(register, ValueType::Generic)),
        _ => None,
    };
    let mut address = match parts.next()? {
        "" => None,
        base => Some(value(base)?),
    };
    if let Some(index) = parts.next() {
        let scale = parts
            .next()
            .map_or(Some(1), |scale| scale.parse::<u64>().ok().filter(|scale| matches!(scale, 1 | 2 | 4 | 8)))?;
        let mut index = value(index)?;
        if scale > 1 {
            index = Expr::new(Node::Binary(Binary::Mul, index, Expr::constant(scale)))?;
        }
        address = Some(match address {
            Some(base) => Expr::new(Node::Binary(Binary::Plus, base, index))?,
            None => index,
        });
    }
    if parts.next().is_some() {
        return None;
    }
    address?.plus(displacement)
}

/// Parses `[base, offset]`.
fn memory_of_aarch64(operand: &str) -> Option<Expr> {
    let inside = operand.strip_prefix('[')?.strip_suffix(']')?;
    let (base, offset) = inside.split_once(',').map_or((inside, None), |(base, offset)| (base, Some(offset.trim())));
    let Some((Some(base), 0)) = register(base.trim(), Processor::Aarch64) else { return None };
    let offset = offset.map_or(Some(0), immediate)?;
    Expr::new(Node::Register(base, ValueType::Generic))?.plus(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(name: &str, processor: Processor) -> Option<(u16, u64)> {
        let Some((Some(Register(number)), offset)) = register(name, processor) else { return None };
        Some((number, offset))
    }

    #[test]
    fn registers_have_the_numbers_of_their_abi() {
        for (name, expected) in [
            ("eax", (0, 0)),
            ("%rdx", (1, 0)),
            ("rcx", (2, 0)),
            ("bl", (3, 0)),
            ("bh", (3, 8)),
            ("%sil", (4, 0)),
            ("di", (5, 0)),
            ("rbp", (6, 0)),
            ("esp", (7, 0)),
            ("r8", (8, 0)),
            ("r14b", (14, 0)),
            ("r15d", (15, 0)),
            ("xmm3", (20, 0)),
            ("xmm16", (67, 0)),
        ] {
            assert_eq!(number(name, Processor::X86_64), Some(expected), "{name}");
        }
        for name in ["r7", "r16", "r9dd", "sih", "rip", "x0", "zmm1", "", "xmm32"] {
            assert_eq!(number(name, Processor::X86_64), None, "{name}");
        }
        assert_eq!(number("ecx", Processor::I386), Some((1, 0)));
        assert_eq!(number("%esi", Processor::I386), Some((6, 0)));
        assert_eq!(number("xmm1", Processor::I386), Some((22, 0)));
        assert_eq!(number("r8", Processor::I386), None);
        assert_eq!(number("w19", Processor::Aarch64), Some((19, 0)));
        assert_eq!(number("d8", Processor::Aarch64), Some((72, 0)));
        assert_eq!(number("sp", Processor::Aarch64), Some((31, 0)));
    }

    #[test]
    fn operands_are_registers_memory_or_known() {
        let memory = |register, offset| {
            let base = Expr::new(Node::Register(Register(register), ValueType::Generic)).unwrap();
            Some(Location::whole(Source::Memory(base.plus(offset).unwrap())))
        };
        assert_eq!(location("-8(%rbp)", 8, Processor::X86_64), memory(6, -8));
        assert_eq!(location("(rdi)", 4, Processor::X86_64), memory(5, 0));
        assert_eq!(location("[sp, 16]", 4, Processor::Aarch64), memory(31, 16));
        assert_eq!(location("[x19]", 4, Processor::Aarch64), memory(19, 0));
        let known = |bytes: &[u8]| Some(Location::whole(Source::Bytes(bytes.into())));
        assert_eq!(location("$-2", 4, Processor::X86_64), known(&[0xfe, 0xff, 0xff, 0xff]));
        assert_eq!(location("0x1234", 2, Processor::Aarch64), known(&[0x34, 0x12]));
        assert_eq!(location("wzr", 4, Processor::Aarch64), known(&[0; 4]));
        assert!(location("8(%rax,%rcx,4)", 4, Processor::X86_64).is_some());
        for operand in ["counter(%rip)", "%rip", "8(%rax,%rcx,3)", "8(%ah)", "$8(%rax)", "[x0, x1]", ""] {
            assert_eq!(location(operand, 4, Processor::X86_64), None, "{operand}");
        }
    }
}
