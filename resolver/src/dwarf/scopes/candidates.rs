//! The instances of functions at the address of a site, and those among them that the marker may be
//! in.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::files::{SourcePath, best};
use super::super::functions::{FunctionDeclaration, Functions};
use super::super::unit::Die;
use super::{MarkerSite, Scopes};
use crate::Error;
use crate::address::Vaddr;

/// How the code of a scope and an address relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lies {
    /// The scope has code before and behind the address, in one range.
    Around,
    /// The scope has an empty range at the address.
    Empty,
    /// The scope starts at the address; another range of it may end there.
    Behind,
    /// The scope ends at the address.
    Before,
}

impl Lies {
    /// How the code of a node and an address relate.
    pub(super) fn of(functions: &Functions, node: usize, pc: u64) -> Self {
        let ranges = functions.ranges(node);
        let any = |is: fn(&std::ops::Range<u64>, u64) -> bool| ranges.iter().any(|range| is(range, pc));
        match () {
            () if any(|range, pc| range.start < pc && pc < range.end) => Self::Around,
            () if any(|range, pc| range.start == pc && pc == range.end) => Self::Empty,
            () if any(|range, pc| range.start == pc) => Self::Behind,
            () if any(|range, pc| range.end == pc) => Self::Before,
            // Malformed: a scope below this one holds the address, and this one does not.
            () => Self::Around,
        }
    }
}

/// An instance of a function that holds an address, or ends there.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) node: usize,
    pub(super) die: Die,
    /// The scopes at the address in the same out-of-line function, in the order of their entries.
    around: Arc<Vec<usize>>,
}

/// An instance of a function that may hold the marker.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) unit: usize,
    pub(super) node: usize,
    /// The scopes at the address in the same out-of-line function, in the order of their entries.
    pub(super) around: Arc<Vec<usize>>,
    origin: Die,
    declared: Option<(SourcePath, u32)>,
    pub(super) lies: Lies,
}

impl Candidate {
    /// Whether it is an instance of the function that is declared at a line of a file.
    fn is_of(&self, holder: &(SourcePath, u32)) -> bool {
        self.declared.as_ref() == Some(holder)
    }
}

/// Whether a function holds the line of a marker.
enum Holds {
    Certainly,
    Possibly,
    No,
}

