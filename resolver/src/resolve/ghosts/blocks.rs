//! Ghosts that rustc compiled: a variable without a size. The block that begins with it is the code
//! behind the ghost, and the place of the ghost is where control enters that code.
//!
//! If nothing follows the ghost in its block, the variable is gone, and only the one that `#[ghosts]`
//! puts at the start of the block is left. The place is where control leaves the block.
//!
//! LLVM drops blocks of inlined copies, and keeps those in them. What the next line of the block is, the
//! function itself says: the lines up to the last one that declares a variable in the block are in it.
//! The code of that line in the copy is approximately the place.
//!
//! The compiler may remove the code of a block on one way through a function and keep it on another
//! one. Then hits are missing, and nothing in the debug information says so. That cannot be if one of
//! these holds:
//!
//! - The code behind the ghost calls a function at once, in the next statement, and nowhere else.
//!   Compilers do not remove a call that has an effect. Neither do they move the way on which it is
//!   made to before the ghost: the branches that decide about it have lines before that of the ghost.
//! - The ghost is the first statement of a function that is not inlined, and each call of the function
//!   reaches the place once. The function also calls another one there, so calls of it are not removed.
//!
//! What is left then is that LLVM merges functions with the same code: calls of the other one hit the
//! place too. The image is the same, to the last byte, as if the source called this function
//! (`tests/rust/ghost_blocks.rs`). So no place is exact.

use std::collections::{BTreeMap, BTreeSet};

use simple_markers_record::ghost::Hash;

use super::{Asked, Certainty, OfUnit, Place};
use crate::Error;
use crate::address::Vaddr;
use crate::dwarf::{CodeOrigin, DebugInfo, Die, MarkedBlock, MarkedVariable};
use crate::resolve::instructions::{FunctionCode, Instructions};
use crate::resolve::{ApproximateReason, LikelyReason, Origin};

/// What the blocks of a unit say of ghosts: for each one, in their order.
pub(super) fn find<'a>(
    info: &DebugInfo<'_>,
    instructions: Option<&'a Instructions<'a, 'a, 'a, 'a>>,
    unit: usize,
    asked: &Asked<'_>,
) -> Result<Vec<OfUnit>, Error> {
    let mut all: Vec<OfGhost> = asked.ghosts.iter().map(|_| OfGhost::default()).collect();
    let hash = |name: &[u8]| Hash::from_variable(name).or_else(|| Hash::from_block(name));
    let mut variables = info.marked_variables(unit, &|name| hash(name).is_some())?;
    // What is known of a ghost itself is better than what is known of the block around it.
    variables.sort_by_key(|variable| Hash::from_variable(&variable.name).is_none());
    for variable in &variables {
        let (file, line) = &variable.declared;
        let hash = hash(&variable.name);
        let ghost = asked.at(info, file, *line, |ghost| Some(ghost.hash) == hash)?;
        let Some((found, ghost)) = ghost.and_then(|index| all.get_mut(index).zip(asked.ghosts.get(index))) else {
            continue;
        };
        let function = &variable.function;
        found.copies.insert(function.origin, function.copies);
        let searched = Searched { info, instructions, variable, others: asked.lines_of(&ghost.path) };
        let is_block = Hash::from_variable(&variable.name).is_none();
        for line in variable.next_lines.iter().filter(|_| !is_block) {
            let known = found.places.entry(line.copy()).or_default();
            if known.is_empty() {
                *known = searched.next_line(line);
            }
        }
        for block in &variable.blocks {
            let known = found.places.entry(block.copy()).or_default();
            if known.is_empty() {
                *known = if is_block { searched.ends(block) } else { searched.places(block)? };
            }
        }
    }
    Ok(all.into_iter().map(OfGhost::of_unit).collect())
}

/// What was found of a ghost.
#[derive(Default)]
struct OfGhost {
    /// How many copies its function has; several functions can have a ghost of the same line.
    copies: BTreeMap<Die, usize>,
    /// The places in each copy.
    places: BTreeMap<(Die, usize), Vec<Place>>,
}

impl OfGhost {
    /// The places in all copies, and how many copies have none.
    fn of_unit(self) -> OfUnit {
        let copies = self.copies.values().fold(0usize, |all, copies| all.saturating_add(*copies));
        let missing = copies.saturating_sub(self.places.values().filter(|places| !places.is_empty()).count());
        let places = self.places.into_values().flatten().collect();
        let is_dropped = missing > 0;
        OfUnit { places, missing: u32::try_from(missing).unwrap_or(u32::MAX), is_dropped, ..OfUnit::default() }
    }
}

/// A ghost whose places are searched for.
struct Searched<'v, 'a, 's> {
    info: &'v DebugInfo<'s>,
    instructions: Option<&'a Instructions<'a, 'a, 'a, 'a>>,
    variable: &'v MarkedVariable,
    /// The lines of all ghosts in the file.
    others: &'v BTreeSet<u32>,
}

