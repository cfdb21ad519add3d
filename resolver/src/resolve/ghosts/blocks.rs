//! Ghosts that rustc compiled: a variable without a size. The block that begins with it is the code
//! behind the ghost, and the place of the ghost is where control enters that code.
//!
//! If nothing follows the ghost in its block, the variable is gone, and only the one that `#[ghosts]`
//! puts at the start of the block is left. The place is where control leaves the block.
//!
//! The compiler may remove the code of a block on one way through a function and keep it on another
//! one. Then hits are missing, and nothing in the debug information says so. LLVM also merges functions with
//! the same code: calls of the other one hit the place too (`tests/rust/ghost_blocks.rs`). So no place is
//! exact. A proof that the code was not removed was tried; it held for 708 of 48,341 generated ghosts only.

use std::collections::BTreeMap;

use simple_markers_record::ghost::Hash;

use super::certainty::{Certainty, GhostPlace, OfUnit};
use super::unit_ghosts::UnitGhosts;
use crate::Error;
use crate::address::Vaddr;
use crate::dwarf::{DebugInfo, Die, MarkedBlock};
use crate::resolve::instructions::{FunctionCode, Instructions};
use crate::resolve::{ApproximateReason, LikelyReason, Origin};

/// What the blocks of a unit say of ghosts: for each one, in their order.
pub(super) fn find(
    info: &DebugInfo<'_>,
    instructions: Option<&Instructions<'_>>,
    unit: usize,
    asked: &UnitGhosts<'_>,
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
        let Some(found) = ghost.and_then(|index| all.get_mut(index)) else { continue };
        let function = &variable.function;
        found.copies.insert(function.origin, function.copies);
        let is_block = Hash::from_variable(&variable.name).is_none();
        for block in &variable.blocks {
            let known = found.places.entry(block.copy()).or_default();
            if known.is_empty() {
                let code = instructions.and_then(|instructions| instructions.function(block.function));
                *known = if is_block { ends(code.as_ref(), block) } else { places(code.as_ref(), block) };
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
    places: BTreeMap<(Die, usize), Vec<GhostPlace>>,
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

/// The places of a ghost in a copy of its function, which has its block.
fn places(code: Option<&FunctionCode<'_>>, copy: &MarkedBlock) -> Vec<GhostPlace> {
    let likely = |address| {
        let certainty = Certainty::Likely(LikelyReason::RemovableCode);
        vec![GhostPlace { address: Some(address), origin: Origin::Block, certainty }]
    };
    let entries = code.and_then(|code| code.entries(&copy.code)).unwrap_or_default();
    match entries.as_slice() {
        [] => copy.code.ranges().first().map(|range| likely(Vaddr(range.start))).unwrap_or_default(),
        [only] if code.is_some_and(|code| code.is_repeated(&copy.code, *only)) => {
            approximate(&[*only], ApproximateReason::Loop)
        }
        [only] => likely(*only),
        several => approximate(several, ApproximateReason::SeveralEntries { entries: count(several) }),
    }
}

/// The places behind the block around a ghost in a copy, if nothing follows the ghost in it.
fn ends(code: Option<&FunctionCode<'_>>, copy: &MarkedBlock) -> Vec<GhostPlace> {
    let ends = code.and_then(|code| code.exits(&copy.code)).unwrap_or_default();
    match ends.as_slice() {
        [only] => approximate(&[*only], ApproximateReason::NothingFollows),
        several => approximate(several, ApproximateReason::SeveralExits { exits: count(several) }),
    }
}

fn approximate(addresses: &[Vaddr], reason: ApproximateReason) -> Vec<GhostPlace> {
    let certainty = Certainty::Approximate(reason);
    let place = |&address| GhostPlace { address: Some(address), origin: Origin::Block, certainty };
    addresses.iter().map(place).collect()
}

fn count(addresses: &[Vaddr]) -> u32 {
    u32::try_from(addresses.len()).unwrap_or(u32::MAX)
}
