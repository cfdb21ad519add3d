//! The statements of a line, as gcc writes them: with statement frontiers each copy of a statement
//! has a row that is a statement (`is_stmt`; DWARF 5, 6.2.2), also if no instruction is left of it.

use std::collections::{BTreeMap, BTreeSet};

use super::debug_info::DebugInfo;
use super::files::SourcePath;
use super::lines::{Row, Rows};
use super::unit::Die;
use crate::Error;
use crate::address::Vaddr;

/// The most rows before a statement that are read.
const MOST_BEFORE: usize = 512;

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
    ) -> Result<Statements, Error> {
        let rows = self.rows(unit)?;
        let functions: Vec<u32> =
            self.scopes.functions.declared_in(unit, file)?.iter().map(|declared| declared.line).collect();
        // The function of a line is the one that is declared last before it.
        let function = |line: u32| functions.partition_point(|declared| *declared <= line);
        let is_near = |row: &Row| row.is_statement && numbers.contains(&row.file());
        let is_inside = |row: &Row| is_near(row) && row.line != line && function(row.line) == function(line);
        let mut of_line: Vec<usize> = numbers.iter().flat_map(|number| rows.of_line(*number, line)).collect();
        of_line.sort_unstable();
        let column = of_line.first().and_then(|&first| rows.get(first)).map(|row| row.column);
        let is_only =
            |index: &usize| rows.get(*index).is_some_and(|row| row.is_statement && Some(row.column) == column);
        if !of_line.iter().all(is_only) {
            return Ok(Statements { is_ambiguous: true, ..Statements::default() });
        }
        let mut copies = Vec::new();
        let mut last: Option<usize> = None;
        for index in of_line {
            self.units.charge(1)?;
            let is_same = last.is_some_and(|last| is_one_copy(&rows, last, index));
            last = Some(index);
            let Some(row) = rows.get(index).filter(|_| !is_same) else { continue };
            let (mut previous, mut outer) = (None, None);
            for before in (0..index).rev().take(MOST_BEFORE) {
                self.units.charge(1)?;
                // The end of another sequence.
                let Some(before) = rows.get(before) else { break };
                if !is_inside(before) {
                    continue;
                }
                previous = previous.or(Some(Vaddr(before.address)));
                // The brace of a function is often in the first column.
                if 1 < before.column && before.column < row.column {
                    outer = Some(Vaddr(before.address));
                    break;
                }
            }
            let address = Vaddr(row.address);
            let scope = self.scope_at(address, file.as_str(), line)?;
            let instance = scope.and_then(|scope| Some(scope.frames.first()?.instance));
            copies.push(Statement { address, instance, previous, outer });
        }
        copies.sort_by_key(|copy| copy.instance);
        let missing = self.instances_without(unit, &copies)?;
        Ok(Statements { copies, missing, is_ambiguous: false })
    }

    /// How many instances of the functions of some statements have code and none of the statements.
    fn instances_without(&self, unit: usize, copies: &[Statement]) -> Result<u32, Error> {
        let functions = self.scopes.functions.of_unit(unit)?;
        let mut by_origin: BTreeMap<Die, BTreeSet<usize>> = BTreeMap::new();
        for instance in copies.iter().filter_map(|copy| copy.instance).filter(|instance| instance.unit == unit) {
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

/// Whether two rows of a line are of one copy of its statement.
fn is_one_copy(rows: &Rows, one: usize, other: usize) -> bool {
    let address = |index| rows.get(index).map(|row| row.address);
    let is_code = |index| rows.get(index).is_some_and(|row| !row.is_statement);
    address(one) == address(other) && (one.saturating_add(1)..other).all(is_code)
}
