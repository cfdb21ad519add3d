//! The statements of a line, as gcc writes them: with statement frontiers each copy of a statement
//! has a row that is a statement (`is_stmt`; DWARF 5, 6.2.2), also if no instruction is left of it.

use std::collections::{BTreeMap, BTreeSet};

use super::debug_info::DebugInfo;
use super::files::SourcePath;
use super::functions::FunctionDeclaration;
use super::lines::{LineRow, Rows};
use super::unit::Die;
use crate::Error;
use crate::address::Vaddr;

/// The most rows before a statement that are read.
const MOST_BEFORE: usize = 512;

/// The most lines behind a statement that are read.
const MOST_BEHIND: u32 = 512;

/// A copy of a statement: rows of its line at one address, with no other statement between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) address: Vaddr,
    /// The function instance that it is in; `None` if there is none.
    pub(crate) instance: Option<Die>,
    /// The address of the statement of the same function before it; `None` if there is none near.
    pub(crate) previous: Option<Vaddr>,
    /// The address of the nearest statement of the same function before it that begins further left:
    /// where a program is indented, that is one that has the statement inside. Those in the first
    /// column do not count. `None` if there is none near, or the rows have no columns.
    pub(crate) outer: Option<Vaddr>,
}

/// The rows of other statements of its function before the row of a statement.
#[derive(Clone, Copy, Default)]
struct RowsBefore {
    previous: Option<usize>,
    outer: Option<usize>,
}

/// The copies of the statement of a line in a unit.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    /// The copies, by instance, then in the order of their rows.
    pub(crate) copies: Vec<Statement>,
    /// How many instances of their functions have code and no copy.
    pub(crate) missing: u32,
    /// Whether the line also has code, or statements in several columns. Then the copies are of more
    /// than one statement.
    pub(crate) is_ambiguous: bool,
}

/// Which rows of a line are those of its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementRows {
    /// The line has nothing else, as that of a ghost.
    All,
    /// The statement that begins furthest left.
    First,
}

impl DebugInfo<'_> {
    /// The copies of the statement of a line. `numbers` are the file's numbers in the unit's table.
    ///
    /// # Errors
    ///
    /// The unit or its line program is malformed.
    pub(crate) fn statements(
        &self,
        unit: usize,
        file: &SourcePath,
        numbers: &[u64],
        line: u32,
        of: StatementRows,
    ) -> Result<Statements, Error> {
        let rows = self.rows(unit)?;
        let functions = self.scopes.functions.declared_in(unit, file)?;
        // The function of a line is the one that is declared last before it.
        let function = |line: u32| functions.partition_point(|declared: &FunctionDeclaration| declared.line <= line);
        let is_near = |row: &LineRow| row.is_statement && numbers.contains(&row.file());
        let is_inside = |row: &LineRow| is_near(row) && row.line != line && function(row.line) == function(line);
        let mut of_line: Vec<usize> = numbers.iter().flat_map(|number| rows.of_line(*number, line)).collect();
        of_line.sort_unstable();
        let columns = of_line.iter().filter_map(|&index| rows.get(index).filter(|row| row.is_statement));
        let column = columns.map(|row| row.column).min();
        let is_it = |index: &usize| rows.get(*index).is_some_and(|row| row.is_statement && Some(row.column) == column);
        match of {
            StatementRows::All if !of_line.iter().all(is_it) => {
                return Ok(Statements { is_ambiguous: true, ..Statements::default() });
            }
            StatementRows::All => {}
            StatementRows::First => of_line.retain(is_it),
        }
        let mut copies = Vec::new();
        let mut last: Option<usize> = None;
        // The last row whose rows before it were read, its column, and what was found. It holds for rows of
        // the same column.
        let mut known: Option<(usize, u16, RowsBefore)> = None;
        for index in of_line {
            self.units.charge(1)?;
            let is_same = last.is_some_and(|last| is_one_copy(&rows, last, index));
            last = Some(index);
            let Some(row) = rows.get(index).filter(|_| !is_same) else { continue };
            let mut before = RowsBefore::default();
            let is_near = |at: &usize| index.saturating_sub(*at) <= MOST_BEFORE;
            let read = known.filter(|(_, column, _)| *column == row.column);
            let unread = read.map_or(0, |(known, ..)| known.saturating_add(1));
            let mut is_same_sequence = true;
            for at in (unread..index).rev().take_while(is_near) {
                self.units.charge(1)?;
                let Some(found) = rows.get(at) else {
                    is_same_sequence = false;
                    break;
                };
                if !is_inside(found) {
                    continue;
                }
                before.previous = before.previous.or(Some(at));
                // The brace of a function is often in the first column.
                if 1 < found.column && found.column < row.column {
                    before.outer = Some(at);
                    break;
                }
            }
            if let Some((.., known)) = read.filter(|_| is_same_sequence) {
                before.previous = before.previous.or(known.previous.filter(is_near));
                before.outer = before.outer.or(known.outer.filter(is_near));
            }
            known = Some((index, row.column, before));
            let address = Vaddr(row.address);
            let scope = self.scope_at(address, file.as_str(), line)?;
            let instance = scope.and_then(|scope| Some(scope.frames.first()?.instance));
            let address_of = |at: Option<usize>| Some(Vaddr(rows.get(at?)?.address));
            let (previous, outer) = (address_of(before.previous), address_of(before.outer));
            copies.push(Statement { address, instance, previous, outer });
        }
        copies.sort_by_key(|copy| copy.instance);
        let instances = copies.iter().filter_map(|copy| copy.instance);
        let missing = self.instances_without(unit, instances)?;
        Ok(Statements { copies, missing, is_ambiguous: false })
    }

    /// The statements inside the one of a line, and the next one behind it that begins in its column: where
    /// they begin. Nobody gets there without the statement of the line, unless there is a label. They are
    /// told apart by their columns, so the program must be indented. A statement with nothing inside has a
    /// next one only on the next line, because `else` has no row.
    ///
    /// # Errors
    ///
    /// The unit or its line program is malformed.
    pub(crate) fn statements_behind(
        &self,
        unit: usize,
        file: &SourcePath,
        numbers: &[u64],
        line: u32,
    ) -> Result<Vec<Vaddr>, Error> {
        let rows = self.rows(unit)?;
        let functions = self.scopes.functions.declared_in(unit, file)?;
        let function = |line: u32| functions.partition_point(|declared: &FunctionDeclaration| declared.line <= line);
        let of_line = |line: u32| -> Vec<&LineRow> {
            let all = numbers.iter().flat_map(|number| rows.of_line(*number, line));
            all.filter_map(|index| rows.get(index).filter(|row| row.is_statement)).collect()
        };
        let first_column = |rows: &[&LineRow]| rows.iter().map(|row| row.column).min().filter(|column| *column > 0);
        let mut found = Vec::new();
        let Some(column) = first_column(&of_line(line)) else { return Ok(found) };
        let mut has_inside = false;
        for next in (line.saturating_add(1)..=line.saturating_add(MOST_BEHIND))
            .take_while(|next| function(*next) == function(line))
        {
            let all = of_line(next);
            self.units.charge(all.len() as u64)?;
            let is_next = match first_column(&all) {
                None => continue,
                Some(first) if first > column => false,
                Some(first) if first == column && (has_inside || next == line.saturating_add(1)) => true,
                Some(_) => break,
            };
            found.extend(all.iter().filter(|row| !is_next || row.column == column).map(|row| Vaddr(row.address)));
            if is_next {
                break;
            }
            has_inside = true;
        }
        Ok(found)
    }

    /// How many instances of the functions of some instances have code, and are none of these.
    ///
    /// # Errors
    ///
    /// The unit is malformed.
    pub(crate) fn instances_without(&self, unit: usize, with: impl Iterator<Item = Die>) -> Result<u32, Error> {
        let functions = self.scopes.functions.of_unit(unit)?;
        let mut by_origin: BTreeMap<Die, BTreeSet<usize>> = BTreeMap::new();
        for instance in with.filter(|instance| instance.unit == unit) {
            let Some(node) = functions.at_offset(instance.offset) else { continue };
            by_origin.entry(self.units.root_origin(instance)?).or_default().insert(node);
        }
        let mut missing = 0u32;
        for (origin, with) in by_origin {
            for &node in self.scopes.functions.instances_of(unit, origin)?.iter() {
                self.units.charge(1)?;
                // gcc splits a function, and inlines the first part with the rest below it.
                let mut below = with.range(node..functions.below(node).end.max(node));
                missing = missing.saturating_add(u32::from(below.next().is_none()));
            }
        }
        Ok(missing)
    }
}

