//! A command file for gdb (GDB manual, "Dynamic Printf"): a `dprintf` in the marker's own format for each site.
//!
//! A place is a symbol and an offset, which gdb works out anew when it knows where the program was loaded; a number would stay.

use std::fmt::Write as _;

use super::Writer;
use super::arithmetic::{self, Words};
use super::fetch::{Fetch, Kind, Where};
use super::format::{Call, field, fill};
use super::plan::{Planned, Point, Wanted};
use super::symbols::FunctionNames;
use crate::address::Vaddr;
use crate::image::ImageKind;
use crate::location::{Processor, Register};
use crate::record::printf::{Conversion, Count};

const MARK: &str = "#";

/// The longest text of a known length that is printed, in bytes.
const LONGEST: u32 = 4096;

pub(super) fn write(writer: &mut Writer<'_>, planned: &[Planned<'_>], bytes: &[u8]) -> Result<(), String> {
    let names = FunctionNames::of(bytes)?;
    let is_fixed = writer.image.kind == ImageKind::Executable;
    let arm = writer.image.arch == "aarch64";
    writer.heading(MARK, &["gdb -x THIS PROGRAM, then `run`; for a shared object: source it when that is loaded"]);
    // It stays: gdb reads the arguments when it gets to a marker, in a frame of Rust as Rust.
    writer.line("set language c");
    writer.each(MARK, planned, &mut |writer, point| {
        let place = match is_fixed {
            true => format!("*{}", point.address),
            false => {
                let why = |why| format!("{why}, and gdb does not move a number to where the program is loaded");
                let (name, offset) = names.unique(point.address).map_err(why)?;
                format!("*((unsigned char *)&'{name}' + {offset})")
            }
        };
        printed(writer, point, &place, arm)
    });
    Ok(())
}

/// A text of a known length: its address, its length, and how much of it is printed at most.
struct Text {
    data: String,
    length: String,
    most: u32,
}

/// Stands for the length of a text in a format: control characters of a marker's own format are arguments.
const LENGTH: char = '\0';

/// What goes into the call of `printf`.
#[derive(Default)]
struct Printed {
    call: Call,
    texts: Vec<Text>,
}

fn printed(writer: &mut Writer<'_>, point: &Point<'_>, place: &str, arm: bool) -> Result<(), String> {
    let speaker = Speaker { here: point.address, arm };
    let mut printed = Printed::default();
    fill(writer, MARK, point, &mut printed, Printed::text, |printed, conversion, wanted| {
        printed.express(&speaker, conversion, wanted)
    })?;
    let call = printed.call.list();
    if printed.texts.is_empty() {
        writer.line(&format!("dprintf {place}, {call}"));
        return Ok(());
    }
    writer.line(&format!("break {place}"));
    writer.line("commands");
    writer.line("silent");
    let mut lengths = String::new();
    for (index, text) in printed.texts.iter().enumerate() {
        let Text { data, length, most } = text;
        writer.line(&format!("set $smark_length_{index} = {length}"));
        writer.line(&format!("set $smark_data_{index} = {data}"));
        writer.line(&format!("if $smark_length_{index} > {most}"));
        writer.line(&format!("set $smark_length_{index} = {most}"));
        writer.line("end");
        // An empty text of Rust is nowhere, and gdb reads before it prints nothing.
        writer.line(&format!("if $smark_length_{index} == 0"));
        writer.line(&format!("set $smark_data_{index} = (unsigned long)$sp"));
        writer.line("end");
        let _ = write!(lengths, ", $smark_length_{index}");
    }
    // gdb has no `%.*s`: the command is itself made by a format, with the lengths in it.
    let command = format!("printf {call}").replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    writer.line(&format!("eval \"{}\"{lengths}", command.replace(LENGTH, "%lu")));
    writer.line("continue");
    writer.line("end");
    Ok(())
}

