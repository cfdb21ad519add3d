//! Units with entries that compilers do not write.

use gimli::constants as dw;
use gimli::write::AttributeValue;
use images::dwarf::{Abbreviation, DwarfBuilder, RawEntries, SectionBytes};

use self::abbreviation::*;

/// A unit for `a.c` in DWARF 4 with an `int`, to which entries are added byte by byte.
pub(super) struct Unit {
    pub(super) entries: RawEntries,
    pub(super) int: u32,
}

impl Unit {
    pub(super) fn new() -> Self {
        Self::at(0x1000, 0x1100)
    }

    /// A unit with code at these addresses. Its lines are always from 0x1000 on.
    pub(super) fn at(start: u64, end: u64) -> Self {
        Self::with(dw::DW_LANG_C11, "clang version 14.0.6", start, end)
    }

    /// A unit of C that gcc optimised.
    pub(super) fn by_gcc() -> Self {
        Self::with(dw::DW_LANG_C11, "GNU C17 12.2.0 -g -O2", 0x1000, 0x1100)
    }

    pub(super) fn by_rustc() -> Self {
        Self::with(dw::DW_LANG_Rust, "clang LLVM (rustc version 1.90.0)", 0x1000, 0x1100)
    }

    fn with(language: dw::DwLang, producer: &str, start: u64, end: u64) -> Self {
        let mut builder = DwarfBuilder::new(4);
        let root = builder.root();
        builder.set(root, dw::DW_AT_language, AttributeValue::Language(language));
        builder.set(root, dw::DW_AT_producer, AttributeValue::String(producer.into()));
        builder.at(root, &[(start, end)]);
        builder.rows(&[(0x1000, 2), (0x1010, 3), (0x1020, 8), (0x1030, 9), (0x1071, 0)]);
        let int = builder.base("int", 4, dw::DW_ATE_signed);
        let written = builder.write();
        let int = written.offset(int) as u32;
        Self { entries: written.reopen(), int }
    }

    /// The offset of the next entry.
    pub(super) fn next(&self) -> u32 {
        self.entries.next()
    }

    pub(super) fn entry(&mut self, abbreviation: Abbreviation, attributes: &[&[u8]]) -> u32 {
        self.entries.entry(abbreviation, attributes)
    }

    pub(super) fn end(&mut self) {
        self.entries.end();
    }

    /// Adds a block with its code.
    pub(super) fn block(&mut self, start: u64, length: u32) -> u32 {
        self.entry(BLOCK_WITH_CODE, &[&start.to_le_bytes(), &length.to_le_bytes()])
    }

    /// Adds the function `f` that covers all code, and tells the offset of `int`. Later entries are
    /// inside `f`.
    pub(super) fn function(&mut self, frame_base: &[u8]) -> u32 {
        self.subprogram("f", 0x1000, 0x100, frame_base);
        self.int
    }

    pub(super) fn subprogram(&mut self, name: &str, start: u64, length: u32, frame_base: &[u8]) -> u32 {
        let (start, length, size) = (start.to_le_bytes(), length.to_le_bytes(), leb(frame_base.len()));
        self.entry(SUBPROGRAM, &[name.as_bytes(), &[0, 1, 1], &start, &length, &size, frame_base])
    }

    pub(super) fn variable(&mut self, name: &str, of: u32, location: &[u8]) -> u32 {
        self.entry(VARIABLE, &[name.as_bytes(), &[0], &of.to_le_bytes(), &leb(location.len()), location])
    }

    pub(super) fn inlined(&mut self, origin: u32, start: u64, length: u32) -> u32 {
        self.entry(INLINED, &[&origin.to_le_bytes(), &start.to_le_bytes(), &length.to_le_bytes(), &[1, 5]])
    }

    /// Ends `open` scopes and the unit.
    pub(super) fn finish(self, open: usize) -> Vec<SectionBytes> {
        self.entries.finish(open)
    }
}

