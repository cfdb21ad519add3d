//! The rows of line programs (DWARF 5, 6.2), by address and by line.
//!
//! A line program runs when the rows of its unit are first needed. For a file, only units whose
//! tables name it are read. This module defines what a row is. `resolve::by_line` decides which
//! rows describe a marker.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::files::{Agreement, SharedPaths, SourcePath, UnitFiles, best};
use super::per_unit::PerUnit;
use super::units::Units;
use crate::address::Vaddr;
use crate::error::{DwarfProblem, Error};

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRow {
    pub(crate) address: u64,
    /// The number of the file in the unit's table, as far as it fits.
    file: u32,
    /// 0 if the code has no line.
    pub(crate) line: u32,
    /// 0 if there is none, or it does not fit.
    pub(super) column: u16,
    /// Whether the compiler recommends a breakpoint there (`is_stmt`).
    pub(crate) is_statement: bool,
    /// Whether the row only marks the end of the code before it.
    ends: bool,
    /// The number of earlier rows of the sequence at the same address: gcc's view number, to which
    /// location lists refer.
    view: u16,
}

impl LineRow {
    /// The number of the file in the unit's table.
    pub(crate) fn file(&self) -> u64 {
        u64::from(self.file)
    }

    fn position(&self) -> (u64, u32) {
        (self.file(), self.line)
    }
}

/// The rows of a unit, in ascending order of address. Rows of one address keep their order.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rows: Vec<LineRow>,
    /// The indices of the rows that have a line, sorted by file, line and index. `u32` because
    /// there are millions.
    by_line: Vec<u32>,
}

impl Rows {
    fn new(mut rows: Vec<LineRow>) -> Self {
        // If one sequence ends where another starts, the end comes first.
        rows.sort_by_key(|row| (row.address, !row.ends));
        rows.shrink_to_fit();
        let with_line = (0..).zip(&rows).filter(|(_, row)| !row.ends && row.line != 0);
        // The keys are next to the indices, because looking each up again takes most of the time. One
        // number is compared faster than three.
        let key =
            |(index, row): (u32, &LineRow)| u128::from(row.file) << 64 | u128::from(row.line) << 32 | u128::from(index);
        let mut by_line: Vec<u128> = with_line.map(key).collect();
        by_line.sort_unstable();
        let by_line = by_line.iter().map(|&key| key as u32).collect();
        Self { rows, by_line }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&LineRow> {
        self.rows.get(index).filter(|row| !row.ends)
    }

    /// The indices of the rows of a line, ascending.
    pub(crate) fn of_line(&self, file: u64, line: u32) -> impl Iterator<Item = usize> {
        let position = |index: &u32| self.rows.get(*index as usize).map(LineRow::position);
        let first = self.by_line.partition_point(|index| position(index) < Some((file, line)));
        let end = self.by_line.partition_point(|index| position(index) <= Some((file, line)));
        self.by_line.get(first..end).unwrap_or_default().iter().map(|&index| index as usize)
    }

    /// The row of the code at an address; `None` if there is none.
    pub(super) fn at(&self, address: u64) -> Option<&LineRow> {
        self.get(self.rows.partition_point(|row| row.address <= address).checked_sub(1)?)
    }

    /// The addresses of the code of a row; empty if another row at the same address replaces it.
    pub(super) fn range_of(&self, index: usize) -> Option<Range<u64>> {
        let (row, next) = (self.get(index)?, self.rows.get(index.checked_add(1)?)?);
        Some(row.address..next.address)
    }

    /// Whether all rows between two rows have no line.
    pub(crate) fn is_one_run(&self, one: usize, two: usize) -> bool {
        (one.saturating_add(1)..two).all(|between| self.get(between).is_some_and(|row| row.line == 0))
    }

    /// The rows that describe bytes of a range. Leaves out rows that another row at the same
    /// address replaces.
    pub(super) fn within(&self, range: &Range<u64>) -> impl Iterator<Item = (usize, &LineRow)> {
        let first = self.rows.partition_point(|row| row.address <= range.start).saturating_sub(1);
        let end = range.end;
        let rows = self.rows.get(first..).unwrap_or_default();
        let pairs = rows.iter().enumerate().take_while(move |(_, row)| row.address < end);
        pairs.filter_map(move |(index, row)| {
            let next = rows.get(index.saturating_add(1))?;
            (!row.ends && row.line != 0 && next.address > row.address && next.address > range.start)
                .then_some((first.saturating_add(index), row))
        })
    }
}

/// The files that a name may mean.
#[derive(Debug)]
pub(crate) enum FileMatch {
    /// One file.
    File {
        /// The file.
        path: SourcePath,
        /// For each unit that names the file, ascending, its numbers for it.
        units: Vec<(usize, Vec<u64>)>,
    },
    /// No unit's table names such a file.
    None,
    /// Several files agree equally well.
    Several(Vec<SourcePath>),
}

/// The line programs of the units, and their tables of files.
#[derive(Debug)]
pub(super) struct Lines<'s> {
    pub(super) units: Arc<Units<'s>>,
    rows: PerUnit<Rows>,
    pub(super) files: PerUnit<UnitFiles>,
    pub(super) paths: SharedPaths,
    matched: Mutex<HashMap<SourcePath, Arc<FileMatch>>>,
}

