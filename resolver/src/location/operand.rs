//! Parses an assembler operand as a location. A marker's record uses such operands to describe its
//! values, and so do the notes of `<sys/sdt.h>`.
//!
//! Compilers emit a register, an immediate, or memory. Records only use what needs no symbol.

use simple_markers_record::ByteOrder;

use super::{Binary, Expr, Location, Node, Piece, Processor, Register, Source, ValueType};
use crate::address::Vaddr;
use crate::arch::{InstructionSet, NamedRegister, OperandSyntax};

/// What an operand may refer to.
#[derive(Clone, Copy)]
pub struct OperandContext<'a> {
    /// The processor, whose assembler wrote the operand.
    pub processor: Processor,
    /// The byte order of the image.
    pub order: ByteOrder,
    /// The address of the site, to which an address without a symbol may be relative; `None` if it is
    /// not known.
    pub here: Option<Vaddr>,
    /// Finds a symbol by its name.
    pub symbols: &'a dyn Fn(&str) -> Result<SymbolPlace, OperandProblem>,
}

/// Where a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolPlace {
    /// At a link-time address.
    Address(Vaddr),
    /// At an offset in the thread-local storage block of the image.
    ThreadLocal(u64),
}

/// Why an operand does not say where a value is.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum OperandProblem {
    /// The registers of the processor are not known.
    Processor,
    /// The operand has a form that no compiler is known to write.
    Form,
    /// No value has this size.
    Size {
        /// The size in bytes, as written.
        size: Box<str>,
    },
    /// The register is smaller than the value: it is one of several that hold it.
    SmallRegister {
        /// Bytes of the register.
        size: u8,
    },
    /// The image has no symbol of this name, as a stripped one.
    NoSymbol {
        /// The name.
        name: Box<str>,
    },
    /// Several symbols have this name, at different addresses.
    SeveralSymbols {
        /// The name.
        name: Box<str>,
    },
    /// The address is in a segment, at an offset that is not that of a thread-local symbol.
    Segment {
        /// The name of the segment's register.
        name: Box<str>,
    },
    /// The operand needs a value that only the linker knew.
    Relocation {
        /// The part of the operand that asks for it.
        part: Box<str>,
    },
    /// The computation has too many steps.
    TooManySteps,
}

/// Parses `operand` as the location of a value of `size` bytes. `None` if the operand has another
/// form or refers to a symbol.
#[must_use]
pub fn location(operand: &str, size: u8, processor: Processor) -> Option<Location> {
    let symbols = |name: &str| Err(OperandProblem::NoSymbol { name: name.into() });
    let context = OperandContext { processor, order: ByteOrder::Little, here: None, symbols: &symbols };
    located(operand, size, &context).ok()
}

/// Parses `operand` as the location of a value of `size` bytes.
///
/// # Errors
///
/// Why the operand does not say where the value is.
pub fn located(operand: &str, size: u8, context: &OperandContext<'_>) -> Result<Location, OperandProblem> {
    if let Some(value) = immediate(operand) {
        let size = usize::from(size);
        let (little, big) = (value.to_le_bytes(), value.to_be_bytes());
        let known = match context.order {
            ByteOrder::Little => little.get(..size).unwrap_or(&little),
            ByteOrder::Big => big.get(big.len().saturating_sub(size)..).unwrap_or(&big),
        };
        return Ok(Location::whole(Source::Bytes(known.into())));
    }
    let set = context.processor.set().ok_or(OperandProblem::Processor)?;
    if let Some(register) = register(operand, set) {
        return in_register(register, size, set);
    }
    let syntax = set.operand_syntax();
    if let (OperandSyntax::Att, Some(symbol)) = (syntax, operand.strip_prefix('$')) {
        let Displacement { start, offset } = displacement(symbol, false, context)?;
        let address = start.ok_or(OperandProblem::Form)?;
        return Ok(Location::whole(Source::Value(small(address.plus(offset))?)));
    }
    let address = match syntax {
        OperandSyntax::Parentheses if operand.starts_with('%') => low_part(operand, set, context)?,
        OperandSyntax::Att | OperandSyntax::Parentheses => memory(operand, set, context)?,
        OperandSyntax::Brackets => memory_in_brackets(operand, set, context)?,
    };
    Ok(Location::whole(Source::Memory(address)))
}

