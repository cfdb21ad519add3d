//! The code of a source line, for each instance of the function that the line is in.

use std::collections::BTreeMap;
use std::ops::Range;

use super::debug_info::DebugInfo;
use super::files::SourcePath;
use super::unit::Die;
use crate::Error;
use crate::address::Vaddr;

/// The code of a line in one instance of its function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineCode {
    /// The innermost instance; `None` if the code is in no function.
    pub(crate) instance: Option<Die>,
    /// The function out of line around it.
    pub(crate) out_of_line: Option<Die>,
    /// The rows, in the order of the line table.
    pub(crate) pieces: Vec<LinePiece>,
    /// The code of functions that the line calls, and that are inlined there.
    pub(crate) inlined: Vec<Range<u64>>,
}

/// A row of a line (DWARF 5, 6.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinePiece {
    /// Its code; empty if another row at the same address replaces it.
    pub(crate) range: Range<u64>,
    /// From 1; 0 if it has none.
    pub(crate) column: u16,
    /// Whether the compiler recommends a breakpoint there (`is_stmt`).
    pub(crate) is_statement: bool,
}

impl DebugInfo<'_> {
    /// The code of a line in a unit, of each instance that has rows of it. `numbers` are the file's numbers in the unit's table.
    ///
    /// # Errors
    ///
    /// The unit or its line program is malformed.
    pub(crate) fn line_code(
        &self,
        unit: usize,
        file: &SourcePath,
        numbers: &[u64],
        line: u32,
    ) -> Result<Vec<LineCode>, Error> {
        let rows = self.rows(unit)?;
        let mut of_line: Vec<usize> = numbers.iter().flat_map(|number| rows.of_line(*number, line)).collect();
        of_line.sort_unstable();
        let mut by_instance: BTreeMap<Option<Die>, LineCode> = BTreeMap::new();
        for index in of_line {
            self.charge(1)?;
            let (Some(row), Some(range)) = (rows.get(index), rows.range_of(index)) else { continue };
            let at = Vaddr(row.address);
            let instance = self.instance_at(at, file.as_str(), line)?;
            let code = match by_instance.entry(instance) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(new) => {
                    let scope = self.scope_at(at, file.as_str(), line)?;
                    let out_of_line = scope.and_then(|scope| Some(scope.frames.last()?.instance));
                    new.insert(LineCode { instance, out_of_line, pieces: Vec::new(), inlined: Vec::new() })
                }
            };
            code.pieces.push(LinePiece { range, column: row.column, is_statement: row.is_statement });
        }
        Ok(by_instance.into_values().collect())
    }

    /// The same with the code of functions that are inlined at the line, also of instances without rows.
    ///
    /// # Errors
    ///
    /// The unit or its line program is malformed.
    pub(crate) fn line_code_with_calls(
        &self,
        unit: usize,
        file: &SourcePath,
        numbers: &[u64],
        line: u32,
    ) -> Result<Vec<LineCode>, Error> {
        let mut all = self.line_code(unit, file, numbers, line)?;
        let index = &self.scopes.functions;
        let functions = index.of_unit(unit)?;
        let die = |node| Some(Die { unit, offset: functions.node(node)?.offset });
        for number in numbers {
            for &call in index.called_at(unit, *number, line)?.iter() {
                self.charge(1)?;
                let parent = functions.node(call).and_then(|node| functions.instance(node.parent?));
                let Some(instance) = parent.and_then(die) else { continue };
                let known = all.iter().position(|code| code.instance == Some(instance));
                let at = known.unwrap_or(all.len());
                if known.is_none() {
                    let out_of_line = parent.map(|parent| index.out_of_line(&functions, parent)).transpose()?;
                    let out_of_line = out_of_line.flatten().and_then(die);
                    all.push(LineCode {
                        instance: Some(instance),
                        out_of_line,
                        pieces: Vec::new(),
                        inlined: Vec::new(),
                    });
                }
                let ranges = functions.ranges(call).iter().filter(|range| !range.is_empty()).cloned();
                all.get_mut(at).into_iter().for_each(|code| code.inlined.extend(ranges.clone()));
            }
        }
        Ok(all)
    }
}
