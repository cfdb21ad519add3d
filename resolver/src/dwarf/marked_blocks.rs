//! Variables that mark a place by the block that begins with them, as ghosts of Rust do
//! (`docs/section-format.md`, "Ghosts"), in each copy of their function.
//!
//! This module reads what the debug information says. `resolve::ghosts::blocks` decides what it is
//! worth.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use gimli::constants as dw;

use super::debug_info::DebugInfo;
use super::entries::LINKS;
use super::files::SourcePath;
use super::functions::{Functions, Kind};
use super::problem::DwarfProblem;
use super::unit::Die;
use crate::Error;
use crate::address::Vaddr;
use crate::ranges::Region;

/// A variable that marks a place, in all copies of its function in one unit.
#[derive(Clone, Debug)]
pub(crate) struct MarkedVariable {
    pub(crate) name: Box<[u8]>,
    /// The file and line that declare it.
    pub(crate) declared: (SourcePath, u32),
    /// The blocks that begin with it, at most one in each copy of the function.
    pub(crate) blocks: Vec<MarkedBlock>,
    /// The code of the next line in its block, in the inlined copies that have the code and not the
    /// block, which LLVM drops if no variable in it has a place.
    pub(crate) next_lines: Vec<MarkedBlock>,
    pub(crate) function: Arc<MarkedFunction>,
}

/// A function with such variables.
#[derive(Debug)]
pub(crate) struct MarkedFunction {
    /// Its abstract instance, or itself.
    pub(crate) origin: Die,
    /// The line of its declaration; `None` if the debug information does not say.
    pub(crate) line: Option<u32>,
    /// The lines that declare its variables. Leaves out `for` loops.
    pub(crate) lets: BTreeSet<u32>,
    /// How many copies of it have code.
    pub(crate) copies: usize,
}

/// The block with a variable, or a part of it, in a copy of its function, which is out of line or
/// inlined.
#[derive(Clone, Debug)]
pub(crate) struct MarkedBlock {
    /// The out-of-line function that holds it.
    pub(crate) function: Die,
    /// The node of the copy.
    instance: usize,
    /// The node of the block; `None` if the block is gone.
    block: Option<usize>,
    /// Its code, which is not empty.
    pub(crate) code: Arc<Region>,
}

impl MarkedBlock {
    /// The copy of the function.
    pub(crate) fn copy(&self) -> (Die, usize) {
        (self.function, self.instance)
    }
}

/// Where an instruction comes from, seen from a copy of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From code around the copy.
    Around,
    /// From a function that the copy calls, and that was inlined: the line of that call.
    Inlined(u32),
    /// From the copy itself: its line, and whether it is in the block of the variable.
    Own(u32, bool),
    /// The line table has no line for it.
    Unknown,
}

/// A variable that marks a place, as its function declares it.
struct Mark {
    name: Box<[u8]>,
    /// The file and line that declare it.
    declared: (SourcePath, u32),
    /// The last line that declares a variable in its block. The lines up to this one are in the block.
    last: u32,
}

/// The variables of a function with the last lines in their blocks, by the file and line that declare
/// them.
type ByLine<'m> = BTreeMap<&'m SourcePath, BTreeMap<u32, Vec<(Die, u32)>>>;

/// The code of a copy of a function, by the line that it comes from.
type Lines = BTreeMap<u32, Vec<Range<u64>>>;

/// The marking variables of a function.
struct Declared {
    line: Option<u32>,
    lets: BTreeSet<u32>,
    variables: BTreeMap<Die, Mark>,
}

