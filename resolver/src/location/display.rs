//! Formats a location as text, as `smark show` prints it: `%rdi`, `-0x14(%rbp)`, `*(%rdi+0x18)`,
//! `(%rsi & 0xffffffff) * 2`, `= 5`.
//!
//! Operators have C's spelling and precedence. Integers have the size of an address. `>>` shifts in
//! zeros; `>>s` shifts in copies of the sign bit. `/` and comparisons treat generic integers as
//! signed, `%` treats them as unsigned (DWARF 5, 2.5.1.4). `*(u32*)(a)` reads 4 bytes and
//! zero-extends them.

use std::fmt::Write as _;

use super::{Binary, Expr, InfoOffset, Location, Node, Register, Source, Unary, Value, ValueType};
use crate::address::Vaddr;
use crate::arch::{OperandSyntax, Processor};
use crate::text::hexadecimal;
use simple_markers_record::integer;

/// Names and address properties of the image that a location belongs to.
pub trait LocationNames {
    /// The processor architecture, which determines the register names.
    fn processor(&self) -> Processor;
    /// Size of an address in bytes.
    fn address_size(&self) -> u8;
    /// Whether the image is big-endian.
    fn is_big_endian(&self) -> bool {
        false
    }
    /// The symbol that contains an address, with the offset into it (`name+0x8`). `None` if no
    /// symbol contains it.
    fn symbol(&self, _address: Vaddr) -> Option<String> {
        None
    }
    /// The name of a variable. `None` if it has no name.
    fn variable(&self, _variable: InfoOffset) -> Option<String> {
        None
    }
}

/// Maximum number of known bytes to print.
const BYTES: usize = 32;

/// Operator precedence, as in C. A greater value binds more tightly.
const PRIMARY: u8 = 12;
const PREFIX: u8 = 11;

fn binding(operation: Binary) -> (&'static str, u8) {
    match operation {
        Binary::Mul => ("*", 10),
        Binary::Div => ("/", 10),
        Binary::Mod => ("%", 10),
        Binary::Plus => ("+", 9),
        Binary::Minus => ("-", 9),
        Binary::Shl => ("<<", 8),
        Binary::Shr => (">>", 8),
        Binary::Shra => (">>s", 8),
        Binary::Lt => ("<", 7),
        Binary::Le => ("<=", 7),
        Binary::Gt => (">", 7),
        Binary::Ge => (">=", 7),
        Binary::Eq => ("==", 6),
        Binary::Ne => ("!=", 6),
        Binary::And => ("&", 5),
        Binary::Xor => ("^", 4),
        Binary::Or => ("|", 3),
    }
}

impl Location {
    /// Formats the location. Each piece is labelled with the bytes of the value that it holds, or
    /// with the bits if they are not whole bytes.
    #[must_use]
    pub fn text(&self, names: &dyn LocationNames) -> String {
        if let Some(source) = self.source() {
            return source.text(names);
        }
        let mut start = 0u64;
        let mut words = Vec::new();
        for piece in &*self.pieces {
            let end = piece.bits.map(|bits| start.saturating_add(bits));
            let last = end.unwrap_or(start);
            let bytes = start % 8 == 0 && last % 8 == 0;
            let unit = if bytes { 8 } else { 1 };
            let end_text = end.map(|end| (end / unit).to_string()).unwrap_or_default();
            let mut text = format!("[{}{}..{end_text}) ", if bytes { "" } else { "bits " }, start / unit);
            text.push_str(&piece.source.text(names));
            match piece.offset {
                0 => {}
                offset => {
                    let _ = write!(text, " from bit {offset}");
                }
            }
            words.push(text);
            start = last;
        }
        words.join(", ")
    }
}

impl Source {
    fn text(&self, names: &dyn LocationNames) -> String {
        match self {
            Self::Register(register) => register.name(names.processor()).into_owned(),
            Self::Memory(address) => operand(address, names),
            Self::Value(expr) => match expr.node() {
                Node::Constant(_) | Node::Address(_) => format!("= {}", expr.text(names)),
                _ => expr.text(names),
            },
            Self::Bytes(bytes) => format!("= {}", known(bytes, names.is_big_endian())),
            Self::ImplicitPointer { variable, offset } => {
                let name = names.variable(*variable);
                let name = name.unwrap_or_else(|| format!("the variable at .debug_info+{:#x}", variable.0));
                format!("&{name}{}, a pointer that is nowhere", signed(*offset))
            }
            Self::OptimizedOut => "gone".to_owned(),
        }
    }
}

