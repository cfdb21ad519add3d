//! Writes computations for languages with the operators of C and wrapping 64-bit integers: bpftrace,
//! SystemTap and gdb.
//!
//! Each text evaluates to the bits of a value, without sign. Signs are computed with arithmetic,
//! because the languages, and their versions, differ in how they shift, divide and compare signed
//! values.

use super::ArgumentOmission;
use super::fetch::Operand;
use crate::address::Vaddr;
use crate::location::{Binary, Expr, Node, Register, Unary, Value, ValueType};
use crate::resolve::Verdict;
use simple_markers_record::integer;

/// How a language writes the values that computations start from.
pub(super) trait Syntax {
    /// All 64 bits of a register.
    fn register(&self, register: Register) -> Result<String, ArgumentOmission>;
    /// 1, 2, 4 or 8 bytes of memory, zero-extended.
    fn memory(&self, address: &str, size: u8) -> String;
    /// A constant.
    fn constant(&self, bits: u64) -> String {
        if bits < 1024 { bits.to_string() } else { format!("{bits:#x}") }
    }
    /// The link-time address of the probe. Fixed addresses are written relative to it.
    fn here(&self) -> Vaddr;
    /// The register that holds the address of the probe.
    fn instruction_pointer(&self) -> Result<String, ArgumentOmission>;
}

/// The longest text of a computation, in bytes.
const LONGEST: usize = 4096;

/// The bits of a number of `size` bytes.
pub(super) fn bits(syntax: &dyn Syntax, at: &Operand, size: u8) -> Result<String, ArgumentOmission> {
    match at {
        Operand::Constant(bits) => Ok(syntax.constant(bits & mask(size))),
        Operand::Register(register) => Ok(masked(syntax, syntax.register(*register)?, size)),
        Operand::Memory(address) => Ok(syntax.memory(&expr(syntax, address)?, size)),
        Operand::Value(value) => {
            let text = expr(syntax, value)?;
            Ok(if value.value_type().size(8) > size { masked(syntax, text, size) } else { text })
        }
    }
}

/// The same number, sign-extended to 64 bits.
pub(super) fn signed(syntax: &dyn Syntax, at: &Operand, size: u8) -> Result<String, ArgumentOmission> {
    if let Operand::Constant(bits) = at {
        let value = integer::signed(*bits, size);
        return Ok(if value < 0 {
            format!("(0 - {})", syntax.constant(value.unsigned_abs()))
        } else {
            value.to_string()
        });
    }
    Ok(extended(syntax, bits(syntax, at, size)?, size))
}

/// An address plus `offset` bytes.
pub(super) fn plus(syntax: &dyn Syntax, address: String, offset: u64) -> String {
    if offset == 0 { address } else { format!("({address} + {})", syntax.constant(offset)) }
}

fn mask(size: u8) -> u64 {
    match size {
        0..=7 => (1u64 << (u32::from(size) * 8)) - 1,
        _ => u64::MAX,
    }
}

fn masked(syntax: &dyn Syntax, text: String, size: u8) -> String {
    if size >= 8 { text } else { format!("({text} & {})", syntax.constant(mask(size))) }
}

fn extended(syntax: &dyn Syntax, text: String, size: u8) -> String {
    if size >= 8 {
        return text;
    }
    let sign = syntax.constant(1 << (u32::from(size) * 8 - 1));
    format!("(({text} ^ {sign}) - {sign})")
}

/// The bits of a computation.
pub(super) fn expr(syntax: &dyn Syntax, of: &Expr) -> Result<String, ArgumentOmission> {
    let text = match of.node() {
        Node::Constant(Value { of: ValueType::Float(_), .. }) => return Err(ArgumentOmission::FloatComputation),
        Node::Constant(value) => syntax.constant(value.bits),
        Node::Address(address) => {
            let away = address.0.wrapping_sub(syntax.here().0) as i64;
            let ip = syntax.instruction_pointer()?;
            match away {
                ..0 => format!("({ip} - {})", syntax.constant(away.unsigned_abs())),
                _ => format!("({ip} + {})", syntax.constant(away.unsigned_abs())),
            }
        }
        Node::ThreadLocal(_) => return Err(ArgumentOmission::ThreadLocal),
        // A tool that takes one place has no second probe.
        Node::AtEntry(_) => return Err(ArgumentOmission::Unavailable(Verdict::Entry, None)),
        Node::Register(_, ValueType::Float(_)) => return Err(ArgumentOmission::FloatComputation),
        Node::Register(register, of) => masked(syntax, syntax.register(*register)?, of.size(8)),
        Node::Memory { to: ValueType::Float(_), .. } => return Err(ArgumentOmission::FloatComputation),
        Node::Memory { address, size, .. } => memory(syntax, &expr(syntax, address)?, *size)?,
        Node::Unary(operation, a) => unary(syntax, *operation, a)?,
        Node::Binary(operation, a, b) => binary(syntax, *operation, a, b)?,
        Node::Convert(ValueType::Float(_), _) | Node::Reinterpret(ValueType::Float(_), _) => {
            return Err(ArgumentOmission::FloatComputation);
        }
        Node::Convert(to, a) => match a.value_type() {
            ValueType::Float(_) => return Err(ArgumentOmission::FloatComputation),
            ValueType::Signed(size) if size < to.size(8) => {
                masked(syntax, extended(syntax, expr(syntax, a)?, size), to.size(8))
            }
            of if to.size(8) < of.size(8) => masked(syntax, expr(syntax, a)?, to.size(8)),
            _ => expr(syntax, a)?,
        },
        Node::Reinterpret(_, a) => match a.value_type() {
            ValueType::Float(_) => return Err(ArgumentOmission::FloatComputation),
            _ => expr(syntax, a)?,
        },
    };
    if text.len() > LONGEST {
        return Err(ArgumentOmission::LongComputation);
    }
    Ok(text)
}

