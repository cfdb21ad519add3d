//! A unit and its entries (DWARF 5, 3.1, 7.5), and the split unit that a skeleton unit names (DWARF
//! 5, 3.1.3). `units.rs` has the units of an image, `split.rs` finds the split units.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use gimli::{AttributeValue, UnitSectionOffset, constants as dw};

use super::sections::Reader;
use crate::address::SectionOffset;
use crate::error::DwarfProblem;

pub(super) type Unit<'s> = gimli::Unit<Reader<'s>>;
pub(super) type UnitValue<'s> = AttributeValue<Reader<'s>>;
pub(super) type Entry<'u, 's> = gimli::DebuggingInformationEntry<'u, 'u, Reader<'s>>;

/// An entry: its unit, by index, and its offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Die {
    pub(super) unit: usize,
    pub(super) offset: usize,
}

/// A unit of a table.
#[derive(Debug)]
pub(super) struct Slot<'s> {
    pub(super) header: gimli::UnitHeader<Reader<'s>>,
    pub(super) home: Home<'s>,
    pub(super) unit: OnceLock<Result<Unit<'s>, DwarfProblem>>,
    /// Its entries, if they are in a split file; `None` if they are not, or that file was not
    /// found.
    pub(super) split: OnceLock<Option<Split<'s>>>,
}

impl<'s> Slot<'s> {
    pub(super) fn new(header: gimli::UnitHeader<Reader<'s>>, home: Home<'s>) -> Self {
        Self { header, home, unit: OnceLock::new(), split: OnceLock::new() }
    }
}

/// The sections that a unit is in.
#[derive(Debug)]
pub(super) enum Home<'s> {
    /// The sections of the image.
    Image,
    /// The sections of the supplementary file.
    Supplementary,
    /// The sections of a split file: only type units have this.
    Split(Arc<Contribution<'s>>),
}

/// The sections of a split unit.
#[derive(Debug)]
pub(super) struct Contribution<'s> {
    pub(super) dwarf: gimli::Dwarf<Reader<'s>>,
    /// `.debug_loc.dwo` and `.debug_loclists.dwo`.
    pub(super) locations: [Reader<'s>; 2],
    pub(super) path: Arc<str>,
}

/// The entries of a split unit.
#[derive(Debug)]
pub(super) struct Split<'s> {
    pub(super) unit: Unit<'s>,
    pub(super) of: Arc<Contribution<'s>>,
    /// The type units in the same file.
    pub(super) types: TypeUnits<'s>,
}

/// The type units of a file.
#[derive(Debug)]
pub(super) struct TypeUnits<'s> {
    pub(super) units: Vec<Slot<'s>>,
    by_signature: HashMap<u64, (usize, usize)>,
}

impl<'s> TypeUnits<'s> {
    pub(super) fn new(units: Vec<Slot<'s>>) -> Self {
        let by_signature = by_signature(&units);
        Self { units, by_signature }
    }

    /// The index of the unit that has a type, and the offset of the type in it.
    pub(super) fn find(&self, signature: gimli::DebugTypeSignature) -> Option<(usize, usize)> {
        self.by_signature.get(&signature.0).copied()
    }
}

/// Whether a language is C, of any year.
pub(super) fn is_c(language: gimli::DwLang) -> bool {
    matches!(language, dw::DW_LANG_C89 | dw::DW_LANG_C | dw::DW_LANG_C99 | dw::DW_LANG_C11 | dw::DW_LANG_C17)
}

/// Whether a language is C++.
pub(super) fn is_cxx(language: gimli::DwLang) -> bool {
    matches!(
        language,
        dw::DW_LANG_C_plus_plus
            | dw::DW_LANG_C_plus_plus_03
            | dw::DW_LANG_C_plus_plus_11
            | dw::DW_LANG_C_plus_plus_14
            | dw::DW_LANG_C_plus_plus_17
            | dw::DW_LANG_C_plus_plus_20
    )
}

/// Whether a unit is one that others import (DWARF 5, 3.1.1).
pub(super) fn is_partial(unit: &Unit<'_>) -> bool {
    let mut entries = unit.entries();
    matches!(entries.next_dfs(), Ok(Some((_, root))) if root.tag() == dw::DW_TAG_partial_unit)
}

/// The type units by signature, each with the offset of its type; the first of equal ones.
pub(super) fn by_signature(units: &[Slot<'_>]) -> HashMap<u64, (usize, usize)> {
    let mut types = HashMap::new();
    for (unit, slot) in units.iter().enumerate() {
        if let gimli::UnitType::Type { type_signature, type_offset }
        | gimli::UnitType::SplitType { type_signature, type_offset } = slot.header.type_()
        {
            types.entry(type_signature.0).or_insert((unit, type_offset.0));
        }
    }
    types
}

/// The offset of a unit in its section.
pub(super) fn info_offset(header: &gimli::UnitHeader<Reader<'_>>) -> SectionOffset {
    match header.offset() {
        UnitSectionOffset::DebugInfoOffset(offset) => SectionOffset(offset.0 as u64),
        UnitSectionOffset::DebugTypesOffset(offset) => SectionOffset(offset.0 as u64),
    }
}
