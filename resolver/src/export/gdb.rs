//! A command file for gdb: a `dprintf` with the marker's own format for each site (GDB manual,
//! "Dynamic Printf").
//!
//! `loaded` says how gdb finds out where the image is loaded.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::arithmetic::{self, Syntax};
use super::fetch::{Fetch, NumberKind, Operand};
use super::format::{Call, field, fill, most, smaller};
use super::gdb_value::GdbValue;
use super::load_addresses::LoadAddresses;
use super::plan::{PlanEntry, PlannedArgument, Point, Precision, identifier};
use super::{ArgumentOmission, Breakpoint, ExportError, SiteOmission, Tool, Writer, processor};
use crate::address::Vaddr;
use crate::arch::GdbFloat;
use crate::image::{Image, ImageKind};
use crate::location::{Processor, Register};
use crate::record::printf::{Conversion, Count};

const MARK: &str = "#";

/// How much of a text with a known length is printed, in bytes.
const LONGEST: u32 = 4096;

pub(super) fn write(writer: &mut Writer<'_>, planned: &[PlanEntry<'_>], bytes: &[u8]) -> Result<(), ExportError> {
    let image = Image::parse(bytes).map_err(ExportError::Unreadable)?;
    let module = identifier(&writer.image.module, 63);
    let loaded = LoadAddresses::of(&image, &module);
    let is_library = writer.image.kind == ImageKind::Shared;
    let processor = Processor::of(writer.image.arch);
    writer.heading(MARK, &["gdb -x THIS PROGRAM, then `run`; also with a program that runs (-p PID)"]);
    // Set for good: gdb parses the arguments at each hit, in the language of the frame.
    writer.line("set language c");
    let place = format!("smark_place_{module}");
    if is_library {
        writer.line(&format!("define {place}"));
        // They do not outlive the library: where it is loaded again, they are set again.
        let of = |end: &str| format!("$smark_{end}_{module}");
        for line in [
            &format!("if !$_isvoid({})", of("first")),
            &format!("while {} <= {}", of("first"), of("last")),
            &format!("delete {}", of("first")),
            &format!("set {} += 1", of("first")),
            "end",
            "end",
        ] {
            writer.line(line);
        }
        writer.exported.place = Some(place.clone());
    }
    if let Ok(loaded) = &loaded {
        loaded.find().iter().for_each(|line| writer.line(line));
        if is_library {
            writer.line(&format!("set $smark_first_{module} = $bpnum"));
        }
    }
    let (mut switches, mut start) = (BTreeMap::new(), None);
    writer.each(MARK, planned, &mut |writer, point| {
        let loaded = loaded.as_ref().map_err(Clone::clone)?;
        printed(writer, point, &format!("*{}", loaded.reach(point.address)), processor)?;
        // In a library's script the one that waits for the library is the first.
        let before = loaded.breakpoints() + usize::from(is_library);
        let number = before + writer.exported.breakpoints.len() + 1;
        let marker = point.marker.name.clone();
        writer.exported.breakpoints.push(Breakpoint { number, marker, address: point.address });
        if let Some(switch) = point.switch {
            switches.entry(switch.address).or_insert_with(|| loaded.reach(switch.address));
            start = start.take().or_else(|| Some(loaded.reach(entry(bytes)?)));
        }
        Ok(())
    });
    let arms = !switches.is_empty();
    if is_library {
        writer.line(&format!("set $smark_last_{module} = $bpnum"));
        if arms {
            writer.line(&format!("smark_arm_{module}"));
        }
        writer.line("end");
    }
    if arms {
        let start = if is_library { None } else { Some(start) };
        arm_switches(writer, &switches.into_values().collect::<Vec<_>>(), start.as_ref().map(Option::as_deref));
    }
    if is_library {
        when_loaded(writer, &place);
    }
    Ok(())
}

