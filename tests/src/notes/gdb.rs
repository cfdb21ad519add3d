//! The values that gdb reads at the places of notes, with registers and memory that are made up: the
//! file is mapped, and not run.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object as _, ObjectSegment as _};
use serde_json::{Value, json};
use simple_markers_resolver::address::RuntimeAddress;
use simple_markers_resolver::location::{Machine, Register};
use simple_markers_resolver::resolve::{Argument, Encoding, ResolvedImage};

use super::{address, operand};
use crate::fixture;
use crate::tools::run;

/// The names of the general registers by their number in DWARF.
const REGISTERS: [&str; 16] =
    ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

/// Where the made-up memory starts, and its size in bytes.
const START: u64 = 0x6000_0000_0000;
const SIZE: u64 = 16 << 20;

/// How far a file that can be loaded anywhere is moved.
const BIAS: u64 = 0x5000_0000_0000;

/// What a comparison found.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Arguments that gdb and the resolver read with the same value.
    pub same: usize,
    /// Arguments that gdb does not read, by what it says, without names.
    pub refused: BTreeMap<String, usize>,
    /// The others, each with its marker, the operand and what the two say.
    pub different: Vec<String>,
}

/// The state of the machine at a site.
struct Mapped<'a> {
    registers: [u64; REGISTERS.len()],
    bias: u64,
    /// What is loaded of the file, by its run-time addresses.
    segments: &'a [(u64, Vec<u8>)],
}

impl Machine for Mapped<'_> {
    fn register(&self, register: Register) -> Option<Vec<u8>> {
        self.registers.get(usize::from(register.0)).map(|bits| bits.to_le_bytes().to_vec())
    }

    fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
        let byte = |at: u64| {
            if (START..START + SIZE).contains(&at) {
                return Some((at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8);
            }
            let of =
                |(start, bytes): &(u64, Vec<u8>)| bytes.get(usize::try_from(at.checked_sub(*start)?).ok()?).copied();
            self.segments.iter().find_map(of)
        };
        (address.0..).zip(into).all(|(at, into)| byte(at).map(|byte| *into = byte).is_some())
    }

    fn bias(&self) -> u64 {
        self.bias
    }

    fn thread_local(&self, _: u64) -> Option<RuntimeAddress> {
        None
    }

    fn address_size(&self) -> u8 {
        8
    }

    fn is_big_endian(&self) -> bool {
        false
    }
}

/// What the loadable segments have, from the start of their first page to the end of their last one.
fn segments(file: &[u8], bias: u64) -> Vec<(u64, Vec<u8>)> {
    const PAGE: u64 = 4096;
    let object = object::File::parse(file).expect("an ELF file");
    let of = |segment: object::Segment<'_, '_>| {
        let (start, lead) = (segment.address() & !(PAGE - 1), segment.address() % PAGE);
        let mut bytes = vec![0; lead as usize];
        bytes.extend(segment.data().expect("the data of a segment"));
        bytes.resize((lead + segment.size()).next_multiple_of(PAGE) as usize, 0);
        (start.wrapping_add(bias), bytes)
    };
    let mut all: Vec<_> = object.segments().map(of).collect();
    // A later one is mapped over the page that it shares with an earlier one.
    all.reverse();
    all
}