impl DebugInfo<'_> {
    /// How many instances of the functions of some instances have code in some units, and are none of these.
    /// A generic function has an entry for each type, and a function of a header one in each unit: all that
    /// are declared at one place of a file with one name are one function.
    ///
    /// # Errors
    ///
    /// A unit is malformed.
    pub(crate) fn copies_without(&self, units: &[usize], file: &SourcePath, with: &[Die]) -> Result<u32, Error> {
        let index = &self.scopes.functions;
        let mut with_nodes: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut wanted: BTreeSet<(u32, Box<[u8]>)> = BTreeSet::new();
        for instance in with {
            let Some(node) = index.of_unit(instance.unit)?.at_offset(instance.offset) else { continue };
            with_nodes.entry(instance.unit).or_default().insert(node);
            let origin = self.units.root_origin(*instance)?;
            let declared = index.declared_in(origin.unit, file)?;
            self.charge(declared.len() as u64)?;
            let of_origin = declared.iter().find(|declared| declared.origin == origin);
            wanted.extend(of_origin.map(|declared| (declared.line, declared.name.clone())));
        }
        let mut missing = 0u32;
        for &unit in units {
            let functions = index.of_unit(unit)?;
            let declared = index.declared_in(unit, file)?;
            self.charge(declared.len() as u64)?;
            let origins = declared.iter().filter(|of| wanted.contains(&(of.line, of.name.clone()))).map(|of| of.origin);
            let nothing = BTreeSet::new();
            let with = with_nodes.get(&unit).unwrap_or(&nothing);
            for origin in origins.collect::<BTreeSet<Die>>() {
                for &node in index.instances_of(unit, origin)?.iter() {
                    self.charge(1)?;
                    let mut below = with.range(node..functions.below(node).end.max(node));
                    missing = missing.saturating_add(u32::from(below.next().is_none()));
                }
            }
        }
        Ok(missing)
    }

    /// Whether an instance is of a closure, or of an asynchronous block, that begins at a line. rustc names
    /// both in braces.
    ///
    /// # Errors
    ///
    /// Its entry is malformed.
    pub(crate) fn is_closure_at(&self, instance: Die, file: &SourcePath, line: u32) -> Result<bool, Error> {
        Ok(self.units.name(instance)?.is_some_and(|name| name.starts_with(b"{"))
            && self.scopes.lines.declared(instance)?.as_ref() == Some(&(file.clone(), line)))
    }
}

/// Whether two rows of a line are of one copy of its statement.
fn is_one_copy(rows: &Rows, one: usize, other: usize) -> bool {
    let address = |index| rows.get(index).map(|row| row.address);
    let is_code = |index| rows.get(index).is_some_and(|row| !row.is_statement);
    address(one) == address(other) && (one.saturating_add(1)..other).all(is_code)
}
