//! A script for SystemTap (stap(1), stapprobes(3stap)). It reads registers and memory directly, so it
//! needs no debug information.

use std::fmt::Write as _;

use super::arithmetic::{self, Syntax};
use super::fetch::{Fetch, NumberKind};
use super::format::{Call, field, fill, most, smaller};
use super::plan::{PlanEntry, PlannedArgument, Point};
use super::{ArgumentOmission, ExportError, SiteOmission, Tool, Writer, processor};
use crate::address::Vaddr;
use crate::english;
use crate::location::{Processor, Register};
use crate::record::printf::Conversion;

const MARK: &str = "#";

pub(super) fn write(writer: &mut Writer<'_>, planned: &[PlanEntry<'_>]) -> Result<(), ExportError> {
    // SystemTap takes these as patterns, or cannot write them in a string.
    let is_bad = |character: char| character.is_control() || "*?[]{}\"\\".contains(character);
    if !writer.path.starts_with('/') || writer.path.contains(is_bad) {
        return Err(ExportError::Path(Tool::SystemTap));
    }
    writer.heading(
        MARK,
        &[
            "As root: stap -g THIS (-g, for without it SystemTap refuses addresses that the line table has no row for). It finds addresses by",
            ".debug_aranges, which rustc and clang do not write: there use `smark export --to sdt` and process(\"COPY\").mark(\"NAME\").",
        ],
    );
    writer.each(MARK, planned, &mut |writer, point| {
        let line = printed(writer, point)?;
        if point.switch.is_some() {
            writer.comment(MARK, english::export::asleep(Tool::SystemTap, point.marker.is_note));
        }
        let probe = format!("probe process(\"{}\").statement({}) {{ {line} }}", writer.path, point.address);
        writer.line(&probe);
        Ok(())
    });
    Ok(())
}

fn printed(writer: &mut Writer<'_>, point: &Point<'_>) -> Result<String, SiteOmission> {
    let syntax = StapSyntax { here: point.address, processor: Processor::of(writer.image.arch) };
    let mut call = Call::default();
    fill(writer, MARK, point, &mut call, escape, |call, conversion, wanted| {
        let (conversion, value) = express(&syntax, conversion, wanted)?;
        call.format.push_str(&conversion);
        call.arguments.push(value);
        Ok(())
    })?;
    Ok(format!("printf({})", call.list()))
}

fn escape(call: &mut Call, text: &str) {
    for character in text.chars() {
        match character {
            '"' => call.format.push_str("\\\""),
            '\\' => call.format.push_str("\\\\"),
            '\n' => call.format.push_str("\\n"),
            '\t' => call.format.push_str("\\t"),
            '%' => call.format.push_str("%%"),
            // Always three digits, so that a digit after it is not part of it.
            '\0'..='\x1f' | '\x7f' => {
                let _ = write!(call.format, "\\{:03o}", u32::from(character));
            }
            _ => call.format.push(character),
        }
    }
}

fn express(
    syntax: &StapSyntax,
    conversion: &Conversion,
    wanted: &PlannedArgument<'_>,
) -> Result<(String, String), ArgumentOmission> {
    let field = field(conversion, "-+ #0");
    let letter = conversion.specifier.letter();
    match wanted.fetch.as_ref().map_err(Clone::clone)? {
        Fetch::Whole(_) => Err(ArgumentOmission::WholeValue(Tool::SystemTap)),
        Fetch::Number { kind: NumberKind::Float, .. } => Err(ArgumentOmission::Float(Tool::SystemTap)),
        Fetch::Number { kind: NumberKind::Unicode, .. } if letter == 'c' => {
            Err(ArgumentOmission::NonAscii(Tool::SystemTap))
        }
        Fetch::Number { at, size, kind: NumberKind::Signed } if matches!(letter, 'd' | 'i') => {
            Ok((format!("{field}d"), arithmetic::signed(syntax, at, *size)?))
        }
        Fetch::Number { at, size, .. } => {
            let letter = match letter {
                'i' => 'd',
                'd' | 'u' | 'o' | 'x' | 'X' | 'c' | 'p' => letter,
                _ => return Err(ArgumentOmission::NoConversion(Tool::SystemTap, letter)),
            };
            let size = if letter == 'c' { 1 } else { *size };
            Ok((format!("{field}{letter}"), arithmetic::bits(syntax, at, size)?))
        }
        Fetch::Pointed(at) => Ok((format!("{field}s"), text(syntax, &arithmetic::bits(syntax, at, 8)?, wanted)?)),
        Fetch::Array(address) => Ok((format!("{field}s"), text(syntax, &arithmetic::expr(syntax, address)?, wanted)?)),
        Fetch::Text { data, offset, length } => {
            let data = arithmetic::plus(syntax, arithmetic::bits(syntax, data, 8)?, *offset);
            let length = arithmetic::bits(syntax, length, 8)?;
            let length = match most(syntax, wanted, LONGEST)? {
                Some(most) => smaller(&most, &length),
                None => length,
            };
            Ok((format!("{field}s"), format!("user_string_n({data}, {length})")))
        }
    }
}

/// More than a string has (`MAXSTRINGLEN`).
const LONGEST: &str = "65536";

/// The text at an address up to its NUL, or to its precision.
fn text(syntax: &StapSyntax, address: &str, wanted: &PlannedArgument<'_>) -> Result<String, ArgumentOmission> {
    Ok(match most(syntax, wanted, LONGEST)? {
        Some(most) => format!("user_string_n({address}, {most})"),
        None => format!("user_string({address})"),
    })
}

struct StapSyntax {
    here: Vaddr,
    processor: Processor,
}

impl Syntax for StapSyntax {
    fn register(&self, register: Register) -> Result<String, ArgumentOmission> {
        Ok(format!("u_register(\"{}\")", processor::register(Tool::SystemTap, register, self.processor)?))
    }

    fn memory(&self, address: &str, size: u8) -> String {
        // Some versions sign-extend values of fewer than 8 bytes.
        match size {
            8 => format!("user_uint64({address})"),
            _ => format!("(user_uint{}({address}) & {:#x})", u32::from(size) * 8, (1u64 << (u32::from(size) * 8)) - 1),
        }
    }

    fn here(&self) -> Vaddr {
        self.here
    }

    fn instruction_pointer(&self) -> Result<String, ArgumentOmission> {
        Ok(format!("u_register(\"{}\")", processor::instruction_pointer(Tool::SystemTap, self.processor)?))
    }
}