fn in_register(register: NamedRegister, size: u8, set: &dyn InstructionSet) -> Result<Location, OperandProblem> {
    let NamedRegister::Bits(number, offset) = register else {
        return Ok(Location::whole(Source::Bytes(vec![0; usize::from(size)].into())));
    };
    // The name of a register may be that of a part of it, of another size than the value.
    let width = match (offset, set.is_vector(number)) {
        (0, true) => 16,
        (0, false) => u8::try_from(set.address_bits() / 8).unwrap_or(u8::MAX),
        _ => 1,
    };
    if size > width {
        return Err(OperandProblem::SmallRegister { size: width });
    }
    let source = Source::Register(Register(number));
    Ok(Location { pieces: [Piece { bits: None, source, offset }].into() })
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
    let value = magnitude(digits)? as i64;
    Some(if negative { value.wrapping_neg() } else { value })
}

/// A number without a sign.
fn magnitude(digits: &str) -> Option<u64> {
    match digits.strip_prefix("0x") {
        Some(digits) if is_digits(digits, 16) => u64::from_str_radix(digits, 16).ok(),
        None if is_digits(digits, 10) => digits.parse::<u64>().ok(),
        _ => None,
    }
}

fn is_digits(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_digit(radix))
}

fn register(name: &str, set: &dyn InstructionSet) -> Option<NamedRegister> {
    set.named_register(name.strip_prefix('%').unwrap_or(name))
}

/// The value of a whole register.
fn value(name: &str, set: &dyn InstructionSet) -> Result<Expr, OperandProblem> {
    match register(name, set) {
        Some(NamedRegister::Bits(number, 0)) => small(Expr::new(Node::Register(Register(number), ValueType::Generic))),
        _ => Err(OperandProblem::Form),
    }
}

fn small(computation: Option<Expr>) -> Result<Expr, OperandProblem> {
    computation.ok_or(OperandProblem::TooManySteps)
}

fn sum(one: Option<Expr>, other: Option<Expr>) -> Result<Option<Expr>, OperandProblem> {
    match (one, other) {
        (Some(one), Some(other)) => small(Expr::new(Node::Binary(Binary::Plus, one, other))).map(Some),
        (one, other) => Ok(one.or(other)),
    }
}

/// What is added to the registers of an address.
struct Displacement {
    /// The address of a symbol.
    start: Option<Expr>,
    offset: i64,
}

/// Parses `symbol`, `symbol+8`, `8+symbol` or `-8`. `is_thread_local` says that it is relative to the
/// thread pointer.
fn displacement(
    text: &str,
    is_thread_local: bool,
    context: &OperandContext<'_>,
) -> Result<Displacement, OperandProblem> {
    let mut found = Displacement { start: None, offset: 0 };
    let mut rest = text;
    while !rest.is_empty() {
        let (is_negative, terms) = match rest.strip_prefix('-') {
            Some(terms) => (true, terms),
            None => (false, rest.strip_prefix('+').unwrap_or(rest)),
        };
        let (term, after) = terms.split_at(terms.find(['+', '-']).unwrap_or(terms.len()));
        match magnitude(term) {
            Some(number) if is_negative => found.offset = found.offset.wrapping_sub(number as i64),
            Some(number) => found.offset = found.offset.wrapping_add(number as i64),
            None if is_negative || found.start.is_some() => return Err(OperandProblem::Form),
            None => match term.strip_suffix("@GOTOFF") {
                // The register that is added has the address of the table.
                Some(name) => {
                    let distance = address(name, term, context)?.wrapping_sub(address(OFFSET_TABLE, term, context)?);
                    found.offset = found.offset.wrapping_add(distance as i64);
                }
                None => found.start = Some(symbol(term, is_thread_local, context)?),
            },
        }
        rest = after;
    }
    Ok(found)
}

