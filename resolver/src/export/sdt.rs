//! A copy of an image with its markers as SDT probes, in `.note.stapsdt` as `<sys/sdt.h>` writes it
//! (SystemTap wiki, "UserSpaceProbeImplementation").
//!
//! The copy appends notes, section names and section headers to the image. Only three fields of the
//! ELF header change, which locate the section headers. None of the new bytes is loaded.
//!
//! A note has the link-time addresses of its probe and of `.stapsdt.base`. Readers add the distance by
//! which that section was moved. gdb, bcc and SystemTap compare with the address of the section. perf
//! compares with its file offset, and takes the sum as a file offset. So the section here is one byte
//! of the image's code, where address and file offset differ by the same amount as at the probes.
//! `.probes` is there for the same reason, if there are switches: perf and bcc subtract its distance.

use std::collections::HashMap;
use std::sync::Arc;

use super::fetch::{Fetch, NumberKind, Operand, unconverted};
use super::plan::{ExportSettings, PlanEntry, Point, PointSwitch, check, identifier, numbered, plan};
use super::uprobe::sum;
use super::{ArgumentOmission, ExportError, Note, SiteOmission, Tool, processor};
use crate::address::Vaddr;
use crate::arch::OperandSyntax;
use crate::image::{SDT_BASE, SDT_NOTES, SdtNote};
use crate::location::{Expr, Node, Processor, Register, ValueType};
use crate::resolve::{Marker, ResolvedImage};
use simple_markers_record::integer;

const NOTES: &[u8] = SDT_NOTES.as_bytes();
const BASE: &[u8] = SDT_BASE.as_bytes();
/// Where `<sys/sdt.h>` puts semaphores. perf and bcc compute the file offset of a semaphore from the
/// address and the offset of this section.
const SEMAPHORES: &[u8] = b".probes";
/// The size of a section header, and of the ELF header, in bytes.
const HEADER: usize = 64;
const PROGBITS: u32 = 1;
const NOTE: u32 = 7;
/// The longest name of a provider or probe. perf adds `sdt_`, and its limit is 63 characters.
const NAME: usize = 55;

/// An image with notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SdtExport {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// How many probes were added.
    pub probes: usize,
    /// How many sites were left out.
    pub left_out: usize,
    /// The sites and arguments that were left out.
    pub notes: Vec<Note>,
}

/// A copy of the image `bytes` with notes for the markers that `keep` accepts.
///
/// Readers know arguments by position, so the first one that cannot be expressed and all after it are
/// left out. A text without a NUL takes two positions: its address and its length.
///
/// # Errors
///
/// The image's kind or processor is not supported, or its section headers are malformed.
pub fn image(
    image: &ResolvedImage,
    bytes: &[u8],
    keep: &dyn Fn(&Marker) -> bool,
    settings: &ExportSettings,
) -> Result<SdtExport, ExportError> {
    check(image, &|set| set.is_exported_to(Tool::SdtReaders))?;
    let mut table = SectionTable::read(bytes)?;
    let mut exported = SdtExport::default();
    let mut notes = table.notes.clone();
    let mut base = table.base;
    let mut names = ProbeNames::default();
    let mut moved = None;
    // The image has the notes of its static probes already.
    let keep = |marker: &Marker| !marker.is_note && keep(marker);
    for planned in plan(image, &keep, settings, true) {
        let point = match planned {
            PlanEntry::Point(point) => point,
            PlanEntry::LeftOut { marker, place, why } => {
                exported.left_out += 1;
                exported.notes.push(Note::Site { marker: Arc::clone(&marker.name), place, why });
                continue;
            }
        };
        let at = point.address;
        let difference = at.0.wrapping_sub(point.offset.0);
        if *moved.get_or_insert(difference) != difference {
            exported.left_out += 1;
            let marker = Arc::clone(&point.marker.name);
            exported.notes.push(Note::Site { marker, place: at.to_string(), why: SiteOmission::OtherSegment });
            continue;
        }
        let (base_address, base_offset) = *base.get_or_insert((at.0, point.offset.0));
        if exported.probes == 0 && base_address.wrapping_sub(base_offset) != difference {
            exported.notes.push(Note::BaseInOtherSegment);
        }
        if let Some(PointSwitch { address, offset }) = point.switch {
            let (known, known_offset) = *table.switches.get_or_insert((address.0, offset.0));
            if address.0.wrapping_sub(offset.0) != known.wrapping_sub(known_offset) {
                exported.left_out += 1;
                let marker = Arc::clone(&point.marker.name);
                exported.notes.push(Note::Site { marker, place: at.to_string(), why: SiteOmission::OtherSegment });
                continue;
            }
        }
        let (provider, name) = names.of(&point);
        let arguments = match arguments(&point, Processor::of(image.arch)) {
            (arguments, None) => arguments,
            (arguments, Some((from, why))) => {
                exported.notes.push(Note::Arguments { marker: Arc::clone(&point.marker.name), at, from, why });
                arguments
            }
        };
        let switch = point.switch.map_or(0, |switch| switch.address.0);
        let operands = arguments.join(" ");
        let note = SdtNote {
            offset: 0,
            addresses: 0,
            pc: at.0,
            base: base_address,
            semaphore: switch,
            provider: provider.as_bytes(),
            name: name.as_bytes(),
            arguments: operands.as_bytes(),
        };
        note.write(&mut notes);
        exported.probes += 1;
    }
    table.base = base;
    exported.bytes = table.write(bytes, &notes)?;
    Ok(exported)
}

