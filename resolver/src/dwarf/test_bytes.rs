//! Builds debug information byte by byte, for unit tests: one unit with its entries in sequence.
//! `test_dwarf.rs` uses `gimli::write` instead.

use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};

use super::debug_info::DebugInfo;
use super::frame::Frame;
use super::sections::Sections;
use super::units::Die;
use crate::address::{RuntimeAddress, Vaddr};
use crate::image::Image;
use crate::location::Processor;
use crate::location::{self, Names, Register};

/// The start and the size of the function of [`UnitBytes`].
pub(super) const FUNCTION: u64 = 0x1000;
pub(super) const LENGTH: u32 = 0x100;

const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 1, 0x11, 0x01, 0, 0, // compile unit: low_pc addr
    2, 0x24, 0, 0x3e, 0x0b, 0x0b, 0x0b, 0x03, 0x08, 0, 0, // base type: encoding, byte_size, name
    3, 0x2e, 1, 0x11, 0x01, 0x12, 0x06, 0x40, 0x18, 0, 0, // subprogram: low_pc, high_pc data4, frame_base exprloc
    4, 0x34, 0, 0x02, 0x18, 0, 0, // variable: location exprloc
    5, 0x34, 0, 0x02, 0x17, 0, 0, // variable: location sec_offset
    6, 0x34, 0, 0x49, 0x13, 0x1c, 0x0b, 0, 0, // variable: type ref4, const_value data1
    7, 0x34, 0, 0x49, 0x13, 0x1c, 0x0d, 0, 0, // ..., const_value sdata
    8, 0x34, 0, 0x49, 0x13, 0x1c, 0x0a, 0, 0, // ..., const_value block1
    9, 0x34, 0, 0x49, 0x13, 0x1c, 0x0f, 0, 0, // ..., const_value udata
    10, 0x34, 0, 0x31, 0x13, 0, 0, // variable: abstract_origin ref4
    11, 0x16, 0, 0x49, 0x13, 0, 0, // typedef: type ref4
    12, 0x0f, 0, 0x49, 0x13, 0, 0, // pointer: type ref4
    0,
];

/// A unit, to which entries are added.
pub(super) struct UnitBytes {
    version: u16,
    architecture: Architecture,
    info: Vec<u8>,
    pub(super) lists: Vec<u8>,
    pub(super) frames: Vec<u8>,
}

impl UnitBytes {
    pub(super) fn new(version: u16, architecture: Architecture) -> Self {
        let mut build = Self { version, architecture, info: Vec::new(), lists: Vec::new(), frames: Vec::new() };
        build.info.extend([0; 4]);
        build.info.extend(version.to_le_bytes());
        match version {
            5.. => build.info.extend([1, build.address_size(), 0, 0, 0, 0]),
            _ => build.info.extend([0, 0, 0, 0, build.address_size()]),
        }
        build.info.push(1);
        build.address(FUNCTION);
        build
    }

    fn address_size(&self) -> u8 {
        if self.architecture == Architecture::I386 { 4 } else { 8 }
    }

    fn address(&mut self, address: u64) {
        let size = usize::from(self.address_size());
        self.info.extend(&address.to_le_bytes()[..size]);
    }

    fn entry(&mut self, abbreviation: u8, bytes: &[&[u8]]) -> u32 {
        let offset = self.info.len() as u32;
        self.info.push(abbreviation);
        self.info.extend(bytes.concat());
        offset
    }

    pub(super) fn base(&mut self, encoding: u8, size: u8, name: &str) -> u32 {
        self.entry(2, &[&[encoding, size], name.as_bytes(), &[0]])
    }

    /// Adds the function. Entries that are added later are inside it.
    pub(super) fn function(&mut self, frame_base: &[u8]) -> u32 {
        let offset = self.entry(3, &[]);
        self.address(FUNCTION);
        self.info.extend(LENGTH.to_le_bytes());
        self.info.push(frame_base.len() as u8);
        self.info.extend(frame_base);
        offset
    }

    pub(super) fn variable(&mut self, expression: &[u8]) -> u32 {
        let length = expression.len() as u16;
        let length = [0x80 | (length & 0x7f) as u8, (length >> 7) as u8];
        self.entry(4, &[&length, expression])
    }

    /// Adds a variable. Its location list is what is added to `lists` next.
    pub(super) fn listed(&mut self) -> u32 {
        let offset = self.lists.len() as u32;
        self.entry(5, &[&offset.to_le_bytes()])
    }

