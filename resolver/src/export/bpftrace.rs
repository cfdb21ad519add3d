//! A program for bpftrace 0.17 and later (bpftrace(8)).

use super::arithmetic::{self, Syntax};
use super::fetch::{Fetch, NumberKind};
use super::format::{Call, field, fill, most, smaller};
use super::plan::{PlanEntry, PlannedArgument, Point};
use super::symbols::ImageSymbols;
use super::{ArgumentOmission, ExportError, SiteOmission, Tool, Writer, processor};
use crate::address::Vaddr;
use crate::english;
use crate::location::{Processor, Register};
use crate::record::printf::Conversion;

const MARK: &str = "//";

pub(super) fn write(writer: &mut Writer<'_>, planned: &[PlanEntry<'_>], bytes: &[u8]) -> Result<(), ExportError> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '/' | '.' | '_' | '-');
    if !writer.path.starts_with('/') || !writer.path.chars().all(is_plain) {
        return Err(ExportError::Path(Tool::Bpftrace));
    }
    let names = ImageSymbols::of(bytes)?;
    writer.heading(
        MARK,
        &[
            "As root: bpftrace THIS. Versions built without a disassembler (Debian 12) refuse a uprobe inside a function of a file that",
            "has symbols: there use `smark export --to sdt` and usdt probes, or a stripped copy and --unsafe.",
        ],
    );
    writer.each(MARK, planned, &mut |writer, point| {
        // Without a symbol, some versions of bpftrace take the number as a file offset.
        if !names.holds(point.address) && point.address.0 != point.offset.0 {
            return Err(SiteOmission::NoSymbol(Tool::Bpftrace));
        }
        let line = printed(writer, point)?;
        if point.switch.is_some() {
            writer.comment(MARK, english::export::asleep(Tool::Bpftrace, point.marker.is_note));
        }
        let probe = format!("uprobe:{}:{} {{ {line}; }}", writer.path, point.address);
        writer.line(&probe);
        Ok(())
    });
    Ok(())
}

/// The call of `printf`.
fn printed(writer: &mut Writer<'_>, point: &Point<'_>) -> Result<String, SiteOmission> {
    let syntax = BpftraceSyntax { here: point.address, processor: Processor::of(writer.image.arch) };
    let mut call = Call::default();
    fill(writer, MARK, point, &mut call, escape, |call, conversion, wanted| {
        let (conversion, values) = express(&syntax, conversion, wanted)?;
        call.format.push_str(&conversion);
        call.arguments.extend(values);
        Ok(())
    })?;
    Ok(format!("printf({})", call.list()))
}

/// Adds literal text. bpftrace prints the last `%%` of a format unchanged, so a `%` becomes an
/// argument, as do characters without an escape.
fn escape(call: &mut Call, text: &str) {
    for character in text.chars() {
        match character {
            '"' => call.format.push_str("\\\""),
            '\\' => call.format.push_str("\\\\"),
            '\n' => call.format.push_str("\\n"),
            '\t' => call.format.push_str("\\t"),
            '\r' => call.format.push_str("\\r"),
            '%' | '\0'..='\x1f' | '\x7f' => {
                call.format.push_str("%c");
                call.arguments.push(u32::from(character).to_string());
            }
            _ => call.format.push(character),
        }
    }
}

/// A conversion and its values.
fn express(
    syntax: &BpftraceSyntax,
    conversion: &Conversion,
    wanted: &PlannedArgument<'_>,
) -> Result<(String, Vec<String>), ArgumentOmission> {
    let field = field(conversion, "-0");
    let letter = conversion.specifier.letter();
    match wanted.fetch.as_ref().map_err(Clone::clone)? {
        Fetch::Whole(_) => Err(ArgumentOmission::WholeValue(Tool::Bpftrace)),
        Fetch::Number { kind: NumberKind::Float, .. } => Err(ArgumentOmission::Float(Tool::Bpftrace)),
        Fetch::Number { kind: NumberKind::Unicode, .. } if letter == 'c' => {
            Err(ArgumentOmission::NonAscii(Tool::Bpftrace))
        }
        Fetch::Number { at, size, kind } => {
            let alternative = if conversion.flags.alternative && matches!(letter, 'x' | 'X') { "0x" } else { "" };
            Ok(match letter {
                'd' | 'i' => (format!("{field}ld"), vec![value(syntax, at, *size, *kind)?]),
                'u' => (format!("{field}lu"), vec![arithmetic::bits(syntax, at, *size)?]),
                'o' | 'x' | 'X' => {
                    (format!("{alternative}{field}l{letter}"), vec![arithmetic::bits(syntax, at, *size)?])
                }
                'c' => (format!("{field}c"), vec![arithmetic::bits(syntax, at, 1.min(*size))?]),
                'p' => (format!("{field}p"), vec![arithmetic::bits(syntax, at, *size)?]),
                _ => return Err(ArgumentOmission::NoConversion(Tool::Bpftrace, letter)),
            })
        }
        Fetch::Pointed(at) => Ok((format!("{field}s"), vec![text(syntax, &arithmetic::bits(syntax, at, 8)?, wanted)?])),
        Fetch::Array(address) => {
            Ok((format!("{field}s"), vec![text(syntax, &arithmetic::expr(syntax, address)?, wanted)?]))
        }
        Fetch::Text { data, offset, length } => {
            let data = arithmetic::plus(syntax, arithmetic::bits(syntax, data, 8)?, *offset);
            let length = arithmetic::bits(syntax, length, 8)?;
            let length = match most(syntax, wanted, LONGEST)? {
                // `printf` cuts the text.
                Some(most) if !is_digits(&most) => smaller(&most, &length),
                _ => length,
            };
            // 0.17 prints `length` bytes (measured). Later versions count a NUL too and print one byte less.
            Ok((format!("{field}s"), vec![format!("str({data}, {length})")]))
        }
    }
}

/// More than `str` reads (`BPFTRACE_STRLEN`).
const LONGEST: &str = "4096";

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text at an address up to its NUL, or to its precision.
fn text(syntax: &BpftraceSyntax, address: &str, wanted: &PlannedArgument<'_>) -> Result<String, ArgumentOmission> {
    Ok(match most(syntax, wanted, LONGEST)? {
        Some(most) => format!("str({address}, {most})"),
        None => format!("str({address})"),
    })
}

fn value(
    syntax: &BpftraceSyntax,
    at: &super::fetch::Operand,
    size: u8,
    kind: NumberKind,
) -> Result<String, ArgumentOmission> {
    match kind {
        NumberKind::Signed => arithmetic::signed(syntax, at, size),
        _ => arithmetic::bits(syntax, at, size),
    }
}

struct BpftraceSyntax {
    here: Vaddr,
    processor: Processor,
}

impl Syntax for BpftraceSyntax {
    fn register(&self, register: Register) -> Result<String, ArgumentOmission> {
        Ok(format!("reg(\"{}\")", processor::register(Tool::Bpftrace, register, self.processor)?))
    }

    fn memory(&self, address: &str, size: u8) -> String {
        format!("*(uint{} *)({address})", u32::from(size) * 8)
    }

    fn here(&self) -> Vaddr {
        self.here
    }

    fn instruction_pointer(&self) -> Result<String, ArgumentOmission> {
        Ok(format!("reg(\"{}\")", processor::instruction_pointer(Tool::Bpftrace, self.processor)?))
    }
}
