//! What happened to the function around a source line. This explains why a marker on the line is
//! not in the image.
//!
//! DWARF states where a function is declared, but not where it ends. A line is certainly in a
//! function only if the function has code on lines before and after it. Other cases are reported as
//! what they are. Units without variables (`-g1`, line tables only) do not describe all functions
//! either, so nothing is concluded from them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use gimli::constants as dw;

use super::files::SourcePath;
use super::functions::{Functions, Kind};
use super::lines::FileMatch;
use super::scopes::Scopes;
use super::unit::Die;
use crate::Error;
use crate::address::Vaddr;
use crate::text;

/// The function that a line is, or may be, in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LineAbsence {
    /// No described function of the file is declared before the line.
    NoFunction,
    /// The function whose declaration is the last one before the line.
    Function {
        /// Its name in the source.
        name: Arc<str>,
        /// The name of its symbol.
        symbol: Arc<str>,
        /// What is known about its code.
        state: CodeState,
    },
}

/// What is known about the code of the last function that is declared before a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CodeState {
    /// It has code on these lines, the nearest before and after the line. So the line is in it.
    Around(u32, u32),
    /// All its code is before the line, the last of it on this line. The line is in it, or in a
    /// function that is not described.
    Before(u32),
    /// It was compiled, and the linker dropped all its code. Holds the functions that it was
    /// inlined into; empty if it was not inlined.
    Dropped(Vec<Arc<str>>),
    /// It has no code.
    Absent,
}