fn memory(syntax: &dyn Syntax, address: &str, size: u8) -> Result<String, ArgumentOmission> {
    match size {
        1 | 2 | 4 | 8 => Ok(syntax.memory(address, size)),
        3 | 5 | 6 | 7 => {
            let (mut parts, mut at) = (Vec::new(), 0u8);
            for step in [4u8, 2, 1] {
                if size & step == 0 {
                    continue;
                }
                let part = syntax.memory(&plus(syntax, address.to_owned(), at.into()), step);
                parts.push(if at == 0 { part } else { format!("({part} << {})", u32::from(at) * 8) });
                at += step;
            }
            Ok(format!("({})", parts.join(" | ")))
        }
        _ => Err(ArgumentOmission::ReadSize(size)),
    }
}

fn unary(syntax: &dyn Syntax, operation: Unary, a: &Expr) -> Result<String, ArgumentOmission> {
    if matches!(a.value_type(), ValueType::Float(_)) {
        return Err(ArgumentOmission::FloatComputation);
    }
    let size = a.value_type().size(8);
    let a = expr(syntax, a)?;
    match operation {
        Unary::Neg => Ok(masked(syntax, format!("(0 - {a})"), size)),
        Unary::Not => Ok(masked(syntax, format!("(~{a})"), size)),
        Unary::Abs => Err(ArgumentOmission::AbsoluteValue),
    }
}

fn binary(syntax: &dyn Syntax, operation: Binary, a: &Expr, b: &Expr) -> Result<String, ArgumentOmission> {
    let of = a.value_type();
    if matches!(of, ValueType::Float(_)) {
        return Err(ArgumentOmission::FloatComputation);
    }
    let size = of.size(8);
    let plain = |sign: &str| Ok::<_, ArgumentOmission>(format!("({} {sign} {})", expr(syntax, a)?, expr(syntax, b)?));
    match operation {
        Binary::Plus => {
            if let (Node::Constant(Value { bits, .. }), 8) = (b.node(), size) {
                if (*bits as i64) < 0 {
                    let bytes = syntax.constant((*bits as i64).unsigned_abs());
                    return Ok(format!("({} - {bytes})", expr(syntax, a)?));
                }
            }
            Ok(masked(syntax, plain("+")?, size))
        }
        Binary::Minus => Ok(masked(syntax, plain("-")?, size)),
        Binary::Mul => Ok(masked(syntax, plain("*")?, size)),
        Binary::And => plain("&"),
        Binary::Or => plain("|"),
        Binary::Xor => plain("^"),
        Binary::Eq => plain("=="),
        Binary::Ne => plain("!="),
        Binary::Shl | Binary::Shr | Binary::Shra => {
            let Node::Constant(Value { bits: by, .. }) = b.node() else {
                return Err(ArgumentOmission::VariableShift);
            };
            let a = expr(syntax, a)?;
            shifted(syntax, operation, a, size, *by)
        }
        Binary::Div | Binary::Mod => Err(ArgumentOmission::Division),
        Binary::Ge | Binary::Gt | Binary::Le | Binary::Lt => Err(ArgumentOmission::Comparison),
    }
}

fn shifted(syntax: &dyn Syntax, operation: Binary, a: String, size: u8, by: u64) -> Result<String, ArgumentOmission> {
    let width = u64::from(size) * 8;
    if by >= width {
        return match operation {
            Binary::Shra => Err(ArgumentOmission::WideShift),
            _ => Ok(syntax.constant(0)),
        };
    }
    if by == 0 {
        return Ok(a);
    }
    // Languages differ in whether `>>` shifts in the sign. The mask removes these bits.
    let filled = mask(size) >> by;
    Ok(match operation {
        Binary::Shl => masked(syntax, format!("({a} << {by})"), size),
        Binary::Shr => format!("(({a} >> {by}) & {})", syntax.constant(filled)),
        _ => {
            let sign = syntax.constant((mask(size) >> 1).wrapping_add(1) >> by);
            let logical = format!("(({a} >> {by}) & {})", syntax.constant(filled));
            masked(syntax, format!("(({logical} ^ {sign}) - {sign})"), size)
        }
    })
}
