//! In which scope a marker's site is, with the inline instances around it (`docs/design.md`, "The scope of a site").
//!
//! A site is a place between two instructions: the one before belongs to one scope, the one after to another, and the marker to either or to
//! one without any instruction. So all scopes that hold the address *or end there* are candidates, and the marker's own file and line
//! choose. What is known for the choice, and is no guess:
//!
//! - A marker's function is the one declared last before its line in its file. DWARF does not say where a function ends, so that behind a
//!   closure or a nested function those around it are possible too.
//! - A scope is contiguous in the source. Lines of its code on both sides of the marker's prove that the marker is in it; a line of
//!   the code around it, between its last line and the marker's, proves that it is not.
//! - Compilers keep the scope of an `asm!` even where it holds nothing else: LLVM writes an empty range for it.
//!
//! What cannot be told apart stays in the answer as several positions, and `names` answers only what is the same from all of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use gimli::constants as dw;

use super::files::{SourcePath, best};
use super::functions::{Declared, Functions, Kind};
use super::lines::Lines;
use super::per_unit::PerUnit;
use super::units::{Die, Units};
use crate::Error;
use crate::address::Vaddr;
use crate::text;

/// The scope of a place in the code.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The function instances, innermost first; the last one is out of line.
    pub frames: Vec<ScopeFrame>,
    /// Whether the innermost function ends at the place: the marker is the last thing in it. (That a block ends there is nothing to tell:
    /// what follows is the same function's.)
    pub ended: bool,
    /// What is not certain about the instances; `None` where nothing is. Where only the block is not, a lookup says so for the names to
    /// which it matters.
    pub doubt: Option<Doubt>,
    /// Each scope that the place may be in, by its innermost node: that of the frames first. None where the marker's function is not there.
    pub(super) positions: Vec<Position>,
}

/// An instance of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeFrame {
    /// The name in the source, with the namespaces and types that it is in; `None` where it has none.
    pub function: Option<Arc<str>>,
    /// The name that the linker knows; `None` where it is not given, as in C.
    pub linkage_name: Option<Arc<str>>,
    /// The entry of the instance.
    pub instance: Die,
    /// The file that declares the function; `None` where that is not said.
    pub decl_file: Option<Arc<str>>,
    /// The line, from 1.
    pub decl_line: Option<u32>,
    /// The file of the call that was inlined, relative to the folder that the compiler ran in where it is below it, as the marker's own file
    /// is; `None` for the function out of line.
    pub call_file: Option<Arc<str>>,
    /// The line of the call, from 1.
    pub call_line: Option<u32>,
    /// The column of the call, from 1.
    pub call_column: Option<u32>,
    /// The blocks in the instance that the place is in, innermost first.
    pub blocks: Vec<Die>,
}

/// What is not certain about a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// No instance of a function that the marker's line can be in is at the place: the frames are those of the code there.
    NotThere,
    /// The place can be in several instances; the frames are those of the likeliest.
    Several,
}

/// A scope that a place may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) unit: usize,
    pub(super) node: usize,
}

/// How a scope lies to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lies {
    /// Code of one range of it is before and behind the place.
    Around,
    /// It is empty, there.
    Empty,
    /// It starts there; one range may end there too.
    Behind,
    /// It ends there.
    Before,
}

/// An instance of a function that may hold the marker.
#[derive(Debug)]
struct Candidate {
    unit: usize,
    node: usize,
    /// The scopes at the place in the same out-of-line function, in the order of their entries.
    around: Arc<Vec<usize>>,
    origin: Die,
    declared: Option<(SourcePath, u32)>,
    lies: Lies,
}

/// The functions of the units, the scopes in them, and the lines of those.
#[derive(Debug)]
pub(super) struct Scopes<'s> {
    pub(super) units: Arc<Units<'s>>,
    pub(super) lines: Arc<Lines<'s>>,
    pub(super) functions: PerUnit<Functions>,
    own_lines: PerUnit<KnownLines>,
}

impl<'s> Scopes<'s> {
    pub(super) fn new(lines: &Arc<Lines<'s>>) -> Self {
        let (units, count) = (Arc::clone(&lines.units), lines.units.unit_count());
        Self { units, lines: Arc::clone(lines), functions: PerUnit::new(count), own_lines: PerUnit::new(count) }
    }

    /// Of how many units the functions are known.
    pub(super) fn known_units(&self) -> usize {
        self.functions.count()
    }

