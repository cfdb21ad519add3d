//! The debug information of an image, as everything outside of this folder asks it. Each answer is one call of a layer.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::definitions::Definition;
use super::files::SourcePath;
use super::frame::Frame;
use super::landing_pads::LandingPad;
use super::line_absence::LineAbsence;
use super::lines::{Lines, Matched, Rows};
use super::location_list::Described;
use super::locations::Locations;
use super::names::{Lookup, Names};
use super::next_line::{NextLine, NoLine};
use super::scopes::{Scope, Scopes};
use super::sections::Sections;
use super::split::SplitFiles;
use super::steps::{Projection, Step};
use super::types::{TypeRef, Types};
use super::units::{Die, Units};
use super::unsupported::{ExceptionTableProblem, Unsupported};
use crate::Error;
use crate::address::Vaddr;
use crate::location::{InfoOffset, Processor};
use crate::types::{Language, Type};

/// The debug information of an image: layers, each of which uses only those before it.
#[derive(Debug)]
pub struct DebugInfo<'s> {
    pub(super) units: Arc<Units<'s>>,
    pub(super) lines: Arc<Lines<'s>>,
    pub(super) scopes: Arc<Scopes<'s>>,
    pub(super) names: Names<'s>,
    pub(super) types: Arc<Types<'s>>,
    pub(super) locations: Locations<'s>,
}

/// Of up to this many units everything is kept that was made of them. A unit of the kernel takes a quarter of a megabyte.
const KEPT_UNITS: usize = 64;

impl<'s> DebugInfo<'s> {
    /// Reads the unit headers.
    #[must_use]
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn new(sections: &'s Sections<'s>) -> Self {
        Self::with(sections, None, None)
    }

    /// Reads the unit headers of an image, and of its supplementary file. Entries in files of their own are read when they
    /// are first asked for.
    #[must_use]
    pub fn with(
        sections: &'s Sections<'s>,
        supplementary: Option<&'s Sections<'s>>,
        files: Option<&'s dyn SplitFiles>,
    ) -> Self {
        let units = Arc::new(Units::new(sections, supplementary, files));
        let lines = Arc::new(Lines::new(&units));
        let scopes = Arc::new(Scopes::new(&lines));
        let types = Arc::new(Types::new(&units));
        Self { names: Names::new(&scopes), locations: Locations::new(&types), units, lines, scopes, types }
    }

    /// Drops what was made of units, if it was made of many. To be called when nothing more is asked of most of them: what is
    /// asked again is made again.
    pub(crate) fn release(&self) {
        if self.scopes.known_units().max(self.lines.known_units()) > KEPT_UNITS {
            self.lines.clear();
            self.scopes.clear();
            self.types.clear();
        }
    }

    /// Allows so many more steps of work: what is asked grows with the places that are asked for, not only with the debug information.
    /// Nothing where all were spent: who waits for an answer may have been refused a part of it.
    pub fn allow(&self, steps: u64) {
        self.units.allow(steps)
    }

    /// The addresses of a function out of line, in the order in which its entry lists them.
    pub(crate) fn code_of(&self, function: Die) -> Result<Vec<Range<u64>>, Error> {
        self.scopes.code_of(function)
    }

    /// The functions out of line whose name, as the linker has it, is among `names`, or all; by name. A unit that cannot be read has none.
    ///
    /// # Errors
    ///
    /// It is more work than debug information of this size warrants.
    pub(crate) fn definitions_of(
        &self,
        names: Option<&HashSet<&[u8]>>,
    ) -> Result<HashMap<Vec<u8>, Vec<Definition>>, Error> {
        self.scopes.definitions_of(names)
    }

    /// A description of a type, with what pointers lead to followed `depth` times; numbers and characters behind a pointer
    /// always are.
    ///
    /// # Errors
    ///
    /// The debug information of the type itself cannot be read; what is wrong deeper in it is said there, as
    /// [`Shape::Opaque`].
    pub fn describe_type(&self, of: Option<TypeRef>, depth: u32) -> Result<Arc<Type>, Error> {
        self.types.describe_type(of, depth)
    }