impl Scopes<'_> {
    /// The instances of functions that hold an address or end there.
    pub(super) fn instances(&self, pc: Vaddr) -> Result<Vec<Instance>, Error> {
        let mut units: Vec<usize> = Vec::new();
        for address in [Some(pc.0), pc.0.checked_sub(1)].into_iter().flatten() {
            units.extend(self.units.unit_at(Vaddr(address)).filter(|unit| !units.contains(unit)));
        }
        let mut instances = Vec::new();
        for unit in units {
            let functions = self.functions.of_unit(unit)?;
            for (_, around) in self.functions.scopes_around(unit, pc.0)? {
                let around = Arc::new(around);
                for &node in around.iter() {
                    let Some(found) = functions.node(node).filter(|found| found.kind.is_instance()) else { continue };
                    let (die, around) = (Die { unit, offset: found.offset }, Arc::clone(&around));
                    instances.push(Instance { node, die, around });
                }
            }
        }
        Ok(instances)
    }

    /// The instances of functions that may hold a marker at an address.
    pub(super) fn candidates(&self, pc: Vaddr, instances: Vec<Instance>) -> Result<Vec<Candidate>, Error> {
        let mut candidates = Vec::new();
        for Instance { node, die, around } in instances {
            let functions = self.functions.of_unit(die.unit)?;
            let (origin, declared) = (self.units.root_origin(die)?, self.lines.declared(die)?);
            let lies = Lies::of(&functions, node, pc.0);
            candidates.push(Candidate { unit: die.unit, node, around, origin, declared, lies });
        }
        Ok(candidates)
    }

    /// The candidates that the marker may be in, the likeliest first.
    pub(super) fn choose<'c>(
        &self,
        candidates: &'c [Candidate],
        site: &MarkerSite,
    ) -> Result<Vec<&'c Candidate>, Error> {
        let holders = self.holders(candidates, &site.file, site.line)?;
        let mut chosen: Vec<&Candidate> = Vec::new();
        for (index, holder) in holders.iter().enumerate() {
            self.units.charge(candidates.len() as u64)?;
            let here: Vec<&Candidate> = candidates.iter().filter(|candidate| candidate.is_of(holder)).collect();
            if here.is_empty() {
                continue;
            }
            let outer_holders = holders.get(index + 1..).unwrap_or_default();
            self.units.charge((outer_holders.len() as u64).saturating_mul(candidates.len() as u64))?;
            let is_outer = |candidate: &&Candidate| outer_holders.iter().any(|holder| candidate.is_of(holder));
            let outer: Vec<&Candidate> = candidates.iter().filter(is_outer).collect();
            match self.holds(holder.1, &here, &outer, site)? {
                Holds::Certainly => {
                    chosen.extend(here);
                    break;
                }
                Holds::Possibly => chosen.extend(here),
                Holds::No => {}
            }
        }
        // The innermost first; an instance that holds the address before one that ends there.
        chosen.sort_by_key(|candidate| {
            let declared = candidate.declared.as_ref().map(|declared| declared.1);
            (candidate.lies == Lies::Before, Reverse(declared), Reverse(candidate.node))
        });
        // An instance without an instruction is there for the marker alone.
        chosen.sort_by_key(|candidate| candidate.lies != Lies::Empty);
        Ok(chosen)
    }

    /// Whether a function holds the line of a marker, by the lines of its instances at the site and
    /// of the instances of functions around it.
    fn holds(
        &self,
        declared: u32,
        here: &[&Candidate],
        outer: &[&Candidate],
        site: &MarkerSite,
    ) -> Result<Holds, Error> {
        if outer.is_empty() {
            return Ok(Holds::Certainly);
        }
        let mut lines = BTreeSet::new();
        for candidate in here {
            lines.extend(self.own_lines(candidate.unit, candidate.node, None, &site.file)?.all());
        }
        let last = lines.last().copied().unwrap_or(declared).max(declared);
        if declared < site.line && site.line < last {
            return Ok(Holds::Certainly);
        }
        let mut is_past = false;
        for candidate in outer {
            let outer = self.own_lines(candidate.unit, candidate.node, None, &site.file)?;
            is_past |= site.line > last && outer.all().any(|outer| outer > last && outer <= site.line);
        }
        Ok(if is_past { Holds::No } else { Holds::Possibly })
    }

    /// The functions that can hold a line of a file, by file and line of declaration, the last
    /// declared first.
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

    /// The functions that can hold a line of a file, the last declared first: their lines of
    /// declaration and their entries.
    pub(in crate::dwarf) fn holders_in(
        &self,
        units: &BTreeSet<usize>,
        file: &SourcePath,
        line: u32,
    ) -> Result<Vec<(u32, Vec<Die>)>, Error> {
        let mut holders = Vec::new();
        let mut declared = Vec::new();
        let by_unit =
            units.iter().map(|&unit| self.functions.declared_in(unit, file)).collect::<Result<Vec<_>, _>>()?;
        for all in &by_unit {
            let end = all.partition_point(|known| known.line <= line);
            declared.extend(all.get(..end).unwrap_or_default());
        }
        declared.sort_by_key(|known| Reverse(known.line));
        let mut innermost: &[&FunctionDeclaration] = &[];
        for group in declared.chunk_by(|one, two| one.line == two.line) {
            self.units.charge(group.len() as u64)?;
            let Some(first) = group.first() else { continue };
            let is_around = |outer: &&FunctionDeclaration| {
                self.units.charge(1).is_ok() && innermost.iter().any(|inner| inner.is_nested || outer.is_around(inner))
            };
            if !innermost.is_empty() && !group.iter().any(is_around) {
                continue;
            }
            holders.push((first.line, group.iter().map(|known| known.origin).collect()));
            // The entries of nested functions prove only this: the first function that is in no
            // other one is around them.
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
}
