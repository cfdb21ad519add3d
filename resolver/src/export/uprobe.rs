//! Lines for the kernel's `uprobe_events` (Documentation/trace/uprobetracer.rst). All versions since
//! 4.20 accept them, also with the offset of a switch, which the kernel arms while the event is enabled.

use std::collections::HashSet;

use super::fetch::{Fetch, NumberKind, Operand, unconverted};
use super::plan::{PlanEntry, Point, identifier, numbered};
use super::{ArgumentOmission, ExportError, Tool, Writer, processor};
use crate::address::Vaddr;
use crate::english;
use crate::location::{Binary, Expr, Node, Processor, Register, Value, ValueType};
use simple_markers_record::integer;

const MARK: &str = "#";

/// The limits of the kernel: the name of an argument (`MAX_ARG_NAME_LEN` is 32), the text after its
/// `=` (`MAX_ARGSTR_LEN`), the number of arguments (`MAX_TRACE_ARGS`), a line (`WRITE_BUFSIZE` is
/// 4096), and reads through pointers (16 steps in all).
const ARGUMENT_NAME: usize = 31;
const ARGUMENT: usize = 63;
const ARGUMENTS: usize = 128;
const LINE: usize = 3900;
const READS: u32 = 8;

/// Field names that the kernel gives to every event.
const RESERVED: [&str; 9] = [
    "common_type",
    "common_flags",
    "common_preempt_count",
    "common_pid",
    "common_tgid",
    "__probe_ip",
    "__probe_ret_ip",
    "__probe_func",
    "__probe_nargs",
];

pub(super) fn write(writer: &mut Writer<'_>, planned: &[PlanEntry<'_>]) -> Result<(), ExportError> {
    check_path(writer.path)?;
    writer.heading(MARK, &["As root: cat THIS >> /sys/kernel/tracing/uprobe_events"]);
    let processor = Processor::of(writer.image.arch);
    writer.each(MARK, planned, &mut |writer, point| {
        let (definition, left_out) = definition(point, writer.path, processor);
        for (argument, why) in left_out {
            writer.without(MARK, &argument, &why);
        }
        say_whole_texts(writer, MARK, point);
        writer.line(&definition);
        Ok(())
    });
    Ok(())
}

/// Comments on the texts whose conversion has a precision: the kernel reads them up to their NUL.
pub(super) fn say_whole_texts(writer: &mut Writer<'_>, mark: &str, point: &Point<'_>) {
    for wanted in point.wanted().iter().filter(|wanted| wanted.precision.is_some()) {
        let text = &wanted.argument.text;
        match wanted.fetch {
            Ok(Fetch::Pointed(_) | Fetch::Array(_)) => writer.comment(mark, &english::export::whole_text(text)),
            Ok(Fetch::Text { .. }) => writer.comment(mark, &english::export::whole_length(text)),
            Ok(Fetch::Number { .. } | Fetch::Whole(_)) | Err(_) => {}
        }
    }
}

/// The fetch argument for memory at an address, without its type; `here` is the address of the probe.
///
/// # Errors
///
/// The kernel cannot compute the address.
pub fn memory(address: &Expr, here: Vaddr, processor: Processor) -> Result<String, ArgumentOmission> {
    let (text, _) = FetchSyntax { here, processor }.memory(address)?;
    match text.len() <= ARGUMENT {
        true => Ok(text),
        false => Err(ArgumentOmission::LongDefinition { definition: text, limit: ARGUMENT }),
    }
}

/// The fetch argument for a register, without its type.
///
/// # Errors
///
/// The kernel does not hand it out.
pub fn register(register: Register, processor: Processor) -> Result<String, ArgumentOmission> {
    processor::register(Tool::Kernel, register, processor)
}

/// Fails if a path cannot stand in `uprobe_events`, which cuts lines at white space, `:` and `#`.
///
/// # Errors
///
/// It cannot.
pub fn check_path(path: &str) -> Result<(), ExportError> {
    let is_bad =
        |character: char| character.is_whitespace() || character.is_control() || matches!(character, ':' | '#' | '(');
    match path.starts_with('/') && !path.contains(is_bad) {
        true => Ok(()),
        false => Err(ExportError::Path(Tool::Kernel)),
    }
}

/// The line of a site, and the arguments that are left out.
pub(super) fn definition(
    point: &Point<'_>,
    path: &str,
    processor: Processor,
) -> (String, Vec<(String, ArgumentOmission)>) {
    let mut line = format!("p:{}/{} {path}:{}", point.group, point.event, point.offset);
    if let Some(switch) = point.switch {
        line.push_str(&format!("({})", switch.offset));
    }
    let (arguments, left_out) = arguments(point, processor, LINE.saturating_sub(line.len()));
    for argument in arguments {
        line.push(' ');
        line.push_str(&argument);
    }
    (line, left_out)
}

