//! Debug information made in memory: one unit, `/src/a.c`, with its lines and call frame
//! information.
//!
//! [`DwarfBuilder`] collects what `gimli::write` can express. [`DwarfBuilder::write`] turns it into
//! the bytes of sections, and tells where each entry is. Two things are for bytes that no compiler
//! writes: [`DwarfBuilder::append`] adds bytes to a section, and [`Written::reopen`] adds entries
//! with attributes of any form behind the ones in the unit.

use gimli::constants::{self as dw, DwAt, DwAte, DwForm, DwTag};
use gimli::write::{
    Address, AttributeValue, DebugInfoOffsets, Dwarf, EndianVec, Expression, FileId, FrameTable, LineProgram,
    LineString, Range, RangeList, Sections, Unit, UnitEntryId, UnitId,
};
use gimli::{DebugMacinfoOffset, Encoding, Format, LineEncoding, RunTimeEndian};
use simple_markers_resolver::record::ByteOrder;

/// The address and the size of [`DwarfBuilder::function`].
pub const FUNCTION: u64 = 0x1000;
pub const FUNCTION_SIZE: u64 = 0x100;

/// A section: its name and its bytes.
pub type SectionBytes = (&'static str, Vec<u8>);

/// One unit, to which entries are added.
pub struct DwarfBuilder {
    dwarf: Dwarf,
    unit: UnitId,
    file: FileId,
    encoding: Encoding,
    order: ByteOrder,
    /// Written as `.debug_frame`.
    pub frames: FrameTable,
    appended: Vec<SectionBytes>,
}

impl DwarfBuilder {
    /// A unit with addresses of 8 bytes, little-endian. Its code is at 0x1000 to 0x2000.
    pub fn new(version: u16) -> Self {
        Self::with_encoding(version, 8, ByteOrder::Little)
    }

    pub fn with_encoding(version: u16, address_size: u8, order: ByteOrder) -> Self {
        let encoding = Encoding { format: Format::Dwarf32, version, address_size };
        let mut dwarf = Dwarf::new();
        let text = |text: &str| LineString::String(text.into());
        let mut program = LineProgram::new(encoding, LineEncoding::default(), text("/src"), None, text("a.c"), None);
        let directory = program.default_directory();
        let file = program.add_file(text("a.c"), directory, None);
        let unit = dwarf.units.add(Unit::new(encoding, program));
        let (frames, appended) = (FrameTable::default(), Vec::new());
        let mut builder = Self { dwarf, unit, file, encoding, order, frames, appended };
        let root = builder.root();
        builder.set(root, dw::DW_AT_comp_dir, AttributeValue::String(b"/src".to_vec()));
        builder.at(root, &[(0x1000, 0x2000)]);
        builder
    }

    pub fn root(&self) -> UnitEntryId {
        self.dwarf.units.get(self.unit).root()
    }

    /// Adds an attribute, or replaces it.
    pub fn set(&mut self, entry: UnitEntryId, name: DwAt, value: AttributeValue) {
        self.dwarf.units.get_mut(self.unit).get_mut(entry).set(name, value);
    }

    pub fn add(&mut self, parent: UnitEntryId, tag: DwTag) -> UnitEntryId {
        self.dwarf.units.get_mut(self.unit).add(parent, tag)
    }

    /// Adds an entry with attributes.
    pub fn entry(&mut self, parent: UnitEntryId, tag: DwTag, attributes: &[(DwAt, AttributeValue)]) -> UnitEntryId {
        let entry = self.add(parent, tag);
        for (name, value) in attributes {
            self.set(entry, *name, value.clone());
        }
        entry
    }

    /// Adds an entry with a name and the line of its declaration.
    pub fn named(&mut self, parent: UnitEntryId, tag: DwTag, name: &str, line: u64) -> UnitEntryId {
        let file = AttributeValue::FileIndex(Some(self.file));
        let line = AttributeValue::Udata(line);
        self.entry(parent, tag, &[self::name(name), (dw::DW_AT_decl_file, file), (dw::DW_AT_decl_line, line)])
    }

    /// Adds an entry with a `DW_AT_abstract_origin`.
    pub fn completing(&mut self, parent: UnitEntryId, tag: DwTag, origin: UnitEntryId) -> UnitEntryId {
        self.entry(parent, tag, &[(dw::DW_AT_abstract_origin, AttributeValue::UnitRef(origin))])
    }

    /// Gives an entry its address ranges.
    pub fn at(&mut self, entry: UnitEntryId, ranges: &[(u64, u64)]) -> UnitEntryId {
        if let [(begin, end)] = *ranges {
            // Before DWARF 4 this is an address.
            let high = match self.encoding.version {
                ..4 => AttributeValue::Address(Address::Constant(end)),
                _ => AttributeValue::Udata(end - begin),
            };
            self.set(entry, dw::DW_AT_low_pc, AttributeValue::Address(Address::Constant(begin)));
            self.set(entry, dw::DW_AT_high_pc, high);
        } else {
            let range =
                |&(begin, end)| Range::StartEnd { begin: Address::Constant(begin), end: Address::Constant(end) };
            let list = RangeList(ranges.iter().map(range).collect());
            let list = self.dwarf.units.get_mut(self.unit).ranges.add(list);
            self.set(entry, dw::DW_AT_ranges, AttributeValue::RangeListRef(list));
        }
        entry
    }

    /// Adds a block with its address ranges.
    pub fn block(&mut self, parent: UnitEntryId, ranges: &[(u64, u64)]) -> UnitEntryId {
        let block = self.add(parent, dw::DW_TAG_lexical_block);
        self.at(block, ranges)
    }

    /// Adds an instance that is inlined at a line.
    pub fn inlined(
        &mut self,
        parent: UnitEntryId,
        origin: UnitEntryId,
        line: u64,
        ranges: &[(u64, u64)],
    ) -> UnitEntryId {
        let entry = self.completing(parent, dw::DW_TAG_inlined_subroutine, origin);
        self.set(entry, dw::DW_AT_call_file, AttributeValue::FileIndex(Some(self.file)));
        self.set(entry, dw::DW_AT_call_line, AttributeValue::Udata(line));
        self.at(entry, ranges)
    }

    /// Adds the function `f` of line 1, with its frame base. It covers [`FUNCTION_SIZE`] bytes from
    /// [`FUNCTION`] on.
    pub fn function(&mut self, frame_base: &[u8]) -> UnitEntryId {
        let root = self.root();
        let function = self.named(root, dw::DW_TAG_subprogram, "f", 1);
        self.set(function, dw::DW_AT_frame_base, expression(frame_base));
        self.at(function, &[(FUNCTION, FUNCTION + FUNCTION_SIZE)])
    }

    /// Adds a base type. Base types are before all other entries of the unit.
    pub fn base(&mut self, name: &str, size: u64, encoding: DwAte) -> UnitEntryId {
        let encoding = (dw::DW_AT_encoding, AttributeValue::Encoding(encoding));
        self.entry(self.root(), dw::DW_TAG_base_type, &[self::name(name), bytes(size), encoding])
    }

    /// Adds a member, so many bytes from the start of its structure.
    pub fn member(&mut self, parent: UnitEntryId, name: &str, at: u64, of: UnitEntryId) -> UnitEntryId {
        let place = (dw::DW_AT_data_member_location, AttributeValue::Udata(at));
        self.entry(parent, dw::DW_TAG_member, &[self::name(name), typed(of), place])
    }

    /// Adds a variable without a name. The bytes are its location, an expression.
    pub fn variable(&mut self, parent: UnitEntryId, location: &[u8]) -> UnitEntryId {
        self.entry(parent, dw::DW_TAG_variable, &[(dw::DW_AT_location, expression(location))])
    }

    /// Adds a variable without a name, whose location list is at an offset of its section.
    pub fn listed(&mut self, parent: UnitEntryId, offset: usize) -> UnitEntryId {
        // gimli writes the same form for an offset in any section, but takes only this one as a
        // number.
        let offset = AttributeValue::DebugMacinfoRef(DebugMacinfoOffset(offset));
        self.entry(parent, dw::DW_TAG_variable, &[(dw::DW_AT_location, offset)])
    }

    /// Adds a sequence of rows, each with an address and a line. The last row only ends the
    /// sequence.
    pub fn rows(&mut self, rows: &[(u64, u64)]) {
        let file = self.file;
        let program = &mut self.dwarf.units.get_mut(self.unit).line_program;
        let Some((&(start, _), &(end, _))) = rows.first().zip(rows.last()) else { return };
        program.begin_sequence(Some(Address::Constant(start)));
        for &(address, line) in rows.iter().take(rows.len() - 1) {
            let row = program.row();
            (row.address_offset, row.line, row.file) = (address - start, line, file);
            program.generate_row();
        }
        program.end_sequence(end - start);
    }

    /// Appends bytes to a section that nothing else is written to, and tells their offset.
    pub fn append(&mut self, section: &'static str, bytes: &[u8]) -> usize {
        let index = self.appended.iter().position(|(name, _)| *name == section).unwrap_or_else(|| {
            self.appended.push((section, Vec::new()));
            self.appended.len() - 1
        });
        let all = &mut self.appended[index].1;
        all.extend(bytes);
        all.len() - bytes.len()
    }

    pub fn write(mut self) -> Written {
        let endian = match self.order {
            ByteOrder::Little => RunTimeEndian::Little,
            ByteOrder::Big => RunTimeEndian::Big,
        };
        let mut written = Sections::new(EndianVec::new(endian));
        let line_strings = self.dwarf.line_strings.write(&mut written.debug_line_str).unwrap();
        let strings = self.dwarf.strings.write(&mut written.debug_str).unwrap();
        let offsets = self.dwarf.units.write(&mut written, &line_strings, &strings).unwrap();
        self.frames.write_debug_frame(&mut written.debug_frame).unwrap();
        let mut sections = self.appended;
        let all: Result<(), ()> = written.for_each(|id, bytes| {
            if !bytes.slice().is_empty() {
                assert!(sections.iter().all(|(name, _)| *name != id.name()), "bytes and entries in {}", id.name());
                sections.push((id.name(), bytes.slice().to_vec()));
            }
            Ok(())
        });
        assert_eq!(all, Ok(()));
        let (order, address_size) = (self.order, self.encoding.address_size);
        Written { sections, order, address_size, offsets, unit: self.unit }
    }
}

/// The sections of a [`DwarfBuilder`].
pub struct Written {
    pub sections: Vec<SectionBytes>,
    pub order: ByteOrder,
    pub address_size: u8,
    offsets: DebugInfoOffsets,
    unit: UnitId,
}

impl Written {
    /// The offset of an entry in `.debug_info`, and so in its unit, which is the first one.
    pub fn offset(&self, entry: UnitEntryId) -> usize {
        self.offsets.entry(self.unit, entry).expect("an entry of the unit").0
    }

    /// Opens the unit again, to add entries byte by byte. Its root must have a child.
    pub fn reopen(mut self) -> RawEntries {
        // The null entry that ends the children of the root, then the one that ends the table.
        assert_eq!(section(&mut self.sections, ".debug_info").pop(), Some(0));
        assert_eq!(section(&mut self.sections, ".debug_abbrev").pop(), Some(0));
        RawEntries { sections: self.sections, abbreviations: Vec::new() }
    }
}

/// A tag, whether there are children, and the names and forms of attributes (DWARF 4, 7.5.3).
pub type Abbreviation = (DwTag, bool, &'static [(DwAt, DwForm)]);

/// The code of the first abbreviation of [`RawEntries`]. gimli counts its own from 1.
const FIRST_RAW: u8 = 0x40;

/// A unit to which entries are added byte by byte: they may be malformed, and there may be a
/// million.
pub struct RawEntries {
    sections: Vec<SectionBytes>,
    abbreviations: Vec<Abbreviation>,
}

impl RawEntries {
    /// The bytes of the unit.
    pub fn info(&mut self) -> &mut Vec<u8> {
        section(&mut self.sections, ".debug_info")
    }

    /// The offset of the next entry.
    pub fn next(&self) -> u32 {
        let info = self.sections.iter().find(|(name, _)| *name == ".debug_info");
        info.map_or(0, |(_, bytes)| bytes.len() as u32)
    }

    /// The code of an abbreviation, which is added if there is none.
    pub fn code(&mut self, abbreviation: Abbreviation) -> u8 {
        let index = self.abbreviations.iter().position(|known| *known == abbreviation).unwrap_or_else(|| {
            self.abbreviations.push(abbreviation);
            self.abbreviations.len() - 1
        });
        FIRST_RAW + index as u8
    }

    /// Adds an entry with the bytes of its attributes, and tells its offset.
    pub fn entry(&mut self, abbreviation: Abbreviation, attributes: &[&[u8]]) -> u32 {
        let (at, code) = (self.next(), self.code(abbreviation));
        let info = self.info();
        info.push(code);
        attributes.iter().for_each(|bytes| info.extend_from_slice(bytes));
        at
    }

    /// Ends the children of an entry.
    pub fn end(&mut self) {
        self.info().push(0);
    }

    /// Ends `open` entries with children, and the unit.
    pub fn finish(mut self, open: usize) -> Vec<SectionBytes> {
        let info = self.info();
        info.resize(info.len() + open + 1, 0);
        let length = info.len() as u32 - 4;
        info[..4].copy_from_slice(&length.to_le_bytes());
        let table = section(&mut self.sections, ".debug_abbrev");
        for ((tag, has_children, attributes), code) in self.abbreviations.iter().zip(FIRST_RAW..) {
            let attributes = attributes.iter().flat_map(|(name, form)| [name.0, form.0]);
            let numbers = [code.into(), tag.0, u16::from(*has_children)].into_iter().chain(attributes).chain([0, 0]);
            // Numbers below 0x80 have one byte in ULEB128.
            table.extend(numbers.map(|number| u8::try_from(number).ok().filter(|byte| *byte < 0x80).unwrap()));
        }
        table.push(0);
        self.sections
    }
}

/// The bytes of a section, which is added if there is none.
pub fn section<'s>(sections: &'s mut Vec<SectionBytes>, name: &'static str) -> &'s mut Vec<u8> {
    let index = sections.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
        sections.push((name, Vec::new()));
        sections.len() - 1
    });
    &mut sections[index].1
}

/// A `DW_AT_name`.
pub fn name(name: &str) -> (DwAt, AttributeValue) {
    (dw::DW_AT_name, AttributeValue::String(name.into()))
}

/// A `DW_AT_type`.
pub fn typed(of: UnitEntryId) -> (DwAt, AttributeValue) {
    (dw::DW_AT_type, AttributeValue::UnitRef(of))
}

/// A `DW_AT_byte_size`.
pub fn bytes(size: u64) -> (DwAt, AttributeValue) {
    (dw::DW_AT_byte_size, AttributeValue::Udata(size))
}

/// The bytes of an expression as a value (DWARF 5, 2.5).
pub fn expression(operations: &[u8]) -> AttributeValue {
    AttributeValue::Exprloc(Expression::raw(operations.to_vec()))
}

/// A unit with one function, `described`, from 0x1040 to 0x1060.
pub fn described() -> Vec<SectionBytes> {
    let mut dwarf = DwarfBuilder::new(4);
    let root = dwarf.root();
    dwarf.at(root, &[(0x1040, 0x1060)]);
    let function = dwarf.entry(root, dw::DW_TAG_subprogram, &[name("described")]);
    dwarf.at(function, &[(0x1040, 0x1060)]);
    dwarf.write().sections
}
