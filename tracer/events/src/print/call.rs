//! The functions of a `print fmt` (`include/trace/stages/stage3_trace_output.h`).

use super::build::{Expression, Type};
use super::error::PrintError;
use super::integer::Integer;
use super::node::{Binary, Dump, Node, Place, TextFunction};
use super::parse::Parser;
use crate::format::Field;

const SECOND: u64 = 1_000_000_000;

/// Values and their names.
type Pairs = Box<[(u64, Box<str>)]>;

impl Parser<'_> {
    /// A call, from its `(` on.
    pub(super) fn call(&mut self, name: &str, offset: usize) -> Result<Expression, PrintError> {
        self.expect("(")?;
        let value = self.called(name, offset)?;
        self.expect(")")?;
        Ok(value)
    }

    fn called(&mut self, name: &str, offset: usize) -> Result<Expression, PrintError> {
        let long = Type::Integer(Integer::UNSIGNED_LONG);
        // The variants for fields whose place counts from the field itself.
        match name.replace("_rel_", "_").as_str() {
            "__print_flags" | "__print_flags_u64" => {
                let value = self.value(long)?;
                self.expect(",")?;
                let at = self.offset();
                let delimiter = match self.text() {
                    Some(delimiter) => delimiter,
                    None if self.expression()?.constant() == Some(0) => String::new(),
                    None => return Err(PrintError::NotConstant { offset: at }),
                };
                let pairs = self.pairs()?;
                let node = value.node.clone();
                Self::made(TextFunction::Flags { value: node, delimiter: delimiter.into(), pairs }, &[&value], offset)
            }
            "__print_symbolic" | "__print_symbolic_u64" => {
                let value = self.value(long)?;
                let pairs = self.pairs()?;
                Self::made(TextFunction::Symbolic { value: value.node.clone(), pairs }, &[&value], offset)
            }
            "__print_hex" | "__print_hex_str" => {
                let place = self.place()?;
                self.expect(",")?;
                let length = self.value(Type::Integer(Integer::INT))?;
                let (bytes, count) = (place.node.clone(), length.node.clone());
                let has_spaces = name == "__print_hex";
                Self::made(TextFunction::Hex { place: bytes, length: count, has_spaces }, &[&place, &length], offset)
            }
            "__print_array" => {
                let place = self.place()?;
                self.expect(",")?;
                let count = self.value(Type::Integer(Integer::INT))?;
                self.expect(",")?;
                let size = self.value(long)?;
                let parts = [&place, &count, &size].map(|part| part.node.clone());
                let [bytes, elements, each] = parts;
                Self::made(
                    TextFunction::Array { place: bytes, count: elements, size: each },
                    &[&place, &count, &size],
                    offset,
                )
            }
            "__print_dynamic_array" => {
                let place = self.dynamic()?;
                self.expect(",")?;
                let size = self.value(long)?;
                let length = Expression::new(Node::Length(place), long);
                let count = Expression::binary(Binary::Divide, length, size.clone(), offset)?;
                let (elements, each) = (count.node.clone(), size.node.clone());
                Self::made(
                    TextFunction::Array { place: Node::Place(place), count: elements, size: each },
                    &[&count, &size],
                    offset,
                )
            }
            "__print_hex_dump" => self.dump(offset),
            "__get_str" => Ok(Expression::new(Node::Place(self.dynamic()?), Type::TEXT)),
            "__get_dynamic_array" | "__get_sockaddr" => {
                let of = Type::Pointer { of: None, stride: 1 };
                Ok(Expression::new(Node::Place(self.dynamic()?), of))
            }
            "__get_dynamic_array_len" => {
                Ok(Expression::new(Node::Length(self.dynamic()?), Type::Integer(Integer::UNSIGNED)))
            }
            "__get_bitmask" | "__get_cpumask" => {
                let place = self.dynamic()?;
                Self::made(TextFunction::Bitmask(place), &[], offset)
            }
            "__print_ns_to_secs" | "__print_ns_without_secs" => {
                let value = self.value(long)?;
                let second = Expression::number(SECOND, Integer::UNSIGNED_LONG);
                match name {
                    "__print_ns_to_secs" => Expression::binary(Binary::Divide, value, second, offset),
                    _ => Expression::binary(Binary::Remainder, value, second, offset)?
                        .convert(Type::Integer(Integer::UNSIGNED), offset),
                }
            }
            "__builtin_expect" => {
                let value = self.value(Type::Integer(Integer::LONG))?;
                self.expect(",")?;
                self.expression()?;
                Ok(value)
            }
            "__builtin_constant_p" => {
                let is_known = self.expression()?.constant().is_some();
                Ok(Expression::number(is_known.into(), Integer::INT))
            }
            "jiffies_to_msecs" => self.jiffies(1_000, offset),
            "jiffies_to_usecs" => self.jiffies(1_000_000, offset),
            "mc_event_error_type" => {
                let value = self.value(Type::Integer(Integer::UNSIGNED))?;
                Self::made(TextFunction::MemoryError(value.node.clone()), &[&value], offset)
            }
            _ => Err(PrintError::UnknownFunction { offset, name: name.to_owned() }),
        }
    }

    /// A text that is made of some parts.
    fn made(made: TextFunction, parts: &[&Expression], offset: usize) -> Result<Expression, PrintError> {
        let weight = Expression::weigh(parts, offset)?;
        Ok(Expression::weighing(Node::Function(Box::new(made)), Type::TEXT, weight))
    }

    /// An argument as a parameter of some type gets it.
    fn value(&mut self, of: Type) -> Result<Expression, PrintError> {
        let offset = self.offset();
        self.expression()?.convert(of, offset)
    }

    /// An argument that is an address in the record.
    fn place(&mut self) -> Result<Expression, PrintError> {
        let offset = self.offset();
        let place = self.expression()?;
        let is_known = matches!(place.node, Node::Place(_) | Node::Skip { .. } | Node::Conditional(_));
        if is_known { Ok(place) } else { Err(PrintError::NotInRecord { offset }) }
    }

    /// The name of a dynamic field.
    fn dynamic(&mut self) -> Result<Place, PrintError> {
        let (offset, name) = (self.offset(), self.name()?);
        let field = self.field(&name, offset)?;
        dynamic(field).ok_or(PrintError::UnknownField { offset, name })
    }

    /// `, {1, "ONE"}, {2, "TWO"}`
    fn pairs(&mut self) -> Result<Pairs, PrintError> {
        let mut pairs = Vec::new();
        while self.takes(",") {
            if self.is_sign(")") {
                break;
            }
            self.expect("{")?;
            if self.takes("}") {
                continue;
            }
            let offset = self.offset();
            let mask = self.value(Type::Integer(Integer::UNSIGNED_LONG))?;
            let mask = mask.constant().ok_or(PrintError::NotConstant { offset })?;
            self.expect(",")?;
            let offset = self.offset();
            match self.expression()? {
                Expression { node: Node::Text(name), .. } => pairs.push((mask, name)),
                // The end of the list.
                value if value.constant() == Some(0) => {}
                _ => return Err(PrintError::NotConstant { offset }),
            }
            self.takes(",");
            self.expect("}")?;
        }
        Ok(pairs.into())
    }

    /// `jiffies_to_msecs`: HZ is known when a record is printed.
    fn jiffies(&mut self, per_second: u64, offset: usize) -> Result<Expression, PrintError> {
        let long = Integer::UNSIGNED_LONG;
        let value = self.value(Type::Integer(long))?;
        let scaled = Expression::binary(Binary::Times, value, Expression::number(per_second, long), offset)?;
        let hz = Expression::new(Node::Variable(super::HZ.into()), Type::Integer(long));
        Expression::binary(Binary::Divide, scaled, hz, offset)?.convert(Type::Integer(Integer::UNSIGNED), offset)
    }

    fn dump(&mut self, offset: usize) -> Result<Expression, PrintError> {
        let int = Type::Integer(Integer::INT);
        let at = self.offset();
        let prefix = self.text().ok_or(PrintError::NotConstant { offset: at })?;
        let next = |parser: &mut Self| {
            parser.expect(",")?;
            parser.value(int)
        };
        let (kind, row, group) = (next(self)?, next(self)?, next(self)?);
        self.expect(",")?;
        let place = self.place()?;
        let (length, has_text) = (next(self)?, next(self)?);
        let parts = [&kind, &row, &group, &place, &length, &has_text];
        let weight = Expression::weigh(&parts, offset)?;
        let made = TextFunction::Dump(Dump {
            prefix: prefix.into(),
            kind: kind.node,
            row: row.node,
            group: group.node,
            place: place.node,
            length: length.node,
            has_text: has_text.node,
        });
        Ok(Expression::weighing(Node::Function(Box::new(made)), Type::TEXT, weight))
    }
}

/// Where the data of a dynamic field are. `None` if it is not dynamic.
fn dynamic(field: &Field) -> Option<Place> {
    let offset = field.offset as usize;
    let base = if field.of.starts_with("__rel_loc") { offset.checked_add(field.size as usize)? } else { 0 };
    field.is_dynamic().then_some(Place::Dynamic { offset, base })
}