/// Places the breakpoints of a library whenever it is loaded, and now if the program runs.
fn when_loaded(writer: &mut Writer<'_>, place: &str) {
    let file = writer.path.rsplit('/').next().unwrap_or_default();
    // Its link may have another version behind the name.
    let stem = file.find(".so").map_or(file, |end| &file[..end + 3]);
    let pattern: String = stem.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '.' }).collect();
    writer.line("");
    writer.comment(MARK, &format!("If the library is loaded under another name: {place} when it is"));
    let catch = format!("catch load {pattern}");
    for line in [&catch, "commands", "silent", place, "continue", "end", "if $_thread", place, "end"] {
        writer.line(line);
    }
}

/// The link-time address at which a program starts; `None` for a library.
fn entry(bytes: &[u8]) -> Option<Vaddr> {
    let entry = bytes.get(0x18..)?.first_chunk()?;
    Some(Vaddr(u64::from_le_bytes(*entry))).filter(|entry| entry.0 != 0)
}

/// Arms the switches of probes: at once if the program runs, otherwise where it starts.
///
/// `start` is where it starts, if that is known; `None` for a library, which arms them when it is placed.
fn arm_switches(writer: &mut Writer<'_>, switches: &[String], start: Option<Option<&str>>) {
    let module = identifier(&writer.image.module, 63);
    writer.line("");
    writer.comment(
        MARK,
        "Probes are asleep until their switches are armed. This is done when the program starts, or now if it runs.",
    );
    writer.comment(MARK, &format!("Before you detach: smark_disarm_{module}"));
    for (command, change) in [("arm", "+= 1"), ("disarm", "-= 1")] {
        writer.line(&format!("define smark_{command}_{module}"));
        for switch in switches {
            writer.line(&format!("set var *(unsigned short *){switch} {change}"));
        }
        writer.line("end");
    }
    let arm = format!("smark_arm_{module}");
    let Some(start) = start else { return };
    let Some(start) = start else { return writer.line(&arm) };
    for line in
        ["if $_thread", &arm, "else", &format!("break *{start}"), "commands", "silent", &arm, "continue", "end", "end"]
    {
        writer.line(line);
    }
}

/// A text with a known length: its address, its length, and how many bytes are printed at most.
struct SizedText {
    data: String,
    length: String,
    most: u32,
}

/// A placeholder for the length of a text. It cannot occur in the format, because control characters
/// become arguments.
const LENGTH: char = '\0';

/// The calls of `printf`, with the values that are printed between them, and the texts that need commands before
/// them.
#[derive(Default)]
struct PrintfCommand {
    /// The calls before the last one, each with the value that follows it.
    before: Vec<(Call, GdbValue)>,
    /// The last call.
    call: Call,
    texts: Vec<SizedText>,
}

fn printed(writer: &mut Writer<'_>, point: &Point<'_>, place: &str, processor: Processor) -> Result<(), SiteOmission> {
    let syntax = GdbSyntax { here: point.address, processor };
    let mut printed = PrintfCommand::default();
    fill(writer, MARK, point, &mut printed, PrintfCommand::text, |printed, conversion, wanted| {
        printed.express(&syntax, conversion, wanted)
    })?;
    if printed.texts.is_empty() && printed.before.is_empty() {
        writer.line(&format!("dprintf {place}, {}", printed.call.list()));
        return Ok(());
    }
    writer.line(&format!("break {place}"));
    writer.line("commands");
    writer.line("silent");
    for (index, text) in printed.texts.iter().enumerate() {
        let SizedText { data, length, most } = text;
        writer.line(&format!("set $smark_length_{index} = {length}"));
        writer.line(&format!("set $smark_data_{index} = {data}"));
        writer.line(&format!("if $smark_length_{index} > {most}"));
        writer.line(&format!("set $smark_length_{index} = {most}"));
        writer.line("end");
        // The pointer of an empty Rust text is dangling, and gdb reads it before it prints nothing.
        writer.line(&format!("if $smark_length_{index} == 0"));
        writer.line(&format!("set $smark_data_{index} = (unsigned long)$sp"));
        writer.line("end");
    }
    let mut texts = 0..;
    for (call, value) in &printed.before {
        if !call.format.is_empty() {
            writer.line(&printf(&call.unended(), &mut texts));
        }
        value.commands().iter().for_each(|line| writer.line(line));
    }
    writer.line(&printf(&printed.call.list(), &mut texts));
    writer.line("continue");
    writer.line("end");
    Ok(())
}

