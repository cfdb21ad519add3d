//! Prints the records of an event as the kernel does: interprets its `print fmt`.
//!
//! `token` and `parse` read the text, `build` and `call` make typed expressions (`node`) of it, once
//! for each event. `vsprintf`, `pointer` and `text` write a record. Pointers are printed as
//! with the option `hash-ptr` off.

mod build;
mod call;
mod choices;
mod error;
mod integer;
mod layout;
mod node;
mod parse;
mod people;
mod pointer;
mod syscall;
#[cfg(test)]
mod tests;
mod text;
mod token;
mod vsprintf;

use super::format::Format;
use super::names::Names;
use build::Expression;
pub use choices::Choices;
pub use error::PrintError;
pub use integer::Integer;
use layout::{Layout, lay_out, write_number};
use node::{Fault, Node, Scope};
use parse::Parser;
use syscall::Syscall;
use vsprintf::{Conversion, Kind, Number, Piece, pieces};

/// The name of the number of timer ticks in a second.
pub const HZ: &str = "HZ";

/// Prints the records of one event.
#[derive(Clone, Debug)]
pub struct Printer {
    form: Form,
    /// The enumerators in the text, and their values.
    enumerators: Vec<(String, i64)>,
}

#[derive(Clone, Debug)]
enum Form {
    Pieces(Vec<Part>),
    Syscall(Syscall),
}

#[derive(Clone, Debug)]
enum Part {
    Literal(Box<str>),
    Argument(Box<Argument>),
}

/// A conversion with its arguments.
#[derive(Clone, Debug)]
struct Argument {
    conversion: Conversion,
    width: Option<Node>,
    precision: Option<Node>,
    value: Node,
    /// The size of the argument in bytes, 4 or 8.
    size: u8,
    /// The indexes of the fields that it is computed of.
    fields: Box<[usize]>,
}

/// Which names the printer of an event asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The enumerators in its text with their values.
    pub enumerators: Vec<(String, i64)>,
    /// Whether it asks for the symbols of addresses ([`Names::symbol`]).
    pub symbols: bool,
    /// Whether it asks for texts in the memory of the kernel ([`Names::text_at`]).
    pub texts: bool,
    /// The numbers of the kernel that it asks for ([`Names::variable`]).
    pub variables: Vec<String>,
}

/// The most bytes of a text; the kernel's buffer for a line has 8 KiB.
const MOST: usize = 1 << 16;

impl Printer {
    /// Reads the `print fmt` of an event.
    ///
    /// # Errors
    ///
    /// It has no `print fmt`, or one that needs more than the record and `names`.
    pub fn new(format: &Format, names: &dyn Names) -> Result<Self, PrintError> {
        if let Some(syscall) = Syscall::new(format) {
            return Ok(Self { form: Form::Syscall(syscall), enumerators: Vec::new() });
        }
        if format.print.is_empty() {
            return Err(PrintError::Missing);
        }
        let mut parser = Parser::new(&format.print, format, names)?;
        let start = parser.offset();
        let string = parser.text().ok_or(PrintError::Expected { offset: start, wanted: "a string" })?;
        let mut parts = Vec::new();
        for piece in pieces(&string, start)? {
            parts.push(match piece {
                Piece::Literal(text) => Part::Literal(text.into()),
                Piece::Conversion(conversion) => Part::Argument(Box::new(argument(&mut parser, conversion)?)),
            });
        }
        // What no conversion prints is still read, so that mistakes are found.
        while parser.takes(",") {
            parser.expression()?;
        }
        if !parser.is_end() {
            return Err(PrintError::Expected { offset: parser.offset(), wanted: "`,`" });
        }
        let mut enumerators = parser.enumerators;
        enumerators.sort();
        enumerators.dedup();
        Ok(Self { form: Form::Pieces(parts), enumerators })
    }

