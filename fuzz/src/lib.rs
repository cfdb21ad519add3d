//! Makes debug information from a few bytes for the fuzz targets.
//!
//! Headers, abbreviations, addresses and the root entry are fixed. The fuzzer writes the entries
//! below the root, so almost all of an input is entries, rows and operations. Attributes have short
//! forms: an address is one byte, an index into a table of addresses that starts at [`BASE`] with a
//! step of four bytes.

use std::borrow::Cow;

use simple_markers_resolver::address::{RuntimeAddress, Vaddr};
use simple_markers_resolver::fuzzing::{
    DebugInfo, Die, Frame, Lookup, Moment, Sections, Step, TypeRef, VariableLocation,
};
use simple_markers_resolver::location::{InfoOffset, Location, LocationNames, Machine, Processor, Register};
use simple_markers_resolver::record::ByteOrder;
use simple_markers_resolver::types::{Language, MemoryFunction, Object, ReadContext, render};

pub mod ghosts;
pub mod types;

/// The first address.
pub const BASE: u64 = 0x1000;

/// The budget of a run.
const MOST: usize = 64;

type Abbreviation = (u8, bool, &'static [(u8, u8)]);

// Forms: 0x05 data2, 0x08 string, 0x0a block1, 0x0b data1, 0x0d sdata, 0x0e strp, 0x11 ref1, 0x12 ref2, 0x17
// sec_offset, 0x18 exprloc, 0x19 flag_present, 0x20 ref_sig8, 0x29 addrx1. Attributes: DWARF 5,
// table 7.5.
const ABBREVIATIONS: &[Abbreviation] = &[
    (0x11, true, &[(0x13, 0x0b), (0x11, 0x29), (0x12, 0x05), (0x10, 0x17), (0x73, 0x17), (0x1b, 0x08), (0x25, 0x08)]), // 1 compile unit
    (0x24, false, &[(0x3e, 0x0b), (0x0b, 0x0b), (0x03, 0x08)]), // base type
    (0x0f, false, &[(0x49, 0x12)]),                             // pointer
    (0x16, false, &[(0x03, 0x08), (0x49, 0x12)]),               // typedef
    (0x26, false, &[(0x49, 0x12)]),                             // 5 const
    (0x13, true, &[(0x03, 0x08), (0x0b, 0x0b)]),                // structure
    (0x0d, false, &[(0x03, 0x08), (0x49, 0x12), (0x38, 0x0b)]), // member
    (0x0d, false, &[(0x03, 0x08), (0x49, 0x12), (0x6b, 0x0b), (0x0d, 0x0b)]), // bit-field
    (0x01, true, &[(0x49, 0x12)]),                              // array
    (0x21, false, &[(0x2f, 0x0b)]),                             // 10 subrange
    (0x04, true, &[(0x0b, 0x0b), (0x49, 0x12)]),                // enumeration
    (0x28, false, &[(0x03, 0x08), (0x1c, 0x0d)]),               // enumerator
    (0x2e, true, &[(0x03, 0x08), (0x3a, 0x0b), (0x3b, 0x0b), (0x11, 0x29), (0x12, 0x0b), (0x40, 0x18)]), // subprogram
    (0x2e, true, &[(0x03, 0x08), (0x3a, 0x0b), (0x3b, 0x0b), (0x20, 0x0b)]), // abstract instance
    (0x1d, true, &[(0x31, 0x12), (0x11, 0x29), (0x12, 0x0b), (0x58, 0x0b), (0x59, 0x0b)]), // 15 inlined
    (0x0b, true, &[(0x11, 0x29), (0x12, 0x0b)]),                // block
    (0x0b, true, &[(0x55, 0x17)]),                              // block of several ranges
    (0x34, false, &[(0x03, 0x08), (0x3a, 0x0b), (0x3b, 0x0b), (0x49, 0x12), (0x02, 0x18)]), // variable
    (0x34, false, &[(0x03, 0x08), (0x49, 0x12), (0x02, 0x17)]), // variable with a list
    (0x05, false, &[(0x31, 0x12), (0x02, 0x18)]),               // 20 parameter of an instance
    (0x34, false, &[(0x03, 0x08), (0x49, 0x12), (0x1c, 0x0a)]), // constant
    (0x39, true, &[(0x03, 0x08)]),                              // namespace
    (0x17, true, &[(0x03, 0x08), (0x0b, 0x0b)]),                // union
    (0x33, true, &[(0x15, 0x12)]),                              // variant part
    (0x19, true, &[(0x16, 0x0b)]),                              // 25 variant
    (0x13, false, &[(0x03, 0x08), (0x3c, 0x19)]),               // declared structure
    (0x34, false, &[(0x47, 0x12), (0x02, 0x18)]),               // definition of what was declared
    (0x15, true, &[(0x49, 0x12)]),                              // function type
    (0x3d, false, &[(0x18, 0x12)]),                             // imported unit
    (0x2f, false, &[(0x03, 0x08), (0x49, 0x12)]),               // 30 type parameter
    (0x1c, false, &[(0x49, 0x12), (0x38, 0x0b)]),               // base class
    (0x13, false, &[(0x69, 0x20)]),                             // structure of a type unit
    (0x05, false, &[(0x03, 0x08), (0x3a, 0x0b), (0x3b, 0x0b), (0x49, 0x12), (0x02, 0x18)]), // parameter
    (0x0b, true, &[]),                                          // block without addresses
    (0x2e, true, &[(0x31, 0x12), (0x11, 0x29), (0x12, 0x0b), (0x40, 0x18)]), // 35 instance out of line
    (0x34, false, &[(0x03, 0x08), (0x49, 0x12), (0x3c, 0x19), (0x3f, 0x19)]), // declared variable
    (0x35, false, &[(0x49, 0x12)]),                             // volatile
    (0x10, false, &[(0x49, 0x12)]),                             // reference
    (0x0d, false, &[(0x03, 0x08), (0x49, 0x12), (0x38, 0x18)]), // member at an expression
    (0x0a, false, &[(0x03, 0x0e), (0x3a, 0x0b), (0x3b, 0x0b), (0x11, 0x29)]), // 40 label
    (0x0a, false, &[(0x03, 0x0e), (0x3a, 0x0b), (0x3b, 0x0b)]), // label of an abstract instance
    (0x0a, false, &[(0x31, 0x12), (0x11, 0x29)]),               // label of an instance
    (0x34, false, &[(0x03, 0x0e), (0x3a, 0x0b), (0x3b, 0x0b)]), // variable of a ghost
    (0x34, false, &[(0x31, 0x12)]),                             // variable of an instance
];

fn abbreviations() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, (tag, has_children, attributes)) in ABBREVIATIONS.iter().enumerate() {
        bytes.extend([index as u8 + 1, *tag, u8::from(*has_children)]);
        for (name, form) in *attributes {
            bytes.extend([*name, *form]);
        }
        bytes.extend([0, 0]);
    }
    bytes.push(0);
    bytes
}

