//! What can be wrong with debug information. `english/dwarf.rs` writes the text for people.

use std::sync::Arc;

use crate::Error;

/// Why debug information, or a part of it, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DwarfProblem {
    /// The DWARF parser refuses it.
    Parser {
        /// What the parser says.
        parser: String,
    },
    /// Reading takes more steps than debug information of this size needs.
    WorkLimit,
    /// A unit has a number that no unit has.
    NoSuchUnit,
    /// A file is asked for that was not among those that were searched.
    FileNotSearched,
    /// A unit of the image cannot be read.
    Unit {
        /// Number of the unit.
        unit: usize,
        /// What is wrong with it.
        problem: Box<DwarfProblem>,
    },
    /// A unit cannot be read, so it describes no address.
    UnitNotRead(Box<Error>),
    /// The header of a unit is malformed, so no unit after it is read (DWARF 5, 7.5.1).
    UnitHeader {
        /// Offset of the header in `.debug_info`.
        offset: u64,
        /// What the parser says.
        parser: String,
    },
    /// The line program of a unit is malformed (DWARF 5, 6.2).
    LineProgram {
        /// Number of the unit.
        unit: usize,
        /// What the parser says.
        parser: String,
    },
    /// A table of abbreviations is malformed (DWARF 5, 7.5.3).
    Abbreviations {
        /// Offset of the table in `.debug_abbrev`.
        offset: usize,
        /// What the parser says.
        parser: String,
    },
    /// An abbreviation has too many attributes.
    ManyAttributes {
        /// Offset of its table in `.debug_abbrev`.
        offset: usize,
        /// The most attributes that are accepted.
        most: usize,
    },
    /// A chain of `DW_AT_abstract_origin` and `DW_AT_specification` is too long.
    EndlessOrigins,
    /// A reference leads to no unit.
    Reference,
    /// A type is defined by itself.
    EndlessType,
    /// A type is nested too deeply.
    DeepType,
    /// A structure is nested too deeply.
    DeepStructure,
    /// A unit has more than 2^32 ranges or variables.
    ManyRanges,
    /// The discriminant of a variant is not a constant (`DW_AT_discr_value`).
    Discriminant,
    /// The list of discriminants of a variant has an unknown form (`DW_AT_discr_list`).
    DiscriminantList,
    /// The offset of a location list is not known.
    LocationListOffset,
    /// A location list is malformed (DWARF 5, 7.29).
    LocationList {
        /// Offset of the list in its section.
        offset: usize,
        /// Name of the section.
        section: &'static str,
        /// What the parser says.
        parser: String,
    },
    /// The problem is in a split file.
    InSplitFile {
        /// Path of the file.
        path: Arc<str>,
        /// Offset of the entry in that file's `.debug_info`.
        offset: u64,
        /// What is wrong there.
        problem: Box<DwarfProblem>,
    },
    /// The problem is in the supplementary file.
    InSupplementaryFile {
        /// Offset of the entry in that file's `.debug_info`.
        offset: u64,
        /// What is wrong there.
        problem: Box<DwarfProblem>,
    },
}

impl From<gimli::Error> for DwarfProblem {
    fn from(error: gimli::Error) -> Self {
        Self::Parser { parser: error.to_string() }
    }
}
