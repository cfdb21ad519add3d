//! The next line with code, for a marker line that has none. It is in the same function and in the
//! same block (`resolve/by_line.rs`).

use std::collections::BTreeSet;

use super::files::SourcePath;
use super::functions::Kind;
use super::scopes::Scopes;
use super::unit::Die;
use crate::Error;

/// The next line of an instance that has rows.
#[derive(Debug)]
pub(crate) struct NextLine {
    pub(crate) instance: Die,
    pub(crate) unit: usize,
    pub(crate) line: u32,
    /// The indices of its rows in all ranges, ascending in each range.
    pub(crate) rows: Vec<usize>,
}

/// Why there is no next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoLine {
    /// No function of the file is declared before the line.
    NoFunction,
    /// The line may be in this function or in one nested in it.
    SeveralFunctions,
    /// No later line of the function has code.
    NothingBelow,
    /// The block of the marker may end before the next line.
    BlockEnds,
}

impl Scopes<'_> {
    /// The rows of the next line with code, for each instance in some units of the function that
    /// holds a line. The next line must be in the same block. Returns the instance, the unit and
    /// the indices of the rows, or why there is no such line.
    pub(super) fn next_line(
        &self,
        units: &[usize],
        file: &SourcePath,
        line: u32,
    ) -> Result<Result<Vec<NextLine>, NoLine>, Error> {
        let units: BTreeSet<usize> = units.iter().copied().collect();
        let mut holders = self.holders_in(&units, file, line)?.into_iter().peekable();
        let mut chosen: Vec<(usize, usize)> = Vec::new();
        if holders.peek().is_none() {
            return Ok(Err(NoLine::NoFunction));
        }
        while let Some((declared, origins)) = holders.next() {
            let mut here = Vec::new();
            for (&unit, &origin) in units.iter().flat_map(|unit| origins.iter().map(move |origin| (unit, origin))) {
                here.extend(self.functions.instances_of(unit, origin)?.iter().map(|&node| (unit, node)));
            }
            here.sort_unstable();
            here.dedup();
            let mut last = declared;
            for &(unit, node) in &here {
                last = self.own_lines(unit, node, None, file)?.all().max().unwrap_or(0).max(last);
            }
            if line < last || holders.peek().is_none() {
                chosen = here;
                break;
            }
            // The marker is after a closure. The last line of a closure does not show where it
            // ends, unless the enclosing function has code between the closure and the marker.
            let mut is_past = here.is_empty();
            if let Some((_, outer)) = holders.peek() {
                for (&unit, &origin) in units.iter().flat_map(|unit| outer.iter().map(move |origin| (unit, origin))) {
                    for &node in self.functions.instances_of(unit, origin)?.iter() {
                        is_past |=
                            self.own_lines(unit, node, None, file)?.all().any(|outer| last < outer && outer <= line);
                    }
                }
            }
            if !is_past {
                return Ok(Err(NoLine::SeveralFunctions));
            }
        }
        let (mut found, mut why) = (Vec::new(), NoLine::NothingBelow);
        for (unit, node) in chosen {
            match self.next_line_of(unit, node, file, line)? {
                Ok(next) => found.push(next),
                Err(reason) => why = reason,
            }
        }
        Ok(if found.is_empty() { Err(why) } else { Ok(found) })
    }

    fn next_line_of(
        &self,
        unit: usize,
        node: usize,
        file: &SourcePath,
        line: u32,
    ) -> Result<Result<NextLine, NoLine>, Error> {
        let functions = self.functions.of_unit(unit)?;
        let mut around = node;
        let mut next = node + 1;
        while next < functions.below(around).end {
            self.units.charge(1)?;
            let Some(found) = functions.node(next) else { break };
            let block = next;
            next = found.end;
            if found.kind != Kind::Block {
                continue;
            }
            let lines = self.own_lines(unit, block, None, file)?;
            let (first, last) = (lines.all().min(), lines.code.last().copied());
            let (Some(first), Some(last)) = (first, last) else { continue };
            if first <= line && line < last {
                (around, next) = (block, block + 1);
            } else if first <= line {
                let outer = self.own_lines(unit, around, Some(block), file)?;
                if !outer.code.iter().any(|&outer| last < outer && outer <= line) {
                    return Ok(Err(NoLine::BlockEnds));
                }
            }
        }
        let numbers: BTreeSet<u64> =
            self.lines.unit_files(unit)?.iter().filter(|(_, known)| *known == file).map(|(number, _)| number).collect();
        let rows = self.lines.rows(unit)?;
        let mut best: Option<(u32, Vec<usize>)> = None;
        let instance = functions.instance(node);
        for range in functions.ranges(around) {
            for (index, row) in rows.within(range) {
                self.units.charge(1)?;
                let is_better = best.as_ref().is_none_or(|(known, _)| row.line <= *known);
                if row.line <= line || !numbers.contains(&row.file()) || !is_better {
                    continue;
                }
                let deepest = self.functions.deepest(unit, node, row.address.max(range.start))?;
                if deepest.and_then(|deepest| functions.instance(deepest)) != instance {
                    continue;
                }
                match &mut best {
                    Some((known, rows)) if *known == row.line => rows.push(index),
                    _ => best = Some((row.line, vec![index])),
                }
            }
        }
        let Some((line, rows)) = best else { return Ok(Err(NoLine::NothingBelow)) };
        let offset = functions.node(node).map_or(0, |node| node.offset);
        Ok(Ok(NextLine { instance: Die { unit, offset }, unit, line, rows }))
    }
}