impl Scopes<'_> {
    /// What happened to the function around a line; `None` if the debug information does not say.
    ///
    /// # Errors
    ///
    /// The debug information of a unit that names the file is malformed.
    pub(super) fn absence_of_line(&self, file: &str, line: u32) -> Result<Option<LineAbsence>, Error> {
        let matched = self.lines.match_file(&SourcePath::new(file))?;
        let (path, units) = match &*matched {
            FileMatch::File { path, units } => (path, units),
            // Code that was compiled without debug information is not described anywhere.
            FileMatch::None | FileMatch::Several(_) => return Ok(None),
        };
        let units: BTreeSet<usize> = units.iter().map(|(unit, _)| *unit).collect();
        let mut has_variables = false;
        for &unit in &units {
            if (self.units.skeleton(unit).is_some() && self.units.split(unit).is_none()) || self.units.imports(unit)? {
                return Ok(None);
            }
            has_variables |= self.functions.of_unit(unit)?.has_variables();
        }
        if !has_variables {
            return Ok(None);
        }
        let holders = self.holders_in(&units, path, line)?;
        if holders.is_empty() {
            return Ok(Some(LineAbsence::NoFunction));
        }
        let mut inner_last = None;
        for (declared, origins) in &holders {
            let lines = self.lines_of(&units, origins, path)?;
            let Some(&last) = lines.last() else { continue };
            let before = lines.range(..=line).next_back().copied().unwrap_or(*declared);
            let is_past_inner = inner_last.is_none_or(|inner| before > inner);
            if let (Some(&behind), true) = (lines.range(line.saturating_add(1)..).next(), is_past_inner) {
                return self.function_absence(origins, CodeState::Around(before, behind));
            }
            inner_last = inner_last.max(Some(last));
        }
        // A line in a closure is in the enclosing function as well. A function that has code
        // elsewhere was not dropped.
        for (_, origins) in holders.iter().rev().filter(|_| inner_last.is_none()) {
            if let Some(into) = self.dropped(&units, origins)? {
                return self.function_absence(origins, CodeState::Dropped(into));
            }
        }
        let Some((_, origins)) = holders.first() else { return Ok(None) };
        self.function_absence(origins, inner_last.map_or(CodeState::Absent, CodeState::Before))
    }

    /// The concrete out-of-line instance that starts at an address; `None` if there is none.
    pub(super) fn function_starting_at(&self, address: Vaddr) -> Result<Option<Arc<str>>, Error> {
        match self.entry_starting_at(address)? {
            Some(function) => self.function_name(function),
            None => Ok(None),
        }
    }

    /// The entry of the out-of-line function that starts at an address; `None` if none does.
    pub(super) fn entry_starting_at(&self, address: Vaddr) -> Result<Option<Die>, Error> {
        let Some(unit) = self.units.unit_at(address) else { return Ok(None) };
        let functions = self.functions.of_unit(unit)?;
        for (node, _) in self.functions.scopes_around(unit, address.0)? {
            if functions.ranges(node).iter().any(|range| range.start == address.0) {
                let Some(found) = functions.node(node) else { continue };
                return Ok(Some(Die { unit, offset: found.offset }));
            }
        }
        Ok(None)
    }

    fn function_absence(&self, origins: &[Die], state: CodeState) -> Result<Option<LineAbsence>, Error> {
        let Some(&origin) = origins.first() else { return Ok(None) };
        let Some(name) = self.function_name(origin)? else { return Ok(None) };
        let symbol = match self.units.string(origin, dw::DW_AT_linkage_name)? {
            Some(symbol) => text::from_bytes(&symbol).into(),
            None => Arc::clone(&name),
        };
        Ok(Some(LineAbsence::Function { name, symbol, state }))
    }

    /// The lines of a file where functions have code.
    fn lines_of(&self, units: &BTreeSet<usize>, origins: &[Die], path: &SourcePath) -> Result<BTreeSet<u32>, Error> {
        let mut lines = BTreeSet::new();
        for &unit in units {
            for &origin in origins {
                for &node in self.functions.instances_of(unit, origin)?.iter() {
                    lines.extend(&self.own_lines(unit, node, None, path)?.code);
                }
            }
        }
        Ok(lines)
    }

    /// The functions that dropped copies of a function were inlined into; `None` if no copy was
    /// dropped.
    fn dropped(&self, units: &BTreeSet<usize>, origins: &[Die]) -> Result<Option<Vec<Arc<str>>>, Error> {
        let (mut any, mut into) = (false, BTreeSet::new());
        for &unit in units {
            let functions = self.functions.of_unit(unit)?;
            for origin in origins {
                for &node in self.dropped_in(unit, &functions, *origin)?.iter() {
                    any = true;
                    if let Some(function) = self.out_of_line(&functions, node)?.filter(|function| *function != node) {
                        let offset = functions.node(function).map_or(0, |node| node.offset);
                        into.extend(self.function_name(Die { unit, offset })?);
                    }
                }
            }
        }
        Ok(any.then(|| into.into_iter().collect()))
    }

    /// The concrete out-of-line instance that holds an instance, or the instance itself if it is
    /// one.
    fn out_of_line(&self, functions: &Functions, instance: usize) -> Result<Option<usize>, Error> {
        let mut at = Some(instance);
        while let Some((index, node)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            self.units.charge(1)?;
            if node.kind == Kind::Function {
                return Ok(Some(index));
            }
            at = node.parent;
        }
        Ok(None)
    }

    /// The instances of a function in a unit whose code is not in the image.
    fn dropped_in(&self, unit: usize, functions: &Functions, origin: Die) -> Result<Arc<[usize]>, Error> {
        let of_origin =
            |dropped: &HashMap<Die, Arc<[usize]>>| dropped.get(&origin).map_or_else(|| Arc::from([]), Arc::clone);
        if let Some(dropped) = functions.dropped.get() {
            return Ok(of_origin(dropped));
        }
        let mut dropped: HashMap<Die, Vec<usize>> = HashMap::new();
        // Whether each concrete out-of-line instance was dropped. This decides for the instances
        // inlined in it too, because linkers do not always mark addresses in lists.
        let mut is_dropped = HashMap::new();
        for (index, node) in functions.nodes().iter().enumerate().filter(|(_, node)| node.kind.is_instance()) {
            let Some(function) = self.out_of_line(functions, index)? else { continue };
            let known = match is_dropped.get(&function) {
                Some(known) => *known,
                None => {
                    let offset = functions.node(function).map_or(0, |node| node.offset);
                    let names = [dw::DW_AT_low_pc, dw::DW_AT_ranges];
                    let had_code = self.units.own_attributes(Die { unit, offset }, names)?.iter().any(Option::is_some);
                    let known = had_code && functions.ranges(function).is_empty();
                    is_dropped.insert(function, known);
                    known
                }
            };
            if known {
                dropped.entry(self.units.root_origin(Die { unit, offset: node.offset })?).or_default().push(index);
            }
        }
        let dropped = dropped.into_iter().map(|(origin, nodes)| (origin, nodes.into())).collect();
        Ok(of_origin(functions.dropped.get_or_init(|| dropped)))
    }
}
