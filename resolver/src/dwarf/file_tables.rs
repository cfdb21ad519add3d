//! The files that the line tables of units name.
//!
//! DWARF 5, 6.2.4 and 6.2.4.1: a file has a name, a directory from the table, and the compilation
//! directory, each relative to the next.

use std::collections::HashSet;
use std::sync::Arc;

use gimli::constants as dw;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::files::{SourcePath, UnitFiles};
use super::lines::Lines;
use super::tables;
use super::unit::{Die, UnitValue, is_partial};
use crate::Error;
use crate::text;

/// A unit by its index, or a table by its offset, and the wanted names that it contains.
type Naming<'n> = (usize, Vec<&'n [u8]>);

/// The most files that are read for one unit.
const MOST: usize = 1 << 20;

/// The most types between the parameter of a closure and its structure.
const QUALIFIERS: usize = 8;

impl Lines<'_> {
    /// The files in the line table of a unit.
    pub(super) fn unit_files(&self, index: usize) -> Result<Arc<UnitFiles>, Error> {
        self.files.get_or_make(index, || self.read_files(index))
    }

    /// The units whose tables name a file that ends in one of `lasts`, in their order, each with
    /// the names that it has. Does not build full names. Type units share the table of their
    /// compilation unit; only the first of these units counts.
    pub(super) fn naming<'n>(&self, lasts: &HashSet<&'n [u8]>) -> Result<Vec<Naming<'n>>, Error> {
        let named = (0..self.units.own_count()).into_par_iter().map(|unit| self.named_in(unit, lasts));
        let named: Vec<_> = named.collect::<Result<_, _>>()?;
        let mut tables = HashSet::new();
        let units = named.into_iter().enumerate().filter_map(|(unit, found)| Some((unit, found?)));
        let first = units.filter(|(_, (table, _))| tables.insert(*table));
        Ok(first.map(|(unit, (_, named))| (unit, named)).collect())
    }

    /// Which of `lasts` the table of a unit names, and the offset of that table; `None` if it names
    /// none.
    fn named_in<'n>(&self, index: usize, lasts: &HashSet<&'n [u8]>) -> Result<Option<Naming<'n>>, Error> {
        let Ok(unit) = self.units.unit_alone(index) else {
            self.units.check_work_left()?;
            return Ok(None);
        };
        // Also skips the partial units that dwz makes from entries that units have in common.
        if is_partial(&unit) {
            return Ok(None);
        }
        let Some(program) = &unit.line_program else { return Ok(None) };
        let files = program.header().file_names();
        self.units.charge(1 + files.len() as u64 / 16)?;
        let mut named = Vec::new();
        for file in files {
            let Ok(name) = tables::text(&self.units.dwarf, &unit, file.path_name()) else { continue };
            let last = name.slice().rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or_default();
            named.extend(lasts.get(last));
        }
        named.sort_unstable();
        named.dedup();
        Ok((!named.is_empty()).then(|| (program.header().offset().0, named)))
    }

    fn read_files(&self, index: usize) -> Result<UnitFiles, Error> {
        let (dwarf, unit) = (self.units.own_dwarf(index)?, self.units.own_unit(index)?);
        let Some(program) = self.units.line_program(index)? else { return Ok(UnitFiles::default()) };
        let header = program.header();
        let string = |value| tables::text(dwarf, unit, value).ok().map(|string| text::from_bytes(string.slice()));
        let folder = unit.comp_dir.map(|directory| text::from_bytes(directory.slice()));
        let compiled_in = folder.map(|folder| folder.to_string()).filter(|folder| !folder.is_empty());
        // Numbers start at 1 before DWARF 5. There 0 is the unit's primary file, which the header
        // does not name.
        let first = usize::from(header.version() < 5);
        let count = header.file_names().len().min(MOST);
        self.units.charge(count as u64)?;
        let mut files = vec![None; first];
        for file in header.file_names().iter().take(count) {
            let name = string(file.path_name());
            // Directory 0 is the compilation directory, which the unit states itself.
            let is_own = file.directory_index() == 0 && unit.comp_dir.is_some();
            let directory = if is_own { None } else { file.directory(header).and_then(string) };
            let join = |base: &str, name: &str| match name.starts_with('/') {
                true => name.to_owned(),
                false => [base, "/", name].concat(),
            };
            let path = name.map(|mut path| {
                if let Some(directory) = directory.filter(|directory| !directory.is_empty()) {
                    path = join(&directory, &path);
                }
                match &compiled_in {
                    Some(base) => self.paths.path(&join(base, &path)),
                    None => self.paths.path(&path),
                }
            });
            // Many files with the same long directory would make a small table expensive.
            self.units.charge(path.as_ref().map_or(0, |path| path.as_str().len() as u64 / 4))?;
            files.push(path);
        }
        Ok(UnitFiles { files, compiled_in })
    }

    /// The path of a file as the compiler was given it: without the compilation directory.
    pub(super) fn as_written(&self, unit: usize, file: &SourcePath) -> Arc<str> {
        let folder = self
            .units
            .own_unit(unit)
            .ok()
            .and_then(|unit| unit.comp_dir)
            .map(|folder| text::from_bytes(folder.slice()));
        let inside = folder.and_then(|folder| file.as_str().strip_prefix(&*folder)?.strip_prefix('/'));
        inside.map_or_else(|| Arc::clone(file.as_str()), Arc::from)
    }

    /// The file and line where an entry or its origin is declared; `None` if neither states it.
    pub(super) fn declared(&self, die: Die) -> Result<Option<(SourcePath, u32)>, Error> {
        match self.position(die, dw::DW_AT_decl_file, dw::DW_AT_decl_line)? {
            Some(declared) => Ok(Some(declared)),
            None => self.declared_closure(die),
        }
    }

    /// Where the lambda is declared that a function is the body of. g++ says that only of the type of
    /// its closure.
    fn declared_closure(&self, function: Die) -> Result<Option<(SourcePath, u32)>, Error> {
        let Some((from, parameter)) = self.units.attribute(function, dw::DW_AT_object_pointer)? else {
            return Ok(None);
        };
        let parameter = self.units.reference(from, &parameter)?;
        if self.units.name(parameter)?.as_deref() != Some(b"__closure") {
            return Ok(None);
        }
        let mut of = parameter;
        // A constant pointer to a constant structure.
        for _ in 0..QUALIFIERS {
            match self.units.referred(of, dw::DW_AT_type)? {
                Some(inner) => of = inner,
                None => return self.position(of, dw::DW_AT_decl_file, dw::DW_AT_decl_line),
            }
        }
        Ok(None)
    }

    /// The file and line in two attributes.
    pub(super) fn position(
        &self,
        die: Die,
        file: gimli::DwAt,
        line: gimli::DwAt,
    ) -> Result<Option<(SourcePath, u32)>, Error> {
        let [Some((from, file)), Some((_, line))] = self.units.attributes(die, [file, line])? else {
            return Ok(None);
        };
        Ok(self.source_place(from.unit, &file, line.udata_value()))
    }

    /// The file and line that the values of two attributes of a unit mean.
    pub(super) fn source_place(
        &self,
        unit: usize,
        file: &UnitValue<'_>,
        line: Option<u64>,
    ) -> Option<(SourcePath, u32)> {
        let number = match file {
            gimli::AttributeValue::FileIndex(number) => Some(*number),
            other => other.udata_value(),
        }?;
        let path = self.unit_files(unit).ok()?.get(number)?.clone();
        Some((path, u32::try_from(line?).ok()?))
    }
}
