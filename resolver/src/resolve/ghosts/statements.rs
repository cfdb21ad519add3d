//! Ghosts that gcc compiled: each copy is a statement without code, and has a row in the line table.
//!
//! gcc moves such rows with the code around them, so they prove nothing. Counts of generated programs
//! (`tests/src/bin/ghosts.rs`) say which to trust. If gcc makes straight code of a branch, the row of a
//! ghost in the branch follows a statement that begins further left: one that had the ghost inside.

use super::certainty::{Certainty, GhostPlace, OfUnit, StatementsBefore};
use super::unit_ghosts::{Ghost, UnitGhosts};
use crate::Error;
use crate::address::Vaddr;
use crate::dwarf::lines::FileMatch;
use crate::dwarf::{DebugInfo, StatementRows};
use crate::resolve::{ApproximateReason, LikelyReason, Origin};

/// What the line table of a unit says of ghosts: for each one, in their order.
pub(super) fn find(info: &DebugInfo<'_>, unit: usize, asked: &UnitGhosts<'_>) -> Result<Vec<OfUnit>, Error> {
    asked.ghosts.iter().map(|ghost| find_one(info, unit, ghost)).collect()
}

fn find_one(info: &DebugInfo<'_>, unit: usize, ghost: &Ghost) -> Result<OfUnit, Error> {
    let mut of_unit = OfUnit::default();
    let matched = info.match_file(&ghost.file)?;
    let (FileMatch::File { path, units }, false) = (&*matched, ghost.shares_line) else { return Ok(of_unit) };
    let found = units.binary_search_by_key(&unit, |(index, _)| *index);
    let Some((_, numbers)) = found.ok().and_then(|found| units.get(found)) else { return Ok(of_unit) };
    let statements = info.statements(unit, path, numbers, ghost.line, StatementRows::All)?;
    of_unit.is_ambiguous = statements.is_ambiguous;
    for copies in statements.copies.chunk_by(|one, other| one.instance == other.instance) {
        let count = u32::try_from(copies.len()).unwrap_or(u32::MAX);
        for at_address in copies.chunk_by(|one, other| one.address == other.address) {
            let Some(copy) = at_address.first() else { continue };
            let before = StatementsBefore { address: copy.address, previous: copy.previous, outer: copy.outer };
            let certainty = match (count, statements.missing) {
                (2.., _) => Certainty::Approximate(ApproximateReason::RepeatedStatement { copies: count }),
                (_, missing @ 1..) => Certainty::Approximate(ApproximateReason::MissingCopies { count: missing }),
                _ => Certainty::Statement(before),
            };
            of_unit.places.push(GhostPlace { address: Some(copy.address), origin: Origin::Statement, certainty });
        }
    }
    Ok(of_unit)
}

impl StatementsBefore {
    /// How far the row can be trusted. `block` is where the block of straight code around it begins;
    /// `None` if it is not known.
    pub(super) fn certainty(self, block: Option<Vaddr>) -> Certainty {
        let is_in_block = |at: Option<Vaddr>| at.zip(block).is_some_and(|(at, block)| block <= at);
        match () {
            () if is_in_block(self.outer) => Certainty::Approximate(ApproximateReason::StraightCode),
            () if is_in_block(self.previous) || block == Some(self.address) => {
                Certainty::Likely(LikelyReason::Statement)
            }
            () => Certainty::Approximate(ApproximateReason::MovedCode),
        }
    }
}