/// The symbol at the start of the global offset table.
pub(crate) const OFFSET_TABLE: &str = "_GLOBAL_OFFSET_TABLE_";

/// The link-time address of a symbol in a `part` of an operand.
fn address(name: &str, part: &str, context: &OperandContext<'_>) -> Result<u64, OperandProblem> {
    match (context.symbols)(name)? {
        SymbolPlace::Address(address) => Ok(address.0),
        SymbolPlace::ThreadLocal(_) => Err(OperandProblem::Relocation { part: part.into() }),
    }
}

/// Parses `%lo(symbol+8)(register)`, where the register has the rest of the symbol's address, and
/// `%tprel_lo(symbol)(register)`, where it has that of the variable of the thread. The linker may have
/// removed the instruction that set the register. So only the symbol counts.
fn low_part(operand: &str, set: &dyn InstructionSet, context: &OperandContext<'_>) -> Result<Expr, OperandProblem> {
    let (how, rest) = operand.split_once('(').ok_or(OperandProblem::Form)?;
    let (term, base) = rest.strip_suffix(')').and_then(|rest| rest.split_once(")(")).ok_or(OperandProblem::Form)?;
    value(base, set)?;
    let (place, offset) = place(term, context)?;
    let start = match (how, place) {
        ("%lo", SymbolPlace::Address(address)) => Node::Address(address),
        ("%tprel_lo", SymbolPlace::ThreadLocal(offset)) => Node::ThreadLocal(Expr::constant(offset)),
        _ => return Err(OperandProblem::Relocation { part: how.into() }),
    };
    small(Expr::new(start).and_then(|start| start.plus(offset)))
}

/// Parses `symbol`, `symbol+8` or `symbol-8`: the place of the symbol, and what is added to it.
fn place(term: &str, context: &OperandContext<'_>) -> Result<(SymbolPlace, i64), OperandProblem> {
    let (name, offset) = term.split_at(term.find(['+', '-']).unwrap_or(term.len()));
    let offset = match offset.strip_prefix('+').unwrap_or(offset) {
        "" => 0,
        offset => immediate(offset).ok_or(OperandProblem::Form)?,
    };
    Ok(((context.symbols)(name)?, offset))
}

/// The address of `symbol`, or of `symbol@tpoff` relative to the thread pointer.
fn symbol(term: &str, is_thread_local: bool, context: &OperandContext<'_>) -> Result<Expr, OperandProblem> {
    let (name, how) = term.split_once('@').map_or((term, None), |(name, how)| (name, Some(how)));
    let is_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.' | '$');
    if name.starts_with('$') || name.is_empty() || !name.chars().all(is_name) {
        return Err(OperandProblem::Form);
    }
    let relocation = || OperandProblem::Relocation { part: term.into() };
    let is_offset = how.is_some_and(|how| ["tpoff", "ntpoff"].iter().any(|word| how.eq_ignore_ascii_case(word)));
    if how.is_some() && !(is_offset && is_thread_local) {
        return Err(relocation());
    }
    match ((context.symbols)(name)?, is_offset) {
        (SymbolPlace::Address(address), false) => small(Expr::new(Node::Address(address))),
        (SymbolPlace::ThreadLocal(offset), true) => small(Expr::new(Node::ThreadLocal(Expr::constant(offset)))),
        _ => Err(relocation()),
    }
}

