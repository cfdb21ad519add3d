//! Computations in languages with the operators of C and integers of 64 bits that wrap: bpftrace, SystemTap, gdb.
//!
//! Every piece of text that is made here stands for the bits of a value, from the least significant one, without a sign. Signs are
//! made by arithmetic: how a language shifts, divides and compares what has a sign differs by language and version.

use super::fetch::Where;
use crate::address::Vaddr;
use crate::location::{Binary, Expr, Node, Register, Unary, Value, ValueType};

/// What a language calls what computations start from.
pub(super) trait Words {
    /// All 64 bits of a register.
    fn register(&self, register: Register) -> Result<String, String>;
    /// 1, 2, 4 or 8 bytes of memory, zero-extended.
    fn memory(&self, address: &str, size: u8) -> String;
    /// A constant.
    fn constant(&self, bits: u64) -> String {
        if bits < 1024 { bits.to_string() } else { format!("{bits:#x}") }
    }
    /// The link-time address that a probe is placed at: what is at a fixed address is told from there.
    fn here(&self) -> Vaddr;
    /// The register that holds the address of the probe.
    fn instruction_pointer(&self) -> Result<String, String>;
}

/// The longest text of a computation; what unfolds to more is left out.
const LONGEST: usize = 4096;

/// The bits of a number of `size` bytes.
pub(super) fn bits(words: &dyn Words, at: &Where, size: u8) -> Result<String, String> {
    match at {
        Where::Constant(bits) => Ok(words.constant(bits & mask(size))),
        Where::Register(register) => Ok(masked(words, words.register(*register)?, size)),
        Where::Memory(address) => Ok(words.memory(&expr(words, address)?, size)),
        Where::Value(value) => {
            let text = expr(words, value)?;
            Ok(if value.value_type().size(8) > size { masked(words, text, size) } else { text })
        }
    }
}

/// The same with the sign that its highest bit is, as a signed integer of 64 bits.
pub(super) fn signed(words: &dyn Words, at: &Where, size: u8) -> Result<String, String> {
    if let Where::Constant(bits) = at {
        let unused = 64u32.saturating_sub(u32::from(size) * 8).min(63);
        let value = ((bits << unused) as i64) >> unused;
        return Ok(if value < 0 {
            format!("(0 - {})", words.constant(value.unsigned_abs()))
        } else {
            value.to_string()
        });
    }
    Ok(extended(words, bits(words, at, size)?, size))
}

/// The address of the byte `offset` bytes behind one.
pub(super) fn plus(words: &dyn Words, address: String, offset: u64) -> String {
    if offset == 0 { address } else { format!("({address} + {})", words.constant(offset)) }
}

fn mask(size: u8) -> u64 {
    match size {
        0..=7 => (1u64 << (u32::from(size) * 8)) - 1,
        _ => u64::MAX,
    }
}

fn masked(words: &dyn Words, text: String, size: u8) -> String {
    if size >= 8 { text } else { format!("({text} & {})", words.constant(mask(size))) }
}

fn extended(words: &dyn Words, text: String, size: u8) -> String {
    if size >= 8 {
        return text;
    }
    let sign = words.constant(1 << (u32::from(size) * 8 - 1));
    format!("(({text} ^ {sign}) - {sign})")
}

/// The bits of a computation.
pub(super) fn expr(words: &dyn Words, of: &Expr) -> Result<String, String> {
    let text = match of.node() {
        Node::Constant(Value { of: ValueType::Float(_), .. }) => return Err(FLOAT.to_owned()),
        Node::Constant(value) => words.constant(value.bits),
        Node::Address(address) => {
            let away = address.0.wrapping_sub(words.here().0) as i64;
            let ip = words.instruction_pointer()?;
            match away {
                ..0 => format!("({ip} - {})", words.constant(away.unsigned_abs())),
                _ => format!("({ip} + {})", words.constant(away.unsigned_abs())),
            }
        }
        Node::ThreadLocal(_) => return Err("it is thread-local".to_owned()),
        Node::Register(_, ValueType::Float(_)) => return Err(FLOAT.to_owned()),
        Node::Register(register, of) => masked(words, words.register(*register)?, of.size(8)),
        Node::Memory { to: ValueType::Float(_), .. } => return Err(FLOAT.to_owned()),
        Node::Memory { address, size, .. } => memory(words, &expr(words, address)?, *size)?,
        Node::Unary(operation, a) => unary(words, *operation, a)?,
        Node::Binary(operation, a, b) => binary(words, *operation, a, b)?,
        Node::Convert(ValueType::Float(_), _) | Node::Reinterpret(ValueType::Float(_), _) => {
            return Err(FLOAT.to_owned());
        }
        Node::Convert(to, a) => match a.value_type() {
            ValueType::Float(_) => return Err(FLOAT.to_owned()),
            ValueType::Signed(size) if size < to.size(8) => {
                masked(words, extended(words, expr(words, a)?, size), to.size(8))
            }
            of if to.size(8) < of.size(8) => masked(words, expr(words, a)?, to.size(8)),
            _ => expr(words, a)?,
        },
        Node::Reinterpret(_, a) => match a.value_type() {
            ValueType::Float(_) => return Err(FLOAT.to_owned()),
            _ => expr(words, a)?,
        },
    };
    if text.len() > LONGEST {
        return Err("its computation is too long".to_owned());
    }
    Ok(text)
}

