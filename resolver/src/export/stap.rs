//! A script for SystemTap (stap(1), stapprobes(3stap)), which needs no debug information: registers and memory are read by number.

use std::fmt::Write as _;

use super::Writer;
use super::arithmetic::{self, Words};
use super::fetch::{Fetch, Kind};
use super::format::{Call, field, fill};
use super::plan::{Planned, Point, Wanted};
use crate::address::Vaddr;
use crate::location::{Processor, Register};
use crate::record::printf::Conversion;

const MARK: &str = "#";

pub(super) fn write(writer: &mut Writer<'_>, planned: &[Planned<'_>]) -> Result<(), String> {
    // What SystemTap takes for a pattern, or for what a string cannot hold.
    let is_bad = |character: char| character.is_control() || "*?[]{}\"\\".contains(character);
    if !writer.path.starts_with('/') || writer.path.contains(is_bad) {
        return Err("SystemTap takes paths with any of `*?[]{}\"\\` for patterns: make a link to the file".to_owned());
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
        let probe = format!("probe process(\"{}\").statement({}) {{ {line} }}", writer.path, point.address);
        writer.line(&probe);
        Ok(())
    });
    Ok(())
}

fn printed(writer: &mut Writer<'_>, point: &Point<'_>) -> Result<String, String> {
    let speaker = Speaker { here: point.address };
    let mut call = Call::default();
    fill(writer, MARK, point, &mut call, escape, |call, conversion, wanted| {
        let (conversion, value) = express(&speaker, conversion, wanted)?;
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
            // Three digits: what follows is no digit of it.
            '\0'..='\x1f' | '\x7f' => {
                let _ = write!(call.format, "\\{:03o}", u32::from(character));
            }
            _ => call.format.push(character),
        }
    }
}

fn express(speaker: &Speaker, conversion: &Conversion, wanted: &Wanted<'_>) -> Result<(String, String), String> {
    let field = field(conversion, "-+ #0");
    let letter = conversion.specifier.letter();
    match wanted.fetch.as_ref().map_err(Clone::clone)? {
        Fetch::Number { kind: Kind::Float, .. } => Err("SystemTap reads no floating-point numbers".to_owned()),
        Fetch::Number { kind: Kind::Unicode, .. } if letter == 'c' => {
            Err("SystemTap prints no characters beyond ASCII".to_owned())
        }
        Fetch::Number { at, size, kind: Kind::Signed } if matches!(letter, 'd' | 'i') => {
            Ok((format!("{field}d"), arithmetic::signed(speaker, at, *size)?))
        }
        Fetch::Number { at, size, .. } => {
            let letter = match letter {
                'i' => 'd',
                'd' | 'u' | 'o' | 'x' | 'X' | 'c' | 'p' => letter,
                _ => return Err(format!("SystemTap has no conversion `%{letter}` of that kind")),
            };
            let size = if letter == 'c' { 1 } else { *size };
            Ok((format!("{field}{letter}"), arithmetic::bits(speaker, at, size)?))
        }
        Fetch::Pointed(at) => Ok((format!("{field}s"), format!("user_string({})", arithmetic::bits(speaker, at, 8)?))),
        Fetch::Array(address) => {
            Ok((format!("{field}s"), format!("user_string({})", arithmetic::expr(speaker, address)?)))
        }
        Fetch::Text { data, offset, length } => {
            let data = arithmetic::plus(speaker, arithmetic::bits(speaker, data, 8)?, *offset);
            let length = arithmetic::bits(speaker, length, 8)?;
            Ok((format!("{field}s"), format!("user_string_n({data}, {length})")))
        }
    }
}

struct Speaker {
    here: Vaddr,
}

impl Words for Speaker {
    fn register(&self, register: Register) -> Result<String, String> {
        let name = register.name(Processor::X86_64);
        match register.0 {
            0..=16 => Ok(format!("u_register(\"{}\")", name.trim_start_matches('%'))),
            _ => Err(format!("it is in {name}, which SystemTap does not read")),
        }
    }

    fn memory(&self, address: &str, size: u8) -> String {
        // Those of fewer bytes come with their sign in some versions.
        match size {
            8 => format!("user_uint64({address})"),
            _ => format!("(user_uint{}({address}) & {:#x})", u32::from(size) * 8, (1u64 << (u32::from(size) * 8)) - 1),
        }
    }

    fn here(&self) -> Vaddr {
        self.here
    }

    fn instruction_pointer(&self) -> Result<String, String> {
        Ok("u_register(\"rip\")".to_owned())
    }
}
