//! The debug information of an image, as code outside of this folder asks it. Each answer is one
//! call of a layer.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::definitions::{Definition, DefinitionFilter};
use super::files::SourcePath;
use super::frame::Frame;
use super::function_result::FunctionResult;
use super::landing_pads::LandingPad;
use super::line_absence::LineAbsence;
use super::lines::{FileMatch, Lines, Rows};
use super::locations::Locations;
use super::lookup::Lookup;
use super::members::ClassMember;
use super::names::ScopeNames;
use super::next_line::{NextLine, NoLine};
use super::scopes::{Scope, Scopes};
use super::sections::Sections;
use super::split_files::SplitFiles;
use super::steps::{Projection, Step};
use super::types::{TypeRef, Types};
use super::unit::{Die, is_cxx};
use super::units::Units;
use super::unsupported::{ExceptionTableProblem, Unsupported};
use super::variable_location::VariableLocation;
use super::views::TaskSpot;
use gimli::constants as dw;

use crate::address::Vaddr;
use crate::error::{DwarfProblem, Error};
use crate::location::{Binary, Expr, InfoOffset, Node, Piece, Processor, Source, Unary, ValueType};
use crate::types::{Language, Type, TypePath};
#[cfg(any(test, feature = "fuzzing"))]
use crate::views::NO_VIEWS;
use crate::views::{TypeView, ViewTable};

/// The debug information of an image, in layers. Each layer uses only the layers before it.
#[derive(Debug)]
pub struct DebugInfo<'s> {
    pub(super) units: Arc<Units<'s>>,
    pub(super) lines: Arc<Lines<'s>>,
    pub(super) scopes: Arc<Scopes<'s>>,
    pub(super) names: ScopeNames<'s>,
    pub(super) types: Arc<Types<'s>>,
    pub(super) locations: Locations<'s>,
}

/// [`DebugInfo::release`] drops nothing as long as no more units than this are known. A unit of the
/// kernel takes a quarter of a megabyte.
const KEPT_UNITS: usize = 32;

/// The address so many bytes behind the one that a pointer has, without a branch. If that is null, it is the address of
/// the pointer itself, where 8 bytes are 0. `None` if the computation would be too large.
fn behind(pointer: &Expr, offset: u64) -> Option<Expr> {
    let both = |operation, left: &Expr, right: Expr| Expr::new(Node::Binary(operation, left.clone(), right));
    let target = Expr::new(Node::Memory { address: pointer.clone(), size: 8, to: ValueType::Generic })?;
    // All ones if there is a target.
    let mask = Expr::new(Node::Unary(Unary::Neg, both(Binary::Ne, &target, Expr::constant(0))?))?;
    let distance = both(Binary::Minus, &both(Binary::Plus, &target, Expr::constant(offset))?, pointer.clone())?;
    both(Binary::Plus, pointer, both(Binary::And, &distance, mask)?)
}

/// The number of the task that a thread runs: the name of the variable, its view, the address, and the type.
type TaskNumber<'v> = (String, &'v TypeView, Expr, TypeRef);

impl<'s> DebugInfo<'s> {
    /// Reads the unit headers.
    #[must_use]
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn new(sections: &'s Sections<'s>) -> Self {
        Self::with(sections, None, None, &NO_VIEWS)
    }

    /// Reads the unit headers of an image and of its supplementary file. Split files are read when
    /// their entries are first asked for. `views` are those of a user.
    #[must_use]
    pub fn with(
        sections: &'s Sections<'s>,
        supplementary: Option<&'s Sections<'s>>,
        files: Option<&'s dyn SplitFiles>,
        views: &'s ViewTable,
    ) -> Self {
        let units = Arc::new(Units::new(sections, supplementary, files));
        let lines = Arc::new(Lines::new(&units));
        let scopes = Arc::new(Scopes::new(&lines));
        let types = Arc::new(Types::new(&units, views));
        Self { names: ScopeNames::new(&scopes), locations: Locations::new(&types), units, lines, scopes, types }
    }

    /// Drops the rows, scopes and types of all units, if those of many units are known. Call it
    /// when most of them are no longer needed: what is asked for again is made again.
    pub(crate) fn release(&self) {
        if self.scopes.known_units().max(self.lines.known_units()) > KEPT_UNITS {
            self.lines.clear();
            self.scopes.clear();
            self.types.clear();
        }
    }