    /// Adds a variable with a constant in the form of an abbreviation: 6 data1, 7 sdata, 8 block1,
    /// 9 udata.
    pub(super) fn constant(&mut self, abbreviation: u8, of: u32, value: &[u8]) -> u32 {
        self.entry(abbreviation, &[&of.to_le_bytes(), value])
    }

    /// Adds an entry that refers to another one: 10 a variable to its origin, 11 a typedef, 12 a
    /// pointer.
    pub(super) fn reference(&mut self, abbreviation: u8, to: u32) -> u32 {
        self.entry(abbreviation, &[&to.to_le_bytes()])
    }

    pub(super) fn with<T>(mut self, test: impl FnOnce(&DebugInfo<'_>) -> T) -> T {
        self.info.extend([0, 0]);
        let length = self.info.len() as u32 - 4;
        self.info[..4].copy_from_slice(&length.to_le_bytes());
        let mut object = Object::new(BinaryFormat::Elf, self.architecture, Endianness::Little);
        let lists = if self.version >= 5 { ".debug_loclists" } else { ".debug_loc" };
        let sections: [(&str, &[u8]); 4] = [
            (".debug_info", &self.info),
            (".debug_abbrev", ABBREVIATIONS),
            (lists, &self.lists),
            (".debug_frame", &self.frames),
        ];
        for (name, bytes) in sections {
            let section = object.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::Debug);
            object.append_section_data(section, bytes, 1);
        }
        let bytes = object.write().expect("an object");
        let image = Image::parse(&bytes).expect("an image");
        let sections = Sections::load(&image, |error| panic!("{error}")).expect("sections");
        test(&DebugInfo::new(&sections))
    }
}

/// The entry at an offset of the only unit.
pub(super) fn die(offset: u32) -> Die {
    Die { unit: 0, offset: offset as usize }
}

/// A place `pc` bytes into the function.
pub(super) fn frame(function: u32, pc: u64) -> Frame {
    Frame { pc: Vaddr(FUNCTION + pc), function: Some(die(function)), at_entry: false }
}

/// Call frame information for the function: CFA = rsp + 8, after 0x10 bytes rsp + 16 with rbx saved
/// at CFA - 16.
pub(super) fn frames() -> Vec<u8> {
    let mut bytes = vec![0u8; 4];
    // CIE: id, version 1, no augmentation, code and data alignment 1 and -8, return address in 16;
    // def_cfa rsp 8.
    bytes.extend([0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0x0c, 7, 8]);
    let length = bytes.len() as u32 - 4;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    let fde = bytes.len();
    bytes.extend([0; 8]);
    bytes.extend(FUNCTION.to_le_bytes());
    bytes.extend(u64::from(LENGTH).to_le_bytes());
    // advance 0x10, def_cfa_offset 16, rbx at CFA - 2 * 8.
    bytes.extend([0x50, 0x0e, 16, 0x83, 2]);
    let length = (bytes.len() - fde - 4) as u32;
    bytes[fde..fde + 4].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// Registers and memory with made-up contents: each value is computed from its position.
pub(super) struct Fake {
    pub(super) address_size: u8,
}

/// Scrambles a number.
pub(super) fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let number = (number ^ number >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ number >> 33
}

pub(super) const BIAS: u64 = 0x5500_0000;
pub(super) const THREAD: u64 = 0x7700_0000;

impl location::Machine for Fake {
    fn register(&self, register: Register) -> Option<Vec<u8>> {
        let halves = [mix(u64::from(register.0) + 1), mix(u64::from(register.0) + 1000)];
        Some(halves.iter().flat_map(|half| half.to_le_bytes()).collect())
    }

    fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
        for (index, byte) in into.iter_mut().enumerate() {
            *byte = mix(address.0.wrapping_add(index as u64)) as u8;
        }
        true
    }

    fn bias(&self) -> u64 {
        BIAS
    }

    fn thread_local(&self, offset: u64) -> Option<RuntimeAddress> {
        Some(RuntimeAddress(offset.wrapping_add(THREAD)))
    }

    fn address_size(&self) -> u8 {
        self.address_size
    }

    fn is_big_endian(&self) -> bool {
        false
    }
}

impl Names for Fake {
    fn processor(&self) -> Processor {
        if self.address_size == 4 { Processor::I386 } else { Processor::X86_64 }
    }

    fn address_size(&self) -> u8 {
        self.address_size
    }

    fn symbol(&self, address: Vaddr) -> Option<String> {
        (address.0 >> 12 == 4).then(|| format!("table+{:#x}", address.0 & 0xfff))
    }
}
