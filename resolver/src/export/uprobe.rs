//! Lines for the kernel's `uprobe_events` (Documentation/trace/uprobetracer.rst), within what all versions since 4.20 take.

use std::collections::HashSet;

use super::fetch::{Fetch, Kind, Where, unconverted};
use super::plan::{Planned, Point, identifier, numbered};
use super::{Writer, perf};
use crate::address::Vaddr;
use crate::location::{Binary, Expr, Node, Register, Value, ValueType};

const MARK: &str = "#";

/// The longest name of an argument (`MAX_ARG_NAME_LEN` is 32), the longest text behind its `=` (`MAX_ARGSTR_LEN`), the most arguments
/// (`MAX_TRACE_ARGS`), the longest line (below `WRITE_BUFSIZE`, 4096), and the most reads through pointers (16 steps in all).
const ARGUMENT_NAME: usize = 31;
const ARGUMENT: usize = 63;
const ARGUMENTS: usize = 128;
const LINE: usize = 3900;
const READS: u32 = 8;

/// What the kernel calls fields of every event.
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

pub(super) fn write(writer: &mut Writer<'_>, planned: &[Planned<'_>]) -> Result<(), String> {
    check_path(writer.path)?;
    writer.heading(MARK, &["As root: cat THIS >> /sys/kernel/tracing/uprobe_events"]);
    let aarch64 = writer.image.arch == "aarch64";
    writer.each(MARK, planned, &mut |writer, point| {
        let (definition, left_out) = definition(point, writer.path, aarch64);
        for (argument, why) in left_out {
            writer.without(MARK, &argument, &why);
        }
        writer.line(&definition);
        Ok(())
    });
    Ok(())
}

/// Paths that a line of `uprobe_events` can hold: it is cut at white space, `:` and `#`.
fn check_path(path: &str) -> Result<(), String> {
    let is_bad =
        |character: char| character.is_whitespace() || character.is_control() || matches!(character, ':' | '#' | '(');
    match path.starts_with('/') && !path.contains(is_bad) {
        true => Ok(()),
        false => {
            Err("uprobe_events takes no path with white space, `:`, `(` or `#`: make a link to the file, or copy it"
                .to_owned())
        }
    }
}

/// The line of a site, and the arguments that it leaves out, with the reason.
fn definition(point: &Point<'_>, path: &str, aarch64: bool) -> (String, Vec<(String, String)>) {
    let mut line = format!("p:{}/{} {path}:{}", point.group, point.event, point.offset);
    let (arguments, left_out) = arguments(point, aarch64, LINE.saturating_sub(line.len()));
    for argument in arguments {
        line.push(' ');
        line.push_str(&argument);
    }
    (line, left_out)
}