/// The command for a call of `printf`. `texts` numbers the texts with a length.
fn printf(call: &str, texts: &mut std::ops::RangeFrom<usize>) -> String {
    let lengths: String = call.matches(LENGTH).zip(texts).map(|(_, text)| format!(", $smark_length_{text}")).collect();
    if lengths.is_empty() {
        return format!("printf {call}");
    }
    // gdb has no `%.*s`, so `eval` formats the lengths into the command.
    let command = format!("printf {call}").replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("eval \"{}\"{lengths}", command.replace(LENGTH, "%lu"))
}

impl PrintfCommand {
    fn text(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '"' => self.call.format.push_str("\\\""),
                '\\' => self.call.format.push_str("\\\\"),
                '\n' => self.call.format.push_str("\\n"),
                '\t' => self.call.format.push_str("\\t"),
                '%' => self.call.format.push_str("%%"),
                // gdb's formats have no octal escapes. In the command of a library it would replace `$argc`.
                '\0'..='\x1f' | '\x7f' | '$' => {
                    self.call.format.push_str("%c");
                    self.call.arguments.push(u32::from(character).to_string());
                }
                _ => self.call.format.push(character),
            }
        }
    }

    fn express(
        &mut self,
        syntax: &GdbSyntax,
        conversion: &Conversion,
        wanted: &PlannedArgument<'_>,
    ) -> Result<(), ArgumentOmission> {
        let field = field(conversion, "-+ #0");
        let letter = conversion.specifier.letter();
        let fetch = wanted.fetch.as_ref().map_err(Clone::clone)?;
        let (conversion, argument) = match fetch {
            Fetch::Whole(whole) => {
                let value = GdbValue::new(syntax, whole)?;
                self.before.push((std::mem::take(&mut self.call), value));
                return Ok(());
            }
            Fetch::Number { at, size, kind: NumberKind::Float } => {
                let letter = match letter {
                    'F' => 'f',
                    'a' | 'A' => return Err(ArgumentOmission::NoConversion(Tool::Gdb, letter)),
                    letter => letter,
                };
                (letter.to_string(), syntax.float(at, *size)?)
            }
            Fetch::Number { kind: NumberKind::Unicode, .. } if letter == 'c' => {
                return Err(ArgumentOmission::NonAscii(Tool::Gdb));
            }
            Fetch::Number { at, size, kind } => {
                let signed = *kind == NumberKind::Signed && matches!(letter, 'd' | 'i');
                let value = match signed {
                    true => format!("(long){}", arithmetic::signed(syntax, at, *size)?),
                    false => arithmetic::bits(syntax, at, if letter == 'c' { 1 } else { *size })?,
                };
                match letter {
                    'd' | 'i' => ("ld".to_owned(), value),
                    'u' | 'o' | 'x' | 'X' => (format!("l{letter}"), value),
                    'c' => ("c".to_owned(), format!("(char){value}")),
                    'p' => ("p".to_owned(), format!("(void *){value}")),
                    _ => return Err(ArgumentOmission::NoConversion(Tool::Gdb, letter)),
                }
            }
            // A `*` is read before the text is printed.
            Fetch::Pointed(_) | Fetch::Array(_) | Fetch::Text { .. } if is_star(wanted) => {
                let most = most(syntax, wanted, &LONGEST.to_string())?.unwrap_or_default();
                let (data, length) = match fetch {
                    Fetch::Pointed(at) => (arithmetic::bits(syntax, at, 8)?, most),
                    Fetch::Array(address) => (arithmetic::expr(syntax, address)?, most),
                    Fetch::Text { data, offset, length } => {
                        let data = arithmetic::plus(syntax, arithmetic::bits(syntax, data, 8)?, *offset);
                        (data, smaller(&most, &arithmetic::bits(syntax, length, 8)?))
                    }
                    Fetch::Number { .. } | Fetch::Whole(_) => return Err(ArgumentOmission::NoLocation),
                };
                self.sized(&field, SizedText { data, length, most: LONGEST });
                return Ok(());
            }
            Fetch::Pointed(at) => ("s".to_owned(), format!("(char *){}", arithmetic::bits(syntax, at, 8)?)),
            Fetch::Array(address) => ("s".to_owned(), format!("(char *){}", arithmetic::expr(syntax, address)?)),
            Fetch::Text { data, offset, length } => {
                let data = arithmetic::plus(syntax, arithmetic::bits(syntax, data, 8)?, *offset);
                let length = arithmetic::bits(syntax, length, 8)?;
                let most = match conversion.precision {
                    Some(Count::Digits(most)) => most.min(LONGEST),
                    _ => LONGEST,
                };
                self.sized(&field, SizedText { data, length, most });
                return Ok(());
            }
        };
        self.call.format.push_str(&field);
        self.call.format.push_str(&conversion);
        self.call.arguments.push(argument);
        Ok(())
    }

    /// Adds a text with a length.
    fn sized(&mut self, field: &str, text: SizedText) {
        let width = field.split('.').next().unwrap_or("%");
        let _ = write!(self.call.format, "{width}.{LENGTH}s");
        self.call.arguments.push(format!("(char *)$smark_data_{}", self.texts.len()));
        self.texts.push(text);
    }
}