impl<'s> Lines<'s> {
    pub(super) fn new(units: &Arc<Units<'s>>) -> Self {
        let (units, count) = (Arc::clone(units), units.unit_count());
        Self {
            units,
            rows: PerUnit::new(count),
            files: PerUnit::new(count),
            paths: SharedPaths::default(),
            matched: Mutex::default(),
        }
    }

    /// How many units have their rows loaded.
    pub(super) fn known_units(&self) -> usize {
        self.rows.count()
    }

    /// Drops the rows of units. Keeps the tables of files, because they are small and read for all
    /// units at once.
    pub(super) fn clear(&self) {
        self.rows.clear();
    }
}

impl Lines<'_> {
    /// The rows of a unit.
    pub(super) fn rows(&self, index: usize) -> Result<Arc<Rows>, Error> {
        self.rows.get_or_make(index, || self.run(index))
    }

    fn run(&self, index: usize) -> Result<Rows, Error> {
        let unit = self.units.own_unit(index)?;
        let Some(program) = self.units.line_program(index)? else { return Ok(Rows::default()) };
        let size = unit.encoding().address_size;
        let last = u64::MAX >> 64u32.saturating_sub(u32::from(size) * 8).min(63);
        let mut all: Vec<LineRow> = Vec::new();
        let mut first = 0;
        let mut view: u16 = 0;
        let mut state = program.rows();
        let error = |error: gimli::Error| {
            Error::dwarf(None, DwarfProblem::LineProgram { unit: index, parser: error.to_string() })
        };
        while let Some((_, row)) = state.next_row().map_err(error)? {
            self.units.charge(1)?;
            let previous = all.get(first..).and_then(<[LineRow]>::last);
            view = match previous.is_some_and(|previous| previous.address == row.address()) {
                true => view.saturating_add(1),
                false => 0,
            };
            all.push(LineRow {
                address: row.address(),
                file: u32::try_from(row.file_index()).unwrap_or(u32::MAX),
                line: row.line().and_then(|line| u32::try_from(line.get()).ok()).unwrap_or(0),
                column: match row.column() {
                    gimli::ColumnType::LeftEdge => 0,
                    gimli::ColumnType::Column(column) => u16::try_from(column.get()).unwrap_or(0),
                },
                is_statement: row.is_stmt(),
                ends: row.end_sequence(),
                view,
            });
            if row.end_sequence() {
                // Linkers mark dropped code with 0 or 1, or with one of the last two addresses.
                let start = all.get(first).map_or(0, |row| row.address);
                if start <= 1 || start >= last - 1 {
                    all.truncate(first);
                }
                first = all.len();
            }
        }
        // Without an end of the sequence, the size of its last row is unknown.
        all.truncate(first);
        Ok(Rows::new(all))
    }

    /// The file and line of the instruction at an address; `None` if the line table does not say.
    pub(super) fn line_at(&self, address: Vaddr) -> Option<(Arc<str>, u32)> {
        let unit = self.units.unit_at(address)?;
        let rows = self.rows(unit).ok()?;
        let row = rows.at(address.0).filter(|row| row.line != 0)?;
        let files = self.unit_files(unit).ok()?;
        Some((Arc::clone(files.get(row.file())?.as_str()), row.line))
    }

    /// The path of the file that the unit of an address names so; `None` if it is not exactly one.
    pub(super) fn path_of(&self, address: Vaddr, file: &SourcePath) -> Option<Arc<str>> {
        let files = self.unit_files(self.units.unit_at(address)?).ok()?;
        let mut paths: Vec<&SourcePath> = files
            .matching(file)
            .into_iter()
            .filter(|(agreement, _)| matches!(agreement, Agreement::AsWritten | Agreement::Same))
            .filter_map(|(_, number)| files.get(number))
            .collect();
        paths.dedup();
        match paths.as_slice() {
            [path] => Some(Arc::clone(path.as_str())),
            _ => None,
        }
    }

    /// The last view number of the rows of a line at an address; `None` if there are no such rows,
    /// or rows of other lines are between them.
    pub(super) fn view_of(&self, address: Vaddr, file: &SourcePath, line: u32) -> Result<Option<u16>, Error> {
        let Some(unit) = self.units.unit_at(address) else { return Ok(None) };
        let rows = self.rows(unit)?;
        let files = self.unit_files(unit)?;
        let first = rows.rows.partition_point(|row| row.address < address.0);
        let here = rows.rows.get(first..).unwrap_or_default().iter().take_while(|row| row.address == address.0);
        let is_it =
            |row: &LineRow| row.line == line && files.get(row.file()).is_some_and(|found| found.has_last_of(file));
        let mut last = None;
        let mut is_over = false;
        for row in here.filter(|row| !row.ends) {
            match (is_it(row), last) {
                (true, _) if is_over => return Ok(None),
                // A sequence that begins here counts anew.
                (true, Some(last)) if row.view <= last => return Ok(None),
                (true, _) => last = Some(row.view),
                (false, last) => is_over = last.is_some(),
            }
        }
        Ok(last)
    }

    /// The file that a name means, and the units that have lines of it. Reads only the tables, and
    /// runs no line program.
    pub(super) fn match_file(&self, name: &SourcePath) -> Result<Arc<FileMatch>, Error> {
        let known = || self.matched.lock().unwrap_or_else(PoisonError::into_inner).get(name).map(Arc::clone);
        if let Some(matched) = known() {
            return Ok(matched);
        }
        self.match_files(std::slice::from_ref(name))?;
        known().ok_or_else(|| Error::dwarf(None, DwarfProblem::FileNotSearched))
    }

    /// Finds the files that names mean, for [`DebugInfo::match_file`], in one pass over the tables.
    pub(super) fn match_files(&self, names: &[SourcePath]) -> Result<(), Error> {
        if names.is_empty() {
            return Ok(());
        }
        let lasts: HashSet<&[u8]> = names.iter().map(|name| name.last().as_bytes()).collect();
        let naming = self.naming(&lasts)?;
        // The first error in the order of names is reported below, whichever unit it is of.
        naming.par_iter().for_each(|(unit, _)| drop(self.unit_files(*unit)));
        let mut by_last: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (unit, named) in naming {
            // A unit that cannot be read has no lines.
            if self.units.own_unit(unit).is_ok() {
                named.into_iter().for_each(|last| by_last.entry(last).or_default().push(unit));
            }
        }
        let search = |name: &SourcePath| {
            let units = by_last.get(name.last().as_bytes()).map_or(&[][..], Vec::as_slice);
            self.search_file(name, units)
        };
        let matched: Vec<Result<FileMatch, Error>> = names.par_iter().map(search).collect();
        for (name, matched) in names.iter().zip(matched) {
            let matched = Arc::new(matched?);
            self.matched.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), matched);
        }
        Ok(())
    }

    fn search_file(&self, name: &SourcePath, units: &[usize]) -> Result<FileMatch, Error> {
        let mut candidates = Vec::new();
        self.units.check_work_left()?;
        for &unit in units {
            let files = self.unit_files(unit)?;
            self.units.charge(1 + files.count() as u64 / 16)?;
            for (agreement, number) in files.matching(name) {
                if let (Some(path), true) = (files.get(number), agreement >= Agreement::Tail(2)) {
                    candidates.push((agreement, (path.clone(), unit, number)));
                }
            }
        }
        let mut paths: Vec<&SourcePath> = best(candidates.iter().map(|(agreement, (path, ..))| (*agreement, path)))
            .into_iter()
            .map(|best| best.1)
            .collect();
        paths.sort_unstable();
        paths.dedup();
        match paths.as_slice() {
            [] => Ok(FileMatch::None),
            [path] => {
                let path = (*path).clone();
                let mut units: Vec<(usize, Vec<u64>)> = Vec::new();
                // Includes units that do not state their compilation directory (type units of gcc).
                for (_, (_, unit, number)) in candidates.into_iter().filter(|(_, (found, ..))| *found == path) {
                    match units.last_mut().filter(|(last, _)| *last == unit) {
                        Some((_, numbers)) => numbers.push(number),
                        None => units.push((unit, vec![number])),
                    }
                }
                Ok(FileMatch::File { path, units })
            }
            several => Ok(FileMatch::Several(several.iter().map(|path| (*path).clone()).collect())),
        }
    }
}