fn pad(bytes: &mut Vec<u8>, to: usize) {
    while bytes.len() % to != 0 {
        bytes.push(0);
    }
}

/// Names of probes. Sites of equal markers share a name; different markers get different numbers.
#[derive(Default)]
struct ProbeNames {
    taken: HashMap<(String, String), String>,
}

impl ProbeNames {
    fn of(&mut self, point: &Point<'_>) -> (String, String) {
        let marker = point.marker;
        let texts: Vec<&str> = marker.args.iter().map(|argument| &*argument.text).collect();
        let identity = format!("{}\0{}\0{}", marker.name, marker.format, texts.join("\0"));
        let provider = identifier(&point.provider, NAME);
        let plain = identifier(&point.rest, NAME);
        let (mut name, mut number) = (plain.clone(), 1);
        loop {
            let known = self.taken.entry((provider.clone(), name.clone())).or_insert_with(|| identity.clone());
            if *known == identity {
                return (provider, name);
            }
            number += 1;
            name = numbered(&plain, number, NAME);
        }
    }
}

/// The operands of a site's arguments up to the first one that is left out, and why that is.
fn arguments(point: &Point<'_>, processor: Processor) -> (Vec<String>, Option<(Arc<str>, ArgumentOmission)>) {
    let operands = SdtSyntax { here: point.address, processor };
    let mut all = Vec::new();
    for wanted in point.wanted() {
        match wanted.fetch.and_then(|fetch| operands.of(&fetch)) {
            Ok(mut some) => all.append(&mut some),
            Err(why) => {
                return (all, Some((Arc::clone(&wanted.argument.text), why)));
            }
        }
    }
    (all, None)
}

struct SdtSyntax {
    here: Vaddr,
    processor: Processor,
}

impl SdtSyntax {
    fn of(&self, fetch: &Fetch) -> Result<Vec<String>, ArgumentOmission> {
        match fetch {
            Fetch::Whole(_) => Err(ArgumentOmission::WholeValue(Tool::SdtReaders)),
            Fetch::Number { kind: NumberKind::Float, .. } => Err(ArgumentOmission::Float(Tool::SdtReaders)),
            Fetch::Number { at, size, kind } => Ok(vec![self.operand(at, *size, *kind == NumberKind::Signed)?]),
            Fetch::Pointed(at) => Ok(vec![self.operand(at, 8, false)?]),
            Fetch::Array(_) => Err(ArgumentOmission::ComputedAddress),
            Fetch::Text { offset, .. } if *offset != 0 => Err(ArgumentOmission::TextAtOffset),
            Fetch::Text { data, length, .. } => {
                Ok(vec![self.operand(data, 8, false)?, self.operand(length, 8, false)?])
            }
        }
    }