/// Takes a part of the input. Its length is in the two bytes before it; a short input gives the
/// rest.
pub fn part<'a>(input: &mut &'a [u8]) -> &'a [u8] {
    let Some((length, rest)) = input.split_first_chunk::<2>() else { return std::mem::take(input) };
    let (part, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    *input = rest;
    part
}

/// A byte of the input; 0 at its end.
pub fn byte(input: &mut &[u8]) -> u8 {
    let Some((byte, rest)) = input.split_first() else { return 0 };
    *input = rest;
    *byte
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

/// A unit that holds `below`; bit 0 of `dialect` is Rust, bit 1 is gcc.
fn unit(version: u16, dialect: u8, below: &[u8]) -> Vec<u8> {
    let mut bytes = version.to_le_bytes().to_vec();
    match version {
        5 => bytes.extend([1, 8, 0, 0, 0, 0]),
        _ => bytes.extend([0, 0, 0, 0, 8]),
    }
    bytes.extend([1, if dialect & 1 == 1 { 0x1c } else { 0x0c }, 0]);
    bytes.extend(0x400u16.to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(8u32.to_le_bytes());
    bytes.extend(b"/src\0");
    bytes.extend(if dialect & 2 == 2 { &b"GNU C17 12.2.0 -g -O2\0"[..] } else { b"clang version 14.0.6\0" });
    bytes.extend(below);
    // Closes the entries that the fuzzer left open.
    bytes.extend([0; 8]);
    with_length(&bytes)
}

/// A line program of one file, `/src/a.c`, DWARF 4.
fn line_program(rows: &[u8]) -> Vec<u8> {
    let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    header.extend(b"\0a.c\0\0\0\0b.h\0\0\0\0\0");
    let mut bytes = 4u16.to_le_bytes().to_vec();
    bytes.extend(with_length(&header));
    // DW_LNE_set_address.
    bytes.extend([0, 9, 2]);
    bytes.extend(BASE.to_le_bytes());
    bytes.extend(rows);
    bytes.extend([2, 4, 0, 1, 1]);
    with_length(&bytes)
}

/// The sections of an input: a byte for version, language and compiler, then parts: units, rows,
/// lists, ranges, frames.
pub fn sections(input: &mut &[u8]) -> Sections<'static> {
    let sections = section_bytes(input).into_iter().map(|(name, bytes)| (name, Cow::Owned(bytes)));
    Sections::from_parts(sections, ByteOrder::Little, Processor::X86_64, 8)
}

/// As [`sections`], with the bytes of each.
pub fn section_bytes(input: &mut &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let how = byte(input);
    let version = u16::from(how & 3) + 2;
    let units = 1 + usize::from(how >> 2 & 1);
    let mut info = Vec::new();
    for index in 0..units {
        info.extend(unit(version, how >> 3 & 3 ^ index as u8, part(input)));
    }
    let mut addresses = vec![0; 8];
    addresses.extend((0..256u64).flat_map(|index| (BASE + 4 * index).to_le_bytes()));
    let rows = part(input);
    let (lists, ranges, frames) = (part(input), part(input), part(input));
    vec![
        (".debug_info", info),
        (".debug_abbrev", abbreviations()),
        (".debug_addr", addresses),
        (".debug_line", line_program(rows)),
        (".debug_str", ghosts::names()),
        (".debug_loc", lists.to_vec()),
        (".debug_loclists", lists.to_vec()),
        (".debug_ranges", ranges.to_vec()),
        (".debug_rnglists", ranges.to_vec()),
        (".debug_frame", frames.to_vec()),
    ]
}

/// Registers and memory with a value everywhere.
pub struct Fake;

impl Machine for Fake {
    fn register(&self, register: Register) -> Option<Vec<u8>> {
        (register.0 < 60).then(|| vec![register.0 as u8 ^ 0xa5; if register.0 < 17 { 8 } else { 16 }])
    }

    fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
        into.iter_mut().enumerate().for_each(|(index, byte)| *byte = (address.0 as u8).wrapping_add(index as u8) | 1);
        address.0 & 0x8000 == 0
    }

    fn bias(&self) -> u64 {
        0x5500_0000
    }

    fn thread_local(&self, offset: u64) -> Option<RuntimeAddress> {
        Some(RuntimeAddress(offset.wrapping_add(0x7700_0000)))
    }

    fn address_size(&self) -> u8 {
        8
    }

    fn is_big_endian(&self) -> bool {
        false
    }
}

