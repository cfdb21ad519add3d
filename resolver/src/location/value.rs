//! Arithmetic on [`Value`]s (DWARF 5, 2.5.1.4 and 2.5.1.6) and constant folding.
//!
//! As specified, integers of the generic type are signed in `abs`, `neg`, `div`, `shra` and
//! comparisons, and unsigned in `mod`, `shr` and conversions. Operations that the specification
//! leaves undefined are rejected: `neg` and `shra` of an unsigned type, `shr` of a signed type, and
//! conversion to a type that cannot represent the number.

use std::cmp::Ordering;

use super::{Binary, Expr, Node, Unary, Unreadable, Value, ValueType};
use simple_markers_record::integer;

impl ValueType {
    /// Size of the type in bytes, given the size of an address.
    #[must_use]
    pub fn size(self, address_size: u8) -> u8 {
        match self {
            Self::Generic => address_size,
            Self::Signed(size) | Self::Unsigned(size) | Self::Float(size) => size,
        }
    }

    fn mask(self, address_size: u8) -> u64 {
        match self.size(address_size) {
            size @ 0..=7 => (1u64 << (u32::from(size) * 8)) - 1,
            _ => u64::MAX,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Self::Float(_))
    }
}

/// A number, interpreted according to its type.
enum TypedNumber {
    Signed(i64),
    Unsigned(u64),
    Single(f32),
    Double(f64),
}

impl Value {
    /// Creates a value of a type. Bits beyond the size of the type are discarded.
    #[must_use]
    pub fn new(of: ValueType, bits: u64, address_size: u8) -> Self {
        Self { of, bits: bits & of.mask(address_size) }
    }

    /// The value as a 64-bit signed integer. The highest bit of the value is the sign bit, even for
    /// unsigned types.
    fn signed(self, address_size: u8) -> i64 {
        integer::signed(self.bits, self.of.size(address_size))
    }

    /// The value, with the generic type interpreted as unsigned.
    fn number(self, address_size: u8) -> TypedNumber {
        match self.of {
            ValueType::Generic | ValueType::Unsigned(_) => TypedNumber::Unsigned(self.bits),
            ValueType::Signed(_) => TypedNumber::Signed(self.signed(address_size)),
            ValueType::Float(4) => TypedNumber::Single(f32::from_bits(self.bits as u32)),
            ValueType::Float(_) => TypedNumber::Double(f64::from_bits(self.bits)),
        }
    }

    /// The value, with the generic type interpreted as signed.
    fn signed_number(self, address_size: u8) -> TypedNumber {
        match self.of {
            ValueType::Generic => TypedNumber::Signed(self.signed(address_size)),
            _ => self.number(address_size),
        }
    }

    /// Applies a unary operation.
    ///
    /// # Errors
    ///
    /// Fails if the operation is not defined for the type.
    pub fn unary(self, operation: Unary, address_size: u8) -> Result<Self, Unreadable> {
        let new = |bits| Ok(Self::new(self.of, bits, address_size));
        match (operation, self.signed_number(address_size)) {
            (Unary::Abs, TypedNumber::Signed(number)) => new(number.wrapping_abs() as u64),
            (Unary::Abs, TypedNumber::Unsigned(number)) => new(number),
            (Unary::Abs, TypedNumber::Single(number)) => new(number.abs().to_bits().into()),
            (Unary::Abs, TypedNumber::Double(number)) => new(number.abs().to_bits()),
            (Unary::Neg, TypedNumber::Signed(number)) => new(number.wrapping_neg() as u64),
            (Unary::Neg, TypedNumber::Single(number)) => new((-number).to_bits().into()),
            (Unary::Neg, TypedNumber::Double(number)) => new((-number).to_bits()),
            (Unary::Not, TypedNumber::Signed(_) | TypedNumber::Unsigned(_)) => new(!self.bits),
            (Unary::Neg, TypedNumber::Unsigned(_)) | (Unary::Not, _) => Err(Unreadable::Types),
        }
    }

    /// Applies a binary operation.
    ///
    /// # Errors
    ///
    /// Fails if the operand types do not match the operation or if it divides by zero.
    pub fn binary(self, operation: Binary, other: Self, address_size: u8) -> Result<Self, Unreadable> {
        if matches!(operation, Binary::Shl | Binary::Shr | Binary::Shra) {
            return self.shift(operation, other, address_size);
        }
        if self.of != other.of {
            return Err(Unreadable::Types);
        }
        if operation.is_comparison() {
            return Ok(Self { of: ValueType::Generic, bits: self.compare(operation, other, address_size).into() });
        }
        let bits = match (self.signed_number(address_size), other.signed_number(address_size)) {
            (TypedNumber::Single(a), TypedNumber::Single(b)) => float(operation, a.into(), b.into()).map(|result| {
                // A single operation in double the precision, then rounded, gives the correctly
                // rounded result.
                u64::from((result as f32).to_bits())
            }),
            (TypedNumber::Double(a), TypedNumber::Double(b)) => float(operation, a, b).map(f64::to_bits),
            (TypedNumber::Signed(a), TypedNumber::Signed(b)) => match operation {
                Binary::Div => a.checked_div(b).or_else(|| (b != 0).then_some(a)).map(|result| result as u64),
                // The generic type is unsigned in this operation.
                Binary::Mod if self.of == ValueType::Generic => self.bits.checked_rem(other.bits),
                Binary::Mod => (b != 0).then(|| a.wrapping_rem(b) as u64),
                _ => integer(operation, self.bits, other.bits),
            },
            _ => integer(operation, self.bits, other.bits),
        };
        match bits {
            Some(bits) => Ok(Self::new(self.of, bits, address_size)),
            None if other.bits == 0 && !self.of.is_float() => Err(Unreadable::DivisionByZero),
            None => Err(Unreadable::Types),
        }
    }