/// Formats a memory reference as an assembly operand.
fn operand(address: &Expr, names: &dyn LocationNames) -> String {
    let is_att = names.processor().set().is_some_and(|set| set.operand_syntax() == OperandSyntax::Att);
    let (base, offset) = split(address, names);
    match base.node() {
        Node::Register(register, ValueType::Generic) if is_att => {
            let (sign, size) = if offset < 0 { ("-", offset.unsigned_abs()) } else { ("", offset.unsigned_abs()) };
            let offset = if size == 0 { String::new() } else { format!("{sign}{size:#x}") };
            format!("{offset}({})", register.name(names.processor()))
        }
        _ => format!("*({})", address.text(names)),
    }
}

/// Splits a sum into its non-constant part and its constant.
fn split<'e>(expr: &'e Expr, names: &dyn LocationNames) -> (&'e Expr, i64) {
    if let Node::Binary(Binary::Plus, base, offset) = expr.node() {
        if let Node::Constant(value @ Value { of: ValueType::Generic, .. }) = offset.node() {
            return (base, extended(*value, names));
        }
    }
    (expr, 0)
}

/// Interprets an integer as signed: its highest bit is the sign bit.
fn extended(value: Value, names: &dyn LocationNames) -> i64 {
    integer::signed(value.bits, value.of.size(names.address_size()))
}

/// Formats an offset. An offset of 0 is omitted.
fn signed(offset: i64) -> String {
    match offset {
        0 => String::new(),
        ..0 => format!("-{:#x}", offset.unsigned_abs()),
        _ => format!("+{offset:#x}"),
    }
}

/// Formats known bytes: as a number if there are few, otherwise in memory order.
fn known(bytes: &[u8], is_big_endian: bool) -> String {
    let mut text = String::new();
    if bytes.len() <= 16 {
        let mut number = bytes.to_vec();
        if !is_big_endian {
            number.reverse();
        }
        text.push_str("0x");
        let hex = hexadecimal(&number);
        let digits = hex.trim_start_matches('0');
        text.push_str(if digits.is_empty() { "0" } else { digits });
        return text;
    }
    for byte in bytes.iter().take(BYTES) {
        let _ = write!(text, "{}{byte:02x}", if text.is_empty() { "{" } else { " " });
    }
    text.push_str(if bytes.len() > BYTES { " ..}" } else { "}" });
    text
}

/// Formats a constant: in decimal if it is small, otherwise in hexadecimal.
fn constant(value: Value, names: &dyn LocationNames) -> String {
    match value.of {
        ValueType::Float(4) => format!("{:?}", f32::from_bits(value.bits as u32)),
        ValueType::Float(_) => format!("{:?}", f64::from_bits(value.bits)),
        ValueType::Unsigned(_) if value.bits < 1024 => value.bits.to_string(),
        ValueType::Unsigned(_) => format!("{:#x}", value.bits),
        ValueType::Generic | ValueType::Signed(_) => match extended(value, names) {
            small @ -1024..1024 => small.to_string(),
            number if matches!(value.of, ValueType::Signed(_)) && number < 0 => {
                format!("-{:#x}", number.unsigned_abs())
            }
            _ => format!("{:#x}", Value::new(value.of, value.bits, names.address_size()).bits),
        },
    }
}

fn type_name(of: ValueType, names: &dyn LocationNames) -> String {
    match of {
        ValueType::Generic => format!("u{}", u32::from(names.address_size()) * 8),
        ValueType::Signed(size) => format!("i{}", u32::from(size) * 8),
        ValueType::Unsigned(size) => format!("u{}", u32::from(size) * 8),
        ValueType::Float(size) => format!("f{}", u32::from(size) * 8),
    }
}

impl Expr {
    /// Formats the computation.
    #[must_use]
    pub fn text(&self, names: &dyn LocationNames) -> String {
        let mut text = String::new();
        self.write(names, &mut text);
        text
    }

