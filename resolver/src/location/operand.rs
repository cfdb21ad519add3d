//! Parses an assembler operand as a location. A marker's record uses such operands to describe its
//! values.
//!
//! Compilers emit a register, an immediate, or memory at a register plus an offset.

use super::{Binary, Expr, Location, Node, Piece, Processor, Register, Source, ValueType};
use crate::arch::{InstructionSet, NamedRegister, OperandSyntax};

/// Parses `operand` as the location of a value of `size` bytes. `None` if the operand has another
/// form or refers to a symbol.
#[must_use]
pub fn location(operand: &str, size: u8, processor: Processor) -> Option<Location> {
    if let Some(value) = immediate(operand) {
        let bits = value.to_le_bytes();
        let known: &[u8] = bits.get(..usize::from(size)).unwrap_or(&bits);
        return Some(Location::whole(Source::Bytes(known.into())));
    }
    let set = processor.set()?;
    if let Some(register) = register(operand, set) {
        return Some(match register {
            NamedRegister::Bits(number, offset) => {
                let source = Source::Register(Register(number));
                Location { pieces: [Piece { bits: None, source, offset }].into() }
            }
            NamedRegister::Zero => Location::whole(Source::Bytes(vec![0; usize::from(size)].into())),
        });
    }
    let address = match set.operand_syntax() {
        OperandSyntax::Att | OperandSyntax::Parentheses => memory(operand, set)?,
        OperandSyntax::Brackets => memory_in_brackets(operand, set)?,
    };
    Some(Location::whole(Source::Memory(address)))
}

/// Parses an immediate: `$5`, `5` or `#5`. `None` if the operand is not an
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

fn register(name: &str, set: &dyn InstructionSet) -> Option<NamedRegister> {
    set.named_register(name.strip_prefix('%').unwrap_or(name))
}

/// The value of a whole register.
fn value(name: &str, set: &dyn InstructionSet) -> Option<Expr> {
    match register(name, set)? {
        NamedRegister::Bits(number, 0) => Expr::new(Node::Register(Register(number), ValueType::Generic)),
        _ => None,
    }
}

/// Parses `disp(base,index,scale)`.
fn memory(operand: &str, set: &dyn InstructionSet) -> Option<Expr> {
    let (displacement, rest) = operand.strip_suffix(')')?.split_once('(')?;
    let displacement =
        if displacement.is_empty() { 0 } else { immediate(displacement).filter(|_| !displacement.starts_with('$'))? };
    let mut parts = rest.split(',').map(str::trim);
    let mut address = match parts.next()? {
        "" => None,
        base => Some(value(base, set)?),
    };
    if let Some(index) = parts.next() {
        let scale = parts
            .next()
            .map_or(Some(1), |scale| scale.parse::<u64>().ok().filter(|scale| matches!(scale, 1 | 2 | 4 | 8)))?;
        let mut index = value(index, set)?;
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
fn memory_in_brackets(operand: &str, set: &dyn InstructionSet) -> Option<Expr> {
    let inside = operand.strip_prefix('[')?.strip_suffix(']')?;
    let (base, offset) = inside.split_once(',').map_or((inside, None), |(base, offset)| (base, Some(offset.trim())));
    let offset = offset.map_or(Some(0), immediate)?;
    value(base.trim(), set)?.plus(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(name: &str, processor: Processor) -> Option<(u16, u64)> {
        match register(name, processor.set()?)? {
            NamedRegister::Bits(number, first) => Some((number, first)),
            NamedRegister::Zero => None,
        }
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
        for (name, expected) in
            [("ra", 1), ("fp", 8), ("s0", 8), ("a0", 10), ("t6", 31), ("x17", 17), ("fa0", 42), ("f31", 63)]
        {
            assert_eq!(number(name, Processor::Riscv64), Some((expected, 0)), "{name}");
        }
        assert_eq!(number("x32", Processor::Riscv64), None);
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
        assert_eq!(location("8(sp)", 4, Processor::Riscv64), memory(2, 8));
        assert_eq!(location("-20(s0)", 4, Processor::Riscv64), memory(8, -20));
        assert_eq!(location("5", 2, Processor::Riscv64), known(&[5, 0]));
        assert_eq!(location("zero", 4, Processor::Riscv64), known(&[0; 4]));
        assert!(location("8(%rax,%rcx,4)", 4, Processor::X86_64).is_some());
        for operand in ["counter(%rip)", "%rip", "8(%rax,%rcx,3)", "8(%ah)", "$8(%rax)", "[x0, x1]", ""] {
            assert_eq!(location(operand, 4, Processor::X86_64), None, "{operand}");
        }
    }
}