impl Searched<'_, '_, '_> {
    /// The places of the ghost in a copy of its function.
    fn places(&self, copy: &MarkedBlock) -> Result<Vec<Place>, Error> {
        let place = |address, certainty| Place { address: Some(address), origin: Origin::Block, certainty };
        Ok(match self.entries(copy).as_slice() {
            [] => {
                let first = copy.code.ranges().first().map(|range| Vaddr(range.start));
                let likely = Certainty::Likely(LikelyReason::RemovableCode);
                first.into_iter().map(|first| place(first, likely)).collect()
            }
            [only] => vec![place(*only, self.certainty(copy, *only)?)],
            several => approximate(several, several_entries(several)),
        })
    }

    /// The places of the ghost in a copy that has the code of the next line, and not the block.
    fn next_line(&self, line: &MarkedBlock) -> Vec<Place> {
        match self.entries(line).as_slice() {
            [only] => approximate(&[*only], ApproximateReason::NextLine),
            several => approximate(several, several_entries(several)),
        }
    }

    /// The places behind the block around the ghost in a copy, if nothing follows the ghost in it.
    fn ends(&self, copy: &MarkedBlock) -> Vec<Place> {
        let ends = self.code(copy).and_then(|code| code.exits(&copy.code)).unwrap_or_default();
        match ends.as_slice() {
            [only] => approximate(&[*only], ApproximateReason::NothingFollows),
            several => approximate(several, ApproximateReason::SeveralExits { exits: count(several) }),
        }
    }

    /// Where control enters the code; nothing if that is not known.
    fn entries(&self, copy: &MarkedBlock) -> Vec<Vaddr> {
        self.code(copy).and_then(|code| code.entries(&copy.code)).unwrap_or_default()
    }

    /// What can be said of the only place where control enters the block.
    fn certainty(&self, copy: &MarkedBlock, entry: Vaddr) -> Result<Certainty, Error> {
        let likely = Certainty::Likely(LikelyReason::RemovableCode);
        let identical = Certainty::Likely(LikelyReason::IdenticalFunctions);
        let Some(code) = self.code(copy) else { return Ok(likely) };
        let Some(block) = code.block(entry) else { return Ok(likely) };
        let Some(calls) = code.call_addresses() else { return Ok(likely) };
        let is_call = |at: &&Vaddr| calls.binary_search(at).is_ok();
        let is_inside = |at: &&Vaddr| copy.code.contains(at.0);
        for &call in block.after.iter().take_while(is_inside).filter(is_call) {
            let CodeOrigin::Own(line, true) = self.origin(copy, call)? else { continue };
            if line > self.line() {
                let places = self.calls_of_line(copy, line, &calls)?;
                return match places {
                    Some(1) if self.is_next(line) && self.is_decided_before(copy, entry)? => Ok(identical),
                    Some(places @ 2..) => Ok(Certainty::Approximate(ApproximateReason::RepeatedLine { places })),
                    _ => Ok(likely),
                };
            }
        }
        let makes_a_call = block.before.iter().chain(&block.after).any(|at| is_call(&at));
        let is_first = makes_a_call && self.is_first(copy)?;
        let is_once = || code.decision(entry).is_some_and(|decision| decision.is_once);
        Ok(if is_first && is_once() { identical } else { likely })
    }

    /// The code of the function that a copy is in.
    fn code(&self, copy: &MarkedBlock) -> Option<FunctionCode<'_>> {
        self.instructions?.function(copy.function)
    }

    fn line(&self) -> u32 {
        self.variable.declared.1
    }

    fn origin(&self, copy: &MarkedBlock, at: Vaddr) -> Result<CodeOrigin, Error> {
        self.info.origin_in(copy, &self.variable.declared.0, at)
    }

    /// How many calls in a copy have a line; `None` if the line of a call in its function is not known:
    /// then it may stand for several.
    fn calls_of_line(&self, copy: &MarkedBlock, line: u32, calls: &[Vaddr]) -> Result<Option<u32>, Error> {
        let mut count = 0u32;
        for &call in calls {
            match self.origin(copy, call)? {
                CodeOrigin::Unknown => return Ok(None),
                CodeOrigin::Own(own, _) if own == line => count = count.saturating_add(1),
                _ => {}
            }
        }
        Ok(Some(count))
    }

    /// Whether a line is that of the statement behind the ghost: between them are only declarations of
    /// variables, and other ghosts.
    fn is_next(&self, line: u32) -> bool {
        let lets = &self.variable.function.lets;
        line - self.line() <= FAR
            && (self.line().saturating_add(1)..line).all(|line| lets.contains(&line) || self.others.contains(&line))
    }

    /// Whether the branches that decide whether an address is reached come from code before the ghost,
    /// or from around the copy.
    fn is_decided_before(&self, copy: &MarkedBlock, at: Vaddr) -> Result<bool, Error> {
        let decision = self.code(copy).and_then(|code| code.decision(at));
        let Some(decision) = decision else { return Ok(false) };
        for branch in decision.branches {
            match self.origin(copy, branch)? {
                CodeOrigin::Around => {}
                CodeOrigin::Own(line, _) | CodeOrigin::Inlined(line) if line < self.line() => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Whether the ghost is the first statement of a function that is not inlined, but for other
    /// ghosts.
    fn is_first(&self, copy: &MarkedBlock) -> Result<bool, Error> {
        let Some(declared) = self.variable.function.line else { return Ok(false) };
        let between = declared.saturating_add(1)..self.line();
        Ok(between.len() <= FAR as usize
            && between.into_iter().all(|line| self.others.contains(&line))
            && !self.info.is_inlined(copy)?)
    }
}

fn approximate(addresses: &[Vaddr], reason: ApproximateReason) -> Vec<Place> {
    let certainty = Certainty::Approximate(reason);
    let place = |&address| Place { address: Some(address), origin: Origin::Block, certainty };
    addresses.iter().map(place).collect()
}

fn several_entries(entries: &[Vaddr]) -> ApproximateReason {
    ApproximateReason::SeveralEntries { entries: count(entries) }
}

fn count(addresses: &[Vaddr]) -> u32 {
    u32::try_from(addresses.len()).unwrap_or(u32::MAX)
}

/// The most lines between a ghost and the code that proves its place.
const FAR: u32 = 200;
