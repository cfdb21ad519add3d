//! A program for bpftrace (bpftrace(8)), in what version 0.17 and later have.

use super::Writer;
use super::arithmetic::{self, Words};
use super::fetch::{Fetch, Kind};
use super::format::{Call, field, fill};
use super::plan::{Planned, Point, Wanted};
use super::symbols::FunctionNames;
use crate::address::Vaddr;
use crate::location::{Processor, Register};
use crate::record::printf::Conversion;

const MARK: &str = "//";

pub(super) fn write(writer: &mut Writer<'_>, planned: &[Planned<'_>], bytes: &[u8]) -> Result<(), String> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '/' | '.' | '_' | '-');
    if !writer.path.starts_with('/') || !writer.path.chars().all(is_plain) {
        return Err(
            "bpftrace takes no path with anything but letters, digits, `/`, `.`, `_` and `-`: make a link to the file"
                .to_owned(),
        );
    }
    let names = FunctionNames::of(bytes)?;
    writer.heading(
        MARK,
        &[
            "As root: bpftrace THIS. Versions built without a disassembler (Debian 12) refuse a uprobe inside a function of a file that",
            "has symbols: there use `smark export --to sdt` and usdt probes, or a stripped copy and --unsafe.",
        ],
    );
    writer.each(MARK, planned, &mut |writer, point| {
        // bpftrace takes the number for an offset in the file where no symbol is there, or it did in some versions.
        if !names.holds(point.address) && point.address.0 != point.offset.0 {
            return Err("no symbol holds it, and bpftrace takes its address for an offset in the file".to_owned());
        }
        let line = printed(writer, point)?;
        let probe = format!("uprobe:{}:{} {{ {line}; }}", writer.path, point.address);
        writer.line(&probe);
        Ok(())
    });
    Ok(())
}

/// The call of `printf`.
fn printed(writer: &mut Writer<'_>, point: &Point<'_>) -> Result<String, String> {
    let speaker = Speaker { here: point.address };
    let mut call = Call::default();
    fill(writer, MARK, point, &mut call, escape, |call, conversion, wanted| {
        let (conversion, values) = express(&speaker, conversion, wanted)?;
        call.format.push_str(&conversion);
        call.arguments.extend(values);
        Ok(())
    })?;
    Ok(format!("printf({})", call.list()))
}

/// Text of a format: bpftrace prints the last `%%` of a format as it stands, so that a `%` is an argument; so is what it has no escape for.
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
fn express(speaker: &Speaker, conversion: &Conversion, wanted: &Wanted<'_>) -> Result<(String, Vec<String>), String> {
    let field = field(conversion, "-0");
    let letter = conversion.specifier.letter();
    match wanted.fetch.as_ref().map_err(Clone::clone)? {
        Fetch::Number { kind: Kind::Float, .. } => Err("bpftrace has no floating-point numbers".to_owned()),
        Fetch::Number { kind: Kind::Unicode, .. } if letter == 'c' => {
            Err("bpftrace prints no characters beyond ASCII".to_owned())
        }
        Fetch::Number { at, size, kind } => {
            let alternative = if conversion.flags.alternative && matches!(letter, 'x' | 'X') { "0x" } else { "" };
            Ok(match letter {
                'd' | 'i' => (format!("{field}ld"), vec![value(speaker, at, *size, *kind)?]),
                'u' => (format!("{field}lu"), vec![arithmetic::bits(speaker, at, *size)?]),
                'o' | 'x' | 'X' => {
                    (format!("{alternative}{field}l{letter}"), vec![arithmetic::bits(speaker, at, *size)?])
                }
                'c' => (format!("{field}c"), vec![arithmetic::bits(speaker, at, 1.min(*size))?]),
                'p' => (format!("{field}p"), vec![arithmetic::bits(speaker, at, *size)?]),
                _ => return Err(format!("bpftrace has no conversion `%{letter}`")),
            })
        }
        Fetch::Pointed(at) => Ok((format!("{field}s"), vec![format!("str({})", arithmetic::bits(speaker, at, 8)?)])),
        Fetch::Array(address) => {
            Ok((format!("{field}s"), vec![format!("str({})", arithmetic::expr(speaker, address)?)]))
        }
        Fetch::Text { data, offset, length } => {
            let data = arithmetic::plus(speaker, arithmetic::bits(speaker, data, 8)?, *offset);
            let length = arithmetic::bits(speaker, length, 8)?;
            // So many bytes, measured with 0.17. Later versions count the NUL behind them as well: a byte less, never one of something else.
            Ok((format!("{field}s"), vec![format!("str({data}, {length})")]))
        }
    }
}

fn value(speaker: &Speaker, at: &super::fetch::Where, size: u8, kind: Kind) -> Result<String, String> {
    match kind {
        Kind::Signed => arithmetic::signed(speaker, at, size),
        _ => arithmetic::bits(speaker, at, size),
    }
}

struct Speaker {
    here: Vaddr,
}

impl Words for Speaker {
    fn register(&self, register: Register) -> Result<String, String> {
        let name = register.name(Processor::X86_64);
        match register.0 {
            0..=7 => Ok(format!("reg(\"{}\")", name.trim_start_matches("%r"))),
            8..=15 => Ok(format!("reg(\"{}\")", name.trim_start_matches('%'))),
            16 => self.instruction_pointer(),
            _ => Err(format!("it is in {name}, which bpftrace does not read")),
        }
    }

    fn memory(&self, address: &str, size: u8) -> String {
        format!("*(uint{} *)({address})", u32::from(size) * 8)
    }

    fn here(&self) -> Vaddr {
        self.here
    }

    fn instruction_pointer(&self) -> Result<String, String> {
        Ok("reg(\"ip\")".to_owned())
    }
}