/// Parses `%segment:disp(base,index,scale)`.
fn memory(operand: &str, set: &dyn InstructionSet, context: &OperandContext<'_>) -> Result<Expr, OperandProblem> {
    let (segment, operand) = match operand.strip_prefix('%').and_then(|rest| rest.split_once(':')) {
        Some((segment, rest)) => (Some(segment), rest),
        None => (None, operand),
    };
    let other_segment = |name: &str| OperandProblem::Segment { name: name.into() };
    if let Some(segment) = segment.filter(|segment| Some(*segment) != set.thread_segment()) {
        return Err(other_segment(segment));
    }
    let (before, registers) = match operand.strip_suffix(')') {
        Some(inside) => inside.rsplit_once('(').ok_or(OperandProblem::Form)?,
        None => (operand, ""),
    };
    let Displacement { start, offset } = displacement(before, segment.is_some(), context)?;
    if let (Some(segment), None) = (segment, &start) {
        return Err(other_segment(segment));
    }
    let mut parts = registers.split(',').map(str::trim);
    let (base, index, scale, rest) = (parts.next(), parts.next(), parts.next(), parts.next());
    let pointer = set.instruction_pointer_name();
    let base = match base.unwrap_or_default() {
        "" => None,
        name if name.strip_prefix('%').is_some_and(|name| Some(name) == pointer) => {
            match (&start, index, context.here) {
                // The symbol is where the sum leads.
                (Some(_), None, _) => None,
                (None, None, Some(here)) => Some(small(Expr::new(Node::Address(here)))?),
                _ => return Err(OperandProblem::Form),
            }
        }
        name => Some(value(name, set)?),
    };
    let index = match (index, scale.map(str::parse::<u64>)) {
        (None, _) => None,
        (Some(name), None | Some(Ok(1))) => Some(value(name, set)?),
        (Some(name), Some(Ok(scale @ (2 | 4 | 8)))) => {
            small(Expr::new(Node::Binary(Binary::Mul, value(name, set)?, Expr::constant(scale)))).map(Some)?
        }
        _ => return Err(OperandProblem::Form),
    };
    match (rest, sum(sum(start, base)?, index)?) {
        (None, Some(address)) => small(address.plus(offset)),
        _ => Err(OperandProblem::Form),
    }
}

/// What `:lo12:` leaves of an address is below this.
const PAGE: u64 = 1 << 12;