    /// Appends the text of a record, which starts with `common_type`. What the record is too short
    /// for is `(too short)`, and what is not known `?`.
    ///
    /// The name of the event is not in the text.
    pub fn write(&self, record: &[u8], names: &dyn Names, out: &mut String) {
        let most = out.len().saturating_add(MOST);
        match &self.form {
            Form::Syscall(syscall) => syscall.write(record, out),
            Form::Pieces(parts) => {
                for part in parts {
                    match part {
                        Part::Literal(text) => out.push_str(text),
                        Part::Argument(argument) => argument.write(Scope { record, names }, out),
                    }
                    if out.len() > most {
                        break;
                    }
                }
            }
        }
    }
}

/// The arguments of a conversion.
fn argument(parser: &mut Parser<'_>, conversion: Conversion) -> Result<Argument, PrintError> {
    let next = |parser: &mut Parser<'_>| -> Result<(usize, Expression), PrintError> {
        if !parser.takes(",") {
            return Err(PrintError::TooFew { offset: parser.offset(), text: conversion.text.clone() });
        }
        Ok((parser.offset(), parser.expression()?))
    };
    parser.fields.clear();
    let number = |wanted: Number, parser: &mut Parser<'_>| match wanted {
        Number::Argument => {
            let (offset, value) = next(parser)?;
            Ok(Some(value.convert(build::Type::Integer(Integer::INT), offset)?.node))
        }
        _ => Ok(None),
    };
    let width = number(conversion.width, parser)?;
    let precision = number(conversion.precision, parser)?;
    let (offset, value) = next(parser)?;
    let is_place = value.node.is_place();
    match conversion.kind {
        Kind::Pointer(kind) if kind.needs_bytes() && !is_place => return Err(PrintError::NotInRecord { offset }),
        Kind::Pointer(kind) if !kind.needs_bytes() && is_place => return Err(PrintError::Address { offset }),
        Kind::Character | Kind::Number { .. } if is_place => return Err(PrintError::Address { offset }),
        Kind::Text if !matches!(value.of, build::Type::Pointer { .. }) => return Err(PrintError::Operand { offset }),
        _ => {}
    }
    let size = value.of.integer().promoted().size;
    let fields = std::mem::take(&mut parser.fields).into();
    Ok(Argument { conversion, width, precision, value: value.node, size, fields })
}

impl Argument {
    fn write(&self, scope: Scope<'_>, out: &mut String) {
        let start = out.len();
        if let Err(fault) = self.try_write(scope, out) {
            out.truncate(start);
            out.push_str(match fault {
                Fault::Short => "(too short)",
                Fault::Unknown => "?",
            });
        }
    }

    fn try_write(&self, scope: Scope<'_>, out: &mut String) -> Result<(), Fault> {
        let start = out.len();
        let mut layout = Layout { flags: self.conversion.flags, ..Layout::default() };
        let of = |number: Number, node: &Option<Node>| match (number, node) {
            (Number::Fixed(value), _) => Ok(Some(value)),
            (_, Some(node)) => node.number(scope).map(|value| Some(value as i32)),
            _ => Ok(None),
        };
        if let Some(width) = of(self.conversion.width, &self.width)? {
            layout.set_width(width);
        }
        if let Some(precision) = of(self.conversion.precision, &self.precision)? {
            layout.set_precision(precision);
        }
        // An argument of 4 bytes has nothing above them.
        let bits = |value: u64| if self.size == 8 { value } else { value & 0xffff_ffff };
        match self.conversion.kind {
            Kind::Number { base, of, is_large } => {
                write_number(bits(self.value.number(scope)?), of, base, is_large, layout, out);
            }
            Kind::Text => {
                self.value.text(scope, layout.precision.unwrap_or(usize::MAX), out)?;
                lay_out(start, layout, out);
            }
            Kind::Character => {
                out.push(char::from(self.value.number(scope)? as u8));
                lay_out(start, Layout { precision: None, ..layout }, out);
            }
            Kind::Pointer(pointer) => pointer.write(&self.value, scope, layout, out)?,
        }
        Ok(())
    }
}