/// The arguments of a site as `name=FETCH` in at most `room` bytes, and those that are left out.
pub(super) fn arguments(
    point: &Point<'_>,
    processor: Processor,
    room: usize,
) -> (Vec<String>, Vec<(String, ArgumentOmission)>) {
    let (mut arguments, mut left_out) = (Vec::new(), Vec::new());
    let mut taken: HashSet<String> = RESERVED.iter().map(|name| (*name).to_owned()).collect();
    let mut size = 0usize;
    for wanted in point.wanted() {
        let text = wanted.argument.text.to_string();
        let expressed = wanted.fetch.and_then(|fetch| express(&fetch, wanted.letter, point.address, processor));
        let fetches = match expressed {
            Ok(fetches) => fetches,
            Err(why) => {
                left_out.push((text, why));
                continue;
            }
        };
        if let Some((_, what)) = fetches.iter().find(|(_, what)| what.len() > ARGUMENT) {
            let definition = what.clone();
            left_out.push((text, ArgumentOmission::LongDefinition { definition, limit: ARGUMENT }));
            continue;
        }
        let length: usize = fetches.iter().map(|(_, what)| what.len() + ARGUMENT_NAME + 2).sum();
        if arguments.len() + fetches.len() > ARGUMENTS || size + length > room {
            left_out.push((text, ArgumentOmission::TooManyArguments));
            continue;
        }
        size += length;
        for (suffix, what) in fetches {
            let plain = identifier(&format!("{text}{suffix}"), ARGUMENT_NAME);
            let mut name = plain.clone();
            let mut number = 2;
            while !taken.insert(name.clone()) {
                name = numbered(&plain, number, ARGUMENT_NAME);
                number += 1;
            }
            arguments.push(format!("{name}={what}"));
        }
    }
    (arguments, left_out)
}

/// The fetch arguments for one argument, each with a suffix for its name.
fn express(
    fetch: &Fetch,
    letter: char,
    here: Vaddr,
    processor: Processor,
) -> Result<Vec<(&'static str, String)>, ArgumentOmission> {
    let syntax = FetchSyntax { here, processor };
    match fetch {
        Fetch::Whole(_) => Err(ArgumentOmission::WholeValue(Tool::Kernel)),
        Fetch::Number { kind: NumberKind::Float, .. } => Err(ArgumentOmission::Float(Tool::Kernel)),
        Fetch::Number { at, size, kind } => Ok(vec![("", syntax.number(at, *size, *kind, letter)?)]),
        Fetch::Pointed(at) => Ok(vec![("", format!("{}:string", within(1, 0, syntax.pointer(at)?)?.0))]),
        Fetch::Array(address) => Ok(vec![("", format!("{}:string", syntax.memory(address)?.0))]),
        // A text without a NUL: its address and its length.
        Fetch::Text { data, offset, length } => {
            if *offset != 0 {
                return Err(ArgumentOmission::TextAtOffset);
            }
            let data = format!("{}:x64", syntax.pointer(data)?.0);
            Ok(vec![("", data), ("_len", format!("{}:u64", syntax.pointer(length)?.0))])
        }
    }
}

/// The text for a value, and how many reads of memory it takes.
type FetchText = (String, u32);

struct FetchSyntax {
    here: Vaddr,
    processor: Processor,
}

/// The text of a read at an offset from the address `text`.
fn within(reads: u32, offset: i64, (text, inner): FetchText) -> Result<FetchText, ArgumentOmission> {
    let reads = inner + reads;
    if reads > READS {
        return Err(ArgumentOmission::TooManyReads(READS));
    }
    // The kernel parses the offset as a `long` with a sign.
    let sign = if offset < 0 { '-' } else { '+' };
    Ok((format!("{sign}{}({text})", offset.unsigned_abs()), reads))
}

impl FetchSyntax {
    fn number(&self, at: &Operand, size: u8, kind: NumberKind, letter: char) -> Result<String, ArgumentOmission> {
        let bits = u32::from(size) * 8;
        let of = match (kind, letter) {
            (NumberKind::Pointer, _) | (_, 'x' | 'X' | 'p') => 'x',
            (NumberKind::Signed, _) => 's',
            _ => 'u',
        };
        let text = match at {
            Operand::Register(register) => self.register(*register)?,
            Operand::Memory(address) => self.memory(address)?.0,
            Operand::Constant(bits) => format!("\\{}", self.constant(*bits, size, kind)),
            Operand::Value(value) => {
                if let Some((source, mask, shift)) = bit_field(value, u64::MAX, 0) {
                    // The kernel's bit-fields are unsigned.
                    let count = mask.trailing_ones();
                    let container = u32::from(container(source).ok_or(ArgumentOmission::Computed(Tool::Kernel))?) * 8;
                    if count > 0 && count < 64 && mask >> count == 0 && shift + u64::from(count) <= container.into() {
                        return Ok(format!("{}:b{count}@{shift}/{container}", self.value(source, 1)?.0));
                    }
                }
                self.value(value, size)?.0
            }
        };
        Ok(format!("{text}:{of}{bits}"))
    }