/// Parses `[base, offset]`, `[base, index, lsl 3]` with the other ways to widen an index, and
/// `[base, #:lo12:symbol]`, where the base has the page of the symbol.
fn memory_in_brackets(
    operand: &str,
    set: &dyn InstructionSet,
    context: &OperandContext<'_>,
) -> Result<Expr, OperandProblem> {
    let inside = operand.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or(OperandProblem::Form)?;
    let mut parts = inside.split(',').map(str::trim);
    let base = value(parts.next().unwrap_or_default(), set)?;
    let (offset, how, rest) = (parts.next(), parts.next(), parts.next());
    let Some(offset) = offset else { return Ok(base) };
    if let Some(part) = offset.trim_start_matches('#').strip_prefix(':') {
        let relocation = || OperandProblem::Relocation { part: offset.into() };
        let term = part.strip_prefix("lo12:").filter(|_| how.is_none()).ok_or_else(relocation)?;
        let (SymbolPlace::Address(address), added) = place(term, context)? else { return Err(relocation()) };
        // A file is moved by whole pages.
        return small(base.plus((address.0.wrapping_add_signed(added) % PAGE) as i64));
    }
    if let (Some(offset), None) = (immediate(offset), how) {
        return small(base.plus(offset));
    }
    let (word, shift) = how.map_or(("lsl", "0"), |how| how.split_once(' ').unwrap_or((how, "0")));
    let shift = immediate(shift).and_then(|shift| u32::try_from(shift).ok()).filter(|shift| *shift <= 4);
    let (Some(shift), Some(NamedRegister::Bits(number, 0)), None) = (shift, register(offset, set), rest) else {
        return Err(OperandProblem::Form);
    };
    let of = match word {
        "lsl" | "sxtx" | "uxtx" => ValueType::Generic,
        "sxtw" => ValueType::Signed(4),
        "uxtw" => ValueType::Unsigned(4),
        _ => return Err(OperandProblem::Form),
    };
    let mut index = small(Expr::new(Node::Register(Register(number), of)))?;
    if of != ValueType::Generic {
        index = small(Expr::new(Node::Convert(ValueType::Generic, index)))?;
    }
    if shift > 0 {
        index = small(Expr::new(Node::Binary(Binary::Mul, index, Expr::constant(1 << shift))))?;
    }
    small(Expr::new(Node::Binary(Binary::Plus, base, index)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::LocationNames;

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
        for operand in ["counter(%rip)", "8(%rip)", "%rip", "8(%rax,%rcx,3)", "8(%ah)", "$8(%rax)", "[x0, x1]", ""] {
            assert_eq!(location(operand, 4, Processor::X86_64), None, "{operand}");
        }
    }

    fn symbols(name: &str) -> Result<SymbolPlace, OperandProblem> {
        match name {
            "table" => Ok(SymbolPlace::Address(Vaddr(0x4000))),
            "late" => Ok(SymbolPlace::Address(Vaddr(0x7ff8))),
            "_GLOBAL_OFFSET_TABLE_" => Ok(SymbolPlace::Address(Vaddr(0x5000))),
            "own.0" => Ok(SymbolPlace::ThreadLocal(0x18)),
            _ => Err(OperandProblem::NoSymbol { name: name.into() }),
        }
    }

    struct Plain(Processor);

    impl LocationNames for Plain {
        fn processor(&self) -> Processor {
            self.0
        }
        fn address_size(&self) -> u8 {
            if self.0 == Processor::I386 { 4 } else { 8 }
        }
    }

    fn of(operand: &str, size: u8, processor: Processor) -> Result<String, OperandProblem> {
        let context =
            OperandContext { processor, order: ByteOrder::Little, here: Some(Vaddr(0x1000)), symbols: &symbols };
        Ok(located(operand, size, &context)?.text(&Plain(processor)))
    }

    #[test]
    fn notes_use_all_forms_of_an_assembler() {
        for (processor, operand, expected) in [
            (Processor::X86_64, "%rax", "%rax"),
            (Processor::X86_64, "table(%rip)", "*(0x4000)"),
            (Processor::X86_64, "table+16(%rip)", "*(0x4010)"),
            (Processor::X86_64, "16+table(%rip)", "*(0x4010)"),
            (Processor::X86_64, "table-0x10", "*(0x3ff0)"),
            (Processor::X86_64, "-16(%rip)", "*(0xff0)"),
            (Processor::X86_64, "table(,%rax,8)", "*(0x4000 + %rax * 8)"),
            (Processor::X86_64, "4+table(%rbx,%rax,4)", "*(0x4000 + %rbx + %rax * 4 + 4)"),
            (Processor::X86_64, "(%rax,%rcx)", "*(%rax + %rcx)"),
            (Processor::X86_64, "-8(%rax,%rcx,8)", "*(%rax + %rcx * 8 - 0x8)"),
            (Processor::X86_64, "$table+4", "= 0x4004"),
            (Processor::X86_64, "%fs:own.0@tpoff", "*(tls+0x18)"),
            (Processor::X86_64, "%fs:4+own.0@tpoff", "*(tls+0x18 + 4)"),
            (Processor::I386, "%gs:own.0@ntpoff", "*(tls+0x18)"),
            (Processor::I386, "table@GOTOFF(%ebx)", "-0x1000(%ebx)"),
            (Processor::I386, "12+table@GOTOFF(%ebx,%eax,4)", "*(%ebx + %eax * 4 - 0xff4)"),
            (Processor::Aarch64, "[x0, #:lo12:table]", "*(x0)"),
            (Processor::Aarch64, "[x0, #:lo12:late]", "*(x0+0xff8)"),
            (Processor::Aarch64, "[x0, #:lo12:late+16]", "*(x0+0x8)"),
            (Processor::Riscv64, "%lo(late)(a5)", "*(0x7ff8)"),
            (Processor::Riscv64, "%lo(late+16)(a5)", "*(0x8008)"),
            (Processor::Riscv64, "%tprel_lo(own.0-8)(a5)", "*(tls+0x18 - 0x8)"),
            (Processor::Aarch64, "[sp, 16]", "*(sp+0x10)"),
            (Processor::Aarch64, "[x0, #-8]", "*(x0-0x8)"),
            (Processor::Aarch64, "[x0, x1]", "*(x0 + x1)"),
            (Processor::Aarch64, "[x0, x1, lsl 3]", "*(x0 + x1 * 8)"),
            (Processor::Aarch64, "[x0, x1, lsl #2]", "*(x0 + x1 * 4)"),
            (Processor::Aarch64, "[x0, w1, sxtw 2]", "*(x0 + (u64)(i32)x1 * 4)"),
            (Processor::Aarch64, "[x0, w1, uxtw]", "*(x0 + (u64)(u32)x1)"),
            (Processor::Riscv64, "-20(s0)", "*(s0-0x14)"),
        ] {
            assert_eq!(of(operand, 4, processor).as_deref(), Ok(expected), "{operand}");
        }
    }

    #[test]
    fn what_cannot_be_read_has_a_reason() {
        let relocation = |part: &str| OperandProblem::Relocation { part: part.into() };
        for (processor, operand, size, expected) in [
            (Processor::I386, "%eax", 8, OperandProblem::SmallRegister { size: 4 }),
            (Processor::X86_64, "%ah", 4, OperandProblem::SmallRegister { size: 1 }),
            (Processor::X86_64, ".LC0(%rip)", 8, OperandProblem::NoSymbol { name: ".LC0".into() }),
            (Processor::X86_64, "table@GOTPCREL(%rip)", 8, relocation("table@GOTPCREL")),
            (Processor::I386, "own.0@GOTOFF(%ebx)", 4, relocation("own.0@GOTOFF")),
            (Processor::I386, "table@GOTOFF", 4, OperandProblem::Form),
            (Processor::I386, "gone@GOTOFF(%ebx)", 4, OperandProblem::NoSymbol { name: "gone".into() }),
            (Processor::X86_64, "own.0@tpoff(%rax)", 4, relocation("own.0@tpoff")),
            (Processor::X86_64, "%fs:0x28", 8, OperandProblem::Segment { name: "fs".into() }),
            (Processor::X86_64, "%gs:own.0@tpoff", 8, OperandProblem::Segment { name: "gs".into() }),
            (Processor::X86_64, "%fs:table@tpoff", 4, relocation("table@tpoff")),
            (Processor::Aarch64, "[x0, #:got_lo12:table]", 8, relocation("#:got_lo12:table")),
            (Processor::Aarch64, "[x0, #:lo12:own.0]", 8, relocation("#:lo12:own.0")),
            (Processor::Aarch64, "[x0, #:lo12:.LANCHOR0]", 8, OperandProblem::NoSymbol { name: ".LANCHOR0".into() }),
            (Processor::Riscv64, "%pcrel_lo(table)(a5)", 8, relocation("%pcrel_lo")),
            (Processor::Riscv64, "%lo(own.0)(a5)", 8, relocation("%lo")),
            (Processor::Riscv64, "%lo(table)(8)", 8, OperandProblem::Form),
            (Processor::Riscv64, "%lo(table", 8, OperandProblem::Form),
            (Processor::X86_64, "table+table", 8, OperandProblem::Form),
            (Processor::X86_64, "table(%rip,%rax,8)", 8, OperandProblem::Form),
            (Processor::Aarch64, "[x0, x1, ror 3]", 8, OperandProblem::Form),
            (Processor::Aarch64, "[x0, x1, lsl 64]", 8, OperandProblem::Form),
            (Processor::X86_64, "", 8, OperandProblem::Form),
            (Processor::Other, "r3", 8, OperandProblem::Processor),
        ] {
            assert_eq!(of(operand, size, processor), Err(expected), "{operand}");
        }
    }

    #[test]
    fn a_number_is_in_the_byte_order_of_the_image() {
        let context =
            OperandContext { processor: Processor::Other, order: ByteOrder::Big, here: None, symbols: &symbols };
        let known = Location::whole(Source::Bytes([0x12, 0x34][..].into()));
        assert_eq!(located("0x1234", 2, &context), Ok(known));
    }
}