    /// `[-]SIZE@OPERAND`.
    fn operand(&self, at: &Operand, size: u8, signed: bool) -> Result<String, ArgumentOmission> {
        let sign = if signed { "-" } else { "" };
        let operand = match at {
            Operand::Register(register) => self.register(*register)?,
            Operand::Memory(address) => self.memory(address)?,
            Operand::Constant(bits) => {
                let number = if signed {
                    integer::signed(*bits, size).to_string()
                } else {
                    integer::unsigned(*bits, size).to_string()
                };
                format!("{}{number}", if self.is_att() { "$" } else { "" })
            }
            Operand::Value(value) => self.value(value, size)?,
        };
        Ok(format!("{sign}{size}@{operand}"))
    }

    fn value(&self, value: &Expr, size: u8) -> Result<String, ArgumentOmission> {
        match unconverted(value, size).node() {
            Node::Register(register, of) if of.size(8) >= size => self.register(*register),
            Node::Memory { address, size: read, .. } if *read >= size => self.memory(address),
            Node::ThreadLocal(_) => Err(ArgumentOmission::ThreadLocal),
            _ => Err(ArgumentOmission::Computed(Tool::SdtReaders)),
        }
    }

    /// The name of the whole register. Readers take its low bytes, and disagree on the name of `%r8b`.
    fn register(&self, register: Register) -> Result<String, ArgumentOmission> {
        processor::register(Tool::SdtReaders, register, self.processor)
    }

    fn is_att(&self) -> bool {
        self.processor.set().is_some_and(|set| set.operand_syntax() == OperandSyntax::Att)
    }

    fn memory(&self, address: &Expr) -> Result<String, ArgumentOmission> {
        let (base, offset) = sum(address);
        match base.node() {
            Node::Register(register, ValueType::Generic) => {
                let register = self.register(*register)?;
                Ok(match offset {
                    _ if self.is_att() => format!("{offset}({register})"),
                    0 => format!("[{register}]"),
                    _ => format!("[{register}, {offset}]"),
                })
            }
            Node::Address(target) => {
                let pointer = processor::instruction_pointer(Tool::SdtReaders, self.processor)?;
                let away = target.0.wrapping_add_signed(offset).wrapping_sub(self.here.0) as i64;
                Ok(format!("{away}({pointer})"))
            }
            Node::ThreadLocal(_) => Err(ArgumentOmission::ThreadLocal),
            _ => Err(ArgumentOmission::ComputedAddress),
        }
    }
}

/// The section headers of an image.
struct SectionTable {
    headers: Vec<[u8; HEADER]>,
    names: Vec<u8>,
    names_index: usize,
    /// The existing section of notes, and its contents.
    notes_index: Option<usize>,
    notes: Vec<u8>,
    /// Address and offset of `.stapsdt.base`.
    base: Option<(u64, u64)>,
    has_base: bool,
    /// Address and offset of the semaphores.
    switches: Option<(u64, u64)>,
    has_switches: bool,
}

/// The unsigned little-endian number at an offset; `None` if it is out of bounds.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn put(bytes: &mut [u8], at: usize, size: usize, value: u64) {
    for (byte, value) in bytes.iter_mut().skip(at).take(size).zip(value.to_le_bytes()) {
        *byte = value;
    }
}