const FLOAT: &str = "it is computed with floating-point numbers";

fn memory(words: &dyn Words, address: &str, size: u8) -> Result<String, String> {
    match size {
        1 | 2 | 4 | 8 => Ok(words.memory(address, size)),
        3 | 5 | 6 | 7 => {
            let (mut parts, mut at) = (Vec::new(), 0u8);
            for step in [4u8, 2, 1] {
                if size & step == 0 {
                    continue;
                }
                let part = words.memory(&plus(words, address.to_owned(), at.into()), step);
                parts.push(if at == 0 { part } else { format!("({part} << {})", u32::from(at) * 8) });
                at += step;
            }
            Ok(format!("({})", parts.join(" | ")))
        }
        _ => Err(format!("it is read as {size} bytes")),
    }
}

fn unary(words: &dyn Words, operation: Unary, a: &Expr) -> Result<String, String> {
    if matches!(a.value_type(), ValueType::Float(_)) {
        return Err(FLOAT.to_owned());
    }
    let size = a.value_type().size(8);
    let a = expr(words, a)?;
    match operation {
        Unary::Neg => Ok(masked(words, format!("(0 - {a})"), size)),
        Unary::Not => Ok(masked(words, format!("(~{a})"), size)),
        Unary::Abs => Err("its computation takes the absolute value".to_owned()),
    }
}

fn binary(words: &dyn Words, operation: Binary, a: &Expr, b: &Expr) -> Result<String, String> {
    let of = a.value_type();
    if matches!(of, ValueType::Float(_)) {
        return Err(FLOAT.to_owned());
    }
    let size = of.size(8);
    let plain = |sign: &str| Ok::<_, String>(format!("({} {sign} {})", expr(words, a)?, expr(words, b)?));
    match operation {
        Binary::Plus => {
            if let (Node::Constant(Value { bits, .. }), 8) = (b.node(), size) {
                if (*bits as i64) < 0 {
                    let bytes = words.constant((*bits as i64).unsigned_abs());
                    return Ok(format!("({} - {bytes})", expr(words, a)?));
                }
            }
            Ok(masked(words, plain("+")?, size))
        }
        Binary::Minus => Ok(masked(words, plain("-")?, size)),
        Binary::Mul => Ok(masked(words, plain("*")?, size)),
        Binary::And => plain("&"),
        Binary::Or => plain("|"),
        Binary::Xor => plain("^"),
        Binary::Eq => plain("=="),
        Binary::Ne => plain("!="),
        Binary::Shl | Binary::Shr | Binary::Shra => {
            let Node::Constant(Value { bits: by, .. }) = b.node() else {
                return Err("its computation shifts by what is not known".to_owned());
            };
            let a = expr(words, a)?;
            shifted(words, operation, a, size, *by)
        }
        Binary::Div | Binary::Mod => Err("its computation divides".to_owned()),
        Binary::Ge | Binary::Gt | Binary::Le | Binary::Lt => Err("its computation compares".to_owned()),
    }
}

fn shifted(words: &dyn Words, operation: Binary, a: String, size: u8, by: u64) -> Result<String, String> {
    let width = u64::from(size) * 8;
    if by >= width {
        return match operation {
            Binary::Shra => Err("its computation shifts by its width".to_owned()),
            _ => Ok(words.constant(0)),
        };
    }
    if by == 0 {
        return Ok(a);
    }
    // Whether `>>` fills with the sign differs: what it filled with is cut off.
    let filled = mask(size) >> by;
    Ok(match operation {
        Binary::Shl => masked(words, format!("({a} << {by})"), size),
        Binary::Shr => format!("(({a} >> {by}) & {})", words.constant(filled)),
        _ => {
            let sign = words.constant((mask(size) >> 1).wrapping_add(1) >> by);
            let logical = format!("(({a} >> {by}) & {})", words.constant(filled));
            masked(words, format!("(({logical} ^ {sign}) - {sign})"), size)
        }
    })
}