    /// Drops what was made of units.
    pub(super) fn clear(&self) {
        self.functions.clear();
        self.own_lines.clear();
    }
}

impl Scopes<'_> {
    /// The scope that a marker of `file` and `line` is in, whose site is at `pc`; `None` where no function is there (`docs/design.md`, "The scope of a site").
    ///
    /// # Errors
    ///
    /// The debug information of a unit at the address is malformed.
    pub(super) fn scope_at(&self, pc: Vaddr, file: &str, line: u32) -> Result<Option<Scope>, Error> {
        let candidates = self.candidates(pc)?;
        let name = SourcePath::new(file);
        let keys = self.holders(&candidates, &name, line)?;
        let is_holder = |candidate: &&Candidate, key: &(SourcePath, u32)| candidate.declared.as_ref() == Some(key);
        let mut chosen: Vec<&Candidate> = Vec::new();
        for (index, key) in keys.iter().enumerate() {
            self.units.charge(candidates.len() as u64)?;
            let here: Vec<&Candidate> = candidates.iter().filter(|candidate| is_holder(candidate, key)).collect();
            if here.is_empty() {
                continue;
            }
            let outer_keys = keys.get(index + 1..).unwrap_or_default();
            self.units.charge((outer_keys.len() as u64).saturating_mul(candidates.len() as u64))?;
            let outer: Vec<&Candidate> =
                candidates.iter().filter(|candidate| outer_keys.iter().any(|key| is_holder(candidate, key))).collect();
            if outer.is_empty() {
                chosen.extend(here);
                break;
            }
            let mut lines = BTreeSet::new();
            for candidate in &here {
                lines.extend(self.own_lines(candidate.unit, candidate.node, None, &name)?.all());
            }
            let last = lines.last().copied().unwrap_or(key.1).max(key.1);
            if key.1 < line && line < last {
                chosen.extend(here);
                break;
            }
            let mut is_past = false;
            for candidate in outer {
                let outer = self.own_lines(candidate.unit, candidate.node, None, &name)?;
                is_past |= line > last && outer.all().any(|outer| outer > last && outer <= line);
            }
            if !is_past {
                chosen.extend(here);
            }
        }
        // Innermost first; what holds the address before what ends there.
        let rank = |candidate: &&Candidate| {
            (
                matches!(candidate.lies, Lies::Before),
                std::cmp::Reverse(candidate.declared.as_ref().map(|declared| declared.1)),
                std::cmp::Reverse(candidate.node),
            )
        };
        chosen.sort_by_key(rank);
        // An instance without an instruction is there for the marker alone.
        chosen.sort_by_key(|candidate| candidate.lies != Lies::Empty);
        let mut positions: Vec<Position> = Vec::new();
        for candidate in &chosen {
            for node in self.descend(candidate, pc, &name, line)? {
                self.units.charge(positions.len() as u64)?;
                let position = Position { unit: candidate.unit, node };
                if !positions.contains(&position) {
                    positions.push(position);
                }
            }
        }
        let mut instances: Vec<(usize, usize)> =
            chosen.iter().map(|candidate| (candidate.unit, candidate.node)).collect();
        instances.sort_unstable();
        instances.dedup();
        let doubt = match instances.len() {
            0 => Some(Doubt::NotThere),
            1 => None,
            _ => Some(Doubt::Several),
        };
        let shown = match positions.first() {
            Some(first) => *first,
            None => {
                let holds = candidates.iter().filter(|candidate| matches!(candidate.lies, Lies::Around | Lies::Behind));
                let Some(innermost) = holds.max_by_key(|candidate| candidate.node).or(candidates.last()) else {
                    return Ok(None);
                };
                Position { unit: innermost.unit, node: innermost.node }
            }
        };
        let functions = self.functions(shown.unit)?;
        let instance = functions.instance(shown.node).unwrap_or(shown.node);
        let ended = matches!(lies(&functions, instance, pc.0), Lies::Before | Lies::Empty);
        Ok(Some(Scope { frames: self.frames(shown)?, ended, doubt, positions }))
    }

    /// The instances at a place.
    fn candidates(&self, pc: Vaddr) -> Result<Vec<Candidate>, Error> {
        let mut units: Vec<usize> = Vec::new();
        for address in [Some(pc.0), pc.0.checked_sub(1)].into_iter().flatten() {
            units.extend(self.units.unit_at(Vaddr(address)).filter(|unit| !units.contains(unit)));
        }
        let mut candidates = Vec::new();
        for unit in units {
            let functions = self.functions(unit)?;
            for (_, around) in self.scopes_around(unit, pc.0)? {
                let around = Arc::new(around);
                for &node in around.iter() {
                    let Some(found) = functions.node(node).filter(|found| found.kind.is_instance()) else { continue };
                    let die = Die { unit, offset: found.offset };
                    let (origin, declared) = (self.units.root_origin(die)?, self.lines.declared(die)?);
                    let lies = lies(&functions, node, pc.0);
                    candidates.push(Candidate { unit, node, around: Arc::clone(&around), origin, declared, lies });
                }
            }
        }
        Ok(candidates)
    }

    /// The functions that can hold a line of a file, by file and line of declaration, the last declared first.
    fn holders(&self, candidates: &[Candidate], name: &SourcePath, line: u32) -> Result<Vec<(SourcePath, u32)>, Error> {
        let mut units: BTreeSet<usize> = candidates.iter().map(|candidate| candidate.unit).collect();
        units.extend(candidates.iter().map(|candidate| candidate.origin.unit));
        let mut files = Vec::new();
        for &unit in &units {
            let unit_files = self.lines.unit_files(unit)?;
            let matching = unit_files.matching(name).into_iter();
            files.extend(matching.filter_map(|(agreement, number)| Some((agreement, unit_files.get(number)?.clone()))));
        }
        let files: BTreeSet<SourcePath> = best(files).into_iter().map(|(_, file)| file).collect();
        let mut holders = Vec::new();
        for file in files {
            let of_file = self.holders_in(&units, &file, line)?;
            holders.extend(of_file.into_iter().map(|(line, _)| (file.clone(), line)));
        }
        Ok(holders)
    }

    /// The functions that can hold a line of a file, the last declared first: their lines of declaration and their entries.
    pub(super) fn holders_in(
        &self,
        units: &BTreeSet<usize>,
        file: &SourcePath,
        line: u32,
    ) -> Result<Vec<(u32, Vec<Die>)>, Error> {
        let mut holders = Vec::new();
        let mut declared = Vec::new();
        let by_unit = units.iter().map(|&unit| self.declared_in(unit, file)).collect::<Result<Vec<_>, _>>()?;
        for all in &by_unit {
            let end = all.partition_point(|known| known.line <= line);
            declared.extend(all.get(..end).unwrap_or_default());
        }
        declared.sort_by_key(|known| std::cmp::Reverse(known.line));
        let mut innermost: &[&Declared] = &[];
        for group in declared.chunk_by(|one, two| one.line == two.line) {
            self.units.charge(group.len() as u64)?;
            let Some(first) = group.first() else { continue };
            let is_around = |outer: &&Declared| {
                self.units.charge(1).is_ok() && innermost.iter().any(|inner| inner.is_nested || outer.is_around(inner))
            };
            if !innermost.is_empty() && !group.iter().any(is_around) {
                continue;
            }
            holders.push((first.line, group.iter().map(|known| known.origin).collect()));
            // By their entries all that can be said of nested functions is that the first that is in no other is around them.
            let was_nested = innermost.is_empty() || innermost.iter().any(|inner| inner.is_nested);
            if innermost.is_empty() {
                innermost = group;
            }
            if was_nested && innermost.iter().any(|inner| inner.is_nested) && !group.iter().any(|known| known.is_nested)
            {
                break;
            }
        }
        Ok(holders)
    }

    /// The name of the function of an instance, as in [`ScopeFrame::function`].
    pub(super) fn function_name(&self, instance: Die) -> Result<Option<Arc<str>>, Error> {
        Ok(self.qualified_name(instance)?.map(Into::into))
    }

    /// The scopes of an instance that a marker at `pc` may be in, the likeliest first.
    fn descend(&self, candidate: &Candidate, pc: Vaddr, name: &SourcePath, line: u32) -> Result<Vec<usize>, Error> {
        let (unit, functions) = (candidate.unit, self.functions(candidate.unit)?);
        // Where DW_AT_ranges may not be written, a block's addresses are those of its first range (GCC, strict DWARF 2), or none.
        let is_partial = self.units.unit(unit)?.header.version() == 2;
        let all = if is_partial { functions.below(candidate.node) } else { 0..0 };
        let bare = functions.bare_below(candidate.node);
        // What stands before the candidate is not below it.
        let first = candidate.around.partition_point(|&node| node <= candidate.node);
        let around = candidate.around.get(first..).unwrap_or_default();
        self.units.charge((bare.len() as u64).saturating_add(all.len() as u64).saturating_add(around.len() as u64))?;
        let elsewhere = bare.iter().copied().chain(all).filter(|node| around.binary_search(node).is_err());
        let there = around.iter().map(|&node| (node, true));
        let mut blocks: Vec<(usize, bool, usize)> = there
            .chain(elsewhere.map(|node| (node, false)))
            .filter_map(|(node, is_there)| {
                let block = functions.node(node).filter(|found| found.kind == Kind::Block)?;
                Some((node, is_there, block.parent?))
            })
            .collect();
        blocks.sort_unstable();
        blocks.dedup();
        let start = blocks.partition_point(|&(node, _, _)| node <= candidate.node);
        let mut certain = candidate.node;
        // Parents stand before their children, so that one pass finds all.
        let mut possible: Vec<usize> = Vec::new();
        for &(node, is_there, parent) in blocks.get(start..).unwrap_or_default() {
            self.units.charge(1 + possible.len() as u64 / 16)?;
            if parent != certain && !possible.contains(&parent) {
                continue;
            }
            if parent == certain && is_there && lies(&functions, node, pc.0) == Lies::Around {
                (certain, possible) = (node, Vec::new());
                continue;
            }
            let inner = self.own_lines(unit, node, None, name)?;
            let outer = self.own_lines(unit, parent, Some(node), name)?;
            let first = inner.all().min();
            let last = inner.all().max();
            let is_in = first.is_some_and(|first| first < line)
                && last.is_some_and(|last| line < last || (line == last && !outer.code.contains(&line)));
            if is_in && parent == certain {
                (certain, possible) = (node, Vec::new());
                continue;
            }
            let is_past =
                inner.code.last().is_some_and(|&last| outer.code.iter().any(|&outer| last < outer && outer < line));
            // All that it declares is declared further down: from in there, names mean what they mean outside.
            let is_later = inner.variables.first().is_some_and(|&first| first > line);
            if !is_past && !is_later {
                possible.push(node);
            }
        }
        possible.reverse();
        possible.sort_by_key(|&node| match lies(&functions, node, pc.0) {
            Lies::Empty => 0,
            Lies::Around | Lies::Behind if around.binary_search(&node).is_ok() => 1,
            _ => 2,
        });
        possible.push(certain);
        Ok(possible)
    }

    /// The lines that are known to be in a scope and in no function inlined into it, but not in `except`, a scope below it. Each marker of
    /// a function asks for the same ones.
    pub(super) fn own_lines(
        &self,
        unit: usize,
        node: usize,
        except: Option<usize>,
        name: &SourcePath,
    ) -> Result<Arc<OwnLines>, Error> {
        self.units.charge(1)?;
        let of_unit = self.own_lines.get_or_make(unit, || Ok::<_, Error>(KnownLines::default()))?;
        let known = || of_unit.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (node, except, name.clone());
        if let Some(lines) = known().get(&key) {
            return Ok(Arc::clone(lines));
        }
        let lines = Arc::new(self.find_lines(unit, node, except, name)?);
        known().insert(key, Arc::clone(&lines));
        Ok(lines)
    }

    fn find_lines(
        &self,
        unit: usize,
        node: usize,
        except: Option<usize>,
        name: &SourcePath,
    ) -> Result<OwnLines, Error> {
        let functions = self.functions(unit)?;
        let mut lines = OwnLines::default();
        let (below, mut next) = (functions.below(node), node);
        while next < below.end {
            self.units.charge(1)?;
            let index = next;
            let Some(found) = functions.node(index) else { break };
            next = index + 1;
            if Some(index) == except {
                next = found.end;
            } else if index == node || found.kind == Kind::Block {
                for variable in self.variables(unit, index)?.iter() {
                    lines.variables.extend(
                        variable.declared.as_ref().filter(|(file, _)| is_file(file, name)).map(|(_, line)| *line),
                    );
                }
            } else {
                next = found.end;
                if found.kind == Kind::Inlined {
                    let call = self.lines.position(
                        Die { unit, offset: found.offset },
                        dw::DW_AT_call_file,
                        dw::DW_AT_call_line,
                    )?;
                    lines.code.extend(call.filter(|(file, _)| is_file(file, name)).map(|(_, line)| line));
                }
            }
        }
        let Some(instance) = functions.instance(node) else { return Ok(lines) };
        let files: BTreeSet<u64> = self
            .lines
            .unit_files(unit)?
            .iter()
            .filter(|(_, file)| is_file(file, name))
            .map(|(number, _)| number)
            .collect();
        let rows = self.lines.rows(unit)?;
        for range in functions.ranges(node) {
            for (_, row) in rows.within(range).filter(|(_, row)| files.contains(&row.file)) {
                self.units.charge(1)?;
                let Some(deepest) = self.deepest(unit, node, row.address.max(range.start))? else { continue };
                let is_below = deepest == node || below.contains(&deepest);
                let is_excepted =
                    except.is_some_and(|except| deepest == except || functions.below(except).contains(&deepest));
                if is_below && !is_excepted && functions.instance(deepest) == Some(instance) {
                    lines.code.insert(row.line);
                }
            }
        }
        Ok(lines)
    }

    /// The instances that a position is in.
    fn frames(&self, position: Position) -> Result<Vec<ScopeFrame>, Error> {
        let Position { unit, node } = position;
        let functions = self.functions(unit)?;
        let (mut frames, mut blocks, mut at) = (Vec::new(), Vec::new(), Some(node));
        while let Some(found) = at.and_then(|at| functions.node(at)) {
            let die = Die { unit, offset: found.offset };
            at = found.parent;
            match found.kind {
                Kind::Block => blocks.push(die),
                Kind::Function | Kind::Inlined => {
                    frames.push(self.frame(die, std::mem::take(&mut blocks))?);
                    if found.kind == Kind::Function {
                        break;
                    }
                }
                _ => break,
            }
        }
        Ok(frames)
    }

    fn frame(&self, instance: Die, blocks: Vec<Die>) -> Result<ScopeFrame, Error> {
        let linkage_name = match self.units.string(instance, dw::DW_AT_linkage_name)? {
            Some(name) => Some(name),
            None => self.units.string(instance, dw::DW_AT_MIPS_linkage_name)?,
        };
        let declared = self.lines.declared(instance)?;
        let call = self.lines.position(instance, dw::DW_AT_call_file, dw::DW_AT_call_line)?;
        let column = self.units.unsigned(instance, dw::DW_AT_call_column)?.filter(|column| *column != 0);
        Ok(ScopeFrame {
            function: self.qualified_name(instance)?.map(Into::into),
            linkage_name: linkage_name.map(|name| text::from_bytes(&name).into()),
            instance,
            decl_file: declared.as_ref().map(|(file, _)| Arc::clone(file.as_str())),
            decl_line: declared.map(|(_, line)| line),
            call_file: call.as_ref().map(|(file, _)| self.lines.as_written(instance.unit, file)),
            call_line: call.map(|(_, line)| line),
            call_column: column.and_then(|column| u32::try_from(column).ok()),
            blocks,
        })
    }
}