impl DebugInfo<'_> {
    /// The variables with names that mark a place, in the functions that have code in a unit.
    ///
    /// # Errors
    ///
    /// The unit is malformed, or one that its functions refer to.
    pub(crate) fn marked_variables(
        &self,
        unit: usize,
        is_mark: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<MarkedVariable>, Error> {
        let functions = self.scopes.functions.of_unit(unit)?;
        let mut by_origin: BTreeMap<Die, Vec<usize>> = BTreeMap::new();
        for (index, node) in functions.nodes().iter().enumerate() {
            self.units.charge(1)?;
            if node.kind.is_instance() && !functions.ranges(index).is_empty() {
                let origin = self.abstract_instance(Die { unit, offset: node.offset })?;
                by_origin.entry(origin).or_default().push(index);
            }
        }
        let mut found = Vec::new();
        for (origin, instances) in by_origin {
            let declared = self.declared_in(origin, is_mark)?;
            if declared.variables.is_empty() {
                continue;
            }
            let Declared { line, lets, variables } = declared;
            let mut blocks: BTreeMap<Die, Vec<MarkedBlock>> = BTreeMap::new();
            let mut next_lines: BTreeMap<Die, Vec<MarkedBlock>> = BTreeMap::new();
            let mut by_line = ByLine::new();
            for (variable, mark) in variables.iter().filter(|(_, mark)| mark.declared.1 < mark.last) {
                let (file, line) = &mark.declared;
                by_line.entry(file).or_default().entry(*line).or_default().push((*variable, mark.last));
            }
            let mut copies = 0usize;
            for instance in instances {
                let function = self.scopes.functions.out_of_line(&functions, instance)?;
                let Some(function) = function.and_then(|function| functions.node(function)) else { continue };
                let function = Die { unit, offset: function.offset };
                copies = copies.saturating_add(1);
                let found = self.blocks_with(&functions, unit, instance, &variables)?;
                let copy = |block, code| MarkedBlock { function, instance, block, code };
                for (variable, code) in self.next_lines(&functions, unit, instance, &by_line)? {
                    if !found.contains_key(&variable) {
                        next_lines.entry(variable).or_default().push(copy(None, code));
                    }
                }
                for (variable, (block, code)) in found {
                    blocks.entry(variable).or_default().push(copy(Some(block), code));
                }
            }
            let function = Arc::new(MarkedFunction { origin, line, lets, copies });
            for (variable, Mark { name, declared, .. }) in variables {
                let blocks = blocks.remove(&variable).unwrap_or_default();
                let next_lines = next_lines.remove(&variable).unwrap_or_default();
                found.push(MarkedVariable { name, declared, blocks, next_lines, function: Arc::clone(&function) });
            }
        }
        Ok(found)
    }

    /// The blocks of a function instance that have some of the variables, with their code. Leaves out
    /// those without code.
    fn blocks_with(
        &self,
        functions: &Functions,
        unit: usize,
        instance: usize,
        variables: &BTreeMap<Die, Mark>,
    ) -> Result<BTreeMap<Die, (usize, Arc<Region>)>, Error> {
        let mut found: BTreeMap<Die, (usize, Arc<Region>)> = BTreeMap::new();
        for node in self.blocks_of(functions, instance)? {
            let mut code: Option<Arc<Region>> = None;
            for &offset in functions.variables_of(node) {
                self.units.charge(1)?;
                let root = self.units.root_origin(Die { unit, offset })?;
                if variables.contains_key(&root) {
                    let code = code.get_or_insert_with(|| Arc::new(Region::new(functions.ranges(node))));
                    found.insert(root, (node, Arc::clone(code)));
                }
            }
        }
        found.retain(|_, (_, code)| !code.ranges().is_empty());
        Ok(found)
    }

    /// The code of the next line behind variables in an inlined copy, if that line is in their blocks.
    fn next_lines(
        &self,
        functions: &Functions,
        unit: usize,
        instance: usize,
        variables: &ByLine<'_>,
    ) -> Result<Vec<(Die, Arc<Region>)>, Error> {
        let mut found = Vec::new();
        if functions.node(instance).is_none_or(|node| node.kind != Kind::Inlined) {
            return Ok(found);
        }
        for (file, variables) in variables {
            let mut before = 0;
            for (line, code) in self.lines_of(functions, unit, instance, file)? {
                let code = Arc::new(Region::new(&code));
                for &(variable, last) in variables.range(before..line).flat_map(|(_, variables)| variables) {
                    self.units.charge(1)?;
                    if line <= last {
                        found.push((variable, Arc::clone(&code)));
                    }
                }
                before = line;
            }
        }
        Ok(found)
    }

    /// The code of a copy that comes from a file, as far as the line table has lines for it. Code of
    /// inlined functions has the line of their call.
    fn lines_of(&self, functions: &Functions, unit: usize, instance: usize, file: &SourcePath) -> Result<Lines, Error> {
        let rows = self.lines.rows(unit)?;
        let mut found = Lines::new();
        for range in functions.ranges(instance) {
            let starts = rows.within(range).map(|(_, row)| row.address.max(range.start));
            let starts: Vec<u64> = starts.chain([range.end]).collect();
            for pair in starts.windows(2) {
                let &[start, end] = pair else { continue };
                let origin = self.origin(unit, instance, None, file, Vaddr(start))?;
                if let Origin::Own(line, _) | Origin::Inlined(line) = origin {
                    found.entry(line).or_default().push(start..end);
                }
            }
        }
        Ok(found)
    }

    /// The abstract instance that an instance of a function refers to, or itself. Unlike its origin,
    /// this is no declaration.
    fn abstract_instance(&self, instance: Die) -> Result<Die, Error> {
        let mut die = instance;
        for _ in 0..LINKS {
            let Some(origin) = self.units.own_attribute(die, dw::DW_AT_abstract_origin)? else { return Ok(die) };
            die = self.units.reference(die, &origin)?;
        }
        Err(self.units.error(instance, DwarfProblem::EndlessOrigins))
    }

    /// The marking variables that a function declares.
    fn declared_in(&self, function: Die, is_mark: &dyn Fn(&[u8]) -> bool) -> Result<Declared, Error> {
        let functions = self.scopes.functions.of_unit(function.unit)?;
        let nodes = functions.at_offset(function.offset).map(|node| self.blocks_of(&functions, node));
        let nodes = nodes.transpose()?.unwrap_or_default();
        let (mut marks, mut others) = (Vec::new(), Vec::new());
        for &node in &nodes {
            for &offset in functions.variables_of(node) {
                self.units.charge(1)?;
                let die = Die { unit: function.unit, offset };
                let Some(name) = self.units.name(die)? else { continue };
                if is_mark(&name) {
                    let root = self.units.root_origin(die)?;
                    if let Some(declared) = self.lines.declared(root)? {
                        marks.push((node, root, (*name).into(), declared));
                    }
                }
                others.push((node, die, *name == *b"iter"));
            }
        }
        let (mut lets, mut loops, mut last) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::<usize, u32>::new());
        if !marks.is_empty() {
            for (node, die, is_iterator) in others {
                let line = self.units.unsigned(die, dw::DW_AT_decl_line)?.and_then(|line| u32::try_from(line).ok());
                if is_iterator { &mut loops } else { &mut lets }.extend(line);
                last.insert(node, last.get(&node).copied().max(line).unwrap_or(0));
            }
            // A block comes before those in it.
            for &node in nodes.iter().rev() {
                let parent = functions.node(node).and_then(|node| node.parent);
                if let Some((parent, line)) = parent.zip(last.get(&node).copied()) {
                    last.entry(parent).and_modify(|last| *last = line.max(*last)).or_insert(line);
                }
            }
        }
        let line = self.units.unsigned(function, dw::DW_AT_decl_line)?.and_then(|line| u32::try_from(line).ok());
        let lets = lets.difference(&loops).copied().collect();
        let last = |node| last.get(&node).copied().unwrap_or(0);
        let mark = |(node, root, name, declared)| (root, Mark { name, declared, last: last(node) });
        Ok(Declared { line, lets, variables: marks.into_iter().map(mark).collect() })
    }

    /// The node of a function instance, and those of its blocks.
    fn blocks_of(&self, functions: &Functions, instance: usize) -> Result<Vec<usize>, Error> {
        let end = functions.below(instance).end;
        let mut nodes = vec![instance];
        let mut next = instance.saturating_add(1);
        while let Some(node) = functions.node(next).filter(|_| next < end) {
            self.units.charge(1)?;
            match node.kind {
                Kind::Block => {
                    nodes.push(next);
                    next = next.saturating_add(1);
                }
                _ => next = node.end.max(next.saturating_add(1)),
            }
        }
        Ok(nodes)
    }

    /// Whether a copy is inlined.
    ///
    /// # Errors
    ///
    /// The unit is malformed.
    pub(crate) fn is_inlined(&self, copy: &MarkedBlock) -> Result<bool, Error> {
        let functions = self.scopes.functions.of_unit(copy.function.unit)?;
        Ok(functions.node(copy.instance).is_some_and(|node| node.kind == Kind::Inlined))
    }

    /// Where the instruction at an address comes from, seen from a copy of a function of a file.
    ///
    /// # Errors
    ///
    /// The unit is malformed.
    pub(crate) fn origin_in(&self, copy: &MarkedBlock, file: &SourcePath, address: Vaddr) -> Result<Origin, Error> {
        self.origin(copy.function.unit, copy.instance, copy.block, file, address)
    }

    fn origin(
        &self,
        unit: usize,
        instance: usize,
        block: Option<usize>,
        file: &SourcePath,
        address: Vaddr,
    ) -> Result<Origin, Error> {
        let functions = self.scopes.functions.of_unit(unit)?;
        let mut at = self.scopes.functions.deepest(unit, instance, address.0)?;
        let mut inlined = None;
        let mut is_in_block = false;
        loop {
            self.units.charge(1)?;
            let Some((index, node)) = at.and_then(|at| Some((at, functions.node(at)?))) else {
                return Ok(Origin::Around);
            };
            if index == instance {
                break;
            }
            is_in_block |= block == Some(index);
            if node.kind == Kind::Inlined {
                inlined = Some(Die { unit, offset: node.offset });
            }
            at = node.parent;
        }
        if let Some(inlined) = inlined {
            let line = self.units.own_attribute(inlined, dw::DW_AT_call_line)?.and_then(|line| line.udata_value());
            let line = line.and_then(|line| u32::try_from(line).ok());
            return Ok(line.map_or(Origin::Unknown, Origin::Inlined));
        }
        let rows = self.lines.rows(unit)?;
        let Some(row) = rows.at(address.0).filter(|row| row.line != 0) else { return Ok(Origin::Unknown) };
        let files = self.lines.unit_files(unit)?;
        let is_file = files.get(row.file()).is_some_and(|found| found.agreement(file).is_some());
        Ok(if is_file { Origin::Own(row.line, is_in_block) } else { Origin::Unknown })
    }
}
