//! Builds debug information with `gimli::write`, for unit tests. `test_bytes.rs` builds it byte by
//! byte.

use std::borrow::Cow;
use std::collections::HashMap;

use gimli::constants::{self as dw, DwAt, DwTag};
use gimli::write::{
    Address, AttributeValue, Dwarf, EndianVec, LineProgram, LineString, Range, RangeList, UnitEntryId, UnitId,
};
use gimli::{Encoding, Format, LineEncoding, LittleEndian};

use simple_markers_record::ByteOrder;

use super::Sections;
use crate::location::Processor;

/// One unit, of `/src/a.c`.
pub(super) struct DwarfBuilder {
    dwarf: Dwarf,
    unit: UnitId,
    file: gimli::write::FileId,
}

impl DwarfBuilder {
    pub(super) fn new(version: u16) -> Self {
        let encoding = Encoding { format: Format::Dwarf32, version, address_size: 8 };
        let mut dwarf = Dwarf::new();
        let text = |text: &str| LineString::String(text.as_bytes().to_vec());
        let mut program = LineProgram::new(encoding, LineEncoding::default(), text("/src"), None, text("a.c"), None);
        let directory = program.default_directory();
        let file = program.add_file(text("a.c"), directory, None);
        let unit = dwarf.units.add(gimli::write::Unit::new(encoding, program));
        let mut builder = Self { dwarf, unit, file };
        let root = builder.root();
        builder.set(root, dw::DW_AT_comp_dir, AttributeValue::String(b"/src".to_vec()));
        builder.set(root, dw::DW_AT_low_pc, AttributeValue::Address(Address::Constant(0x1000)));
        builder.set(root, dw::DW_AT_high_pc, AttributeValue::Udata(0x1000));
        builder
    }

    pub(super) fn root(&mut self) -> UnitEntryId {
        self.dwarf.units.get(self.unit).root()
    }

    pub(super) fn set(&mut self, entry: UnitEntryId, name: DwAt, value: AttributeValue) {
        self.dwarf.units.get_mut(self.unit).get_mut(entry).set(name, value);
    }

    pub(super) fn add(&mut self, parent: UnitEntryId, tag: DwTag) -> UnitEntryId {
        self.dwarf.units.get_mut(self.unit).add(parent, tag)
    }

    /// Adds an entry with a name and the line of its declaration.
    pub(super) fn named(&mut self, parent: UnitEntryId, tag: DwTag, name: &str, line: u64) -> UnitEntryId {
        let entry = self.add(parent, tag);
        let file = self.file;
        self.set(entry, dw::DW_AT_name, AttributeValue::String(name.as_bytes().to_vec()));
        self.set(entry, dw::DW_AT_decl_file, AttributeValue::FileIndex(Some(file)));
        self.set(entry, dw::DW_AT_decl_line, AttributeValue::Udata(line));
        entry
    }

    /// Adds an entry with a `DW_AT_abstract_origin`.
    pub(super) fn completing(&mut self, parent: UnitEntryId, tag: DwTag, origin: UnitEntryId) -> UnitEntryId {
        let entry = self.add(parent, tag);
        self.set(entry, dw::DW_AT_abstract_origin, AttributeValue::UnitRef(origin));
        entry
    }

    /// Gives an entry its address ranges.
    pub(super) fn at(&mut self, entry: UnitEntryId, ranges: &[(u64, u64)]) -> UnitEntryId {
        if let [(begin, end)] = *ranges {
            self.set(entry, dw::DW_AT_low_pc, AttributeValue::Address(Address::Constant(begin)));
            self.set(entry, dw::DW_AT_high_pc, AttributeValue::Udata(end - begin));
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
    pub(super) fn block(&mut self, parent: UnitEntryId, ranges: &[(u64, u64)]) -> UnitEntryId {
        let block = self.add(parent, dw::DW_TAG_lexical_block);
        self.at(block, ranges)
    }

    /// Adds an instance that is inlined at a line.
    pub(super) fn inlined(
        &mut self,
        parent: UnitEntryId,
        origin: UnitEntryId,
        line: u64,
        ranges: &[(u64, u64)],
    ) -> UnitEntryId {
        let entry = self.completing(parent, dw::DW_TAG_inlined_subroutine, origin);
        let file = self.file;
        self.set(entry, dw::DW_AT_call_file, AttributeValue::FileIndex(Some(file)));
        self.set(entry, dw::DW_AT_call_line, AttributeValue::Udata(line));
        self.at(entry, ranges)
    }

    /// Adds a sequence of rows, each with an address and a line. The last row only ends the
    /// sequence.
    pub(super) fn rows(&mut self, rows: &[(u64, u64)]) {
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

    pub(super) fn sections(mut self) -> Sections<'static> {
        let mut sections = gimli::write::Sections::new(EndianVec::new(LittleEndian));
        self.dwarf.write(&mut sections).expect("the debug information is well-formed");
        let mut bytes = HashMap::new();
        let all: Result<(), ()> = sections.for_each(|id, section| {
            bytes.insert(id.name(), section.slice().to_vec());
            Ok(())
        });
        assert_eq!(all, Ok(()));
        let parts = bytes.into_iter().map(|(name, bytes)| (name, Cow::Owned(bytes)));
        Sections::from_parts(parts, ByteOrder::Little, Processor::X86_64, 8)
    }
}