    /// Allows so many more steps of work: the work grows with the number of sites, not only with
    /// the debug information. Does nothing once all steps are spent: an answer may already lack a
    /// part.
    pub fn allow(&self, steps: u64) {
        self.units.allow(steps);
    }

    /// Charges so many steps of work: see [`DebugInfo::allow`].
    ///
    /// # Errors
    ///
    /// It is more work than debug information of this size warrants.
    pub(crate) fn charge(&self, steps: u64) -> Result<(), Error> {
        self.units.charge(steps)
    }

    /// The addresses of a function out of line, in the order in which its entry lists them.
    pub(crate) fn code_of(&self, function: Die) -> Result<Vec<Range<u64>>, Error> {
        self.scopes.functions.code_of(function)
    }

    /// The out-of-line functions that are wanted, or all of them; by name. A unit that cannot be read
    /// has none.
    ///
    /// # Errors
    ///
    /// It is more work than debug information of this size warrants.
    pub(crate) fn definitions_of(
        &self,
        wanted: Option<&DefinitionFilter<'_>>,
    ) -> Result<HashMap<Vec<u8>, Vec<Definition>>, Error> {
        self.scopes.definitions_of(wanted)
    }

    /// A description of a type that follows pointers `depth` times. It always describes numbers and
    /// characters behind a pointer.
    ///
    /// # Errors
    ///
    /// The debug information of the type itself cannot be read. Where a type inside it cannot be
    /// read, the description has [`Shape::Opaque`].
    pub fn describe_type(&self, of: Option<TypeRef>, depth: u32) -> Result<Arc<Type>, Error> {
        self.types.describe_type(of, depth)
    }

    /// As [`DebugInfo::describe_type`], but where there would be too many types, those behind the last
    /// pointers are left out.
    pub(crate) fn describe_value(&self, of: Option<TypeRef>, depth: u32) -> Result<Arc<Type>, Error> {
        let declared = |die: Die| {
            let place = self.lines.position(die, dw::DW_AT_decl_file, dw::DW_AT_decl_line)?;
            Ok(place.map(|(file, line)| (self.lines.as_written(die.unit, &file), line)))
        };
        self.types.describe_value(of, depth, &declared)
    }