impl Printed {
    fn text(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '"' => self.call.format.push_str("\\\""),
                '\\' => self.call.format.push_str("\\\\"),
                '\n' => self.call.format.push_str("\\n"),
                '\t' => self.call.format.push_str("\\t"),
                '%' => self.call.format.push_str("%%"),
                // gdb's formats have no octal escapes.
                '\0'..='\x1f' | '\x7f' => {
                    self.call.format.push_str("%c");
                    self.call.arguments.push(u32::from(character).to_string());
                }
                _ => self.call.format.push(character),
            }
        }
    }

    fn express(&mut self, speaker: &Speaker, conversion: &Conversion, wanted: &Wanted<'_>) -> Result<(), String> {
        let field = field(conversion, "-+ #0");
        let letter = conversion.specifier.letter();
        let fetch = wanted.fetch.as_ref().map_err(Clone::clone)?;
        let (conversion, argument) = match fetch {
            Fetch::Number { at, size, kind: Kind::Float } => {
                let letter = match letter {
                    'F' => 'f',
                    'a' | 'A' => return Err("gdb has no conversion `%a`".to_owned()),
                    letter => letter,
                };
                (letter.to_string(), speaker.float(at, *size)?)
            }
            Fetch::Number { kind: Kind::Unicode, .. } if letter == 'c' => {
                return Err("gdb's printf has no characters beyond ASCII".to_owned());
            }
            Fetch::Number { at, size, kind } => {
                let signed = *kind == Kind::Signed && matches!(letter, 'd' | 'i');
                let value = match signed {
                    true => format!("(long){}", arithmetic::signed(speaker, at, *size)?),
                    false => arithmetic::bits(speaker, at, if letter == 'c' { 1 } else { *size })?,
                };
                match letter {
                    'd' | 'i' => ("ld".to_owned(), value),
                    'u' | 'o' | 'x' | 'X' => (format!("l{letter}"), value),
                    'c' => ("c".to_owned(), format!("(char){value}")),
                    'p' => ("p".to_owned(), format!("(void *){value}")),
                    _ => return Err(format!("gdb has no conversion `%{letter}`")),
                }
            }
            Fetch::Pointed(at) => ("s".to_owned(), format!("(char *){}", arithmetic::bits(speaker, at, 8)?)),
            Fetch::Array(address) => ("s".to_owned(), format!("(char *){}", arithmetic::expr(speaker, address)?)),
            Fetch::Text { data, offset, length } => {
                let data = arithmetic::plus(speaker, arithmetic::bits(speaker, data, 8)?, *offset);
                let length = arithmetic::bits(speaker, length, 8)?;
                let index = self.texts.len();
                let most = match conversion.precision {
                    Some(Count::Digits(most)) => most.min(LONGEST),
                    _ => LONGEST,
                };
                self.texts.push(Text { data, length, most });
                let width = field.split('.').next().unwrap_or("%");
                let _ = write!(self.call.format, "{width}.{LENGTH}s");
                self.call.arguments.push(format!("(char *)$smark_data_{index}"));
                return Ok(());
            }
        };
        self.call.format.push_str(&field);
        self.call.format.push_str(&conversion);
        self.call.arguments.push(argument);
        Ok(())
    }
}

struct Speaker {
    here: Vaddr,
    arm: bool,
}

impl Speaker {
    fn float(&self, at: &Where, size: u8) -> Result<String, String> {
        let (name, member) = match size {
            4 => ("float", "v4_float"),
            8 => ("double", "v2_double"),
            _ => return Err(format!("a floating-point number of {size} bytes")),
        };
        match at {
            Where::Memory(address) => Ok(format!("*({name} *){}", arithmetic::expr(self, address)?)),
            Where::Register(Register(number @ 17..=32)) if !self.arm => Ok(format!("$xmm{}.{member}[0]", number - 17)),
            Where::Register(Register(number @ 64..=95)) if self.arm => {
                Ok(format!("$v{}.{}[0]", number - 64, if size == 4 { "s.f" } else { "d.f" }))
            }
            Where::Register(register) => Err(format!("it is in {}", register.name(self.processor()))),
            Where::Value(_) | Where::Constant(_) => Err("it is computed".to_owned()),
        }
    }

    fn processor(&self) -> Processor {
        if self.arm { Processor::Aarch64 } else { Processor::X86_64 }
    }
}

impl Words for Speaker {
    fn register(&self, register: Register) -> Result<String, String> {
        let name = register.name(self.processor());
        match (self.arm, register.0) {
            (false, 0..=16) => Ok(format!("(unsigned long)${}", name.trim_start_matches('%'))),
            (true, 0..=32) => Ok(format!("(unsigned long)${name}")),
            _ => Err(format!("it is in {name}, which is not exported")),
        }
    }

    fn memory(&self, address: &str, size: u8) -> String {
        let name = match size {
            1 => "char",
            2 => "short",
            4 => "int",
            _ => "long",
        };
        format!("(unsigned long)*(unsigned {name} *)({address})")
    }

    fn constant(&self, bits: u64) -> String {
        format!("{bits:#x}UL")
    }

    fn here(&self) -> Vaddr {
        self.here
    }

    fn instruction_pointer(&self) -> Result<String, String> {
        Ok("(unsigned long)$pc".to_owned())
    }
}