    fn compare(self, operation: Binary, other: Self, address_size: u8) -> bool {
        let order = match (self.signed_number(address_size), other.signed_number(address_size)) {
            (TypedNumber::Signed(a), TypedNumber::Signed(b)) => Some(a.cmp(&b)),
            (TypedNumber::Unsigned(a), TypedNumber::Unsigned(b)) => Some(a.cmp(&b)),
            (TypedNumber::Single(a), TypedNumber::Single(b)) => a.partial_cmp(&b),
            (TypedNumber::Double(a), TypedNumber::Double(b)) => a.partial_cmp(&b),
            _ => None,
        };
        match operation {
            Binary::Eq => order == Some(Ordering::Equal),
            Binary::Ne => order != Some(Ordering::Equal),
            Binary::Lt => order == Some(Ordering::Less),
            Binary::Gt => order == Some(Ordering::Greater),
            Binary::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }

    /// Shifts the value. Bits that are shifted out are lost. A count of at least the width of the
    /// type shifts out every bit.
    fn shift(self, operation: Binary, by: Self, address_size: u8) -> Result<Self, Unreadable> {
        let width = u64::from(self.of.size(address_size)) * 8;
        let by = match by.number(address_size) {
            TypedNumber::Unsigned(by) => by,
            TypedNumber::Signed(by) => u64::try_from(by).map_err(|_| Unreadable::Types)?,
            TypedNumber::Single(_) | TypedNumber::Double(_) => return Err(Unreadable::Types),
        };
        // A count below the width is at most 63.
        let steps = by.min(63) as u32;
        let bits = match (operation, self.of) {
            (_, ValueType::Float(_)) => return Err(Unreadable::Types),
            (Binary::Shl, _) => {
                if by < width {
                    self.bits << steps
                } else {
                    0
                }
            }
            (Binary::Shr, ValueType::Generic | ValueType::Unsigned(_)) => {
                if by < width {
                    self.bits >> steps
                } else {
                    0
                }
            }
            (Binary::Shra, ValueType::Generic | ValueType::Signed(_)) => (self.signed(address_size) >> steps) as u64,
            _ => return Err(Unreadable::Types),
        };
        Ok(Self::new(self.of, bits, address_size))
    }

    /// Converts the number to another type (`DW_OP_convert`). Integers are truncated to the target
    /// type.
    ///
    /// # Errors
    ///
    /// Fails for a floating-point number outside the range of the integer type, for which the
    /// result is undefined.
    pub fn convert(self, to: ValueType, address_size: u8) -> Result<Self, Unreadable> {
        let number = self.number(address_size);
        let bits = match (to, number) {
            (ValueType::Float(4), number) => u64::from(
                match number {
                    TypedNumber::Signed(number) => number as f32,
                    TypedNumber::Unsigned(number) => number as f32,
                    TypedNumber::Single(number) => number,
                    TypedNumber::Double(number) => number as f32,
                }
                .to_bits(),
            ),
            (ValueType::Float(_), number) => match number {
                TypedNumber::Signed(number) => number as f64,
                TypedNumber::Unsigned(number) => number as f64,
                TypedNumber::Single(number) => number.into(),
                TypedNumber::Double(number) => number,
            }
            .to_bits(),
            (_, TypedNumber::Signed(number)) => number as u64,
            (_, TypedNumber::Unsigned(number)) => number,
            (_, TypedNumber::Single(number)) => truncated(number.into(), to, address_size)?,
            (_, TypedNumber::Double(number)) => truncated(number, to, address_size)?,
        };
        Ok(Self::new(to, bits, address_size))
    }

    /// Reinterprets the bits as another type (`DW_OP_reinterpret`).
    ///
    /// # Errors
    ///
    /// Fails if the types differ in size.
    pub fn reinterpret(self, to: ValueType, address_size: u8) -> Result<Self, Unreadable> {
        if self.of.size(address_size) != to.size(address_size) {
            return Err(Unreadable::Types);
        }
        Ok(Self::new(to, self.bits, address_size))
    }
}

/// Integer operations that do not depend on signedness or whose operands are unsigned. `None` if
/// there is no result.
fn integer(operation: Binary, a: u64, b: u64) -> Option<u64> {
    Some(match operation {
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Plus => a.wrapping_add(b),
        Binary::Minus => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div => return a.checked_div(b),
        Binary::Mod => return a.checked_rem(b),
        _ => return None,
    })
}

/// Floating-point operations. `None` if the operation is defined for integers only.
fn float(operation: Binary, a: f64, b: f64) -> Option<f64> {
    Some(match operation {
        Binary::Plus => a + b,
        Binary::Minus => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        _ => return None,
    })
}

/// Truncates a floating-point number to an integer and returns its bits.
fn truncated(number: f64, to: ValueType, address_size: u8) -> Result<u64, Unreadable> {
    let bits = i32::from(to.size(address_size)) * 8;
    let number = number.trunc();
    let fits = match to {
        ValueType::Signed(_) => number >= -(2f64.powi(bits - 1)) && number < 2f64.powi(bits - 1),
        _ => number >= 0.0 && number < 2f64.powi(bits),
    };
    match to {
        _ if !fits => Err(Unreadable::Undefined),
        ValueType::Signed(_) => Ok(number as i64 as u64),
        _ => Ok(number as u64),
    }
}

/// Why a computation cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unbuildable {
    /// The computation would have too many nodes or be too deep.
    TooLarge,
    /// The operand types do not match the operation.
    Types,
}