/// The arguments of a site as `name=WHAT`, in no more than so many bytes, and those left out.
pub(super) fn arguments(point: &Point<'_>, aarch64: bool, room: usize) -> (Vec<String>, Vec<(String, String)>) {
    let (mut arguments, mut left_out) = (Vec::new(), Vec::new());
    let mut taken: HashSet<String> = RESERVED.iter().map(|name| (*name).to_owned()).collect();
    let mut size = 0usize;
    for wanted in point.wanted() {
        let text = wanted.argument.text.to_string();
        let expressed = wanted.fetch.and_then(|fetch| express(&fetch, wanted.letter, point.address, aarch64));
        let fetches = match expressed {
            Ok(fetches) => fetches,
            Err(why) => {
                left_out.push((text, why));
                continue;
            }
        };
        if let Some((_, what)) = fetches.iter().find(|(_, what)| what.len() > ARGUMENT) {
            left_out.push((text, format!("`{what}` is longer than the {ARGUMENT} characters that the kernel takes")));
            continue;
        }
        let length: usize = fetches.iter().map(|(_, what)| what.len() + ARGUMENT_NAME + 2).sum();
        if arguments.len() + fetches.len() > ARGUMENTS || size + length > room {
            left_out.push((text, "the kernel takes no more arguments in one line".to_owned()));
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

/// The fetch arguments of one argument, each with what is added to its name.
fn express(fetch: &Fetch, letter: char, here: Vaddr, aarch64: bool) -> Result<Vec<(&'static str, String)>, String> {
    let speaker = Speaker { here, aarch64 };
    match fetch {
        Fetch::Number { kind: Kind::Float, .. } => Err("the kernel fetches no floating-point numbers".to_owned()),
        Fetch::Number { at, size, kind } => Ok(vec![("", speaker.number(at, *size, *kind, letter)?)]),
        Fetch::Pointed(at) => Ok(vec![("", format!("{}:string", within(1, 0, speaker.pointer(at)?)?.0))]),
        Fetch::Array(address) => Ok(vec![("", format!("{}:string", speaker.memory(address)?.0))]),
        // A text without a NUL: where it is and how long.
        Fetch::Text { data, offset, length } => {
            if *offset != 0 {
                return Err("its text is behind other things".to_owned());
            }
            let data = format!("{}:x64", speaker.pointer(data)?.0);
            Ok(vec![("", data), ("_len", format!("{}:u64", speaker.pointer(length)?.0))])
        }
    }
}

/// What is written for a value, and how many reads of memory it takes.
type Text = (String, u32);

struct Speaker {
    here: Vaddr,
    aarch64: bool,
}

/// A read of memory at an offset of what is written.
fn within(reads: u32, offset: i64, (text, inner): Text) -> Result<Text, String> {
    let reads = inner + reads;
    if reads > READS {
        return Err(format!("more than {READS} reads of memory, one through the other"));
    }
    // The kernel's offset is a `long`; a sign is always written.
    let sign = if offset < 0 { '-' } else { '+' };
    Ok((format!("{sign}{}({text})", offset.unsigned_abs()), reads))
}

impl Speaker {
    fn number(&self, at: &Where, size: u8, kind: Kind, letter: char) -> Result<String, String> {
        let bits = u32::from(size) * 8;
        let of = match (kind, letter) {
            (Kind::Pointer, _) | (_, 'x' | 'X' | 'p') => 'x',
            (Kind::Signed, _) => 's',
            _ => 'u',
        };
        let text = match at {
            Where::Register(register) => self.register(*register)?,
            Where::Memory(address) => self.memory(address)?.0,
            Where::Constant(bits) => format!("\\{}", self.constant(*bits, size, kind)),
            Where::Value(value) => {
                if let Some((source, mask, shift)) = bit_field(value, u64::MAX, 0) {
                    // The fields of the kernel have no sign.
                    let count = mask.trailing_ones();
                    let container =
                        u32::from(container(source).ok_or("it is computed, and the kernel only fetches")?) * 8;
                    if count > 0 && count < 64 && mask >> count == 0 && shift + u64::from(count) <= container.into() {
                        return Ok(format!("{}:b{count}@{shift}/{container}", self.value(source, 1)?.0));
                    }
                }
                self.value(value, size)?.0
            }
        };
        Ok(format!("{text}:{of}{bits}"))
    }

    /// A known number as the kernel reads it: decimal, `-` before it where it is below 0.
    fn constant(&self, bits: u64, size: u8, kind: Kind) -> String {
        let unused = 64u32.saturating_sub(u32::from(size) * 8).min(63);
        match kind {
            Kind::Signed => (((bits << unused) as i64) >> unused).to_string(),
            _ => format!("{:#x}", (bits << unused) >> unused),
        }
    }

    /// A word.
    fn pointer(&self, at: &Where) -> Result<Text, String> {
        match at {
            Where::Register(register) => Ok((self.register(*register)?, 0)),
            Where::Memory(address) => self.memory(address),
            Where::Constant(bits) => Ok((format!("\\{bits:#x}"), 0)),
            Where::Value(value) => self.value(value, 8),
        }
    }

    /// The memory at an address.
    fn memory(&self, address: &Expr) -> Result<Text, String> {
        let (base, offset) = sum(address);
        match base.node() {
            Node::Address(target) => {
                let away = target.0.wrapping_add_signed(offset).wrapping_sub(self.here.0) as i64;
                within(1, away, (self.instruction_pointer().to_owned(), 0))
            }
            _ => within(1, offset, self.value(base, 8)?),
        }
    }

    fn instruction_pointer(&self) -> &'static str {
        if self.aarch64 { "%pc" } else { "%ip" }
    }

    /// A computation of which the low `size` bytes count.
    fn value(&self, value: &Expr, size: u8) -> Result<Text, String> {
        match unconverted(value, size).node() {
            Node::Register(register, of) if of.size(8) >= size => Ok((self.register(*register)?, 0)),
            // A read of the kernel's is of as many bytes as its type has, between reads of 8.
            Node::Memory { address, size: read, .. } if *read >= size => self.memory(address),
            Node::Address(_) => Err("it is an address, which the kernel cannot compute".to_owned()),
            Node::ThreadLocal(_) => Err("it is thread-local".to_owned()),
            _ => Err("it is computed, and the kernel only fetches".to_owned()),
        }
    }

    fn register(&self, register: Register) -> Result<String, String> {
        perf::register(register, self.aarch64)
    }
}

/// A sum with a constant as its parts.
pub(super) fn sum(expr: &Expr) -> (&Expr, i64) {
    if let Node::Binary(Binary::Plus, base, offset) = expr.node() {
        if let Node::Constant(Value { of: ValueType::Generic, bits }) = offset.node() {
            return (base, *bits as i64);
        }
    }
    (expr, 0)
}

/// Bits without a sign of something: what, which of its bits count once it is shifted, and by how many it is shifted. `None` where it is
/// not only masked and shifted.
fn bit_field(value: &Expr, mask: u64, shift: u64) -> Option<(&Expr, u64, u64)> {
    let mut state = (value, mask, shift);
    // As deep as masks are put on masks by what makes computations.
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
            // What is cut off below a mask of less is counted from the new first bit.
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

/// The bytes that a field is a part of. Little-endian: the low ones of a register are those that the kernel takes.
fn container(source: &Expr) -> Option<u8> {
    match source.node() {
        Node::Memory { size: size @ (1 | 2 | 4 | 8), .. } => Some(*size),
        Node::Register(..) => Some(8),
        _ => None,
    }
}