impl LocationNames for Fake {
    fn processor(&self) -> Processor {
        Processor::X86_64
    }

    fn address_size(&self) -> u8 {
        8
    }
}

/// Evaluates and prints a location for a value of a type.
pub fn use_location(info: &DebugInfo<'_>, location: &Location, of: Option<TypeRef>) {
    assert!(!location.text(&Fake).is_empty());
    let size = of.and_then(|of| info.type_size(of).ok().flatten()).unwrap_or(8).min(1 << 12);
    for size in [size, 1, 8] {
        if let Ok(bytes) = location.evaluate(&Fake, size) {
            assert_eq!(bytes.len() as u64, size);
        }
    }
    let _ = location.optimized_out(size);
    if let Ok(part) = location.part(3, Some(5)).and_then(|part| part.integer(5, true)) {
        let _ = part.evaluate(&Fake);
    }
    if let Ok(pointer) = location.pointer(8) {
        let _ = pointer.evaluate(&Fake);
    }
    let Ok(described) = info.describe_type(of, 2) else { return };
    let Ok(bytes) = location.evaluate(&Fake, size) else { return };
    let memory = MemoryFunction(|address: u64, into: &mut [u8]| Fake.read(RuntimeAddress(address), into));
    let reading = ReadContext::new(Language::Rust, &memory);
    assert!(render(&described, Object::new(&bytes), &reading).text.len() < 1 << 20);
}

/// Queries everything about an entry as a variable.
pub fn use_variable(info: &DebugInfo<'_>, variable: Die, frame: &Frame) {
    let of = info.type_of(variable).ok().flatten();
    if let Ok(VariableLocation::At { location, .. }) = info.variable(variable, frame) {
        use_location(info, &location, of);
    }
    if let Ok(ranges) = info.variable_ranges(variable) {
        assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "ascending, joined");
    }
}

/// Queries everything about an entry as a type.
pub fn use_type(info: &DebugInfo<'_>, of: TypeRef) {
    let _ = (info.type_name(Some(of)), info.type_size(of), info.strip(of));
    let _ = info.describe_type(Some(of), 2);
    for step in [Step::Member("a".into()), Step::Member("0".into()), Step::Index(1), Step::Deref] {
        let _ = info.step(of, &step);
    }
}

/// Queries every offset of `.debug_info` as if an entry started there.
pub fn use_entries(sections: &Sections<'_>, info: &DebugInfo<'_>, mut each: impl FnMut(Die)) {
    for offset in 0..sections.get(".debug_info").len() as u64 {
        if let Some(die) = info.die_at(InfoOffset(offset)) {
            assert_eq!(info.info_offset(die), InfoOffset(offset));
            each(die);
        }
    }
}

/// Whether an address is the entry of its function, and a moment there.
pub const MOMENTS: [(bool, Moment); 3] = [(false, Moment::Last), (true, Moment::First), (false, Moment::View(1))];

/// Queries the scope and the variables at a place.
pub fn use_place(info: &DebugInfo<'_>, pc: u64, line: u32) {
    let Ok(Some(scope)) = info.scope_at(Vaddr(pc), "a.c", line) else { return };
    assert!(!scope.frames.is_empty());
    let function = scope.frames.last().map(|frame| frame.instance);
    for (at_entry, moment) in MOMENTS {
        let frame = Frame { pc: Vaddr(pc), function, at_entry, moment };
        for name in [&["a"][..], &["b"], &["a", "b"], &["crate", "a"]] {
            match info.lookup(&scope, name, "a.c", line) {
                Ok(Lookup::Found { variable, .. } | Lookup::OtherFrame { variable }) => {
                    use_variable(info, variable, &frame);
                }
                Ok(Lookup::Several(several)) => {
                    assert!(several.len() > 1);
                    several.iter().take(MOST).for_each(|variable| use_variable(info, *variable, &frame));
                }
                _ => {}
            }
        }
    }
}