impl SectionTable {
    fn read(bytes: &[u8]) -> Result<Self, ExportError> {
        if !bytes.starts_with(b"\x7fELF\x02\x01") {
            return Err(ExportError::Not64Bit);
        }
        let malformed = || ExportError::SectionHeaders;
        let field = |at, size| number(bytes, at, size).ok_or_else(malformed);
        let (offset, entry, count, names_index) = (field(0x28, 8)?, field(0x3a, 2)?, field(0x3c, 2)?, field(0x3e, 2)?);
        if offset == 0 || count == 0 || count >= 0xfe00 || names_index >= count || entry != HEADER as u64 {
            return Err(ExportError::SectionCount);
        }
        let start = usize::try_from(offset).map_err(|_| malformed())?;
        let mut headers = Vec::new();
        for index in 0..count as usize {
            let at = index.checked_mul(HEADER).and_then(|at| start.checked_add(at)).ok_or_else(malformed)?;
            let header = bytes.get(at..).and_then(|rest| rest.first_chunk::<HEADER>()).ok_or_else(malformed)?;
            headers.push(*header);
        }
        let contents = |header: &[u8; HEADER]| {
            let start = usize::try_from(number(header, 0x18, 8)?).ok()?;
            let size = usize::try_from(number(header, 0x20, 8)?).ok()?;
            bytes.get(start..start.checked_add(size)?)
        };
        let names_index = names_index as usize;
        let names = headers.get(names_index).and_then(contents).ok_or_else(malformed)?.to_vec();
        let find = |name: &[u8]| {
            headers.iter().position(|header| {
                let start = number(header, 0, 4).and_then(|start| usize::try_from(start).ok());
                let rest = start.and_then(|start| names.get(start..)).unwrap_or_default();
                rest.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&0))
            })
        };
        let notes_index = find(NOTES);
        let notes = match notes_index.and_then(|index| headers.get(index)) {
            Some(header) => contents(header).ok_or_else(malformed)?.to_vec(),
            None => Vec::new(),
        };
        let place = |name| {
            let header = headers.get(find(name)?)?;
            Some((number(header, 0x10, 8)?, number(header, 0x18, 8)?))
        };
        let (base, switches) = (place(BASE), place(SEMAPHORES));
        let (has_base, has_switches) = (base.is_some(), switches.is_some());
        Ok(Self { headers, names, names_index, notes_index, notes, base, has_base, switches, has_switches })
    }

    /// The image with the notes, section names and section headers appended.
    fn write(mut self, bytes: &[u8], notes: &[u8]) -> Result<Vec<u8>, ExportError> {
        let mut file = Vec::with_capacity(bytes.len() + notes.len() + self.names.len() + 4096);
        file.extend_from_slice(bytes);
        pad(&mut file, 4);
        let notes_offset = file.len() as u64;
        file.extend_from_slice(notes);
        let mut added = Vec::new();
        let mut names = std::mem::take(&mut self.names);
        if names.last() != Some(&0) {
            names.push(0);
        }
        let mut header = |name: &[u8], kind: u32, address: u64, offset: u64, size: u64, align: u64| {
            let mut header = [0; HEADER];
            put(&mut header, 0, 4, names.len() as u64);
            put(&mut header, 4, 4, kind.into());
            put(&mut header, 0x10, 8, address);
            put(&mut header, 0x18, 8, offset);
            put(&mut header, 0x20, 8, size);
            put(&mut header, 0x30, 8, align);
            names.extend_from_slice(name);
            names.push(0);
            header
        };
        // bcc looks for the notes in the sections behind `.probes` only.
        if let (Some((address, offset)), false) = (self.switches, self.has_switches) {
            added.push(header(SEMAPHORES, PROGBITS, address, offset, 2, 2));
        }
        let size = notes.len() as u64;
        match self.notes_index.and_then(|index| self.headers.get_mut(index)) {
            Some(notes) => {
                put(notes, 0x18, 8, notes_offset);
                put(notes, 0x20, 8, size);
                if let Some(semaphores) = added.first_mut() {
                    std::mem::swap(notes, semaphores);
                }
            }
            None => added.push(header(NOTES, NOTE, 0, notes_offset, size, 4)),
        }
        if let (Some((address, offset)), false) = (self.base, self.has_base) {
            added.push(header(BASE, PROGBITS, address, offset, 1, 1));
        }
        let names_offset = file.len() as u64;
        file.extend_from_slice(&names);
        if let Some(header) = self.headers.get_mut(self.names_index) {
            put(header, 0x18, 8, names_offset);
            put(header, 0x20, 8, names.len() as u64);
        }
        pad(&mut file, 8);
        let headers_offset = file.len() as u64;
        self.headers.extend(added);
        for header in &self.headers {
            file.extend_from_slice(header);
        }
        put(&mut file, 0x28, 8, headers_offset);
        put(&mut file, 0x3c, 2, self.headers.len() as u64);
        Ok(file)
    }
}