    /// Writes the expression, in parentheses if it binds less tightly than `least`.
    fn write_within(&self, least: u8, names: &dyn LocationNames, text: &mut String) {
        let start = text.len();
        if self.write(names, text) < least {
            text.insert(start, '(');
            text.push(')');
        }
    }

    /// Writes the expression and returns its precedence.
    fn write(&self, names: &dyn LocationNames, text: &mut String) -> u8 {
        let prefix = |text: &mut String, operator: &str, of: &Self| {
            text.push_str(operator);
            of.write_within(PREFIX, names, text);
            PREFIX
        };
        match self.node() {
            Node::Constant(value) => {
                let constant = constant(*value, names);
                text.push_str(&constant);
                if constant.starts_with('-') { PREFIX } else { PRIMARY }
            }
            Node::Address(address) => {
                let _ = match names.symbol(*address) {
                    Some(symbol) => write!(text, "{address} <{symbol}>"),
                    None => write!(text, "{address}"),
                };
                PRIMARY
            }
            Node::ThreadLocal(offset) => match offset.node() {
                Node::Constant(value) => {
                    let _ = write!(text, "tls{}", signed(extended(*value, names)));
                    if value.bits == 0 { PRIMARY } else { binding(Binary::Plus).1 }
                }
                _ => {
                    text.push_str("tls + ");
                    offset.write_within(binding(Binary::Plus).1 + 1, names, text);
                    binding(Binary::Plus).1
                }
            },
            Node::Register(register, of) => self.write_register(*register, *of, names, text),
            Node::Memory { address, size, to } => {
                let is_word = *to == ValueType::Generic && *size == names.address_size();
                if is_word {
                    text.push_str("*(");
                } else if matches!(to, ValueType::Generic) || to.size(names.address_size()) != *size {
                    let _ = write!(text, "*(u{}*)(", u32::from(*size) * 8);
                } else {
                    let _ = write!(text, "*({}*)(", type_name(*to, names));
                }
                address.write(names, text);
                text.push(')');
                PREFIX
            }
            Node::Unary(Unary::Abs, of) => {
                text.push_str("abs(");
                of.write(names, text);
                text.push(')');
                PRIMARY
            }
            Node::Unary(Unary::Neg, of) => prefix(text, "-", of),
            Node::Unary(Unary::Not, of) => prefix(text, "~", of),
            Node::Convert(to, of) => prefix(text, &format!("({})", type_name(*to, names)), of),
            Node::Reinterpret(to, of) => {
                let _ = write!(text, "bits<{}>(", type_name(*to, names));
                of.write(names, text);
                text.push(')');
                PRIMARY
            }
            Node::Binary(operation, a, b) => self.write_binary(*operation, a, b, names, text),
            Node::AtEntry(of) => {
                text.push_str("entry(");
                of.write(names, text);
                text.push(')');
                PRIMARY
            }
        }
    }

    fn write_register(&self, register: Register, of: ValueType, names: &dyn LocationNames, text: &mut String) -> u8 {
        let name = register.name(names.processor());
        if of == ValueType::Generic {
            text.push_str(&name);
            return PRIMARY;
        }
        let _ = write!(text, "({}){name}", type_name(of, names));
        PREFIX
    }

    fn write_binary(&self, operation: Binary, a: &Self, b: &Self, names: &dyn LocationNames, text: &mut String) -> u8 {
        let (base, offset) = split(self, names);
        let is_simple = matches!(base.node(), Node::Register(..) | Node::Memory { .. } | Node::Address(_));
        let (operator, binds) = binding(operation);
        if operation == Binary::Plus && is_simple && offset != 0 {
            base.write_within(binds, names, text);
            text.push_str(&signed(offset));
            return binds;
        }
        a.write_within(binds, names, text);
        match b.node() {
            // Masks are easier to read in hexadecimal.
            Node::Constant(value)
                if matches!(operation, Binary::And | Binary::Or | Binary::Xor)
                    && !matches!(value.of, ValueType::Float(_)) =>
            {
                let _ = write!(text, " {operator} {:#x}", value.bits);
            }
            Node::Constant(value) if operation == Binary::Plus && value.of == ValueType::Generic && offset < 0 => {
                let _ = write!(text, " - {:#x}", offset.unsigned_abs());
            }
            _ => {
                let _ = write!(text, " {operator} ");
                b.write_within(binds + 1, names, text);
            }
        }
        binds
    }
}
