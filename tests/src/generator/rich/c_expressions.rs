//! Writes places, expressions and types in C or C++.

use super::c::C;
use super::{Comparison, Expression, Operator, Part, Place, Scalar};

impl C<'_> {
    pub(super) fn place(&self, of: &Place) -> String {
        let (name, is_pointer) = match (of.variable.by_reference, self.is_cxx, &*of.variable.name) {
            (true, true, "self") => ("this", true),
            (true, is_cxx, name) => (name, !is_cxx),
            (false, _, name) => (name, false),
        };
        match of.part {
            Part::Whole => name.to_owned(),
            Part::Field(index) => format!("{name}{}f{index}", if is_pointer { "->" } else { "." }),
            Part::Element(index) => format!("{name}[{index}]"),
        }
    }

    pub(super) fn expression(&self, of: &Expression) -> String {
        match of {
            Expression::Constant(Scalar::Bool, value) => value.to_string(),
            Expression::Constant(Scalar::Float, value) => format!("{:?}", *value as f64 * 0.5 + 0.5),
            Expression::Constant(of, value) => format!("({}){value}", scalar(*of)),
            Expression::Place(of) => self.place(of),
            Expression::Binary(operator, of, left, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                let symbol = match operator {
                    Operator::Add => "+",
                    Operator::Subtract => "-",
                    Operator::Multiply => "*",
                    Operator::And => "&",
                    Operator::Or => "|",
                    Operator::Xor => "^",
                    Operator::Divide => "/",
                    Operator::Remainder => "%",
                };
                let to = scalar(*of);
                match (operator, of) {
                    (_, Scalar::Float) => format!("({left} {symbol} {right})"),
                    (Operator::Divide | Operator::Remainder, _) => format!("({to})({left} {symbol} {right})"),
                    // Unsigned, because a signed overflow is undefined.
                    _ => format!("({to})(({wide}){left} {symbol} ({wide}){right})", wide = unsigned(*of)),
                }
            }
            Expression::Shift { left: true, of, value, by } => {
                format!("({})(({}){} << {by})", scalar(*of), unsigned(*of), self.expression(value))
            }
            Expression::Shift { of, value, by, .. } => format!("({})({} >> {by})", scalar(*of), self.expression(value)),
            Expression::Cast(to, _, value) => format!("({})({})", scalar(*to), self.expression(value)),
            Expression::Compare(comparison, left, right) => {
                let symbol = match comparison {
                    Comparison::Less => "<",
                    Comparison::Equal => "==",
                    Comparison::GreaterEqual => ">=",
                };
                format!("({} {symbol} {})", self.expression(left), self.expression(right))
            }
            Expression::Not(value) => format!("(!{})", self.expression(value)),
            Expression::Select(of, then, otherwise) => {
                format!("({} ? {} : {})", self.expression(of), self.expression(then), self.expression(otherwise))
            }
            Expression::ElementAt(variable, index, mask) => {
                format!("{}[{} & {mask}]", variable.name, self.expression(index))
            }
        }
    }
}

/// The conversion of printf for a type.
pub(super) fn conversion(of: Scalar) -> &'static str {
    match of {
        Scalar::Bool => "%d",
        Scalar::Float => "%f",
        Scalar::Int { bits: 8, signed: true } => "%hhd",
        Scalar::Int { bits: 8, signed: false } => "%hhu",
        Scalar::Int { bits: 16, signed: true } => "%hd",
        Scalar::Int { bits: 16, signed: false } => "%hu",
        Scalar::Int { bits: 32, signed: true } => "%d",
        Scalar::Int { bits: 32, signed: false } => "%u",
        Scalar::Int { signed: true, .. } => "%ld",
        Scalar::Int { signed: false, .. } => "%lu",
    }
}

pub(super) fn scalar(of: Scalar) -> &'static str {
    match of {
        Scalar::Bool => "bool",
        Scalar::Float => "double",
        Scalar::Int { bits: 8, signed: true } => "int8_t",
        Scalar::Int { bits: 8, signed: false } => "uint8_t",
        Scalar::Int { bits: 16, signed: true } => "int16_t",
        Scalar::Int { bits: 16, signed: false } => "uint16_t",
        Scalar::Int { bits: 32, signed: true } => "int32_t",
        Scalar::Int { bits: 32, signed: false } => "uint32_t",
        Scalar::Int { signed: true, .. } => "int64_t",
        Scalar::Int { signed: false, .. } => "uint64_t",
    }
}

/// The unsigned type in which integers of a type are computed.
fn unsigned(of: Scalar) -> &'static str {
    match of {
        Scalar::Int { bits: 64, .. } => "uint64_t",
        _ => "uint32_t",
    }
}

pub(super) fn random(of: Scalar) -> String {
    match of {
        Scalar::Bool => "(next() & 1)".to_owned(),
        Scalar::Float => "(double)(next() & 255)".to_owned(),
        Scalar::Int { .. } => format!("({})next()", scalar(of)),
    }
}