    /// As [`DebugInfo::describe_type`], but of a structure or union of C behind a pointer nothing but its name and size: those of the kernel
    /// have hundreds of members each, and lead from one to the other.
    pub(crate) fn describe_type_briefly(&self, of: Option<TypeRef>, depth: u32) -> Result<Arc<Type>, Error> {
        self.types.describe_type_briefly(of, depth)
    }

    /// Where a function is entered, where its entry says that apart from its addresses (`DW_AT_entry_pc`; DWARF 5, 2.18).
    pub(crate) fn entry_of(&self, function: Die) -> Result<Option<u64>, Error> {
        self.scopes.entry_of(function)
    }

    /// What became of the function that a line is in; `None` where the debug information does not say.
    ///
    /// # Errors
    ///
    /// The debug information of a unit that names the file is malformed.
    pub(crate) fn absence_of_line(&self, file: &str, line: u32) -> Result<Option<LineAbsence>, Error> {
        self.scopes.absence_of_line(file, line)
    }

    /// The function out of line that starts at an address; `None` where none does.
    pub(crate) fn function_starting_at(&self, address: Vaddr) -> Result<Option<Arc<str>>, Error> {
        self.scopes.function_starting_at(address)
    }

    /// The landing pads for the code of a range; empty where it has none. `memory` gives what is loaded from an address on.
    ///
    /// Fails with a reason where there are some that cannot be read.
    pub(crate) fn landing_pads<'m>(
        &self,
        range: &std::ops::Range<u64>,
        memory: &dyn Fn(Vaddr) -> Option<&'m [u8]>,
    ) -> Result<Vec<LandingPad>, ExceptionTableProblem> {
        self.locations.landing_pads(range, memory)
    }

    /// The language of the unit that an entry is in (`DW_AT_language`; DWARF 5, 3.1.1).
    #[must_use]
    pub fn language(&self, die: Die) -> Language {
        self.types.language(die)
    }

    /// The file and line of the instruction at an address; `None` where the line table does not say.
    pub(crate) fn line_at(&self, address: Vaddr) -> Option<(Arc<str>, u32)> {
        self.lines.line_at(address)
    }

    /// What a path of names means in a scope, for a marker of `file` and `line`: `["cmd"]`, `["crate", "queue", "DEPTH"]`.
    ///
    /// # Errors
    ///
    /// The debug information of a unit that was searched is malformed.
    pub fn lookup(&self, scope: &Scope, name: &[&str], file: &str, line: u32) -> Result<Lookup, Error> {
        self.names.lookup(scope, name, file, line)
    }

    /// Why the entries at an address cannot be read; `None` where they can, or there are none.
    pub(crate) fn missing_at(&self, address: Vaddr) -> Option<Unsupported> {
        self.units.missing_at(address)
    }

    /// Where the code of the unit starts that holds an address, where all of it is one piece.
    pub(crate) fn one_piece_around(&self, address: u64) -> Option<u64> {
        self.scopes.one_piece_around(address)
    }

    /// Where the variable is that a [`Source::ImplicitPointer`] points into; [`Described::Never`] where there is none.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub fn pointee(&self, variable: InfoOffset, frame: &Frame) -> Result<Described, Error> {
        self.locations.pointee(variable, frame)
    }

    /// The scope that a marker of `file` and `line` is in, whose site is at `pc`; `None` where no function is there (resolution, section 3).
    ///
    /// # Errors
    ///
    /// The debug information of a unit at the address is malformed.
    pub fn scope_at(&self, pc: Vaddr, file: &str, line: u32) -> Result<Option<Scope>, Error> {
        self.scopes.scope_at(pc, file, line)
    }

    /// Where a step leads from an object of a type.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub fn step(&self, of: TypeRef, step: &Step) -> Result<Projection, Error> {
        self.types.step(of, step)
    }

    /// The type of a variable, a member, a function's result, of what a pointer points at; `None` for `void`.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub fn type_of(&self, die: Die) -> Result<Option<TypeRef>, Error> {
        self.types.type_of(die)
    }

    /// Bytes of a type; `None` where the debug information does not say, or only the running program knows.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there, or goes in a circle.
    pub fn type_size(&self, of: TypeRef) -> Result<Option<u64>, Error> {
        self.types.type_size(of)
    }

    /// Where a variable, parameter or DWARF procedure is at a place.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub fn variable(&self, variable: Die, frame: &Frame) -> Result<Described, Error> {
        self.locations.variable(variable, frame)
    }

    /// The name of the function of an instance, as in [`ScopeFrame::function`].
    pub(crate) fn function_name(&self, instance: Die) -> Result<Option<Arc<str>>, Error> {
        self.scopes.function_name(instance)
    }

    /// The processor.
    #[must_use]
    pub fn processor(&self) -> Processor {
        self.units.processor()
    }

    /// What is wrong with the debug information as a whole; `None` where all units were found, and those that were asked for their
    /// addresses told them.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.units.damage()
    }

    /// The entry of an [`Self::info_offset`]; `None` where that is in no unit. That an entry starts there is not looked at.
    #[must_use]
    #[cfg(feature = "fuzzing")]
    pub fn die_at(&self, offset: InfoOffset) -> Option<Die> {
        self.units.die_at(offset)
    }

    /// An entry as a number, its identity in a [`crate::location::Location`]: where it is in `.debug_info` or `.debug_types` of the
    /// image; of one in another file the unit stands above bit 40.
    #[must_use]
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn info_offset(&self, die: Die) -> InfoOffset {
        self.units.info_offset(die)
    }

    /// The type without the names and qualifiers around it (`typedef`, `const`, `volatile`, `restrict`, `_Atomic`;
    /// DWARF 5, 5.3 and 5.4), and its definition where the unit has one for a declaration; `None` for `void`.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there, or goes in a circle.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn strip(&self, of: TypeRef) -> Result<Option<TypeRef>, Error> {
        self.types.strip(of)
    }

    /// The name of a type, `void` for `None`: `struct foo *`, `unsigned int[4]`, `int (*)(int)`; Rust's as debug
    /// information has it (`&str`).
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn type_name(&self, of: Option<TypeRef>) -> Result<String, Error> {
        self.types.type_name(of)
    }

    /// The addresses for which a variable is described with something to read, ascending, adjacent ones joined: all of
    /// the address space for one that has a single location or value in all of its scope.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn variable_ranges(&self, variable: Die) -> Result<Vec<Range<Vaddr>>, Error> {
        self.locations.variable_ranges(variable)
    }

    /// Finds the files that names mean, for [`DebugInfo::match_file`]: all in one pass over the tables.
    pub(crate) fn match_files(&self, names: &[SourcePath]) -> Result<(), Error> {
        self.lines.match_files(names)
    }

    /// The file that a name means, and the units that have lines of it. Only tables are read, no program is run.
    pub(crate) fn match_file(&self, name: &SourcePath) -> Result<Arc<Matched>, Error> {
        self.lines.match_file(name)
    }

    /// The rows of a unit.
    pub(crate) fn rows(&self, index: usize) -> Result<Arc<Rows>, Error> {
        self.lines.rows(index)
    }

    /// For each instance of the function that holds a line, in some units, the rows of the next line that has one, no further than the
    /// block around it: the instance, the unit and the rows' indices. Else why there is none.
    pub(crate) fn next_line(
        &self,
        units: &[usize],
        file: &SourcePath,
        line: u32,
    ) -> Result<Result<Vec<NextLine>, NoLine>, Error> {
        self.scopes.next_line(units, file, line)
    }
}