/// Whether the precision of a text is an argument.
fn is_star(wanted: &PlannedArgument<'_>) -> bool {
    matches!(wanted.precision, Some(Precision::Argument { .. }))
}

struct GdbSyntax {
    here: Vaddr,
    processor: Processor,
}

impl GdbSyntax {
    fn float(&self, at: &Operand, size: u8) -> Result<String, ArgumentOmission> {
        let name = match size {
            4 => "float",
            8 => "double",
            _ => return Err(ArgumentOmission::FloatSize(size)),
        };
        match at {
            Operand::Memory(address) => Ok(format!("*({name} *){}", arithmetic::expr(self, address)?)),
            Operand::Register(register) => {
                let in_register = ArgumentOmission::FloatInRegister(*register, self.processor);
                let set = self.processor.set().ok_or(in_register.clone())?;
                match set.gdb_float(register.0, size) {
                    Some(float) => Ok(float),
                    None => self.float_of_bits(at, size).map_err(|_| in_register),
                }
            }
            Operand::Value(_) | Operand::Constant(_) => self.float_of_bits(at, size),
        }
    }

    /// A float from its bits. gdb has no expression for that, but a variable of its own that has the
    /// type of a vector register has the same bits as an integer and as a float.
    fn float_of_bits(&self, at: &Operand, size: u8) -> Result<String, ArgumentOmission> {
        let registers = self.processor.set().and_then(|set| set.gdb_float_bits(size));
        let GdbFloat { register, integer, float } = registers.ok_or(ArgumentOmission::Float(Tool::Gdb))?;
        let bits = arithmetic::bits(self, at, size)?;
        Ok(format!("($smark_float = {register}, $smark_float.{integer} = {bits}, $smark_float.{float})"))
    }
}

impl Syntax for GdbSyntax {
    fn register(&self, register: Register) -> Result<String, ArgumentOmission> {
        Ok(format!("(unsigned long){}", processor::register(Tool::Gdb, register, self.processor)?))
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

    fn instruction_pointer(&self) -> Result<String, ArgumentOmission> {
        Ok("(unsigned long)$pc".to_owned())
    }
}