    /// The name by which a debugger finds a type; `None` if it has none.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn type_path(&self, of: TypeRef) -> Result<Option<TypePath>, Error> {
        self.types.type_path(of)
    }

    /// As [`DebugInfo::describe_type`], but with only the name and size of a C structure or union
    /// behind a pointer: those of the kernel have hundreds of members each, and lead from one to
    /// the other.
    pub(crate) fn describe_type_briefly(&self, of: Option<TypeRef>, depth: u32) -> Result<Arc<Type>, Error> {
        self.types.describe_type_briefly(of, depth)
    }

    /// The address at which a function is entered (`DW_AT_entry_pc`; DWARF 5, 2.18); `None` if its
    /// entry has no such attribute.
    pub(crate) fn entry_of(&self, function: Die) -> Result<Option<u64>, Error> {
        self.scopes.functions.entry_of(function)
    }

    /// What became of the function that holds a line; `None` if the debug information does not say.
    ///
    /// # Errors
    ///
    /// The debug information of a unit that names the file is malformed.
    pub(crate) fn absence_of_line(&self, file: &str, line: u32) -> Result<Option<LineAbsence>, Error> {
        self.scopes.absence_of_line(file, line)
    }

    /// The out-of-line function that starts at an address; `None` if none does.
    pub(crate) fn function_starting_at(&self, address: Vaddr) -> Result<Option<Arc<str>>, Error> {
        self.scopes.function_starting_at(address)
    }

    /// The landing pads for the code of a range; empty if it has none. `memory` returns the bytes
    /// of the image from an address on.
    ///
    /// # Errors
    ///
    /// Some cannot be read; the reason says why.
    pub(crate) fn landing_pads<'m>(
        &self,
        range: &std::ops::Range<u64>,
        memory: &dyn Fn(Vaddr) -> Option<&'m [u8]>,
    ) -> Result<Vec<LandingPad>, ExceptionTableProblem> {
        self.locations.landing_pads(range, memory)
    }

    /// Whether the unit of an entry, or else of an address, describes lines and no variables.
    ///
    /// # Errors
    ///
    /// The unit is malformed.
    pub(crate) fn has_lines_only(&self, die: Option<Die>, pc: Vaddr) -> Result<bool, Error> {
        self.types.has_lines_only(die, pc)
    }

    /// The language of the unit that an entry is in (`DW_AT_language`; DWARF 5, 3.1.1).
    #[must_use]
    pub fn language(&self, die: Die) -> Language {
        self.types.language(die)
    }

    /// The file and line of the instruction at an address; `None` if the line table does not say.
    pub(crate) fn line_at(&self, address: Vaddr) -> Option<(Arc<str>, u32)> {
        self.lines.line_at(address)
    }

    /// The path of the file that the compiler of the code at an address was given as `file`; `None` if
    /// the debug information does not say.
    pub(crate) fn path_of(&self, address: Vaddr, file: &str) -> Option<Arc<str>> {
        self.lines.path_of(address, &SourcePath::new(file))
    }

    /// Whether the unit of an entry was compiled without optimisation, as far as it shows: nearly
    /// all its local variables have one place in the frame.
    ///
    /// # Errors
    ///
    /// The unit cannot be read.
    pub(crate) fn is_unoptimized(&self, die: Die) -> Result<bool, Error> {
        self.scopes.functions.is_unoptimized(die.unit)
    }

    /// Whether a variable is a parameter of its function.
    pub(crate) fn is_parameter(&self, variable: Die) -> bool {
        self.units.tag(variable).is_ok_and(|tag| tag == gimli::DW_TAG_formal_parameter)
    }

    /// Whether a unit describes any parameter or variable.
    ///
    /// # Errors
    ///
    /// The unit is malformed.
    pub(crate) fn has_variables(&self, unit: usize) -> Result<bool, Error> {
        Ok(self.scopes.functions.of_unit(unit)?.has_variables())
    }

    /// The line where a variable is declared; `None` if the debug information does not say.
    pub(crate) fn declared_line(&self, variable: Die) -> Option<u32> {
        self.lines.declared(variable).ok().flatten().map(|(_, line)| line)
    }

    /// gcc's view number of a marker of `file` and `line` at an address: of the last row of the
    /// line there. `None` if there are no such rows, or rows of other lines are between them.
    ///
    /// # Errors
    ///
    /// The line program is malformed.
    pub fn view_of(&self, address: Vaddr, file: &str, line: u32) -> Result<Option<u16>, Error> {
        self.lines.view_of(address, &SourcePath::new(file), line)
    }

    /// What a path of names means in a scope, for a marker of `file` and `line`: `["cmd"]`,
    /// `["crate", "queue", "DEPTH"]`.
    ///
    /// # Errors
    ///
    /// The debug information of a unit that was searched is malformed.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn lookup(&self, scope: &Scope, name: &[&str], file: &str, line: u32) -> Result<Lookup, Error> {
        self.names.lookup(scope, name, file, line)
    }

    /// The same among the variables of the marker's function alone; [`Lookup::DeclaredLater`] holds only
    /// if nothing outside of it has the name.
    ///
    /// # Errors
    ///
    /// The debug information of a unit that was searched is malformed.
    pub(crate) fn lookup_in_function(
        &self,
        scope: &Scope,
        name: &[&str],
        file: &str,
        line: u32,
    ) -> Result<Option<Lookup>, Error> {
        self.names.lookup_in_function(scope, name, file, line)
    }

    /// The same outside of the marker's function. `later` is what is left to say if nothing there has
    /// the name.
    ///
    /// # Errors
    ///
    /// The debug information of a unit that was searched is malformed.
    pub(crate) fn lookup_outside(
        &self,
        scope: &Scope,
        name: &[&str],
        file: &str,
        line: u32,
        later: Option<Lookup>,
    ) -> Result<Lookup, Error> {
        self.names.lookup_outside(scope, name, file, line, later)
    }

    /// The numbers of the tasks that a thread runs, in the thread-local variables that views name: the view's name
    /// of the variable, the view, the address of the number, and its type.
    ///
    /// # Errors
    ///
    /// The debug information of a unit is malformed.
    pub(crate) fn task_numbers<'v>(&self, views: &'v ViewTable) -> Result<Vec<TaskNumber<'v>>, Error> {
        let mut numbers = Vec::new();
        for (name, view) in views.tasks() {
            let path: Vec<&str> = view.scopes.iter().map(|scope| &**scope).chain([name]).collect();
            for variable in self.names.statics.below(&path)? {
                let (Some(location), Some(of)) =
                    (self.locations.location_everywhere(variable)?, self.type_of(variable)?)
                else {
                    continue;
                };
                let [Piece { source: Source::Memory(start), .. }] = &*location.pieces else { continue };
                let Some(TaskSpot { pointer, offset, of }) = self.types.task_number(view, of)? else { continue };
                let Node::ThreadLocal(start) = start.node() else { continue };
                let Node::Constant(start) = start.node() else { continue };
                let at = |offset: u64| Expr::new(Node::ThreadLocal(Expr::constant(start.bits.wrapping_add(offset))));
                let address = match pointer {
                    None => at(offset),
                    Some(pointer) => at(pointer).and_then(|pointer| behind(&pointer, offset)),
                };
                numbers.extend(address.map(|address| (path.join("::"), view, address, of)));
            }
        }
        Ok(numbers)
    }

    /// What a name means in a class of C++, or in the class that a pointer points at: its own member,
    /// or one of a base. `None` if the class has no such member.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn class_member(&self, of: TypeRef, name: &str) -> Result<Option<ClassMember>, Error> {
        self.types.class_member(of, name)
    }

    /// The classes of C++ around a function, the innermost first.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn classes_around(&self, function: Die) -> Result<Vec<TypeRef>, Error> {
        Ok(self.names.statics.classes_around(function)?.into_iter().map(TypeRef::from).collect())
    }

    /// The definition of a static member of a class, as seen from the unit of a function; the
    /// declaration itself if it has the value. `None` if there is none, or several.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn definition_of_member(&self, function: Die, member: Die) -> Result<Option<Die>, Error> {
        if self.units.own_attribute(member, dw::DW_AT_const_value)?.is_some() {
            return Ok(Some(member));
        }
        self.names.statics.definition_of_member(function.unit, member)
    }

    /// The type that a name of C means in the unit of a function, as [`Types::type_called`] has it.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn type_called(&self, function: Die, words: &[&str]) -> Result<Option<TypeRef>, Error> {
        self.types.type_called(function.unit, words)
    }

    /// Whether a type is a reference of C++ to an object.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn is_reference(&self, of: TypeRef) -> Result<bool, Error> {
        self.types.is_object_reference(of)
    }

    /// Whether a function is written in C++.
    pub(crate) fn is_cxx(&self, function: Die) -> bool {
        self.units.unit_language(function.unit).is_some_and(is_cxx)
    }

    /// The reason why the entries at an address cannot be read; `None` if they can, or there are
    /// none.
    pub(crate) fn missing_at(&self, address: Vaddr) -> Option<Unsupported> {
        self.units.missing_at(address)
    }

    /// The start of the code of the unit that holds an address; `None` if its code is not
    /// contiguous.
    pub(crate) fn one_piece_around(&self, address: u64) -> Option<u64> {
        self.scopes.one_piece_around(address)
    }

    /// The location of the variable that a [`Source::ImplicitPointer`] points into;
    /// [`VariableLocation::Never`] if there is none.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub fn pointee(&self, variable: InfoOffset, frame: &Frame) -> Result<VariableLocation, Error> {
        self.locations.pointee(variable, frame)
    }

    /// The scope of a marker of `file` and `line` whose site is at `pc`; `None` if no function is
    /// there (`docs/design.md`, "The scope of a site").
    ///
    /// # Errors
    ///
    /// The debug information of a unit at the address is malformed.
    pub fn scope_at(&self, pc: Vaddr, file: &str, line: u32) -> Result<Option<Scope>, Error> {
        self.scopes.scope_at(pc, file, line)
    }

    /// The innermost function instance of [`scope_at`](Self::scope_at); `None` if no function is there.
    ///
    /// # Errors
    ///
    /// The debug information of a unit at the address is malformed.
    pub(crate) fn instance_at(&self, pc: Vaddr, file: &str, line: u32) -> Result<Option<Die>, Error> {
        self.scopes.instance_at(pc, file, line)
    }

    /// The result of a step from an object of a type.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub fn step(&self, of: TypeRef, step: &Step) -> Result<Projection, Error> {
        self.types.step(of, step)
    }

    /// The type of a variable, of a member, of the result of a function, or behind a pointer;
    /// `None` for `void`.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub fn type_of(&self, die: Die) -> Result<Option<TypeRef>, Error> {
        self.types.type_of(die)
    }

    /// The result of a function.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn result_of(&self, function: Die) -> Result<FunctionResult, Error> {
        self.types.result_of(function)
    }

    /// The size of a type in bytes; `None` if the debug information does not say, or only the
    /// running program knows.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there, or goes in a circle.
    pub fn type_size(&self, of: TypeRef) -> Result<Option<u64>, Error> {
        self.types.type_size(of)
    }

    /// The location of a variable, parameter or DWARF procedure at the address of a frame.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub fn variable(&self, variable: Die, frame: &Frame) -> Result<VariableLocation, Error> {
        self.locations.variable(variable, frame)
    }

    /// The stack pointer as it was when the function that holds an address was entered; `None` if call
    /// frame information does not say it.
    pub(crate) fn entry_stack_pointer(&self, pc: Vaddr) -> Option<Expr> {
        self.locations.entry_stack_pointer(pc)
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

    /// What is wrong with the debug information as a whole; `None` if all units were found, and the
    /// addresses of those that were asked could be read.
    #[must_use]
    pub fn damage(&self) -> Option<&DwarfProblem> {
        self.units.damage()
    }

    /// The entry of an [`Self::info_offset`]; `None` if that is in no unit. It does not check that
    /// an entry starts there.
    #[must_use]
    #[cfg(feature = "fuzzing")]
    pub fn die_at(&self, offset: InfoOffset) -> Option<Die> {
        self.units.die_at(offset)
    }

    /// An entry as a number, its identity in a [`crate::location::Location`]: its offset in
    /// `.debug_info` or `.debug_types`. The bits from 40 up number the unit of an entry in another
    /// file.
    #[must_use]
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn info_offset(&self, die: Die) -> InfoOffset {
        self.units.info_offset(die)
    }

    /// The type without `typedef`, `const`, `volatile`, `restrict` and `_Atomic` (DWARF 5, 5.3 and
    /// 5.4); `None` for `void`. For a declaration it is the definition, if the unit has one.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there, or goes in a circle.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn strip(&self, of: TypeRef) -> Result<Option<TypeRef>, Error> {
        self.types.strip(of)
    }

    /// The name of a type, `void` for `None`: `struct foo *`, `unsigned int[4]`, `int (*)(int)`. A
    /// type of Rust has the name that the debug information gives it (`&str`).
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn type_name(&self, of: Option<TypeRef>) -> Result<String, Error> {
        self.types.type_name(of)
    }

    /// The addresses for which a variable has a location or value, ascending, adjacent ranges
    /// joined. If a single one holds in all of its scope, this is the whole address space.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn variable_ranges(&self, variable: Die) -> Result<Vec<Range<Vaddr>>, Error> {
        self.locations.variable_ranges(variable)
    }

    /// Finds the files that names mean, for [`DebugInfo::match_file`], in one pass over the tables.
    pub(crate) fn match_files(&self, names: &[SourcePath]) -> Result<(), Error> {
        self.lines.match_files(names)
    }

    /// The file that a name means, and the units that have lines of it. It reads only tables and
    /// runs no line program.
    pub(crate) fn match_file(&self, name: &SourcePath) -> Result<Arc<FileMatch>, Error> {
        self.lines.match_file(name)
    }

    /// The rows of a unit.
    pub(crate) fn rows(&self, index: usize) -> Result<Arc<Rows>, Error> {
        self.lines.rows(index)
    }

    /// The rows of the next line that has code, for each instance in some units of the function
    /// that holds a line. The search ends with the block around the line. Else the reason why there
    /// is none.
    pub(crate) fn next_line(
        &self,
        units: &[usize],
        file: &SourcePath,
        line: u32,
    ) -> Result<Result<Vec<NextLine>, NoLine>, Error> {
        self.scopes.next_line(units, file, line)
    }
}