    /// A constant as the kernel reads it: signed decimal or hexadecimal.
    fn constant(&self, bits: u64, size: u8, kind: NumberKind) -> String {
        match kind {
            NumberKind::Signed => integer::signed(bits, size).to_string(),
            _ => format!("{:#x}", integer::unsigned(bits, size)),
        }
    }

    /// A value of 8 bytes.
    fn pointer(&self, at: &Operand) -> Result<FetchText, ArgumentOmission> {
        match at {
            Operand::Register(register) => Ok((self.register(*register)?, 0)),
            Operand::Memory(address) => self.memory(address),
            Operand::Constant(bits) => Ok((format!("\\{bits:#x}"), 0)),
            Operand::Value(value) => self.value(value, 8),
        }
    }

    /// The memory at an address.
    fn memory(&self, address: &Expr) -> Result<FetchText, ArgumentOmission> {
        let (base, offset) = sum(address);
        match base.node() {
            Node::Address(target) => {
                let away = target.0.wrapping_add_signed(offset).wrapping_sub(self.here.0) as i64;
                let pointer = processor::instruction_pointer(Tool::Kernel, self.processor)?;
                within(1, away, (pointer.to_owned(), 0))
            }
            _ => within(1, offset, self.value(base, 8)?),
        }
    }

    /// The low `size` bytes of a computation.
    fn value(&self, value: &Expr, size: u8) -> Result<FetchText, ArgumentOmission> {
        match unconverted(value, size).node() {
            Node::Register(register, of) if of.size(8) >= size => Ok((self.register(*register)?, 0)),
            // The last read has the size of the type, all others read 8 bytes.
            Node::Memory { address, size: read, .. } if *read >= size => self.memory(address),
            Node::Address(_) => Err(ArgumentOmission::Address),
            Node::ThreadLocal(_) => Err(ArgumentOmission::ThreadLocal),
            _ => Err(ArgumentOmission::Computed(Tool::Kernel)),
        }
    }

    fn register(&self, register: Register) -> Result<String, ArgumentOmission> {
        processor::register(Tool::Kernel, register, self.processor)
    }
}

/// The base and the constant offset of an address.
pub(super) fn sum(expr: &Expr) -> (&Expr, i64) {
    if let Node::Binary(Binary::Plus, base, offset) = expr.node() {
        if let Node::Constant(Value { of: ValueType::Generic, bits }) = offset.node() {
            return (base, *bits as i64);
        }
    }
    (expr, 0)
}

/// A value that is shifted right and masked: the inner value, the mask and the shift; `None` if the
/// computation is anything else.
fn bit_field(value: &Expr, mask: u64, shift: u64) -> Option<(&Expr, u64, u64)> {
    let mut state = (value, mask, shift);
    // Deeper nesting does not occur in what builds computations.
    for _ in 0..8 {
        let (value, mask, shift) = state;
        let (operation, inner, number) = match value.node() {
            Node::Binary(operation, inner, number) => (operation, inner, number),
            Node::Convert(to, inner) | Node::Reinterpret(to, inner)
                if is_unsigned(*to) && is_unsigned(inner.value_type()) && shift == 0 =>
            {
                let kept = u64::MAX >> (64 - u32::from(to.size(8)) * 8);
                state = (inner, mask & kept, 0);
                continue;
            }
            _ => break,
        };
        let Node::Constant(Value { bits, .. }) = number.node() else { return None };
        state = match operation {
            Binary::And if shift < 64 => (inner, mask & (bits >> shift), shift),
            // The mask counts from the first bit that remains after the shift.
            Binary::Shr if *bits < 64 && is_unsigned(value.value_type()) => {
                let cut = u32::try_from(*bits).ok()?;
                (inner, mask & (u64::MAX >> cut), shift.checked_add(*bits)?)
            }
            _ => return None,
        };
    }
    (state.1 != mask || state.2 != shift).then_some(state)
}

fn is_unsigned(of: ValueType) -> bool {
    matches!(of, ValueType::Generic | ValueType::Unsigned(_))
}

/// The size in bytes of the value that holds a bit-field. Images are little-endian, and the kernel
/// reads the low bytes of a register.
fn container(source: &Expr) -> Option<u8> {
    match source.node() {
        Node::Memory { size: size @ (1 | 2 | 4 | 8), .. } => Some(*size),
        Node::Register(..) => Some(8),
        _ => None,
    }
}