/// The lines of scopes of a unit that were asked for: by scope, the scope below it that is left out, and file.
type KnownLines = Mutex<HashMap<(usize, Option<usize>, SourcePath), Arc<OwnLines>>>;

/// The lines of a scope, in the marker's file.
#[derive(Debug, Default)]
pub(super) struct OwnLines {
    /// On which variables are declared.
    variables: BTreeSet<u32>,
    /// Of its code, and of the calls that were inlined.
    pub(super) code: BTreeSet<u32>,
}

impl OwnLines {
    pub(super) fn all(&self) -> impl Iterator<Item = u32> {
        self.variables.iter().chain(&self.code).copied()
    }
}

/// Whether a file may be the one that a marker names.
pub(super) fn is_file(file: &SourcePath, name: &SourcePath) -> bool {
    file.agreement(name).is_some()
}

fn lies(functions: &Functions, node: usize, pc: u64) -> Lies {
    let ranges = functions.ranges(node);
    let any = |is: fn(&std::ops::Range<u64>, u64) -> bool| ranges.iter().any(|range| is(range, pc));
    match () {
        () if any(|range, pc| range.start < pc && pc < range.end) => Lies::Around,
        () if any(|range, pc| range.start == pc && pc == range.end) => Lies::Empty,
        () if any(|range, pc| range.start == pc) => Lies::Behind,
        () if any(|range, pc| range.end == pc) => Lies::Before,
        // Malformed: a scope below it is there, and it is not.
        () => Lies::Around,
    }
}

#[cfg(test)]
mod tests;