/// Constructors that fold constants: `a + 8 + 8` becomes `a + 16`. Equal computations therefore
/// usually have the same form.
impl Expr {
    fn known(&self) -> Option<Value> {
        match self.node() {
            Node::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// Replaces the node with a constant if its value is known. An operation that fails on
    /// constants, such as division by zero, is kept and fails on evaluation.
    fn folded(node: Node, result: Option<&Result<Value, Unreadable>>) -> Result<Self, Unbuildable> {
        let node = match result {
            Some(Ok(value)) => Node::Constant(*value),
            Some(Err(Unreadable::Types)) => return Err(Unbuildable::Types),
            _ => node,
        };
        Self::new(node).ok_or(Unbuildable::TooLarge)
    }

    pub(crate) fn unary(operation: Unary, of: &Self, address_size: u8) -> Result<Self, Unbuildable> {
        // Whether the operation is defined depends on the type only, not on the value.
        Value { of: of.value_type(), bits: 0 }.unary(operation, address_size).map_err(|_| Unbuildable::Types)?;
        let result = of.known().map(|value| value.unary(operation, address_size));
        Self::folded(Node::Unary(operation, of.clone()), result.as_ref())
    }

    pub(crate) fn binary(operation: Binary, a: &Self, b: &Self, address_size: u8) -> Result<Self, Unbuildable> {
        let sample = |of: &Self| match of.value_type() {
            float @ ValueType::Float(_) => Value { of: float, bits: 0 },
            integer => Value { of: integer, bits: 1 },
        };
        sample(a).binary(operation, sample(b), address_size).map_err(|_| Unbuildable::Types)?;
        if let (Some(a), Some(b)) = (a.known(), b.known()) {
            return Self::folded(
                Node::Binary(operation, Self::of(a), Self::of(b)),
                Some(&a.binary(operation, b, address_size)),
            );
        }
        if a.value_type() == ValueType::Generic {
            let bytes = |value: Option<Value>| value.map(|value| value.signed(address_size));
            let sum = match (operation, bytes(a.known()), bytes(b.known())) {
                (Binary::Plus, Some(bytes), None) => Some(b.plus(bytes)),
                (Binary::Plus, None, Some(bytes)) => Some(a.plus(bytes)),
                (Binary::Minus, None, Some(bytes)) => Some(a.plus(bytes.wrapping_neg())),
                _ => None,
            };
            if let Some(sum) = sum {
                return sum.ok_or(Unbuildable::TooLarge);
            }
        }
        Self::folded(Node::Binary(operation, a.clone(), b.clone()), None)
    }

    pub(crate) fn convert(to: ValueType, of: &Self, address_size: u8) -> Result<Self, Unbuildable> {
        if of.value_type() == to {
            return Ok(of.clone());
        }
        Self::folded(Node::Convert(to, of.clone()), of.known().map(|value| value.convert(to, address_size)).as_ref())
    }

    pub(crate) fn reinterpret(to: ValueType, of: &Self, address_size: u8) -> Result<Self, Unbuildable> {
        if of.value_type() == to {
            return Ok(of.clone());
        }
        if of.value_type().size(address_size) != to.size(address_size) {
            return Err(Unbuildable::Types);
        }
        Self::folded(
            Node::Reinterpret(to, of.clone()),
            of.known().map(|value| value.reinterpret(to, address_size)).as_ref(),
        )
    }
}