/// Compares the values of each argument of each note of an image for x86-64.
///
/// # Panics
///
/// A tool cannot be started, or gdb ends early.
#[must_use]
pub fn compare(path: &Path, image: &ResolvedImage) -> Compared {
    let folder = tempfile::tempdir().expect("a folder");
    let mapped = folder.path().join("mapped");
    run(Command::new("gcc").args(["-O2", "-o"]).arg(&mapped).arg(fixture::workspace().join("tests/notes/mapped.c")));
    let file = fs::read(path).expect("the file");
    let bias = if file.get(16) == Some(&2) { 0 } else { BIAS };
    // gdb reads the first of several notes at a place.
    let mut sites: BTreeMap<u64, (&str, &[Argument])> = BTreeMap::new();
    for marker in image.markers.iter().filter(|marker| marker.is_note) {
        for site in &marker.sites {
            if let Some(place) = &site.place {
                sites.entry(address(place)).or_insert((&marker.name, &site.args));
            }
        }
    }
    let registers = |args: &[Argument]| {
        let mut all = [0; REGISTERS.len()];
        for (number, (bits, name)) in all.iter_mut().zip(REGISTERS).enumerate() {
            let is_index = args.iter().filter_map(|argument| argument.location_text.as_deref()).any(|text| {
                let inside = text.split_once('(').map_or("", |(_, inside)| inside);
                inside.split_once(',').is_some_and(|(_, index)| {
                    index.trim_end_matches(')').split(',').next() == Some(&format!("%{name}"))
                })
            });
            let number = number as u64;
            *bits = if is_index { 8 + 24 * number } else { START + (2 << 20) + number * 0x8_0123 };
        }
        all
    };
    let asked: Vec<Value> = sites
        .iter()
        .map(|(pc, (_, args))| {
            let named: HashMap<&str, u64> = REGISTERS.into_iter().zip(registers(args)).collect();
            json!({ "pc": pc.wrapping_add(bias), "registers": named, "operands": args.iter().map(operand).collect::<Vec<_>>() })
        })
        .collect();
    let arguments = [path.display().to_string(), bias.to_string(), START.to_string(), SIZE.to_string()];
    let asked = json!({ "mapped": mapped, "arguments": arguments, "file": path, "bias": bias, "sites": asked });
    let question = folder.path().join("asked.json");
    fs::write(&question, asked.to_string()).expect("the file is written");
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-q", "-batch", "-x"]).arg(fixture::workspace().join("tests/notes/values.py"));
    let printed = run(gdb.env("NOTES_ASKED", &question).env("LC_ALL", "C.UTF-8"));
    let answers: Vec<Vec<Value>> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("site "))
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(answers.len(), sites.len(), "{}: gdb ended early: {printed}", path.display());
    let segments = segments(&file, bias);
    let mut compared = Compared::default();
    for ((pc, (name, args)), answers) in sites.into_iter().zip(answers) {
        let machine = Mapped { registers: registers(args), bias, segments: &segments };
        for (argument, answer) in args.iter().zip(answers) {
            let (ours, theirs) =
                (value(argument, &machine), answer["is"].as_str().map(|value| number(argument, value)));
            match (&ours, &theirs) {
                (Some(ours), Some(theirs)) if ours == theirs => compared.same += 1,
                (_, None) => {
                    let why = answer["error"].as_str().unwrap_or_default();
                    let why = why.split(['"', '`', '\'']).step_by(2).map(str::trim).collect::<Vec<_>>().join(" ... ");
                    *compared.refused.entry(why).or_default() += 1;
                }
                _ => compared.different.push(format!(
                    "{name} at {pc:#x}: {:?}, {:?}: {ours:?}, gdb {answer}",
                    argument.location_text, argument.reason
                )),
            }
        }
    }
    compared
}

/// The value of an argument; `None` if it cannot be read.
#[must_use]
pub fn value(argument: &Argument, machine: &dyn Machine) -> Option<String> {
    let size = argument.size?;
    let mut bytes = argument.location.as_ref()?.evaluate(machine, size).ok()?;
    let is_negative = argument.encoding == Some(Encoding::Signed) && bytes.last().is_some_and(|byte| byte >> 7 == 1);
    bytes.resize(16, if is_negative { 0xff } else { 0 });
    let bits = i128::from_le_bytes(bytes.try_into().ok()?);
    Some(match (argument.encoding, size) {
        (Some(Encoding::Float), 4) => format!("{:?}", f64::from(f32::from_bits(bits as u32))),
        (Some(Encoding::Float), _) => format!("{:?}", f64::from_bits(bits as u64)),
        _ => bits.to_string(),
    })
}

/// A value of gdb in the same form.
fn number(argument: &Argument, text: &str) -> String {
    if argument.encoding != Some(Encoding::Float) {
        return text.to_owned();
    }
    format!("{:?}", hexadecimal(text).unwrap_or(f64::NAN))
}

/// Parses what Python's `float.hex` writes.
fn hexadecimal(text: &str) -> Option<f64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1.0, text), |digits| (-1.0, digits));
    if digits == "inf" {
        return Some(sign * f64::INFINITY);
    }
    let (mantissa, exponent) = digits.strip_prefix("0x")?.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let bits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    // In two steps, because the smallest numbers are below the smallest power.
    let scale = exponent - 4 * i32::try_from(fraction.len()).ok()?;
    let half = scale / 2;
    Some(sign * bits as f64 * 2f64.powi(half) * 2f64.powi(scale - half))
}