/// Bytes after their length in 4 bytes.
pub(super) fn with_length(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

/// A number in ULEB128.
pub(super) fn leb(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// The abbreviations of the entries that are added byte by byte.
pub(super) mod abbreviation {
    use gimli::constants::*;
    use images::dwarf::Abbreviation;

    pub(in super::super) const SUBPROGRAM: Abbreviation = (
        DW_TAG_subprogram,
        true,
        &[
            (DW_AT_name, DW_FORM_string),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data1),
            (DW_AT_low_pc, DW_FORM_addr),
            (DW_AT_high_pc, DW_FORM_data4),
            (DW_AT_frame_base, DW_FORM_exprloc),
        ],
    );
    pub(in super::super) const INLINE_SUBPROGRAM: Abbreviation = (
        DW_TAG_subprogram,
        true,
        &[
            (DW_AT_name, DW_FORM_string),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data1),
            (DW_AT_inline, DW_FORM_data1),
        ],
    );
    pub(in super::super) const INLINED: Abbreviation = (
        DW_TAG_inlined_subroutine,
        true,
        &[
            (DW_AT_abstract_origin, DW_FORM_ref4),
            (DW_AT_low_pc, DW_FORM_addr),
            (DW_AT_high_pc, DW_FORM_data4),
            (DW_AT_call_file, DW_FORM_data1),
            (DW_AT_call_line, DW_FORM_data1),
        ],
    );
    pub(in super::super) const BLOCK: Abbreviation = (DW_TAG_lexical_block, true, &[]);
    pub(in super::super) const BLOCK_WITH_CODE: Abbreviation =
        (DW_TAG_lexical_block, true, &[(DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data4)]);
    pub(in super::super) const BLOCK_WITH_RANGES: Abbreviation =
        (DW_TAG_lexical_block, true, &[(DW_AT_ranges, DW_FORM_sec_offset)]);
    pub(in super::super) const NAMESPACE: Abbreviation = (DW_TAG_namespace, true, &[(DW_AT_name, DW_FORM_string)]);
    pub(in super::super) const IMPORTED_UNIT: Abbreviation =
        (DW_TAG_imported_unit, false, &[(DW_AT_import, DW_FORM_ref4)]);
    pub(in super::super) const TYPE_UNIT: Abbreviation = (DW_TAG_type_unit, true, &[(DW_AT_language, DW_FORM_data1)]);
    /// A variable, with the forms of its name, its type and its location.
    macro_rules! variable {
        ($name:ident, $of:ident, $location:ident) => {
            (DW_TAG_variable, false, &[(DW_AT_name, $name), (DW_AT_type, $of), (DW_AT_location, $location)])
        };
    }
    pub(in super::super) const VARIABLE: Abbreviation = variable!(DW_FORM_string, DW_FORM_ref4, DW_FORM_exprloc);
    pub(in super::super) const VARIABLE_WITH_LIST: Abbreviation =
        variable!(DW_FORM_string, DW_FORM_ref4, DW_FORM_sec_offset);
    /// Its name is in `.debug_str`.
    pub(in super::super) const VARIABLE_OF_STRING: Abbreviation =
        variable!(DW_FORM_strp, DW_FORM_ref4, DW_FORM_exprloc);
    /// Its type is in a type unit.
    pub(in super::super) const VARIABLE_OF_SIGNATURE: Abbreviation =
        variable!(DW_FORM_string, DW_FORM_ref_sig8, DW_FORM_exprloc);
    /// A variable without a type, as the one of a ghost.
    pub(in super::super) const DECLARED_VARIABLE: Abbreviation = (
        DW_TAG_variable,
        false,
        &[(DW_AT_name, DW_FORM_string), (DW_AT_decl_file, DW_FORM_data1), (DW_AT_decl_line, DW_FORM_data2)],
    );
    pub(in super::super) const LABEL: Abbreviation = (
        DW_TAG_label,
        false,
        &[
            (DW_AT_name, DW_FORM_string),
            (DW_AT_decl_file, DW_FORM_data1),
            (DW_AT_decl_line, DW_FORM_data2),
            (DW_AT_low_pc, DW_FORM_addr),
        ],
    );
    /// A label of an abstract instance.
    pub(in super::super) const ABSTRACT_LABEL: Abbreviation = (
        DW_TAG_label,
        false,
        &[(DW_AT_name, DW_FORM_string), (DW_AT_decl_file, DW_FORM_data1), (DW_AT_decl_line, DW_FORM_data2)],
    );
    pub(in super::super) const LABEL_OF_ORIGIN: Abbreviation =
        (DW_TAG_label, false, &[(DW_AT_abstract_origin, DW_FORM_ref4), (DW_AT_low_pc, DW_FORM_addr)]);
    pub(in super::super) const VARIABLE_OF_ORIGIN: Abbreviation =
        (DW_TAG_variable, false, &[(DW_AT_abstract_origin, DW_FORM_ref4)]);
    pub(in super::super) const VARIABLE_OF_SPECIFICATION: Abbreviation =
        (DW_TAG_variable, false, &[(DW_AT_specification, DW_FORM_ref4)]);
    pub(in super::super) const TYPEDEF: Abbreviation = (DW_TAG_typedef, false, &[(DW_AT_type, DW_FORM_ref4)]);
    pub(in super::super) const POINTER: Abbreviation = (DW_TAG_pointer_type, false, &[(DW_AT_type, DW_FORM_ref4)]);
    pub(in super::super) const STRUCTURE: Abbreviation =
        (DW_TAG_structure_type, true, &[(DW_AT_byte_size, DW_FORM_data1)]);
    pub(in super::super) const DECLARED_STRUCTURE: Abbreviation =
        (DW_TAG_structure_type, false, &[(DW_AT_name, DW_FORM_string), (DW_AT_declaration, DW_FORM_flag_present)]);
    pub(in super::super) const MEMBER: Abbreviation = (
        DW_TAG_member,
        false,
        &[(DW_AT_name, DW_FORM_string), (DW_AT_type, DW_FORM_ref4), (DW_AT_data_member_location, DW_FORM_data1)],
    );
    pub(in super::super) const UNNAMED_MEMBER: Abbreviation =
        (DW_TAG_member, false, &[(DW_AT_type, DW_FORM_ref4), (DW_AT_data_member_location, DW_FORM_data1)]);
    pub(in super::super) const ARRAY: Abbreviation = (DW_TAG_array_type, true, &[(DW_AT_type, DW_FORM_ref4)]);
    pub(in super::super) const SUBRANGE: Abbreviation =
        (DW_TAG_subrange_type, false, &[(DW_AT_upper_bound, DW_FORM_data1)]);
}
